import Ceremony
import Foundation
public import _Primitives

/// A PIN that a person is to choose: what the server wants of it, and what they have typed. That it is too simple only this
/// device can say, because the server never sees it.
// Safe to share: every access to `pin` is within `lock`, and everything else never changes.
public final class PinSpecification: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    /// What a PIN comes to.
    public enum ResultCode: String, Hashable, Sendable, CaseIterable {
        /// The PIN was accepted.
        case valid
        /// Nothing was typed.
        case empty
        /// Fewer digits than ``PinSpecification/minLength``.
        case tooShort
        /// More digits than ``PinSpecification/maxLength``.
        case tooLong
        /// Something else than the digits 0 to 9.
        case invalidCharacters
        /// One of those that whoever finds the phone tries first: a digit again and again, a row of neighbours, a pattern
        /// that repeats, or a date.
        case tooSimple
        /// The PIN that is to be changed.
        case unchanged
    }

    /// The fewest digits.
    public let minLength: Int
    /// The most digits.
    public let maxLength: Int
    private var former: SecretBytes?
    private let lock = NSLock()
    private var pin: SecretBytes?

    init(_ lengths: ClosedRange<Int>, former: SecretBytes? = nil) {
        self.minLength = lengths.lowerBound
        self.maxLength = lengths.upperBound
        self.former = former
    }

    /// Takes what the person has typed. With any other answer than `valid` no PIN is held any more.
    @discardableResult public func setPin(_ pin: String?) -> ResultCode { self.setPin(SecretBytes(utf8: pin ?? "")) }

    /// As ``setPin(_:)-(String?)``, for an app whose keyboard gives bytes (ASCII).
    @discardableResult public func setPin(_ pin: SecretBytes) -> ResultCode {
        let result = self.judge(pin)
        self.lock.withLock { self.pin = result == .valid ? pin : nil }
        return result
    }

    /// Takes the PIN out: it is used once. Throws ``CountersignError`` `pinMissing` where there is none.
    func take() throws -> SecretBytes {
        guard let pin = self.lock.withLock({ self.pin }) else { throw CountersignError(.pinMissing) }
        return pin
    }

    /// Forgets the PIN, and the one that it was to be another than.
    func forget() { self.lock.withLock { (self.pin, self.former) = (nil, nil) } }

    private func judge(_ pin: SecretBytes) -> ResultCode {
        pin.withBytes { bytes in
            guard !bytes.isEmpty else { return .empty }
            guard bytes.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
                return .invalidCharacters
            }
            guard bytes.count >= self.minLength else { return .tooShort }
            guard bytes.count <= self.maxLength else { return .tooLong }
            if let former = self.lock.withLock({ self.former }), former == pin { return .unchanged }
            return SimplePin.isSimple(bytes) ? .tooSimple : .valid
        }
    }

    /// The type alone.
    public var description: String { "PinSpecification" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

import Ceremony
import Foundation
public import _Primitives

/// A PIN that a person chooses: the server's requirements and the person's input. Only this device can reject a PIN as
/// too simple, because the server never sees the PIN.
// Safe to share: every access to `pin` is within `lock`, and everything else never changes.
public final class PinSpecification: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    /// The result of checking a PIN.
    public enum ResultCode: String, Hashable, Sendable, CaseIterable {
        /// The PIN was accepted.
        case valid
        /// The input is empty.
        case empty
        /// The PIN has fewer digits than ``PinSpecification/minLength``.
        case tooShort
        /// The PIN has more digits than ``PinSpecification/maxLength``.
        case tooLong
        /// The PIN contains characters other than the digits 0 to 9.
        case invalidCharacters
        /// The PIN is among the PINs that a finder of the phone tries first: a repeated digit, a row of neighbouring
        /// digits, a repeating pattern, or a date (`PinRule.simple`).
        case tooSimple
        /// The PIN is the same as the PIN that is to be changed.
        case unchanged
    }

    /// The minimum number of digits.
    public let minLength: Int
    /// The maximum number of digits.
    public let maxLength: Int
    private var former: SecretBytes?
    private let lock = NSLock()
    private var pin: SecretBytes?

    init(_ lengths: ClosedRange<Int>, former: SecretBytes? = nil) {
        self.minLength = lengths.lowerBound
        self.maxLength = lengths.upperBound
        self.former = former
    }

    /// Checks and stores the PIN that the person has typed. With any result other than `valid`, no PIN is stored any
    /// more.
    @discardableResult public func setPin(_ pin: String?) -> ResultCode { self.setPin(SecretBytes(utf8: pin ?? "")) }

    /// Does the same as ``setPin(_:)-(String?)``, for an app whose keyboard gives bytes (ASCII).
    @discardableResult public func setPin(_ pin: SecretBytes) -> ResultCode {
        let result = self.judge(pin)
        self.lock.withLock { self.pin = result == .valid ? pin : nil }
        return result
    }

    /// Returns the PIN for use. Throws ``CountersignError`` `pinMissing` if no PIN is set.
    func take() throws -> SecretBytes {
        guard let pin = self.lock.withLock({ self.pin }) else { throw CountersignError(.pinMissing) }
        return pin
    }

    /// Deletes the PIN, and the former PIN from which the new PIN must differ.
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
            return PinRule.simple.first(refusing: bytes) == nil ? .valid : .tooSimple
        }
    }

    /// The type's name only.
    public var description: String { "PinSpecification" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

public import _Primitives

/// A code that a person keeps on paper. The person can sign in once with the code after losing phone and authenticator
/// app.
///
/// Thirteen letters of Crockford's base 32 carry 65 bits. A plain hash would be too weak: an attacker with the database
/// could try all codes. The caller stores an HMAC of the bytes that ``withBytes(_:)`` lends, under a key outside the
/// database. Codes of earlier versions have twelve letters, and are read too.
public struct RecoveryCode: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    private let letters: SecretBytes

    /// Creates a new code.
    public init(random: RandomSource, limits: PasswordLimits = PasswordLimits()) {
        self.letters = SecretBytes(random.bytes(limits.recoveryCodeLetters).map { Self.alphabet[Int($0 & 31)] })
    }

    /// Returns a person's set of new codes, all different.
    public static func set(random: RandomSource, limits: PasswordLimits = PasswordLimits()) -> [RecoveryCode] {
        var codes: [RecoveryCode] = []
        while codes.count < limits.recoveryCodes {
            let code = RecoveryCode(random: random, limits: limits)
            if !codes.contains(code) { codes.append(code) }
        }
        return codes
    }

    /// Reads a typed code. Case, dashes of any kind and spaces do not matter, and O, I and L count as the similar
    /// digits. `nil` if the text is no code.
    public init?(typed text: String, limits: PasswordLimits = PasswordLimits()) {
        guard text.utf8.count <= PasswordLimits.Fixed.typedCodeBytes else { return nil }
        var letters: [UInt8] = []
        for scalar in text.unicodeScalars {
            switch scalar {
            case "o", "O": letters.append(UInt8(ascii: "0"))
            case "i", "I", "l", "L": letters.append(UInt8(ascii: "1"))
            case "a"..."z": letters.append(UInt8(scalar.value) - 32)
            case let scalar where [.dashPunctuation, .spaceSeparator].contains(scalar.properties.generalCategory):
                continue
            case let scalar where scalar.isASCII: letters.append(UInt8(scalar.value))
            default: return nil
            }
        }
        let lengths = [limits.recoveryCodeLetters, PasswordLimits.Fixed.formerRecoveryCodeLetters]
        guard lengths.contains(letters.count), letters.allSatisfy(Self.alphabet.contains) else { return nil }
        self.letters = SecretBytes(letters)
    }

    /// The code for the single display, in groups of four. The last group has the rest, and at least two letters:
    /// `7KQ2-M9XT-4HWB9`.
    public var shownOnce: String {
        self.letters.withBytes { letters in
            let starts = stride(from: 0, to: letters.count, by: 4).filter { $0 == 0 || letters.count - $0 > 1 }
            return zip(starts, starts.dropFirst() + [letters.count])
                .map { String(decoding: letters[$0..<$1], as: UTF8.self) }.joined(separator: "-")
        }
    }

    /// Lends the letters, in capitals and without dashes, for the duration of `body`.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try self.letters.withBytes(body)
    }

    /// `true` if both are the same code, in constant time.
    public static func == (left: Self, right: Self) -> Bool { left.letters == right.letters }
    /// The type alone.
    public var description: String { "RecoveryCode" }
    /// A mirror without children, so that `dump` shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

import Foundation
public import _Primitives

/// A stored hash of a password, with all data for a verification: a PHC string of Argon2id or Argon2i, or a text of
/// bcrypt, PBKDF2, scrypt or sha512-crypt from another system.
///
/// Reading is strict and comes before any work, whatever a database or an import contains. Only a single spelling of a
/// hash and known parameters are read, and no more memory, time and bytes than the limits allow.
public struct PasswordHash: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The function by which a password was hashed.
    public enum Scheme: Sendable, Hashable {
        /// Argon2id (RFC 9106), the function for new hashes.
        case argon2id(Argon2Parameters)
        /// Argon2i, which is verified and never made.
        case argon2i(Argon2Parameters)
        /// bcrypt, which is verified and never made. bcrypt sees only the first 72 bytes of a password.
        case bcrypt(cost: Int)
        /// PBKDF2 (RFC 8018, section 5.2), which is verified and never made.
        case pbkdf2(PBKDF2Digest, iterations: Int)
        /// scrypt (RFC 7914), which is verified and never made.
        case scrypt(ScryptParameters)
        /// sha512-crypt (`$6$`, U. Drepper's specification), which is verified and never made.
        case sha512Crypt(rounds: Int)
    }

    /// The function of the hash.
    public let scheme: Scheme
    /// The stored text. The text allows guesses, so the text goes into no log.
    public let text: String
    /// The version of Argon2: 0x10 for version 1.0 of the algorithm, 0x13 for the present version.
    let version: UInt32
    let salt: [UInt8]
    let tag: [UInt8]

    /// Creates a new hash.
    init(_ parameters: Argon2Parameters, salt: [UInt8], tag: [UInt8]) {
        self.scheme = .argon2id(parameters)
        self.version = 0x13
        self.salt = salt
        self.tag = tag
        self.text =
            "$argon2id$v=19$m=\(parameters.memoryKiB),t=\(parameters.passes),p=\(parameters.lanes)"
            + "$\(PHCBase64.encode(salt))$\(PHCBase64.encode(tag))"
    }

    /// Reads a stored or imported text: `$argon2id$v=19$m=…,t=…,p=…$salt$tag`, the same with `argon2i` and with `v=16`
    /// or no version at all, bcrypt with the prefixes `$2a$`, `$2b$` and `$2y$`, and the texts that ``ImportedHash``
    /// lists.
    ///
    /// Throws ``PasswordHashError``.
    public init(parsing text: String, limits: PasswordLimits = PasswordLimits()) throws(PasswordHashError) {
        guard text.utf8.count <= PasswordLimits.Fixed.storedTextBytes else {
            throw PasswordHashError(.malformed, "too long")
        }
        let parts = text.utf8.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false).map { Array($0) }
        self.text = text
        if let imported = try ImportedHash(parts, limits: limits) {
            self.scheme = imported.scheme
            self.version = 0
            self.salt = imported.salt
            self.tag = imported.tag
            return
        }
        guard parts.count >= 4, parts[0].isEmpty else {
            throw PasswordHashError(.malformed, "not in the form of a hash")
        }
        switch ExactText(String(decoding: parts[1], as: UTF8.self)) {
        case "argon2id", "argon2i":
            var rest = parts.dropFirst(2)
            self.version = try Self.takeVersion(&rest)
            guard rest.count == 3, let first = rest.popFirst() else {
                throw PasswordHashError(.malformed, "not parameters, salt and tag")
            }
            let parameters = try Self.parameters(first, limits: limits)
            guard let salt = rest.popFirst().flatMap(PHCBase64.decode),
                let tag = rest.popFirst().flatMap(PHCBase64.decode),
                PasswordLimits.Fixed.storedSaltBytes.contains(salt.count),
                PasswordLimits.Fixed.storedTagBytes.contains(tag.count)
            else { throw PasswordHashError(.malformed, "a salt or a tag") }
            self.scheme = parts[1].count == 8 ? .argon2id(parameters) : .argon2i(parameters)
            self.salt = salt
            self.tag = tag
        case "2a", "2b", "2y":
            self.scheme = .bcrypt(cost: try Self.bcryptCost(parts, limits: limits))
            self.version = 0
            self.salt = []
            self.tag = Array(text.utf8)
        default: throw PasswordHashError(.unknownScheme)
        }
    }

    private static func takeVersion(_ rest: inout ArraySlice<[UInt8]>) throws(PasswordHashError) -> UInt32 {
        guard let first = rest.first, first.starts(with: "v=".utf8) else { return 0x10 }
        rest = rest.dropFirst()
        switch first.dropFirst(2) {
        case ArraySlice("16".utf8): return 0x10
        case ArraySlice("19".utf8): return 0x13
        default: throw PasswordHashError(.unknownScheme, "a version of Argon2")
        }
    }

    private static func parameters(_ bytes: [UInt8], limits: PasswordLimits) throws(PasswordHashError)
        -> Argon2Parameters
    {
        let fields = bytes.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard fields.count == 3, let memory = self.number(fields[0], "m="), let passes = self.number(fields[1], "t="),
            let lanes = self.number(fields[2], "p=")
        else { throw PasswordHashError(.malformed, "not m, t and p") }
        let parameters = Argon2Parameters(memoryKiB: memory, passes: passes, lanes: lanes)
        guard parameters.arePossible else {
            throw PasswordHashError(.malformed, "parameters that Argon2 does not have")
        }
        // A hash with the parameters for new hashes is always readable, whatever the limits for stored hashes.
        guard parameters != limits.hashing else { return parameters }
        guard memory <= limits.storedMemoryKiB, memory * passes <= limits.storedWorkKiB, lanes <= limits.storedLanes
        else {
            throw PasswordHashError(.tooCostly, "m=\(memory),t=\(passes),p=\(lanes)")
        }
        return parameters
    }

    /// Returns a decimal number in its only spelling, small enough to be multiplied with another number.
    static func number(_ field: ArraySlice<UInt8>, _ name: String = "") -> Int? {
        let digits = field.dropFirst(name.utf8.count)
        guard field.starts(with: name.utf8), PasswordLimits.Fixed.storedNumberDigits.contains(digits.count),
            digits.first != UInt8(ascii: "0"),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Returns the cost from `$2b$12$`, 22 letters of salt and 31 letters of hash.
    private static func bcryptCost(_ parts: [[UInt8]], limits: PasswordLimits) throws(PasswordHashError) -> Int {
        let digits = parts[2].map { Int($0) - Int(UInt8(ascii: "0")) }
        guard parts.count == 4, digits.count == 2, digits.allSatisfy((0...9).contains) else {
            throw PasswordHashError(.malformed, "a cost of bcrypt")
        }
        let cost = 10 * digits[0] + digits[1]
        guard (4...31).contains(cost) else { throw PasswordHashError(.malformed, "a cost that bcrypt does not have") }
        let alphabet = Array("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        let values = parts[3].compactMap { alphabet.firstIndex(of: $0) }
        // The last letters hold 2 and 4 bits. Their other bits have no meaning, and are zero.
        guard parts[3].count == 53, values.count == 53, values[21] & 0x0F == 0, values[52] & 0x03 == 0 else {
            throw PasswordHashError(.malformed, "a salt or a hash of bcrypt")
        }
        guard cost <= limits.storedBcryptCost else { throw PasswordHashError(.tooCostly, "bcrypt, cost \(cost)") }
        return cost
    }

    /// `true` if the hash ignores the password behind the first 72 bytes.
    var isCut: Bool {
        if case .bcrypt = self.scheme { true } else { false }
    }

    /// `true` if a right password needs a new hash, because the hash has another scheme, version or cost than
    /// `parameters`, or a shorter salt or tag.
    public func needsUpgrade(to parameters: Argon2Parameters) -> Bool {
        self.scheme != .argon2id(parameters) || self.version != 0x13
            || self.salt.count < PasswordLimits.Fixed.saltBytes || self.tag.count < PasswordLimits.Fixed.tagBytes
    }

    /// The scheme alone.
    public var description: String { "PasswordHash(\(self.scheme))" }
    /// A mirror that shows the scheme alone.
    public var customMirror: Mirror { Mirror(self, children: ["scheme": self.scheme]) }
    /// `true` if both have the same text, in constant time.
    public static func == (left: Self, right: Self) -> Bool { constantTimeEqual(left.text.utf8, right.text.utf8) }
}

extension Argon2Parameters {
    /// `true` if Argon2 allows the parameters (RFC 9106, section 3.1). The machine's memory is not considered.
    var arePossible: Bool {
        (1...0xFF_FFFF).contains(self.lanes) && (1...0xFFFF_FFFF).contains(self.passes)
            && (8 * self.lanes...0xFFFF_FFFF).contains(self.memoryKiB)
    }
}

/// The reason why a stored hash cannot be read. Two errors are equal if their codes are equal.
public struct PasswordHashError: CodedError {
    /// The reason of the error, for code that must choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String { case malformed, unknownScheme, tooCostly }
        private let name: Name
        /// The text has not the form of a hash.
        public static let malformed = Self(name: .malformed)
        /// The hash has a scheme, or a version of a scheme, that this server does not verify.
        public static let unknownScheme = Self(name: .unknownScheme)
        /// The hash needs more memory or time than the limits allow.
        public static let tooCostly = Self(name: .tooCostly)
        public var description: String { self.name.rawValue }
    }

    /// The reason of the error.
    public let code: Code
    /// A text for the log: the expected form, or a cost; never a part of the hash.
    public let reason: String

    init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }
}

/// The base 64 of PHC strings: the alphabet of RFC 4648, section 4, without padding, in its only spelling.
enum PHCBase64 {
    static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: Base64URL.encode(bytes).utf8.map { Self.exchanged($0) }, as: UTF8.self)
    }

    static func decode(_ letters: [UInt8]) -> [UInt8]? {
        guard !letters.contains(UInt8(ascii: "-")), !letters.contains(UInt8(ascii: "_")) else { return nil }
        return Base64URL.decode(utf8: letters.map { Self.exchanged($0) })
    }

    private static func exchanged(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: letter
        }
    }
}

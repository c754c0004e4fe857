import Foundation
import _Primitives

/// A stored hash of a password, with all that verifying the hash needs: a PHC string of Argon2id or Argon2i, or a text of
/// bcrypt, PBKDF2, scrypt or sha512-crypt that another system left.
///
/// Reading is strict and comes before any work: one spelling of a hash, known parameters alone, and no more memory,
/// time and bytes than the limits say, whatever a database or an import holds.
public struct PasswordHash: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// How a password was hashed.
    public enum Scheme: Sendable, Hashable {
        /// Argon2id (RFC 9106): what is made here.
        case argon2id(Argon2Parameters)
        /// Argon2i, which is verified and never made.
        case argon2i(Argon2Parameters)
        /// bcrypt, which is verified and never made. It sees 72 bytes of a password and nothing behind them.
        case bcrypt(cost: Int)
        /// PBKDF2 (RFC 8018, section 5.2), which is verified and never made.
        case pbkdf2(PBKDF2Digest, iterations: Int)
        /// scrypt (RFC 7914), which is verified and never made.
        case scrypt(ScryptParameters)
        /// sha512-crypt (`$6$`, U. Drepper's specification), which is verified and never made.
        case sha512Crypt(rounds: Int)
    }

    /// How it was hashed.
    public let scheme: Scheme
    /// What is stored. Whoever has it can guess, so it goes into no log.
    public let text: String
    /// Of Argon2. Version 1.0 of the algorithm is 0x10, the present one 0x13.
    let version: UInt32
    let salt: [UInt8]
    let tag: [UInt8]

    /// A hash that was made now.
    init(_ parameters: Argon2Parameters, salt: [UInt8], tag: [UInt8]) {
        self.scheme = .argon2id(parameters)
        self.version = 0x13
        self.salt = salt
        self.tag = tag
        self.text =
            "$argon2id$v=19$m=\(parameters.memoryKiB),t=\(parameters.passes),p=\(parameters.lanes)"
            + "$\(PHCBase64.encode(salt))$\(PHCBase64.encode(tag))"
    }

    /// Reads what is stored, or what another system left: `$argon2id$v=19$m=…,t=…,p=…$salt$tag`, the same with
    /// `argon2i` and with `v=16` or no version at all, bcrypt with the prefixes `$2a$`, `$2b$` and `$2y$`, and the texts
    /// that ``ImportedHash`` lists.
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
        // What is made now can be read, whatever the limits of what was made elsewhere.
        guard parameters != limits.hashing else { return parameters }
        guard memory <= limits.storedMemoryKiB, memory * passes <= limits.storedWorkKiB, lanes <= limits.storedLanes
        else {
            throw PasswordHashError(.tooCostly, "m=\(memory),t=\(passes),p=\(lanes)")
        }
        return parameters
    }

    /// A decimal number in its one spelling, small enough to be multiplied with another.
    static func number(_ field: ArraySlice<UInt8>, _ name: String = "") -> Int? {
        let digits = field.dropFirst(name.utf8.count)
        guard field.starts(with: name.utf8), PasswordLimits.Fixed.storedNumberDigits.contains(digits.count),
            digits.first != UInt8(ascii: "0"),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Of `$2b$12$`, 22 letters of salt and 31 of hash.
    private static func bcryptCost(_ parts: [[UInt8]], limits: PasswordLimits) throws(PasswordHashError) -> Int {
        let digits = parts[2].map { Int($0) - Int(UInt8(ascii: "0")) }
        guard parts.count == 4, digits.count == 2, digits.allSatisfy((0...9).contains) else {
            throw PasswordHashError(.malformed, "a cost of bcrypt")
        }
        let cost = 10 * digits[0] + digits[1]
        guard (4...31).contains(cost) else { throw PasswordHashError(.malformed, "a cost that bcrypt does not have") }
        let alphabet = Array("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        let values = parts[3].compactMap { alphabet.firstIndex(of: $0) }
        // The last letters hold 2 and 4 bits; the rest of them says nothing, and is zero.
        guard parts[3].count == 53, values.count == 53, values[21] & 0x0F == 0, values[52] & 0x03 == 0 else {
            throw PasswordHashError(.malformed, "a salt or a hash of bcrypt")
        }
        guard cost <= limits.storedBcryptCost else { throw PasswordHashError(.tooCostly, "bcrypt, cost \(cost)") }
        return cost
    }

    /// Whether it knows nothing of what stands behind the first 72 bytes of a password.
    var isCut: Bool {
        if case .bcrypt = self.scheme { true } else { false }
    }

    /// Whether a right password is to be hashed anew: by another scheme, version or cost than `parameters`, or with
    /// less salt.
    public func needsUpgrade(to parameters: Argon2Parameters) -> Bool {
        self.scheme != .argon2id(parameters) || self.version != 0x13
            || self.salt.count < PasswordLimits.Fixed.saltBytes || self.tag.count < PasswordLimits.Fixed.tagBytes
    }

    /// The scheme alone.
    public var description: String { "PasswordHash(\(self.scheme))" }
    /// A mirror that shows the scheme alone.
    public var customMirror: Mirror { Mirror(self, children: ["scheme": self.scheme]) }
    /// Whether both are the same text, in constant time.
    public static func == (left: Self, right: Self) -> Bool { constantTimeEqual(left.text.utf8, right.text.utf8) }
}

extension Argon2Parameters {
    /// Whether Argon2 has such parameters (RFC 9106, section 3.1), as far as any machine has the memory.
    var arePossible: Bool {
        (1...0xFF_FFFF).contains(self.lanes) && (1...0xFFFF_FFFF).contains(self.passes)
            && (8 * self.lanes...0xFFFF_FFFF).contains(self.memoryKiB)
    }
}

/// Why a stored hash is not read. Two are equal when their codes are.
public struct PasswordHashError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String { case malformed, unknownScheme, tooCostly }
        private let name: Name
        /// Not in the form of a hash.
        public static let malformed = Self(name: .malformed)
        /// A scheme, or a version of one, that is not verified here.
        public static let unknownScheme = Self(name: .unknownScheme)
        /// More memory or time than the limits allow.
        public static let tooCostly = Self(name: .tooCostly)
        public var description: String { self.name.rawValue }
    }

    /// What is wrong.
    public let code: Code
    /// For the log: what was expected, or a cost; never a part of the hash.
    public let reason: String

    init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    public var description: String {
        self.reason.isEmpty ? "PasswordHashError.\(self.code)" : "PasswordHashError.\(self.code): \(self.reason)"
    }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}

/// The base 64 of PHC strings: the alphabet of RFC 4648, section 4, without padding, in its one spelling.
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

import _Primitives

/// The hash function within PBKDF2's HMAC.
public enum PBKDF2Digest: Sendable, Hashable {
    case sha1
    case sha256
    case sha512

    /// The number of bytes in a block of the derived key.
    var bytes: Int {
        switch self {
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        }
    }
}

/// The costs of a hash by scrypt (RFC 7914, section 2).
public struct ScryptParameters: Sendable, Hashable {
    /// The binary logarithm of the cost N.
    public var costBits: Int
    /// The block size r.
    public var blockSize: Int
    /// The parallelism p. The parts are computed one after another.
    public var parallelism: Int

    /// The memory of a hash, in KiB.
    var memoryKiB: Int { 128 * self.blockSize * ((1 << self.costBits) + self.parallelism + 1) / 1024 + 1 }
}

/// A hash by PBKDF2, scrypt or sha512-crypt, read from the text that another system stored:
///
/// - `$pbkdf2-sha256$i=600000,l=32$salt$tag`, the same with `sha1` and `sha512` (PHC strings);
/// - `$pbkdf2-sha256$29000$salt$tag`, `$pbkdf2-sha512$…`, and `$pbkdf2$…` for SHA-1 (passlib);
/// - `pbkdf2_sha256$870000$salt$tag` and `pbkdf2_sha1$…` (Django);
/// - `$scrypt$ln=17,r=8,p=1$salt$tag` (PHC strings and passlib);
/// - `$6$salt$tag` and `$6$rounds=656000$salt$tag` (libcrypt).
///
/// A hash has a single spelling, and costs no more than the limits allow. Both are checked before any work.
struct ImportedHash {
    let scheme: PasswordHash.Scheme
    let salt: [UInt8]
    let tag: [UInt8]

    /// Reads the parts between the dollar signs; `nil` for another scheme. Throws ``PasswordHashError``.
    init?(_ parts: [[UInt8]], limits: PasswordLimits) throws(PasswordHashError) {
        let isBehindSign = parts[0].isEmpty
        guard parts.count > 1 else { return nil }
        let name = String(decoding: isBehindSign ? parts[1] : parts[0], as: UTF8.self)
        let rest = parts.dropFirst(isBehindSign ? 2 : 1).map { ArraySlice($0) }
        switch (isBehindSign, ExactText(name)) {
        case (true, "pbkdf2-sha1"): try self.init(pbkdf2: .sha1, rest, Self.phc, limits: limits)
        case (true, "pbkdf2-sha256") where Self.isPHC(rest):
            try self.init(pbkdf2: .sha256, rest, Self.phc, limits: limits)
        case (true, "pbkdf2-sha512") where Self.isPHC(rest):
            try self.init(pbkdf2: .sha512, rest, Self.phc, limits: limits)
        case (true, "pbkdf2"): try self.init(pbkdf2: .sha1, rest, Self.passlib, limits: limits)
        case (true, "pbkdf2-sha256"): try self.init(pbkdf2: .sha256, rest, Self.passlib, limits: limits)
        case (true, "pbkdf2-sha512"): try self.init(pbkdf2: .sha512, rest, Self.passlib, limits: limits)
        case (false, "pbkdf2_sha1"): try self.init(pbkdf2: .sha1, rest, Self.django, limits: limits)
        case (false, "pbkdf2_sha256"): try self.init(pbkdf2: .sha256, rest, Self.django, limits: limits)
        case (true, "scrypt"): try self.init(scrypt: rest, limits: limits)
        case (true, "6"): try self.init(sha512Crypt: rest, of: parts, limits: limits)
        default: return nil
        }
    }

    // MARK: PBKDF2

    private typealias Fields = (iterations: Int, salt: [UInt8], tag: [UInt8])

    private init(
        pbkdf2 digest: PBKDF2Digest, _ rest: [ArraySlice<UInt8>], _ read: ([ArraySlice<UInt8>]) -> Fields?,
        limits: PasswordLimits
    ) throws(PasswordHashError) {
        guard rest.count == 3, let fields = read(rest), fields.iterations > 0,
            PasswordLimits.Fixed.importedSaltBytes.contains(fields.salt.count),
            PasswordLimits.Fixed.storedTagBytes.contains(fields.tag.count)
        else { throw PasswordHashError(.malformed, "not iterations, salt and tag of PBKDF2") }
        let blocks = (fields.tag.count + digest.bytes - 1) / digest.bytes
        let work = fields.iterations * blocks * (digest == .sha512 ? 2 : 1)
        guard work <= limits.storedPBKDF2Iterations else {
            throw PasswordHashError(.tooCostly, "PBKDF2, \(fields.iterations) iterations, \(blocks) blocks")
        }
        self.scheme = .pbkdf2(digest, iterations: fields.iterations)
        self.salt = fields.salt
        self.tag = fields.tag
    }

    private static func isPHC(_ rest: [ArraySlice<UInt8>]) -> Bool { rest.first?.starts(with: "i=".utf8) == true }

    /// Reads `i=…,l=…$salt$tag`. The length is the tag's length.
    private static func phc(_ rest: [ArraySlice<UInt8>]) -> Fields? {
        let parameters = rest[0].split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard parameters.count == 2, let iterations = PasswordHash.number(parameters[0], "i="),
            let length = PasswordHash.number(parameters[1], "l="), let salt = PHCBase64.decode(Array(rest[1])),
            let tag = PHCBase64.decode(Array(rest[2])), tag.count == length
        else { return nil }
        return (iterations, salt, tag)
    }

    /// Reads `29000$salt$tag`, in a base 64 with a dot in place of the plus sign.
    private static func passlib(_ rest: [ArraySlice<UInt8>]) -> Fields? {
        func decode(_ letters: ArraySlice<UInt8>) -> [UInt8]? {
            guard !letters.contains(UInt8(ascii: "+")) else { return nil }
            return PHCBase64.decode(letters.map { $0 == UInt8(ascii: ".") ? UInt8(ascii: "+") : $0 })
        }
        guard let iterations = PasswordHash.number(rest[0]), let salt = decode(rest[1]), let tag = decode(rest[2])
        else { return nil }
        return (iterations, salt, tag)
    }

    /// Reads `870000$salt$tag`. The salt is text, and the tag is in padded base 64.
    private static func django(_ rest: [ArraySlice<UInt8>]) -> Fields? {
        let padding = rest[2].suffix(while: { $0 == UInt8(ascii: "=") })
        guard let iterations = PasswordHash.number(rest[0]), rest[1].allSatisfy({ (0x21...0x7E).contains($0) }),
            rest[2].count % 4 == 0, padding.count <= 2,
            let tag = PHCBase64.decode(Array(rest[2].dropLast(padding.count)))
        else { return nil }
        return (iterations, Array(rest[1]), tag)
    }

    // MARK: scrypt

    private init(scrypt rest: [ArraySlice<UInt8>], limits: PasswordLimits) throws(PasswordHashError) {
        guard rest.count == 3 else { throw PasswordHashError(.malformed, "not parameters, salt and tag of scrypt") }
        let fields = rest[0].split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard fields.count == 3, let bits = PasswordHash.number(fields[0], "ln="),
            let blockSize = PasswordHash.number(fields[1], "r="),
            let parallelism = PasswordHash.number(fields[2], "p="), bits > 0, blockSize > 0, parallelism > 0,
            let salt = PHCBase64.decode(Array(rest[1])), let tag = PHCBase64.decode(Array(rest[2])),
            PasswordLimits.Fixed.importedSaltBytes.contains(salt.count),
            PasswordLimits.Fixed.storedTagBytes.contains(tag.count)
        else { throw PasswordHashError(.malformed, "not parameters, salt and tag of scrypt") }
        let costs = "scrypt, ln=\(bits),r=\(blockSize),p=\(parallelism)"
        guard PasswordLimits.Fixed.scryptBlockSizes.contains(blockSize), parallelism <= limits.storedLanes, bits < 32
        else { throw PasswordHashError(.tooCostly, costs) }
        guard bits < 16 * blockSize else {
            throw PasswordHashError(.malformed, "parameters that scrypt does not have")
        }
        let kibibytes = (1 << bits) * blockSize / 8
        // Each part writes and reads the memory.
        guard kibibytes <= limits.storedMemoryKiB, 2 * kibibytes * parallelism <= limits.storedWorkKiB else {
            throw PasswordHashError(.tooCostly, costs)
        }
        self.scheme = .scrypt(ScryptParameters(costBits: bits, blockSize: blockSize, parallelism: parallelism))
        self.salt = salt
        self.tag = tag
    }

    // MARK: sha512-crypt

    /// Reads the hash. The library has no comparison: a verification makes the whole text again, so the whole text is
    /// the tag.
    private init(sha512Crypt rest: [ArraySlice<UInt8>], of parts: [[UInt8]], limits: PasswordLimits)
        throws(PasswordHashError)
    {
        var rest = rest[...]
        var rounds = 5000
        if let first = rest.first, first.starts(with: "rounds=".utf8) {
            guard let named = PasswordHash.number(first, "rounds="),
                PasswordLimits.Fixed.sha512CryptRounds.contains(named)
            else {
                throw PasswordHashError(.malformed, "rounds that sha512-crypt does not have")
            }
            rounds = named
            rest = rest.dropFirst()
        }
        // The last letter holds two bits.
        guard rest.count == 2, let salt = rest.first, let tag = rest.last,
            PasswordLimits.Fixed.sha512CryptSaltLetters.contains(salt.count), tag.count == 86,
            (salt + tag).allSatisfy(Self.isLetter), [0x2E, 0x2F, 0x30, 0x31].contains(tag.last)
        else { throw PasswordHashError(.malformed, "not a salt and a tag of sha512-crypt") }
        guard rounds <= limits.storedSHA512CryptRounds else {
            throw PasswordHashError(.tooCostly, "sha512-crypt, \(rounds) rounds")
        }
        self.scheme = .sha512Crypt(rounds: rounds)
        self.salt = []
        self.tag = Array(parts.joined(separator: [UInt8(ascii: "$")]))
    }

    /// `true` for the letters `./0-9A-Za-z`.
    private static func isLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: ".")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

extension ArraySlice<UInt8> {
    /// Returns the bytes at the end that satisfy a condition.
    fileprivate func suffix(while isWanted: (UInt8) -> Bool) -> Self {
        self[(self.lastIndex { !isWanted($0) }.map { $0 + 1 } ?? self.startIndex)...]
    }
}

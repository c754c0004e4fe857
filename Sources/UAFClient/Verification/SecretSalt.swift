import CryptoExtras
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The cost of one attempt at a PIN or a password (RFC 7914, scrypt).
public struct PinHardening: Hashable, Sendable {
    /// The cost `N`, a power of two.
    public var rounds: Int
    /// The block size `r`.
    public var blockSize: Int
    /// The parallelism `p`.
    public var parallelism: Int

    /// Creates a cost, by default of 32 MiB of memory and about 60 ms for each attempt.
    public init(rounds: Int = 32_768, blockSize: Int = 8, parallelism: Int = 1) {
        self.rounds = rounds
        self.blockSize = blockSize
        self.parallelism = parallelism
    }
}

extension PinHardening {
    /// `true` if the numbers are within bounds: `rounds` is a power of two from 2 to 2²⁰, `blockSize` from 1 to 32, and
    /// `parallelism` from 1 to 16.
    public var isSupported: Bool {
        (2...1 << 20).contains(self.rounds) && self.rounds & (self.rounds - 1) == 0
            && (1...32).contains(self.blockSize) && (1...16).contains(self.parallelism)
    }
}

/// The data stored beside a key that a PIN or a password protects. The data suffice to derive the wrapping key again,
/// and do not reveal the secret without the store's own secret.
struct SecretSalt: Hashable {
    var salt: [UInt8]
    var hardening: PinHardening

    init(random: RandomSource, hardening: PinHardening) {
        self.salt = random.bytes(32)
        self.hardening = hardening
    }

    init(json object: JSONObject) throws {
        guard let salt = Base64URL.decode(try object.requiredString("salt")), salt.count == 32 else {
            throw StorageError(.corrupt, "a salt")
        }
        let hardening = PinHardening(
            rounds: try object.requiredInteger("rounds"), blockSize: try object.requiredInteger("blockSize"),
            parallelism: try object.requiredInteger("parallelism"))
        guard hardening.isSupported else { throw StorageError(.corrupt, "the cost of a try") }
        self.salt = salt
        self.hardening = hardening
    }

    var json: JSONObject {
        [
            "salt": .string(Base64URL.encode(self.salt)), "rounds": .integer(Int64(self.hardening.rounds)),
            "blockSize": .integer(Int64(self.hardening.blockSize)),
            "parallelism": .integer(Int64(self.hardening.parallelism)),
        ]
    }
}

extension SecretSalt {
    /// Returns the slow hash of a typed secret, which a key gets in place of the secret.
    func stretched(_ typed: SecretBytes) throws -> SecretBytes {
        let hashed = try typed.withBytes { bytes in
            try KDF.Scrypt.deriveKey(
                from: bytes, salt: self.salt, outputByteCount: 32, rounds: self.hardening.rounds,
                blockSize: self.hardening.blockSize, parallelism: self.hardening.parallelism)
        }
        return SecretBytes(hashed.withUnsafeBytes { Array($0) })
    }
}

public import Crypto
import Foundation
import Synchronization
public import _Primitives

/// What a sealed value or a code's digest is for. Each purpose has a key of its own, so that no value can stand in for
/// one of another kind.
public struct SealingPurpose: Hashable, Sendable, CustomStringConvertible {
    /// The name that enters the key's derivation. Never changed once values exist.
    public let name: String

    /// Names a purpose.
    public init(_ name: String) { self.name = name }

    public var description: String { self.name }
}

/// Seals what must not be readable in a stolen database, and digests what is too short for a plain hash.
///
/// - Sealed values: AES-256-GCM under a key that HKDF-SHA256 derives from the key-encryption key for each purpose. The
///   purpose and the row's identifier are authenticated with it: a value copied to another row does not open.
/// - Secrets of 128 bits and more are stored as ``digest(ofSecret:)`` (SHA-256).
/// - Shorter ones (typed codes, numbers), and values that must be found but not read (user names), are stored as
///   ``code(_:purpose:)`` (HMAC-SHA256).
///
/// Wire form of a sealed value: one version byte (1), 12 bytes nonce, ciphertext, 16 bytes tag.
public final class Sealing: Sendable {
    private static let version: UInt8 = 1
    private static let nonceCount = 12
    private static let tagCount = 16

    private let root: SymmetricKey
    private let random: RandomSource
    private let keys = Mutex<[SealingPurpose: SymmetricKey]>([:])
    /// The store's epoch, which ends where a backup is put in its place.
    public let epoch: String

    /// Sealing under a key-encryption key, in the epoch of a store. `random` makes the nonces.
    public init(_ key: KeyEncryptionKey, epoch: String = "", random: RandomSource = .system) {
        self.root = key.bytes.withBytes { SymmetricKey(data: $0) }
        self.epoch = epoch
        self.random = random
    }

    /// The purpose's key in this epoch, for what lives for minutes and is carried by somebody else: what was sealed before
    /// a backup was restored opens no more, though no row of it was ever kept.
    public func passingKey(_ purpose: SealingPurpose) -> SymmetricKey {
        self.key(self.epoch.isEmpty ? purpose : SealingPurpose("\(purpose.name) \(self.epoch)"))
    }

    /// The purpose's own key of 256 bits, for a format that seals by itself.
    public func key(_ purpose: SealingPurpose) -> SymmetricKey {
        self.keys.withLock { keys in
            if let key = keys[purpose] { return key }
            let key = HKDF<SHA256>.deriveKey(
                inputKeyMaterial: self.root, info: Data("countersign sealing 1 \(purpose.name)".utf8),
                outputByteCount: 32)
            keys[purpose] = key
            return key
        }
    }

    private func context(_ purpose: SealingPurpose, _ row: String) -> [UInt8] {
        Array(purpose.name.utf8) + [0] + Array(row.utf8)
    }

    /// Seals `bytes` for one row. `row` is the row's identifier, unique for the purpose.
    public func seal(_ bytes: some Collection<UInt8>, purpose: SealingPurpose, row: String) throws -> [UInt8] {
        do {
            let box = try AES.GCM.seal(
                Array(bytes), using: self.key(purpose), nonce: AES.GCM.Nonce(data: self.random.bytes(Self.nonceCount)),
                authenticating: self.context(purpose, row))
            return [Self.version] + Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
        } catch {
            throw StoreError(.unavailable, "a value of \(purpose) cannot be sealed")
        }
    }

    /// Seals a text as UTF-8.
    public func seal(_ text: String, purpose: SealingPurpose, row: String) throws -> [UInt8] {
        try self.seal(text.utf8, purpose: purpose, row: row)
    }

    /// The bytes that were sealed for this purpose and row.
    ///
    /// Throws ``StoreError/Code/corrupt`` where the value is damaged, of another row or purpose, or under another key.
    public func open(_ sealed: some Collection<UInt8>, purpose: SealingPurpose, row: String) throws -> [UInt8] {
        let sealed = Array(sealed)
        guard sealed.count >= 1 + Self.nonceCount + Self.tagCount, sealed[0] == Self.version,
            let nonce = try? AES.GCM.Nonce(data: sealed[1...Self.nonceCount]),
            let box = try? AES.GCM.SealedBox(
                nonce: nonce, ciphertext: sealed[(1 + Self.nonceCount)..<(sealed.count - Self.tagCount)],
                tag: sealed[(sealed.count - Self.tagCount)...]),
            let bytes = try? AES.GCM.open(box, using: self.key(purpose), authenticating: self.context(purpose, row))
        else { throw StoreError(.corrupt, "a sealed value of \(purpose) does not open") }
        return Array(bytes)
    }

    /// A sealed text. Throws ``StoreError/Code/corrupt``, also where the bytes are not UTF-8.
    public func openText(_ sealed: some Collection<UInt8>, purpose: SealingPurpose, row: String) throws -> String {
        guard let text = String(validating: try self.open(sealed, purpose: purpose, row: row), as: UTF8.self) else {
            throw StoreError(.corrupt, "a sealed text of \(purpose) is not UTF-8")
        }
        return text
    }

    /// HMAC-SHA256 under the purpose's key: for values too short to hide behind a plain hash. 32 bytes.
    public func code(_ bytes: some Collection<UInt8>, purpose: SealingPurpose) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(bytes), using: self.key(purpose)))
    }

    /// HMAC-SHA256 of a text's UTF-8 bytes, as ``code(_:purpose:)``.
    public func code(_ text: String, purpose: SealingPurpose) -> [UInt8] {
        self.code(text.utf8, purpose: purpose)
    }

    /// SHA-256: for random secrets of 128 bits and more only. 32 bytes.
    public static func digest(ofSecret secret: some Collection<UInt8>) -> [UInt8] {
        Array(SHA256.hash(data: Array(secret)))
    }

    /// SHA-256 of a secret's text, as ``digest(ofSecret:)``.
    public static func digest(ofSecret secret: String) -> [UInt8] { self.digest(ofSecret: secret.utf8) }
}

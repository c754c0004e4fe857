import Crypto
import Foundation
import Records
public import Settings
import Synchronization
public import _Primitives

/// The secret that codes and short-lived sealed values are made under. The secret stays the same when the
/// key-encryption key changes, because codes and values made under it cannot be made again. A store keeps the secret
/// sealed.
public struct SealingRoot: Sendable, Equatable {
    /// The length of the secret, in bytes.
    public static let byteCount = 32

    let bytes: SecretBytes

    /// Makes a new secret.
    public init(random: RandomSource = .system) { self.bytes = SecretBytes(random.bytes(Self.byteCount)) }

    /// Makes the root secret of a store from before root secrets of their own. The secret follows from the key, and the
    /// key does not follow from the secret.
    public init(of key: KeyEncryptionKey) {
        let code = key.bytes.withBytes {
            HKDF<SHA256>.extract(inputKeyMaterial: SymmetricKey(data: $0), salt: [UInt8]())
        }
        self.bytes = SecretBytes(Array(code))
    }

    /// Takes a kept secret. Throws ``StoreError/Code/corrupt`` for another count of bytes.
    public init(kept bytes: [UInt8]) throws {
        guard bytes.count == Self.byteCount else { throw StoreError(.corrupt, "the store's root secret") }
        self.bytes = SecretBytes(bytes)
    }

    /// The secret's bytes, to be sealed.
    public var kept: [UInt8] { self.bytes.withBytes { Array($0) } }

    func derived(_ info: String) -> SymmetricKey { self.derived(Array(info.utf8)) }

    func derived(_ info: [UInt8]) -> SymmetricKey {
        self.bytes.withBytes {
            HKDF<SHA256>.expand(pseudoRandomKey: SymmetricKey(data: $0), info: info, outputByteCount: 32)
        }
    }
}

extension KeyEncryptionKey {
    /// A name for the key that reveals nothing of the key. Backups and stores recognise their keys by this name.
    public var identifier: String { Base64URL.encode(self.digest) }

    /// The bytes that distinguish sealed values of this key from sealed values of another key.
    var tag: [UInt8] { Array(self.digest.prefix(Sealing.tagBytes)) }

    private var digest: [UInt8] {
        let key = SealingRoot(of: self).derived("countersign sealing 1 key identifier")
        return Array(HMAC<SHA256>.authenticationCode(for: Array("countersign".utf8), using: key).prefix(16))
    }
}

/// Seals values that must not be readable in a stolen database, and digests values that are too short for a plain hash.
///
/// - Sealed values: AES-256-GCM. The purpose and the row's identifier are authenticated with a value: a value copied to
///   another row does not open.
/// - Secrets of 128 bits and more are stored as ``digest(ofSecret:)`` (SHA-256).
/// - Shorter secrets (typed codes, numbers), and values that must be found but not read (user names), are stored as
///   ``code(_:purpose:)`` (HMAC-SHA256) under the store's root secret.
///
/// ```
///  0         1            9           17          29                n - 16       n
///  ├─ 2 ─────┼─ key ──────┼─ stretch ─┼─ nonce ───┼─ ciphertext ────┼─ tag ──────┤
/// ```
///
/// A value names the key-encryption key that seals it. So values of several keys stand side by side while one key
/// follows another.
///
/// A value names its stretch, too. A stretch is a run of values that one process seals, up to a largest number. Keys
/// are derived for each purpose in each stretch. So no key ever seals so many values that two random nonces are likely
/// the same (NIST SP 800-38D, section 8.3).
///
/// A value that begins with 1 is from before: it has neither a key's name nor a stretch, and is sealed under the root
/// secret.
public final class Sealing: Sendable {
    /// The number of bytes by which a value names its key.
    static let tagBytes = 8
    private static let version: UInt8 = 2
    private static let formerVersion: UInt8 = 1
    private static let stretchBytes = 8
    private static let nonceBytes = 12

    private struct State {
        var codeKeys: [SealingPurpose: SymmetricKey] = [:]
        var stretchKeys: [StretchKey: SymmetricKey] = [:]
        var stretch: [UInt8]
        /// The number of values sealed in the stretch.
        var count = 0
    }

    /// The name of the key of a purpose in a stretch.
    private struct StretchKey: Hashable {
        /// The tag of the key-encryption key; `nil` for the root secret.
        let tag: [UInt8]?
        let purpose: String
        let stretch: [UInt8]

        /// Hashes the purpose and the stretch alone: a stretch is random.
        func hash(into hasher: inout Hasher) {
            hasher.combine(self.purpose)
            self.stretch.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    /// The keys that values are sealed under.
    public let keys: KeyRing
    /// The secret that codes are made under.
    public let root: SealingRoot
    /// The store's epoch, which ends when a backup is put in the store's place.
    public let epoch: String
    private let random: RandomSource
    private let newest: (tag: [UInt8], secret: SealingRoot)
    private let secrets: [[UInt8]: SealingRoot]
    private let messagesPerStretch: Int
    private let state: Mutex<State>
    private let opened = OpenedValues()

    /// Makes sealing under these keys, in the epoch of a store. `random` makes nonces and stretches.
    ///
    /// Without a `root`, the root secret follows from the newest key, as in stores from before root secrets of their
    /// own.
    public init(
        _ keys: KeyRing, root: SealingRoot? = nil, epoch: String = "", random: RandomSource = .system,
        messagesPerStretch: Int = Limits.Fixed.sealedPerStretch
    ) {
        self.keys = keys
        self.root = root ?? SealingRoot(of: keys.newest)
        self.epoch = epoch
        self.random = random
        self.messagesPerStretch = messagesPerStretch
        self.newest = (keys.newest.tag, SealingRoot(of: keys.newest))
        self.secrets = Dictionary(keys.all.map { ($0.tag, SealingRoot(of: $0)) }) { first, _ in first }
        self.state = Mutex(State(stretch: random.bytes(Self.stretchBytes)))
    }

    /// Makes sealing under one key.
    public convenience init(_ key: KeyEncryptionKey, epoch: String = "", random: RandomSource = .system) {
        self.init(KeyRing(key), epoch: epoch, random: random)
    }

    // MARK: Rows

    /// The first bytes of every value sealed under the newest key.
    public var newestHeader: [UInt8] { [Self.version] + self.newest.tag }

    /// Seals `bytes` for one row. `row` is the row's identifier, unique for the purpose.
    public func seal(_ bytes: some Collection<UInt8>, purpose: SealingPurpose, row: String) throws -> [UInt8] {
        let (stretch, key) = self.nextKey(of: self.newest.tag, self.newest.secret, "sealing", purpose.name)
        return try self.sealed(bytes, key, purpose, row, after: self.newestHeader + stretch)
    }

    /// Seals a text as UTF-8.
    public func seal(_ text: String, purpose: SealingPurpose, row: String) throws -> [UInt8] {
        try self.seal(text.utf8, purpose: purpose, row: row)
    }

    /// Returns the bytes sealed for this purpose and row.
    ///
    /// Throws ``StoreError/Code/corrupt`` if the value is damaged, belongs to another row or purpose, or is sealed
    /// under a missing key.
    public func open(_ sealed: some Collection<UInt8>, purpose: SealingPurpose, row: String) throws -> [UInt8] {
        let bytes = Array(sealed)
        if let known = self.opened.value(bytes, purpose, row) { return known }
        let headerBytes = 1 + Self.tagBytes + Self.stretchBytes
        let opened: [UInt8]?
        switch bytes.first {
        case Self.formerVersion: opened = Self.opened(bytes.dropFirst(), self.key(purpose), Self.context(purpose, row))
        case Self.version where bytes.count > headerBytes:
            let tag = Array(bytes[1...Self.tagBytes])
            let stretch = Array(bytes[(1 + Self.tagBytes)..<headerBytes])
            opened = self.secrets[tag].flatMap { secret in
                self.opened(bytes.dropFirst(headerBytes), tag, secret, "sealing", purpose.name, stretch) {
                    Self.opened($0, $1, Self.context(purpose, row))
                }
            }
        default: opened = nil
        }
        guard let opened else { throw StoreError(.corrupt, "a sealed value of \(purpose) does not open") }
        self.opened.keep(opened, of: bytes, purpose, row)
        return opened
    }

    /// Returns a sealed text. Throws ``StoreError/Code/corrupt``, also if the bytes are not UTF-8.
    public func openText(_ sealed: some Collection<UInt8>, purpose: SealingPurpose, row: String) throws -> String {
        guard let text = String(validating: try self.open(sealed, purpose: purpose, row: row), as: UTF8.self) else {
            throw StoreError(.corrupt, "a sealed text of \(purpose) is not UTF-8")
        }
        return text
    }

    // MARK: What others carry

    /// Seals a value that lives for minutes and that another party carries. After a backup was restored the value opens
    /// no more, although no row of it was ever kept. A new key-encryption key changes nothing for the value. `label`
    /// says what the value is.
    public func sealPassing(_ bytes: some Collection<UInt8>, purpose: SealingPurpose, label: String) throws -> [UInt8] {
        let (stretch, key) = self.nextKey(of: nil, self.root, "passing", self.passingName(purpose))
        return try self.sealed(bytes, key, purpose, label, after: [Self.version] + stretch)
    }

    /// Returns the bytes that ``sealPassing(_:purpose:label:)`` sealed in this epoch; `nil` for everything else.
    public func openPassing(_ sealed: some Collection<UInt8>, purpose: SealingPurpose, label: String) -> [UInt8]? {
        let bytes = Array(sealed)
        let headerBytes = 1 + Self.stretchBytes
        if bytes.first == Self.version, bytes.count > headerBytes,
            let opened = self.opened(
                bytes.dropFirst(headerBytes), nil, self.root, "passing", self.passingName(purpose),
                Array(bytes[1..<headerBytes]), by: { Self.opened($0, $1, Self.context(purpose, label)) })
        {
            return opened
        }
        // A value that an earlier version sealed has neither version nor stretch.
        let former = self.key(self.epoch.isEmpty ? purpose : SealingPurpose(self.passingName(purpose)))
        return Self.opened(bytes[...], former, Array(label.utf8))
    }

    private func passingName(_ purpose: SealingPurpose) -> String { "\(purpose.name) \(self.epoch)" }

    // MARK: Keys

    /// Counts the next value, and returns its stretch with the key of a purpose in the stretch. The key is derived if
    /// it is not in memory.
    private func nextKey(
        of tag: [UInt8]?, _ secret: SealingRoot, _ use: String, _ purpose: String
    ) -> (stretch: [UInt8], key: SymmetricKey) {
        self.state.withLock { state in
            if state.count >= self.messagesPerStretch {
                state.stretch = self.random.bytes(Self.stretchBytes)
                state.count = 0
            }
            state.count += 1
            let name = StretchKey(tag: tag, purpose: purpose, stretch: state.stretch)
            if let key = state.stretchKeys[name] { return (name.stretch, key) }
            let key = Self.derived(secret, use, purpose, name.stretch)
            Self.keep(key, as: name, &state)
            return (name.stretch, key)
        }
    }

    /// Opens a value under the key of a purpose in a stretch. A newly derived key is kept only after it has opened a
    /// value. So a sender of invented stretches drives no other keys out.
    private func opened(
        _ bytes: ArraySlice<UInt8>, _ tag: [UInt8]?, _ secret: SealingRoot, _ use: String, _ purpose: String,
        _ stretch: [UInt8], by open: (ArraySlice<UInt8>, SymmetricKey) -> [UInt8]?
    ) -> [UInt8]? {
        let name = StretchKey(tag: tag, purpose: purpose, stretch: stretch)
        let kept = self.state.withLock { $0.stretchKeys[name] }
        let key = kept ?? Self.derived(secret, use, purpose, stretch)
        guard let opened = open(bytes, key) else { return nil }
        if kept == nil { self.state.withLock { Self.keep(key, as: name, &$0) } }
        return opened
    }

    private static func derived(
        _ secret: SealingRoot, _ use: String, _ purpose: String, _ stretch: [UInt8]
    ) -> SymmetricKey {
        secret.derived(Array("countersign \(use) 2 \(purpose)".utf8) + [0] + stretch)
    }

    private static func keep(_ key: SymmetricKey, as name: StretchKey, _ state: inout State) {
        if state.stretchKeys.count >= Limits.Fixed.keptSealingKeys { state.stretchKeys = [:] }
        state.stretchKeys[name] = key
    }

    /// Returns the purpose's own key below the root secret.
    private func key(_ purpose: SealingPurpose) -> SymmetricKey {
        self.state.withLock { state in
            if let key = state.codeKeys[purpose] { return key }
            let key = self.root.derived("countersign sealing 1 \(purpose.name)")
            state.codeKeys[purpose] = key
            return key
        }
    }

    // MARK: Values

    private static func context(_ purpose: SealingPurpose, _ row: String) -> [UInt8] {
        var context: [UInt8] = []
        context.reserveCapacity(purpose.name.utf8.count + 1 + row.utf8.count)
        context += purpose.name.utf8
        context.append(0)
        context += row.utf8
        return context
    }

    /// Seals bytes: returns the header, followed by nonce, ciphertext and tag.
    private func sealed(
        _ bytes: some Collection<UInt8>, _ key: SymmetricKey, _ purpose: SealingPurpose, _ row: String,
        after header: [UInt8]
    ) throws -> [UInt8] {
        let box = try? AES.GCM.seal(
            Array(bytes), using: key, nonce: AES.GCM.Nonce(data: self.random.bytes(Self.nonceBytes)),
            authenticating: Self.context(purpose, row))
        guard let sealed = box?.combined else {
            throw StoreError(.unavailable, "a value of \(purpose) cannot be sealed")
        }
        return header + sealed
    }

    private static func opened(
        _ sealed: ArraySlice<UInt8>, _ key: SymmetricKey, _ context: [UInt8]
    ) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let bytes = try? AES.GCM.open(box, using: key, authenticating: context)
        else { return nil }
        return Array(bytes)
    }

    // MARK: Codes

    /// Returns the HMAC-SHA256 under the purpose's key, for values too short to hide behind a plain hash. 32 bytes.
    public func code(_ bytes: some Collection<UInt8>, purpose: SealingPurpose) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(bytes), using: self.key(purpose)))
    }

    /// Returns the HMAC-SHA256 of a text's UTF-8 bytes, as ``code(_:purpose:)``.
    public func code(_ text: String, purpose: SealingPurpose) -> [UInt8] {
        self.code(text.utf8, purpose: purpose)
    }

    /// Returns the SHA-256, for random secrets of 128 bits and more only. 32 bytes.
    public static func digest(ofSecret secret: some Collection<UInt8>) -> [UInt8] {
        Array(SHA256.hash(data: Array(secret)))
    }

    /// Returns the SHA-256 of a secret's text, as ``digest(ofSecret:)``.
    public static func digest(ofSecret secret: String) -> [UInt8] { self.digest(ofSecret: secret.utf8) }
}

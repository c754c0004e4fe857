import Crypto
import Foundation
import Synchronization
public import _Primitives

/// The secret that codes are made under, and what others carry for minutes: it stays the same when the key-encryption
/// key changes, because what was made under it cannot be made again. A store keeps it sealed.
public struct SealingRoot: Sendable, Equatable {
    /// How long it is, in bytes.
    public static let byteCount = 32

    let bytes: SecretBytes

    /// A new secret.
    public init(random: RandomSource = .system) { self.bytes = SecretBytes(random.bytes(Self.byteCount)) }

    /// What stood in its place before stores had one of their own: it follows from the key, and the key not from it.
    public init(of key: KeyEncryptionKey) {
        let code = key.bytes.withBytes {
            HKDF<SHA256>.extract(inputKeyMaterial: SymmetricKey(data: $0), salt: [UInt8]())
        }
        self.bytes = SecretBytes(Array(code))
    }

    /// A secret that was kept. Throws ``StoreError/Code/corrupt`` for another count of bytes.
    public init(kept bytes: [UInt8]) throws {
        guard bytes.count == Self.byteCount else { throw StoreError(.corrupt, "the store's root secret") }
        self.bytes = SecretBytes(bytes)
    }

    /// Its bytes, to be sealed.
    public var kept: [UInt8] { self.bytes.withBytes { Array($0) } }

    func derived(_ info: String) -> SymmetricKey { self.derived(Array(info.utf8)) }

    func derived(_ info: [UInt8]) -> SymmetricKey {
        self.bytes.withBytes {
            HKDF<SHA256>.expand(pseudoRandomKey: SymmetricKey(data: $0), info: info, outputByteCount: 32)
        }
    }
}

extension KeyEncryptionKey {
    /// A name for the key that gives nothing of it away: backups and stores know their keys by it.
    public var identifier: String { Base64URL.encode(self.digest) }

    /// What tells sealed values of this key from those of another.
    var tag: [UInt8] { Array(self.digest.prefix(Sealing.tagBytes)) }

    private var digest: [UInt8] {
        let key = SealingRoot(of: self).derived("countersign sealing 1 key identifier")
        return Array(HMAC<SHA256>.authenticationCode(for: Array("countersign".utf8), using: key).prefix(16))
    }
}

/// Seals what must not be readable in a stolen database, and digests what is too short for a plain hash.
///
/// - Sealed values: AES-256-GCM. The purpose and the row's identifier are authenticated with a value: copied to another
///   row it does not open.
/// - Secrets of 128 bits and more are stored as ``digest(ofSecret:)`` (SHA-256).
/// - Shorter ones (typed codes, numbers), and values that must be found but not read (user names), are stored as
///   ``code(_:purpose:)`` (HMAC-SHA256) under the store's root secret.
///
/// ```
///  0         1            9           17          29                n - 16       n
///  ├─ 2 ─────┼─ key ──────┼─ stretch ─┼─ nonce ───┼─ ciphertext ────┼─ tag ──────┤
/// ```
///
/// A value names the key-encryption key that it lies under, so that values of several keys stand side by side while one
/// follows another. It names its stretch, too: keys are derived for each purpose in each stretch, and a stretch is what one
/// process seals until it has sealed so many values, so that no key ever seals so many that two random nonces are likely
/// the same (NIST SP 800-38D, section 8.3). A value that begins with 1 is from before: it has neither, and lies under the
/// root secret.
public final class Sealing: Sendable {
    /// Bytes by which a value names its key.
    static let tagBytes = 8
    private static let version: UInt8 = 2
    private static let formerVersion: UInt8 = 1
    private static let stretchBytes = 8
    private static let nonceBytes = 12

    private struct State {
        var codeKeys: [SealingPurpose: SymmetricKey] = [:]
        var stretchKeys: [StretchKey: SymmetricKey] = [:]
        var stretch: [UInt8]
        /// What was sealed in it.
        var count = 0
    }

    /// Names the key of a purpose in a stretch.
    private struct StretchKey: Hashable {
        /// `nil` for the root secret.
        let tag: [UInt8]?
        let purpose: String
        let stretch: [UInt8]

        /// By purpose and stretch alone: a stretch is random.
        func hash(into hasher: inout Hasher) {
            hasher.combine(self.purpose)
            self.stretch.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    /// The keys that values are sealed under.
    public let keys: KeyRing
    /// What codes are made under.
    public let root: SealingRoot
    /// The store's epoch, which ends where a backup is put in its place.
    public let epoch: String
    private let random: RandomSource
    private let newest: (tag: [UInt8], secret: SealingRoot)
    private let secrets: [[UInt8]: SealingRoot]
    private let messagesPerStretch: Int
    private let state: Mutex<State>
    private let opened = OpenedValues()

    /// Sealing under these keys, in the epoch of a store. `random` makes nonces and stretches.
    ///
    /// Without a `root` it is the one that follows from the newest key, as in a store from before there were others.
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

    /// Sealing under one key.
    public convenience init(_ key: KeyEncryptionKey, epoch: String = "", random: RandomSource = .system) {
        self.init(KeyRing(key), epoch: epoch, random: random)
    }

    // MARK: Rows

    /// What every value begins with that lies under the newest key.
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

    /// The bytes that were sealed for this purpose and row.
    ///
    /// Throws ``StoreError/Code/corrupt`` where the value is damaged, of another row or purpose, or under a key that is not
    /// there.
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

    /// A sealed text. Throws ``StoreError/Code/corrupt``, also where the bytes are not UTF-8.
    public func openText(_ sealed: some Collection<UInt8>, purpose: SealingPurpose, row: String) throws -> String {
        guard let text = String(validating: try self.open(sealed, purpose: purpose, row: row), as: UTF8.self) else {
            throw StoreError(.corrupt, "a sealed text of \(purpose) is not UTF-8")
        }
        return text
    }

    // MARK: What others carry

    /// Seals what lives for minutes and is carried by somebody else: after a backup was restored it opens no more, though no
    /// row of it was ever kept, and another key-encryption key changes nothing for it. `label` says what it is.
    public func sealPassing(_ bytes: some Collection<UInt8>, purpose: SealingPurpose, label: String) throws -> [UInt8] {
        let (stretch, key) = self.nextKey(of: nil, self.root, "passing", self.passingName(purpose))
        return try self.sealed(bytes, key, purpose, label, after: [Self.version] + stretch)
    }

    /// What ``sealPassing(_:purpose:label:)`` sealed in this epoch; `nil` for everything else.
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
        // What a version from before sealed has neither version nor stretch.
        let former = self.key(self.epoch.isEmpty ? purpose : SealingPurpose(self.passingName(purpose)))
        return Self.opened(bytes[...], former, Array(label.utf8))
    }

    private func passingName(_ purpose: SealingPurpose) -> String { "\(purpose.name) \(self.epoch)" }

    // MARK: Keys

    /// The stretch that the next value belongs to, which is counted, and the key of a purpose in it, derived where it is not
    /// at hand.
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

    /// Opens under the key of a purpose in a stretch. A key that was not at hand is kept where it has opened something:
    /// whoever invents stretches drives no others out.
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

    /// The purpose's own key below the root secret.
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

    /// Nonce, ciphertext and tag, behind what they are preceded by.
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

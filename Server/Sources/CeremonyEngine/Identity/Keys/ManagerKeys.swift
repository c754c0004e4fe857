import Ceremony
import Crypto
import JOSE
import Records
import Settings
import Synchronization
import _Primitives

/// The keys of personalised identities: the root, which is part of the apps' configuration; the keys to which phones
/// seal, a new key each day; and the provider's signing keys. The store owns all keys; this object holds a copy ready
/// for use.
final class ManagerKeys: Sendable {
    private struct State {
        var root: SigningKey?
        var sealing: [(record: SealingKeyRecord, key: P256.KeyAgreement.PrivateKey)] = []
        var readAt: Timestamp?
        var set: (text: String, madeAt: Timestamp, names: [String])?
    }

    private let environment: CeremonyEnvironment
    private let store: any IdentityKeyStore
    private let signer: ManagerSigner
    private let state = Mutex(State())

    init(environment: CeremonyEnvironment, store: any IdentityKeyStore, signer: ManagerSigner) {
        self.environment = environment
        self.store = store
        self.signer = signer
    }

    var now: Timestamp { self.environment.time.now() }
    private var server: String { self.environment.configuration.issuer }

    // MARK: The root

    /// Returns the root's key, and makes a root if there is none yet.
    func root() async throws -> SigningKey {
        if let root = self.state.withLock({ $0.root }) { return root }
        let kept = try await self.store.identityRoot(
            orElse: try SigningKey.make(.es256, random: self.environment.random),
            audit: AuditEvent(.identityRootMade, at: self.environment.time.now()))
        let root = try SigningKey(kept: kept, algorithm: .es256, keyID: nil)
        self.state.withLock { $0.root = root }
        return root
    }

    // MARK: The key set

    /// Returns the set for phones, signed by the root. The set is signed again after a change of the keys, and once an
    /// hour.
    func keySet() async throws -> String {
        let now = self.environment.time.now()
        let root = try await self.root()
        let sealing = try await self.sealingKeys(at: now).filter { now < Self.end($0) }
        let signing = self.signer.publicKeys(now).fitting(.es256)
        let names = sealing.map(\.id) + signing.keys.compactMap(\.keyID)
        let known = self.state.withLock { $0.set }
        if let known, now < known.madeAt + Limits.Fixed.keySetRenewal,
            known.names.map(ExactText.init) == names.map(ExactText.init)
        {
            return known.text
        }
        let rules = self.environment.configuration.identities
        let set = ManagerKeySet(
            server: self.server, signingKeys: signing,
            sealingKeys: try sealing.map { record in
                let key = try record.privateKey.withBytes { try P256.KeyAgreement.PrivateKey(rawRepresentation: $0) }
                return ManagerKeySet.SealingKey(
                    id: record.id, publicKey: Array(key.publicKey.compressedRepresentation), until: Self.end(record))
            }, pinLength: rules.pinLength, issuedAt: now, expiresAt: now + Limits.Fixed.keySetLifetime)
        let text = try set.signed(by: root)
        self.state.withLock { $0.set = (text, now, names) }
        return text
    }

    /// Returns the time until which a phone may seal to a key. A message from the last moment is still opened later.
    private static func end(_ record: SealingKeyRecord) -> Timestamp {
        record.erasedAt - Limits.Fixed.sealingKeyAfterlife
    }

    // MARK: What is sealed to the server

    /// Returns the key with a name; `nil` if there is none, or the key was erased.
    func sealingKey(_ id: String, at now: Timestamp) async throws -> P256.KeyAgreement.PrivateKey? {
        _ = try await self.sealingKeys(at: now)
        if let key = self.known(id, at: now) { return key }
        // Another node may have made the key a moment ago. Unknown names cause at most one look-up a second.
        let mayLookUp = self.state.withLock { state in
            guard let readAt = state.readAt, now < readAt + Limits.Fixed.keyLookupPause else { return true }
            return false
        }
        guard mayLookUp else { return nil }
        try self.keep(try await self.store.identitySealingKeys(), at: now)
        return self.known(id, at: now)
    }

    private func known(_ id: String, at now: Timestamp) -> P256.KeyAgreement.PrivateKey? {
        self.state.withLock { state in
            state.sealing.first { $0.record.id.hasSameBytes(as: id) && now < $0.record.erasedAt }?.key
        }
    }

    /// Returns the keys for sealing, the newest first. Makes a new key if the newest is a day old.
    @discardableResult
    func sealingKeys(at now: Timestamp) async throws -> [SealingKeyRecord] {
        let known = self.state.withLock { state -> [SealingKeyRecord]? in
            guard let newest = state.sealing.first?.record, now < newest.createdAt + Limits.Fixed.sealingKeyTurn,
                let readAt = state.readAt, now < readAt + Limits.Fixed.sealingKeyTurn
            else { return nil }
            return state.sealing.map(\.record)
        }
        if let known { return known }
        let keys = try await self.store.followSealingKeys(
            by: try self.newSealingKey(at: now),
            unlessMadeSince: now - Limits.Fixed.sealingKeyTurn + Limits.Fixed.clockTick, at: now)
        try self.keep(keys, at: now)
        return keys
    }

    private func newSealingKey(at now: Timestamp) throws -> SealingKeyRecord {
        SealingKeyRecord(
            id: self.environment.random.identifier(),
            privateKey: try SigningKey.make(.es256, random: self.environment.random), createdAt: now,
            erasedAt: now + Limits.Fixed.sealingKeyTurn + Limits.Fixed.keySetLifetime
                + Limits.Fixed.sealingKeyAfterlife)
    }

    /// Makes a key for sealing, whatever the age of the newest. Phones that fetch the set from now on seal to the key.
    /// Throws `conflict` at the maximum number of keys.
    func rotateSealingKey(by operator: String) async throws {
        let now = self.now
        // The new key is the newest even if another key was made at this very moment.
        let newest = try await self.sealingKeys(at: now).first.map { $0.createdAt + Limits.Fixed.clockTick }
        let key = try self.newSealingKey(at: max(now, newest ?? now))
        do {
            let keys = try await self.store.addSealingKey(
                key, limit: Limits.Fixed.sealingKeys,
                audit: AuditEvent(.sealingKeyAdded, at: now, actor: `operator`, detail: key.id))
            try self.keep(keys, at: now)
        } catch let error as StoreError where error.code == .conflict {
            throw CeremonyError(.conflict)
        }
    }

    /// Returns the keys for sealing or opening, the newest first, in the view of operators.
    func listedSealingKeys() async throws -> [ListedSealingKey] {
        let now = self.now
        return try await self.sealingKeys(at: now).filter { now < $0.erasedAt }.enumerated().map { place, record in
            let until = Self.end(record)
            return ListedSealingKey(
                id: record.id, since: record.createdAt, until: until, erasedAt: record.erasedAt,
                state: place == 0 ? .current : now < until ? .former : .closing)
        }
    }

    /// The names of the keys that sign codes and answers, or have made signatures that are still valid.
    var signingKeyNames: [String] { self.signer.publicKeys(self.now).fitting(.es256).keys.compactMap(\.keyID) }

    private func keep(_ records: [SealingKeyRecord], at now: Timestamp) throws {
        let keys = try records.map { record in
            let key = try? record.privateKey.withBytes { try P256.KeyAgreement.PrivateKey(rawRepresentation: $0) }
            guard let key else { throw StoreError(.corrupt, "a key to seal to") }
            return (record, key)
        }
        self.state.withLock { state in
            state.sealing = keys
            state.readAt = now
        }
    }

    // MARK: Signing

    /// Signs an answer. Cost: one signature.
    func sign(_ content: ManagerResponse.Content, to request: String, at now: Timestamp) throws -> [UInt8] {
        Array(
            try ManagerResponse.signed(
                content, server: self.server, request: request, at: now, by: try self.signer.key(now)
            ).utf8)
    }

    /// Signs a statement about a person's consent. Cost: one signature.
    func sign(_ statement: ConsentStatement, at now: Timestamp) throws -> String {
        try statement.signed(server: self.server, at: now, by: try self.signer.key(now))
    }

    /// Signs the server's part of a code. Cost: one signature.
    func sign(
        _ kind: ProcessCode.Kind, id: String, claimDigest: [UInt8], expiresAt: Timestamp, at now: Timestamp
    ) throws -> String {
        try ProcessCode.signed(
            kind: kind, server: self.server, id: id, claimDigest: claimDigest, expiresAt: expiresAt,
            by: try self.signer.key(now))
    }
}

extension AuditEvent.Kind {
    /// The root key was made, at the first start.
    fileprivate static let identityRootMade = Self(rawValue: "identity-root-made")
    /// An operator has had a key made to which phones seal. The detail is the key's name.
    fileprivate static let sealingKeyAdded = Self(rawValue: "identity-sealing-key-added")
}

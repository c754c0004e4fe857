public import JOSE
public import _Primitives

/// A key that the provider signs with, or has signed with.
public struct SigningKeyRecord: Sendable, Equatable {
    /// The face of the server that signs with a key. No face takes statements that another face has signed.
    public enum Face: String, Sendable, CaseIterable {
        /// The OpenID provider.
        case openID = "openid"
        /// The app sign-in service.
        case signInService = "sign-in-service"
        /// The receipts of confirmed transactions. The keys are in no key set of another face.
        case receipt
    }

    /// The name in the key set (`kid`).
    public let id: String
    /// The algorithm that the key signs with.
    public let algorithm: JWSAlgorithm
    /// The private key in the form of `SigningKey.make`. The store seals it, bound to its row.
    public let privateKey: SecretBytes
    /// The face that signs with the key.
    public let face: Face
    /// The moment when the key was made.
    public let createdAt: Timestamp
    /// The moment from which the key signs no more, and the next key of its algorithm and face signs; `nil` for the
    /// newest key.
    public let retiredAt: Timestamp?

    /// Makes a record of these values.
    public init(
        id: String, algorithm: JWSAlgorithm, privateKey: SecretBytes, face: Face = .openID, createdAt: Timestamp,
        retiredAt: Timestamp?
    ) {
        self.face = face
        self.id = id
        self.algorithm = algorithm
        self.privateKey = privateKey
        self.createdAt = createdAt
        self.retiredAt = retiredAt
    }
}

/// The provider's lasting secrets.
public struct ProviderKeys: Sendable, Equatable {
    /// The secret from which pairwise subjects are computed. The secret never changes: with a new secret every person
    /// would become a stranger.
    public let subjectSecret: SecretBytes
    /// The signing keys, the newest first. Among the keys of an algorithm and a face that are not retired yet, the
    /// oldest signs.
    public let signingKeys: [SigningKeyRecord]

    /// Makes a record of these values.
    public init(subjectSecret: SecretBytes, signingKeys: [SigningKeyRecord]) {
        self.subjectSecret = subjectSecret
        self.signingKeys = signingKeys
    }
}

/// Keeps the provider's keys, sealed.
public protocol SigningKeyStore: Sendable {
    /// Returns the keys of this store. If the store has no keys yet, the offered keys become its keys first.
    ///
    /// Must be atomic: of two first starts at once, both get the same keys.
    func providerKeys(orFirst offered: ProviderKeys) async throws -> ProviderKeys

    /// Returns the present keys of this store, after whichever node rotated them. Throws ``StoreError/Code/notFound``
    /// if the store has no keys yet.
    func providerKeys() async throws -> ProviderKeys

    /// Adds `key` with the audit event, if no key of its algorithm and face exists that does not retire. Returns the
    /// keys after the step.
    ///
    /// Must be atomic: of two nodes that make the first key of an algorithm at once, both get the same key.
    func addSigningKey(_ key: SigningKeyRecord, audit: AuditEvent) async throws -> ProviderKeys

    /// Adds each of `keys` as the newest key of its algorithm and face, and retires the former newest key at
    /// `takeover`. Forgets keys retired before `moment`, with the audit event. Returns the keys after the step.
    ///
    /// Must be atomic. If `present` names a key that is not the newest of its algorithm and face any more, nothing is
    /// done, and no event is kept: of two nodes with the same keys at once, a single node rotates. With `nil` the keys
    /// are rotated in any case.
    ///
    /// `seen` marks all former keys of receipts as seen by others since that moment; `nil` marks no key. The public keys
    /// of receipts stay (``ReceiptStore/receiptKeys()``).
    func rotateSigningKeys(
        to keys: [SigningKeyRecord], replacing present: [String]?, from takeover: Timestamp,
        forgettingRetiredBefore moment: Timestamp, seenSince seen: Timestamp?, audit: AuditEvent
    ) async throws -> ProviderKeys
}

extension SigningKeyStore {
    /// Rotates keys that nobody else has seen.
    public func rotateSigningKeys(
        to keys: [SigningKeyRecord], replacing present: [String]?, from takeover: Timestamp,
        forgettingRetiredBefore moment: Timestamp, audit: AuditEvent
    ) async throws -> ProviderKeys {
        try await self.rotateSigningKeys(
            to: keys, replacing: present, from: takeover, forgettingRetiredBefore: moment, seenSince: nil,
            audit: audit)
    }
}

public import JOSE
public import _Primitives

/// A key that the provider signs with, or has signed with.
public struct SigningKeyRecord: Sendable, Equatable {
    /// Which of the server's faces signs with a key. No face takes what another has signed.
    public enum Face: String, Sendable, CaseIterable {
        /// The OpenID provider.
        case openID = "openid"
        /// The app sign-in service.
        case signInService = "sign-in-service"
    }

    /// The name in the key set (`kid`).
    public let id: String
    /// What it signs with.
    public let algorithm: JWSAlgorithm
    /// The private key in the form of `SigningKey.make`. The store seals it, bound to its row.
    public let privateKey: SecretBytes
    /// Who signs with it.
    public let face: Face
    /// When it was made.
    public let createdAt: Timestamp
    /// From when on it signs no more, and the next one of its algorithm and face does; `nil` for the newest.
    public let retiredAt: Timestamp?

    /// A record of these values.
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
    /// Pairwise subjects are computed from it. It never changes: with it every person would become a stranger.
    public let subjectSecret: SecretBytes
    /// The signing keys, the newest first. Of those of an algorithm that are not retired, the oldest signs.
    public let signingKeys: [SigningKeyRecord]

    /// A record of these values.
    public init(subjectSecret: SecretBytes, signingKeys: [SigningKeyRecord]) {
        self.subjectSecret = subjectSecret
        self.signingKeys = signingKeys
    }
}

/// Keeps the provider's keys, sealed.
public protocol SigningKeyStore: Sendable {
    /// Gives the keys of this store; where it has none yet, those that are offered become its keys first.
    ///
    /// Must be atomic: of two first starts at once, both get the same keys.
    func providerKeys(orFirst offered: ProviderKeys) async throws -> ProviderKeys

    /// The keys of this store as they are now, after whichever node rotated them. Throws ``StoreError/Code/notFound`` where
    /// it has none yet.
    func providerKeys() async throws -> ProviderKeys

    /// Adds `key` with the audit event, where no key of its algorithm and face is there that does not retire; gives the keys as they
    /// are then.
    ///
    /// Must be atomic: of two nodes that make the first key of an algorithm at once, both get the same one.
    func addSigningKey(_ key: SigningKeyRecord, audit: AuditEvent) async throws -> ProviderKeys

    /// Adds each of `keys` as the newest of its algorithm and face, has the one before it retire at `takeover`, and forgets those
    /// that were retired before `moment`, with the audit event. Gives the keys as they are then.
    ///
    /// Must be atomic. Where `present` names keys and one of them is not the newest of its algorithm any more, nothing is
    /// done: of two nodes that rotate the same keys at once, one does.
    func rotateSigningKeys(
        to keys: [SigningKeyRecord], replacing present: [String]?, from takeover: Timestamp,
        forgettingRetiredBefore moment: Timestamp,
        audit: AuditEvent
    ) async throws -> ProviderKeys
}

public import _Primitives

/// A secret by which the apps of a device sign in by each other. The secret ends with its session.
public struct DeviceSecretRecord: Sendable, Equatable {
    /// SHA-256 of the secret, which has 256 random bits.
    public let digest: [UInt8]
    /// The identifier by which people and operators end the secret. The identifier opens nothing.
    public let id: String
    /// The session in which the secret was given.
    public let session: String
    /// The app that the secret was given to.
    public let client: String
    /// The apps that may use the secret, by the name of their group.
    public let group: String
    /// The scope that the person agreed to, for the app that the secret was given to.
    public let scope: String
    /// `true` if the app has shown a key. Then the other apps have to show a key, too.
    public let isBound: Bool
    /// The consent that the app's sign-in depends on. The secret ends with the consent.
    public let consent: String?
    /// The moment when the secret was given.
    public let givenAt: Timestamp

    /// Makes a record of these values.
    public init(
        digest: [UInt8], id: String, session: String, client: String, group: String, scope: String, isBound: Bool,
        consent: String? = nil, givenAt: Timestamp
    ) {
        self.digest = digest
        self.id = id
        self.isBound = isBound
        self.consent = consent
        self.givenAt = givenAt
        self.session = session
        self.client = client
        self.group = group
        self.scope = scope
    }
}

/// A device secret with its session.
public struct HeldDeviceSecret: Sendable, Equatable {
    /// The secret's record.
    public let secret: DeviceSecretRecord
    /// The secret's session, whatever its end.
    public let session: SessionRecord

    /// Makes a secret with its session.
    public init(secret: DeviceSecretRecord, session: SessionRecord) {
        self.secret = secret
        self.session = session
    }
}

/// Keeps device secrets. A device secret ends with its session, its client, its consent, or the grant of the secret.
/// Device secrets are listed and ended with lasting grants (``GrantListStore``).
///
/// The grants of apps by a secret (``GrantRecord/origin``) end with the grant of the secret, even if the secret has
/// ended before. If only the secret ends, these grants go on.
public protocol DeviceSecretStore: Sendable {
    /// Gives a grant its device's secret. Returns `true` if the grant exists, came of no other grant, and has no secret
    /// yet.
    func setDeviceSecret(digest: [UInt8], ofGrant id: String) async throws -> Bool

    /// Keeps a secret, in place of the client's earlier secret in the session, and gives the secret to the grant.
    /// Returns `true` if the session exists, and the grant was given in it, came of no other grant and has no secret
    /// yet; otherwise changes nothing.
    func addDeviceSecret(_ secret: DeviceSecretRecord, ofGrant grant: String) async throws -> Bool

    /// Returns the secret with the digest, with its session; `nil` if none exists.
    func deviceSecret(digest: [UInt8]) async throws -> HeldDeviceSecret?

    /// Keeps a grant of a secret's session and notes that the session was used at `moment`, with the audit event.
    ///
    /// - Parameter redirectURI: The service's address for people, for the list of the services that the session has
    ///   signed in to.
    /// - Throws: ``StoreError/Code/notFound`` if secret, session or consent has ended, the grant names another session
    ///   than the secret's, or the grant's client does not exist, or is not of the secret's group. The same if the
    ///   client is a service of personalised identities and the authentication was not for this service.
    func addGrant(
        _ grant: GrantRecord, byDeviceSecret digest: [UInt8], redirectURI: String, usedAt moment: Timestamp,
        audit: AuditEvent
    ) async throws

    /// Deletes a secret of a group, with the audit event. Returns `true` if the secret existed; otherwise no event is
    /// kept.
    func deleteDeviceSecret(digest: [UInt8], group: String, audit: AuditEvent) async throws -> Bool
}

public import _Primitives

/// A secret by which the apps of a device sign in by each other. It ends with its session.
public struct DeviceSecretRecord: Sendable, Equatable {
    /// SHA-256 of the secret, which has 256 random bits.
    public let digest: [UInt8]
    /// By what people and operators end it. It opens nothing.
    public let id: String
    /// The session that it was given in.
    public let session: String
    /// The app that it was given to.
    public let client: String
    /// The apps that may use it, by the name of their group.
    public let group: String
    /// What the person agreed to, for the app that it was given to.
    public let scope: String
    /// Whether the app has shown a key: then the others have to show one, too.
    public let isBound: Bool
    /// The consent that the app's sign-in stands on; with it the secret ends.
    public let consent: String?
    /// When it was given.
    public let givenAt: Timestamp

    /// A record of these values.
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
    /// Its session, whatever its end.
    public let session: SessionRecord

    /// A secret and its session.
    public init(secret: DeviceSecretRecord, session: SessionRecord) {
        self.secret = secret
        self.session = session
    }
}

/// Keeps device secrets. What ends a session, a client or a consent ends those that stand on it, and so does whatever ends a
/// grant that they were given with. They are listed and ended with what lasts (``GrantListStore``).
///
/// What apps have got by a secret (``GrantRecord/origin``) ends with the grant that the secret was given with, also where the
/// secret has ended before. Where the secret ends by itself, it goes on.
public protocol DeviceSecretStore: Sendable {
    /// Gives a grant its device's secret. Says whether the grant is there, came of no other, and has none yet.
    func setDeviceSecret(digest: [UInt8], ofGrant id: String) async throws -> Bool

    /// Keeps a secret, in the place of the one that its client had in the session, and gives it to the grant. Says whether
    /// the session is there, and the grant, which came of no other and has none yet.
    func addDeviceSecret(_ secret: DeviceSecretRecord, ofGrant grant: String) async throws -> Bool

    /// The secret of that digest, with its session.
    func deviceSecret(digest: [UInt8]) async throws -> HeldDeviceSecret?

    /// Keeps a grant of a secret's session and notes that the session was used at `moment`, with the audit event.
    ///
    /// - Parameter redirectURI: Where people find the service, for the list of what the session has signed in to.
    /// - Throws: ``StoreError/Code/notFound`` where secret, session or consent has ended, the session is not the grant's, or
    ///   the grant's client is not there, or not of the secret's group.
    func addGrant(
        _ grant: GrantRecord, byDeviceSecret digest: [UInt8], redirectURI: String, usedAt moment: Timestamp,
        audit: AuditEvent
    ) async throws

    /// Deletes a secret of a group, with the audit event. Says whether there was one; where there was none, there is no event.
    func deleteDeviceSecret(digest: [UInt8], group: String, audit: AuditEvent) async throws -> Bool
}

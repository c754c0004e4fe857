import _Primitives

/// What becomes of a session of the app sign-in service that is passed on.
public struct PassedSession: Sendable, Equatable {
    /// The grant that it is passed on from (``GrantRecord/origin``).
    public let origin: String
    /// The digest of the device's secret, where that was shown: the grant has to have it.
    public let deviceSecret: [UInt8]?
    /// The new grant. It ends when its origin does, at the latest.
    public let grant: GrantRecord
    /// Where people find the service that it is for.
    public let redirectURI: String

    /// A session of these values.
    public init(origin: String, deviceSecret: [UInt8]?, grant: GrantRecord, redirectURI: String) {
        self.origin = origin
        self.deviceSecret = deviceSecret
        self.grant = grant
        self.redirectURI = redirectURI
    }
}

/// Keeps what sessions of the app sign-in service have beside grants, refresh tokens and device secrets: which session came
/// of which. What came of a grant ends with it.
public protocol SignInServiceStore: Sendable {
    /// Keeps a grant that came of another, with the audit event; with its code, where it is given by one, else with its
    /// first refresh token.
    ///
    /// Must be one step: at the moment of the audit event the origin stands, came of no other itself, has the device's secret
    /// that was shown, and is of the same authentication; the new grant's client is there and served.
    ///
    /// - Throws: ``StoreError/Code/notFound`` where it is not so.
    func pass(_ passed: PassedSession, beginning family: RefreshFamilyStart?, code: CodeRecord?, audit: AuditEvent)
        async throws
}

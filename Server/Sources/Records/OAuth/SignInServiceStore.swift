import _Primitives

/// A passed-on session of the app sign-in service.
public struct PassedSession: Sendable, Equatable {
    /// The grant that the session is passed on from (``GrantRecord/origin``).
    public let origin: String
    /// The digest of the device's secret, if the request showed the secret. The original grant has to have this secret.
    public let deviceSecret: [UInt8]?
    /// The new grant. The grant ends with its origin at the latest.
    public let grant: GrantRecord
    /// The address of the new grant's service for people.
    public let redirectURI: String

    /// Makes a passed session of these values.
    public init(origin: String, deviceSecret: [UInt8]?, grant: GrantRecord, redirectURI: String) {
        self.origin = origin
        self.deviceSecret = deviceSecret
        self.grant = grant
        self.redirectURI = redirectURI
    }
}

/// Keeps the origins of sessions of the app sign-in service, beside grants, refresh tokens and device secrets. A grant
/// that came of another grant ends with that grant.
public protocol SignInServiceStore: Sendable {
    /// Keeps a grant that came of another grant, with the audit event. Keeps the grant's code, if the grant is given by
    /// a code, and otherwise its first refresh token.
    ///
    /// Must be a single step: at the moment of the audit event the origin stands, came of no other grant itself, has
    /// the shown device secret, and has the same authentication. The new grant's client exists and is served. The origin
    /// is no surplus grant that would end for the new grant (``RefreshFamilyStart/most``).
    ///
    /// - Throws: ``StoreError/Code/notFound`` if one of these conditions does not hold.
    func pass(_ passed: PassedSession, beginning family: RefreshFamilyStart?, code: CodeRecord?, audit: AuditEvent)
        async throws
}

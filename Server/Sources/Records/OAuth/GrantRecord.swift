public import _Primitives

/// A client's permission to access a person's data. A grant depends on an authentication, and codes and tokens depend
/// on the grant.
public struct GrantRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public let id: String
    /// The grant's client.
    public let client: String
    /// The account's name at this client.
    public let subject: String
    /// The authentication of the person, by its identifier. Deleting the authentication deletes the grant.
    public let authentication: String
    /// The session in which the grant was given; `nil` without a session.
    public let session: String?
    /// `true` if the grant goes on when its session ends (`offline_access`).
    public let isLasting: Bool
    /// The granted scopes, separated by spaces.
    public let scope: String
    /// The resources that the grant's tokens may be for, beside this server itself (RFC 8707), each by its identifier.
    public let resources: [String]
    /// The claims about the person that the client has named (`claims`, OpenID Connect Core 1.0, section 5.5), as JSON;
    /// `nil` for none. Sealed at rest: requested values can name people.
    public let claims: String?
    /// The consent of the person, by its identifier. Deleting the consent deletes the grant. `nil` if the person was
    /// not asked.
    public let consent: String?
    /// The thumbprint of the key for the grant's refresh tokens (RFC 9449, section 5); `nil` for refresh tokens bound
    /// to the client alone.
    public let keyThumbprint: String?
    /// The details that the person has agreed to (`authorization_details`, RFC 9396), as JSON; `nil` for none. The
    /// database has the text sealed.
    public let details: String?
    /// The end of every token that the grant can give.
    public let expiresAt: Timestamp
    /// SHA-256 of the device secret given with the grant. For a grant from another grant (``origin``), SHA-256 of the
    /// device secret by which the grant was made. `nil` without a device secret.
    public var deviceSecret: [UInt8]?
    /// The origin of the grant, by its identifier: the grant whose session was passed on, or the device secret by which
    /// an app got the grant. Such a grant is not passed on again. The grant ends with its original grant, or with the
    /// grant of the secret.
    public var origin: String?

    /// Makes a record of these values.
    public init(
        id: String, client: String, subject: String, authentication: String, session: String?, isLasting: Bool = false,
        scope: String, resources: [String] = [], claims: String? = nil, consent: String? = nil,
        details: String? = nil, keyThumbprint: String? = nil, deviceSecret: [UInt8]? = nil, origin: String? = nil,
        expiresAt: Timestamp
    ) {
        self.deviceSecret = deviceSecret
        self.origin = origin
        self.resources = resources
        self.claims = claims
        self.consent = consent
        self.details = details
        self.id = id
        self.client = client
        self.subject = subject
        self.authentication = authentication
        self.session = session
        self.isLasting = isLasting
        self.scope = scope
        self.keyThumbprint = keyThumbprint
        self.expiresAt = expiresAt
    }
}

/// An authorization code: a leaf of a grant, worth its tokens once (RFC 6749, section 4.1.2).
public struct CodeRecord: Sendable, Equatable {
    /// SHA-256 of the code.
    public let digest: [UInt8]
    /// The address that the code was sent to. The client must name the same address.
    public let redirectURI: String
    /// The client's `nonce`, for the ID token.
    public let nonce: String?
    /// The SHA-256 that the code's verifier must have (RFC 7636); `nil` if no verifier may come, because the code is
    /// bound to the nonce, or to the client's authentication alone.
    public let challenge: [UInt8]?
    /// The key that the client has to show with the code (`dpop_jkt`), by its thumbprint; `nil` for any key, or none.
    public let keyThumbprint: String?
    /// The level in the ID token, in a word that the client has requested; `nil` for the authentication's own level.
    public let acr: String?
    /// The moment when the code expires. The store knows the code for as long as its grant, so that a replay is
    /// recognised.
    public let expiresAt: Timestamp

    /// Makes a record of these values.
    public init(
        digest: [UInt8], redirectURI: String, nonce: String?, challenge: [UInt8]?, keyThumbprint: String? = nil,
        acr: String? = nil, expiresAt: Timestamp
    ) {
        self.acr = acr
        self.digest = digest
        self.redirectURI = redirectURI
        self.nonce = nonce
        self.challenge = challenge
        self.keyThumbprint = keyThumbprint
        self.expiresAt = expiresAt
    }
}

/// A grant with its authentication: all data for the grant's tokens.
public struct StandingGrant: Sendable, Equatable {
    /// The grant of the client.
    public let grant: GrantRecord
    /// The authentication of the person.
    public let authentication: AuthenticationRecord
    /// `true` if the person's account was locked when the grant was read. Nothing is issued for a locked account.
    public let isAccountLocked: Bool

    /// Makes a grant with its authentication.
    public init(grant: GrantRecord, authentication: AuthenticationRecord, isAccountLocked: Bool) {
        self.grant = grant
        self.authentication = authentication
        self.isAccountLocked = isAccountLocked
    }
}

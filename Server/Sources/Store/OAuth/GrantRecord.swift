public import _Primitives

/// What a client may have of a person: it stands on an authentication, and codes and tokens are its leaves.
public struct GrantRecord: Sendable, Equatable {
    /// 128 random bits as base64url.
    public let id: String
    /// Whose it is.
    public let client: String
    /// The account's name at this client.
    public let subject: String
    /// How the person proved who they are: by its identifier. Whatever deletes that deletes the grant.
    public let authentication: String
    /// The session that it was given in; `nil` where there was none.
    public let session: String?
    /// Whether it goes on when its session ends (`offline_access`).
    public let isLasting: Bool
    /// The granted scopes, separated by spaces.
    public let scope: String
    /// The resources that its tokens may be for, beside this server itself (RFC 8707), each by its identifier.
    public let resources: [String]
    /// What the client has named of the person (`claims`, OpenID Connect Core 1.0, section 5.5), as JSON; `nil` for
    /// nothing. Sealed at rest: values that it asks for can name people.
    public let claims: String?
    /// What the person has agreed to, by its identifier: whatever deletes that deletes the grant. `nil` where nobody was
    /// asked.
    public let consent: String?
    /// The key that its refresh tokens are bound to, by its thumbprint (RFC 9449, section 5); `nil` where they are bound
    /// to the client alone.
    public let keyThumbprint: String?
    /// What the person has agreed to in detail (`authorization_details`, RFC 9396), as JSON; `nil` for nothing. Sealed at
    /// rest.
    public let details: String?
    /// The end of every token that the grant can give.
    public let expiresAt: Timestamp
    /// SHA-256 of the device secret that was given with it; of a grant that came of another (``origin``) that of the device
    /// secret that it came by. `nil` where there is none.
    public var deviceSecret: [UInt8]?
    /// What it came of, by its identifier: the grant whose session was passed on, or the device secret that another app got it
    /// by. Such a grant is not passed on again, and ends with the grant that it came of, or that the secret was given with.
    public var origin: String?

    /// A record of these values.
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
    /// The address that the code was sent to; the client must name the same one.
    public let redirectURI: String
    /// The client's `nonce`, for the ID token.
    public let nonce: String?
    /// The SHA-256 that the code's verifier must have (RFC 7636); `nil` where no verifier may come, as the code is bound
    /// to the nonce.
    public let challenge: [UInt8]?
    /// The key that the client has to show with it (`dpop_jkt`), by its thumbprint; `nil` for any, or none.
    public let keyThumbprint: String?
    /// The level that the ID token tells, in a word that the client has asked for; `nil` for the authentication's own.
    public let acr: String?
    /// From then on it is worth nothing. It is known for as long as its grant, so that a replay is recognised.
    public let expiresAt: Timestamp

    /// A record of these values.
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

/// A grant with the authentication that it stands on: all that its tokens say.
public struct StandingGrant: Sendable, Equatable {
    /// What the client may have.
    public let grant: GrantRecord
    /// How the person proved who they are.
    public let authentication: AuthenticationRecord

    /// A grant and its authentication.
    public init(grant: GrantRecord, authentication: AuthenticationRecord) {
        self.grant = grant
        self.authentication = authentication
    }
}

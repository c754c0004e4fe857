import Crypto
import JOSE
import OAuth
import OAuthProvider
import Records
import Settings
import _Primitives

/// The names of claims that only the service's access tokens have.
enum SignInServiceClaim {
    static let session = "session_handle"
    static let refreshTokenHash = "refresh_token_hash"
    static let parentHash = "parent_refresh_token_hash"
    static let deviceSecretHash = "device_secret_hash"
    static let regenerated = "last_regeneration_time"
}

/// A running session, as an access token has shown it.
struct SignInServiceSession {
    let standing: StandingGrant
    let client: ClientRecord
    let settings: SignInServiceSettings
    let claims: JSONObject
    let expiresAt: Timestamp

    var account: String { self.standing.authentication.account }
}

/// The sessions of the app sign-in service: issues their tokens, and finds them by their tokens.
final class SignInServiceSessions: Sendable {
    private let store: any GrantListStore & RefreshStore
    let endpoint: SignInServiceEndpoint
    private let tokens: Tokens
    /// The issuer in the access tokens.
    private let issuer: String

    var clients: Clients { self.endpoint.clients }

    /// Creates the sessions over the stores of grants.
    init(
        store: any GrantListStore & RefreshStore, endpoint: SignInServiceEndpoint, tokens: Tokens, issuer: String
    ) {
        self.store = store
        self.endpoint = endpoint
        self.tokens = tokens
        self.issuer = issuer
    }

    // MARK: Giving

    /// Returns the tokens of a client for a grant that has begun, or gone on, with this refresh token.
    ///
    /// Cost: one signature, one query if sessions are shared; one query if the token has attributes of the person.
    func tokens(
        of admitted: AdmittedGrant, for client: ClientRecord, _ settings: SignInServiceSettings,
        refreshToken: RefreshToken?, parent: RefreshToken?, sessionEndsAt: Timestamp, boundTo binding: TokenBinding?,
        at now: Timestamp
    ) async throws -> SignInServiceTokens {
        let (grant, account) = (admitted.grant, admitted.authentication.account)
        let end = min(now + settings.accessTokenLifetime, grant.expiresAt, sessionEndsAt)
        let text = refreshToken?.inParts
        let textHash = text.map(Self.hash)
        var claims: JSONObject = [
            "iss": .string(self.issuer), "aud": try await self.audience(of: settings), "client_id": .string(client.id),
            "jti": .string(self.clients.random.identifier()),
            "sub": .string(self.subject(ofAccount: account)), "iat": .integer(now.seconds),
            "exp": .integer(end.seconds), SignInServiceClaim.session: .string(grant.id),
        ]
        claims[SignInServiceClaim.refreshTokenHash] = textHash.map(JSON.string)
        claims[SignInServiceClaim.parentHash] = parent.map { .string(Self.hash($0.inParts)) }
        // A session that came from another opens no further sessions, and says nothing of the device.
        if grant.origin == nil {
            claims[SignInServiceClaim.deviceSecretHash] = grant.deviceSecret.map { .string(Self.hexadecimal($0)) }
        }
        claims[SignInServiceClaim.regenerated] = .integer(now.seconds)
        claims["version"] = .string("V0")
        claims["user_attributes"] = .object(try await self.attributes(settings, of: account))
        claims["cnf"] = binding.map { .object($0.confirmation) }
        let access = try self.tokens.signed(
            claims, type: TokenType.signInServiceAccess, algorithm: client.settings.idTokenAlgorithm,
            of: .signInService, at: now)
        return SignInServiceTokens(
            accessToken: access, refreshToken: text,
            antiCSRFToken: settings.usesAntiCSRF ? textHash.map(self.antiCSRFToken(ofHash:)) : nil,
            accessEndsAt: end, sessionEndsAt: sessionEndsAt)
    }

    /// Returns the audience of access tokens. The tokens of a client with shared sessions are for all clients that
    /// share sessions.
    private func audience(of settings: SignInServiceSettings) async throws -> JSON {
        guard settings.sharesSessions else { return .string(settings.audience) }
        let shared = try await self.clients.store.sharedAudiences()
        return shared.count > 1 ? .array(shared.map(JSON.string)) : .string(settings.audience)
    }

    private func attributes(_ settings: SignInServiceSettings, of account: String) async throws -> JSONObject {
        guard !settings.attributes.isEmpty, let person = try await self.tokens.standing.person(ofAccount: account)
        else {
            return [:]
        }
        var known: JSONObject = [:]
        for attribute in SignInServiceAttribute.allCases where settings.attributes.containsBytes(of: attribute.rawValue)
        {
            known[attribute.rawValue] = attribute.value(of: person)
        }
        return known
    }

    /// Returns the subject of an account at the service. All clients of the service have the same subject, as they hand
    /// sessions to each other. The subject differs from the account's subject at any client of OpenID Connect.
    func subject(ofAccount account: String) -> String {
        self.clients.keys.signing.pairwise("sub of the app sign-in service", client: "", of: account)
    }

    /// Returns the token with which a page shows that it got the session. The token is derived from the hash of the
    /// refresh token, and the access token has the same hash. So the server stores nothing, and no token contains the
    /// value.
    func antiCSRFToken(ofHash hash: String) -> String {
        let code = self.clients.keys.signing.pairwise("anti-CSRF token", client: "", of: hash)
        return Self.hexadecimal(Array((Base64URL.decode(code) ?? []).prefix(16)))
    }

    static func hash(_ text: String) -> String { Self.hexadecimal(Array(SHA256.hash(data: Array(text.utf8)))) }

    static func hexadecimal(_ bytes: [UInt8]) -> String {
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10 }
        return String(unsafeUninitializedCapacity: bytes.count * 2) { letters in
            for (index, byte) in bytes.enumerated() {
                letters[index * 2] = digit(byte >> 4)
                letters[index * 2 + 1] = digit(byte & 15)
            }
            return bytes.count * 2
        }
    }

    // MARK: Taking

    /// Returns the running session of an access token of this service.
    ///
    /// - Parameter expired: The status of an expired token, after which the client renews the token; `nil` to accept an
    ///   expired token.
    /// - Throws: ``SignInServiceError``.
    ///
    /// Cost: one verification unless this process has made the token, or verified it a while ago; two queries, and one
    /// more for a session that came from a web site's session.
    func session(of text: String, expired: Int? = 403) async throws -> SignInServiceSession {
        let now = self.clients.time.now()
        let refused = SignInServiceError.refused("The access token is not valid.")
        let claims: JWTClaims
        do {
            claims = try await self.tokens.knownOrVerified(
                text, type: TokenType.signInServiceAccess, of: .signInService, at: now)
        } catch let error as JOSEError {
            throw SignInServiceError.refused("The access token is not valid.", "\(error)")
        }
        guard claims.issuer?.hasSameBytes(as: self.issuer) ?? false, let end = claims.expiration,
            case .string(let id)? = claims.members["client_id"], case .string(let jti)? = claims.members["jti"],
            case .string(let handle)? = claims.members[SignInServiceClaim.session]
        else { throw refused }
        if let expired, end <= now {
            throw SignInServiceError(
                OAuthError(.invalidToken, "The access token has expired.", detail: "it ended at \(end)"),
                status: expired)
        }
        guard let standing = try await self.store.grant(handle, token: jti, at: now),
            standing.grant.client.hasSameBytes(as: id), let (client, settings) = try await self.endpoint.client(id),
            try await self.tokens.standing.facts(of: standing, at: client).refusal == nil
        else { throw SignInServiceError.endedSession }
        // A session without renewal came from a web site's session, and ends with the web site's session.
        if let origin = standing.grant.origin, claims.members[SignInServiceClaim.refreshTokenHash] == nil {
            guard try await self.store.grant(origin, token: nil, at: now) != nil else {
                throw SignInServiceError.refused("The session has ended.", "the one that it came of has ended")
            }
        }
        return SignInServiceSession(
            standing: standing, client: client, settings: settings, claims: claims.members, expiresAt: end)
    }

    /// Returns the session that a request shows: by its header, else by its cookie.
    ///
    /// A token that is bound to a key comes with a proof of the key, by the scheme `DPoP`. A cookie counts only for a
    /// client that is answered by cookies. Throws ``SignInServiceError`` or, for a wrong header or proof, `OAuthError`.
    ///
    /// - Parameter takesExpiredCookie: `true` to accept an expired cookie of a running session.
    func session(
        of request: SignInServiceRequest, takesExpiredCookie: Bool = false
    ) async throws -> (SignInServiceSession, isByCookie: Bool) {
        if request.authorization != nil {
            let shown = try PresentedToken(header: request.authorization)
            let session = try await self.session(of: shown.text)
            try await self.checkBinding(of: session, shown, request)
            return (session, false)
        }
        guard let text = request.cookies[.accessToken] else {
            throw SignInServiceError.refused("There is no access token.", "neither in Authorization nor in a cookie")
        }
        let session = try await self.session(of: text, expired: takesExpiredCookie ? nil : 403)
        guard session.claims["cnf"] == nil, session.settings.answers == .cookie else {
            throw SignInServiceError.refused("The access token is not valid.", "an app's token in a cookie")
        }
        return (session, true)
    }

    private func checkBinding(
        of session: SignInServiceSession, _ shown: PresentedToken, _ request: SignInServiceRequest
    ) async throws {
        guard case .object(let members)? = session.claims["cnf"], let binding = TokenBinding(confirmation: members)
        else {
            guard shown.scheme == .bearer else {
                throw SignInServiceError.refused(
                    "The access token is not valid.", "a bearer's token, shown as a bound one")
            }
            return
        }
        guard shown.scheme == .dpop else {
            throw SignInServiceError.refused("The access token is not valid.", "bound to a key, shown as a bearer's")
        }
        let proof = try self.endpoint.proofs.proof(
            request.proofs,
            KeyProofPurpose(
                method: request.method, endpoint: self.clients.issuer + request.path, accessToken: shown.text))
        guard binding == .key(proof.thumbprint) else {
            throw SignInServiceError.refused("The access token is not valid.", "bound to another key")
        }
        try await self.endpoint.proofs.take(proof)
    }

    // MARK: Beginning and ending

    /// Returns the beginning of a session's family of refresh tokens.
    func family(
        _ token: RefreshToken, for client: ClientRecord, _ settings: SignInServiceSettings,
        boundTo binding: TokenBinding?, until end: Timestamp, at now: Timestamp
    ) -> RefreshFamilyStart {
        RefreshFamilyStart(
            grant: token.grant, head: token.digest, headEndsAt: min(now + settings.refreshTokenLifetime, end),
            keyThumbprint: binding?.text, until: end, most: self.clients.limits.oauth.lastingGrantsPerClient,
            displaced: AuditEvent(.grantDisplaced, at: now, actor: client.id))
    }

    /// Ends a person's session, by its grant, and the sessions derived from it.
    func end(
        _ grant: String, of standing: StandingGrant, by client: ClientRecord,
        as kind: AuditEvent.Kind = .grantRevoked, at now: Timestamp
    ) async throws {
        let account = standing.authentication.account
        _ = try await self.store.endGrants(
            .grant(grant), account: account,
            audit: AuditEvent(kind, at: now, accountID: account, actor: client.id, detail: grant))
    }

    // MARK: Judging a person

    /// Returns the facts about a person, who may still have access, and has agreed to the required terms.
    ///
    /// Throws ``SignInServiceError``.
    func checkedPerson(
        of standing: StandingGrant, at client: ClientRecord, status: Int
    ) async throws -> StandingFacts {
        var facts = try await self.tokens.standing.facts(of: standing, at: client)
        if facts.refusal == nil {
            facts.missingTerms = try await self.tokens.standing.missingTerms(
                ofAccount: standing.authentication.account, at: client)
        }
        if let refusal = facts.refusal { throw SignInServiceError(refusal, status: status) }
        return facts
    }

    /// Checks that the person of a running session has agreed to the terms that another client requires.
    ///
    /// Throws ``SignInServiceError``.
    func checkTerms(ofAccount account: String, at client: ClientRecord, status: Int) async throws {
        if let terms = try await self.tokens.standing.missingTerms(ofAccount: account, at: client) {
            throw SignInServiceError(.terms(terms), status: status)
        }
    }

    /// Admits the grant of a session, by the facts of ``checkedPerson(of:at:status:)``. Throws ``SignInServiceError``.
    static func admit(_ standing: StandingGrant, _ facts: StandingFacts, status: Int) throws -> AdmittedGrant {
        do { return try facts.admit(standing, missing: facts.missingTerms) } catch {
            throw SignInServiceError(error, status: status)
        }
    }
}

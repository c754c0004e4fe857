public import Countersign
import JOSE
import OAuth
public import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The back end of an app that signs itself in (OpenID Connect Core 1.0; RFC 7636, RFC 9207).
///
/// An app never learns the person's identity at a service, nor the values that the person confirmed. The app gets a
/// code, and its back end exchanges the code here.
///
///     let signIn = backend.begin()               // keep it in the app's session, and give `signIn.offer` to the app
///     let person = try await backend.finish(signIn, code: code, state: state, issuer: issuer)
///
/// A service that has something confirmed on a phone waits for the end of the session with
/// ``finalStatus(ofSession:)``.
///
/// The back end caches the server's discovery document and keys for an hour. For an unknown key the back end fetches
/// the keys again, at most once a minute.
public actor IdentityBackend {
    private struct Kept<Value> {
        let value: Value
        let at: Timestamp
    }

    struct Endpoints {
        let token: String
        let userinfo: String
        let keys: String
    }

    private static let keptFor = Duration.seconds(3600)
    private static let keysAgainAfter = Duration.seconds(60)
    static let timeout = Duration.seconds(20)

    let configuration: BackendConfiguration
    let transport: any Transport
    let time: TimeSource
    let sleep: @Sendable (Duration) async throws -> Void
    private let random: RandomSource
    private var endpoints: Kept<Endpoints>?
    private var keys: Kept<JWKSet>?

    /// Creates the back end of a service. `time` and `sleep` belong to one clock; tests pass a clock of their own.
    public init(
        _ configuration: BackendConfiguration, transport: any Transport, time: TimeSource = .system,
        random: RandomSource = .system,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.configuration = configuration
        self.transport = transport
        self.time = time
        self.random = random
        self.sleep = sleep
    }

    /// Begins a sign-in, with a fresh state, nonce and verifier.
    public nonisolated func begin() -> InAppSignIn {
        let verifier = CodeVerifier(random: self.random)
        return InAppSignIn(
            offer: InAppSignInOffer(
                clientID: self.configuration.clientID, redirectURI: self.configuration.redirectURI,
                scope: self.configuration.scope, state: self.random.token(), nonce: self.random.token(),
                codeChallenge: verifier.challenge.text),
            codeVerifier: verifier)
    }

    /// Exchanges an app's code, and returns the person who has signed in. The back end remembers no sign-ins, and the
    /// server accepts each code once: delete the stored sign-in when this function has returned, or has thrown an error
    /// other than `serverUnreachable`.
    ///
    /// - Parameters:
    ///   - signIn: The stored sign-in of this app.
    ///   - code: The app's code.
    ///   - state: The state that came with the code.
    ///   - issuer: The server that issued the code.
    /// - Throws: ``BackendError``.
    public func finish(_ signIn: InAppSignIn, code: String, state: String?, issuer: String) async throws(BackendError)
        -> SignedInPerson
    {
        guard issuer.hasSameBytes(as: self.configuration.issuer) else {
            throw BackendError(.notThisSignIn, "the code is of another server")
        }
        guard let state, constantTimeEqual(Array(state.utf8), Array(signIn.offer.state.utf8)) else {
            throw BackendError(.notThisSignIn, "the state is another")
        }
        let endpoints = try await self.currentEndpoints()
        let tokens = try await self.tokens(signIn, code: code, at: endpoints.token)
        let idToken: String
        let accessToken: String
        do throws(JSONError) {
            idToken = try tokens.requiredString("id_token")
            accessToken = try tokens.requiredString("access_token")
        } catch {
            throw BackendError(.answerNotTrusted, "tokens: \(error)")
        }
        let claims = try await self.claims(of: idToken, nonce: signIn.offer.nonce, keysAt: endpoints.keys)
        guard let subject = claims.subject else { throw BackendError(.answerNotTrusted, "sub") }
        let profile = try await self.profile(accessToken, at: endpoints.userinfo, subject: subject)
        do throws(JSONError) {
            return try SignedInPerson(identity: claims.members, profile: profile, subject: subject)
        } catch {
            throw BackendError(.answerNotTrusted, "claims: \(error)")
        }
    }

    // MARK: The steps

    private func tokens(_ signIn: InAppSignIn, code: String, at address: String) async throws(BackendError)
        -> JSONObject
    {
        let form: Parameters = [
            "grant_type": "authorization_code", "code": code, "redirect_uri": signIn.offer.redirectURI,
            "code_verifier": signIn.codeVerifier.text,
        ]
        let answer = try await self.send(
            "POST", address,
            headers: [self.authorization, ("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(form.encoded.utf8))
        guard answer.status == 200 else {
            let refusal = (try? Self.object(answer)).flatMap { try? $0.string("error") } ?? "status \(answer.status)"
            switch refusal {
            case "invalid_grant": throw BackendError(.codeRefused, refusal)
            case "invalid_client", "unauthorized_client": throw BackendError(.clientRefused, refusal)
            default:
                throw BackendError(.serverMisconfigured, "the token endpoint answers with \(answer.status)")
            }
        }
        return try Self.object(answer)
    }

    /// The header field that authenticates the service (RFC 6749, section 2.3.1).
    nonisolated var authorization: (name: String, value: String) {
        let secret = self.configuration.clientSecret.withBytes { String(decoding: $0, as: UTF8.self) }
        return ("Authorization", ClientCredentials.basic(clientID: self.configuration.clientID, secret: secret))
    }

    private func claims(of idToken: String, nonce: String, keysAt address: String) async throws(BackendError)
        -> JWTClaims
    {
        let algorithms: Set<JWSAlgorithm> = [.es256, .rs256, .ps256, .edDSA]
        do {
            let token = try UnverifiedJWS(compact: idToken)
            let keys = try await self.currentKeys(naming: token.header.keyID, at: address)
            let claims = try JWTClaims(try token.verified(by: keys, allowing: algorithms))
            try claims.check(
                issuer: self.configuration.issuer, audience: self.configuration.clientID, at: self.time,
                skew: self.configuration.clockSkew)
            guard case .string(let own)? = claims.members["nonce"],
                constantTimeEqual(Array(own.utf8), Array(nonce.utf8))
            else { throw BackendError(.answerNotTrusted, "the nonce is another") }
            return claims
        } catch let error as BackendError {
            throw error
        } catch {
            throw BackendError(.answerNotTrusted, "the ID token: \((error as? JOSEError)?.code.description ?? "")")
        }
    }

    private func profile(_ accessToken: String, at address: String, subject: String) async throws(BackendError)
        -> JSONObject
    {
        guard accessToken.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw BackendError(.answerNotTrusted, "the access token")
        }
        let answer = try await self.send(
            "GET", address, headers: [("Authorization", "Bearer \(accessToken)")], body: [])
        guard answer.status == 200 else {
            throw BackendError(.serverMisconfigured, "userinfo answers with \(answer.status)")
        }
        let profile = try Self.object(answer)
        // OpenID Connect Core 1.0, section 5.3.2: without this check the profile could be another person's.
        guard case .string(let own)? = profile["sub"], own.hasSameBytes(as: subject) else {
            throw BackendError(.answerNotTrusted, "userinfo is about another person")
        }
        return profile
    }

    // MARK: What is kept

    func currentEndpoints() async throws(BackendError) -> Endpoints {
        let now = self.time.now()
        if let endpoints = self.endpoints, now < endpoints.at + Self.keptFor { return endpoints.value }
        let answer = try await self.send(
            "GET", self.configuration.issuer + "/.well-known/openid-configuration", headers: [], body: [])
        guard answer.status == 200 else {
            throw BackendError(.serverMisconfigured, "discovery answers with \(answer.status)")
        }
        let document = try Self.object(answer)
        let read: (issuer: String, endpoints: Endpoints)
        do throws(JSONError) {
            read = (
                try document.requiredString("issuer"),
                Endpoints(
                    token: try document.requiredString("token_endpoint"),
                    userinfo: try document.requiredString("userinfo_endpoint"),
                    keys: try document.requiredString("jwks_uri"))
            )
        } catch {
            throw BackendError(.serverMisconfigured, "discovery: \(error)")
        }
        guard read.issuer.hasSameBytes(as: self.configuration.issuer) else {
            throw BackendError(.serverMisconfigured, "the discovery document is another issuer's")
        }
        self.endpoints = Kept(value: read.endpoints, at: now)
        return read.endpoints
    }

    func currentKeys(naming name: String?, at address: String) async throws(BackendError) -> JWKSet {
        let now = self.time.now()
        if let keys = self.keys, now < keys.at + Self.keptFor {
            let isKnown = name.map { keys.value[$0] != nil } ?? true
            if isKnown || now < keys.at + Self.keysAgainAfter { return keys.value }
        }
        let answer = try await self.send("GET", address, headers: [], body: [])
        guard answer.status == 200, let keys = try? JWKSet(parsing: answer.body) else {
            throw BackendError(.serverMisconfigured, "the keys cannot be had")
        }
        self.keys = Kept(value: keys, at: now)
        return keys
    }

    // MARK: Sending

    func send(
        _ method: String, _ address: String, headers: [(name: String, value: String)], body: [UInt8]
    ) async throws(BackendError) -> TransportResponse {
        let url = try Self.safeURL(address)
        let answer: TransportResponse
        do {
            answer = try await self.transport.send(
                TransportRequest(
                    method: method, url: url, headers: [("Accept", "application/json")] + headers, body: body,
                    timeout: Self.timeout))
        } catch {
            throw BackendError(.serverUnreachable, "\((error as? TransportError)?.code.description ?? "no answer")")
        }
        guard answer.status < 500 else {
            throw BackendError(.serverUnreachable, "\(url.path()) answers with \(answer.status)")
        }
        return answer
    }

    /// Returns an address to which a secret may go. Throws ``BackendError`` `serverMisconfigured` for any other text.
    static func safeURL(_ address: String) throws(BackendError) -> URL {
        guard let url = URL(string: address), url.host() != nil, Self.isSafe(url) else {
            throw BackendError(.serverMisconfigured, "an address that is neither https nor this machine")
        }
        return url
    }

    /// Returns `true` if a secret may go to the address: over TLS, or on this machine.
    private static func isSafe(_ url: URL) -> Bool {
        switch url.scheme?.asciiLowercased {
        case "https": true
        case "http": ["localhost", "127.0.0.1", "::1"].contains(url.host() ?? "")
        default: false
        }
    }

    static func object(_ answer: TransportResponse) throws(BackendError) -> JSONObject {
        guard case .object(let object)? = try? JSON(parsing: answer.body) else {
            throw BackendError(.answerNotTrusted, "an answer that is no JSON object")
        }
        return object
    }
}

public import Countersign
import Crypto
public import Foundation
import JOSE
import OAuth
public import _Primitives

/// An app's sign-in server in memory, behind a ``Transport``, with codes, rotating refresh tokens, key proofs with
/// nonces, device secrets and cookies. A test can make the server answer differently.
///
/// A refresh token is valid until its child was used. An older token ends the session.
public actor VirtualSignInServer: Transport {
    /// The server's record of a session.
    public struct Session: Sendable {
        /// The session's name in its tokens.
        public let id: String
        /// The thumbprint of the key that the session's tokens are bound to.
        public let thumbprint: String
        /// The session's newest refresh token.
        public internal(set) var head: String
        var parent: String?
        /// The device secret, with which web sessions are spawned from the session.
        public internal(set) var deviceSecret: String?
        /// `true` until the session ends.
        public internal(set) var isActive = true
        /// The number of renewals.
        public internal(set) var renewalCount = 0
    }

    /// An account with a password.
    private struct Account {
        let password: String
        let otp: String?
    }

    private struct Code {
        let challenge: String
        let nonce: String?
        let redirectURI: String?
        let scopes: [String]
    }

    /// The address of the server.
    public nonisolated let baseURL: URL
    /// Every request that reached the server.
    public private(set) var requests: [TransportRequest] = []
    /// All sessions, oldest first.
    public private(set) var sessions: [Session] = []
    /// The spawned web sessions, each with its cookie value and the device secret that spawned the session.
    public private(set) var webSessions: [(value: String, deviceSecret: String, isActive: Bool)] = []
    /// The lifetime of access tokens.
    public var accessTokenLifetime: Duration = .seconds(300)
    /// `true` if answers have their members under `data`, as the sign-in service does for some apps.
    public var wrapsData = true
    /// A replacement for the server's own work; `nil` for none.
    private var interception: (@Sendable (TransportRequest) async throws -> TransportResponse?)?
    private var codes: [String: Code] = [:]
    private var accounts: [String: Account] = [:]
    private var isReachable = true
    private var lostAnswers = 0
    private var nonce = "nonce-1"
    private var nonceCount = 1
    private let clock: TimeSource
    private let random: RandomSource
    private var cookiePrefix: String
    /// The domain whose hosts get the cookies of web views.
    private let cookieDomain: String

    /// Creates a server at an address.
    ///
    /// - Parameter cookieDomain: The domain whose hosts get the cookies of web views, as operators set the domain;
    ///   `nil` for the domain above the server's host (`example.com` for `id.example.com`), or the host itself if the
    ///   host has two words.
    public init(
        baseURL: URL, clock: TimeSource = FakeClock().timeSource, random: RandomSource = .system,
        cookiePrefix: String = "countersign_", cookieDomain: String? = nil
    ) {
        let words = (baseURL.host() ?? "").split(separator: ".")
        self.cookieDomain = cookieDomain ?? (words.count > 2 ? words.dropFirst() : words[...]).joined(separator: ".")
        self.baseURL = baseURL
        self.clock = clock
        self.random = random
        self.cookiePrefix = cookiePrefix
    }

    // MARK: What it is told

    /// Makes the server reachable or unreachable.
    public func reachable(_ isReachable: Bool) { self.isReachable = isReachable }
    /// Loses the answers to the next requests, after the server has done its work.
    public func loseAnswers(_ count: Int) { self.lostAnswers = count }
    /// Requires another nonce in every proof from now on.
    public func changeNonce() {
        self.nonceCount += 1
        self.nonce = "nonce-\(self.nonceCount)"
    }
    /// Sets the lifetime of access tokens from now on.
    public func setAccessTokenLifetime(_ lifetime: Duration) { self.accessTokenLifetime = lifetime }
    /// Sets the place of the members in answers: under `data`, or at the top.
    public func setWrapsData(_ wrapsData: Bool) { self.wrapsData = wrapsData }
    /// Runs `body` before the server's own work from now on; an answer of `body` replaces the work. `nil` ends this.
    public func intercept(_ body: (@Sendable (TransportRequest) async throws -> TransportResponse?)?) {
        self.interception = body
    }
    /// Sets the beginning of the cookies' names from now on.
    public func setCookiePrefix(_ prefix: String) { self.cookiePrefix = prefix }
    /// Ends a session.
    public func end(_ id: String) {
        for index in self.sessions.indices where self.sessions[index].id == id { self.sessions[index].isActive = false }
    }
    /// Adds an account with name and password, and with a one-time code if `otp` is given.
    public func addAccount(_ username: String, password: String, otp: String? = nil) {
        self.accounts[username] = Account(password: password, otp: otp)
    }
    /// Forgets the earlier requests.
    public func forgetRequests() { self.requests = [] }
    /// Returns the number of requests for a path.
    public func count(_ path: String) -> Int { self.requests.count { $0.url.path() == path } }

    // MARK: The page

    /// Plays the person on the sign-in page: the person agrees. Returns the address to which the browser returns.
    public func signedIn(_ address: URL, _ redirectURI: String) throws -> String {
        let asked = try Parameters(parsing: address.query(percentEncoded: true) ?? "")
        let isService = address.path().hasSuffix("/sign-in")
        if isService {
            guard asked["oauth"] == "true", asked["application"] != nil else { throw OAuthError(.invalidRequest) }
        } else {
            guard asked["response_type"] == "code", asked["client_id"] != nil, asked["redirect_uri"] == redirectURI
            else { throw OAuthError(.invalidRequest) }
        }
        guard asked["code_challenge_method"] == "S256", let state = asked["state"], state.utf8.count >= 22 else {
            throw OAuthError(.invalidRequest)
        }
        let code = self.random.token(byteCount: 16)
        self.codes[code] = Code(
            challenge: try asked.required("code_challenge"), nonce: asked["nonce"], redirectURI: redirectURI,
            scopes: (asked["scope"] ?? "").split(separator: " ").map(String.init))
        let answer: Parameters = ["code": code, "type": "phone", "state": state, "iss": self.issuer]
        return redirectURI + "?" + answer.encoded
    }

    private nonisolated var issuer: String {
        let text = self.baseURL.absoluteString
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    // MARK: Transport

    /// Answers one request; see ``Transport``.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard self.isReachable else { throw TransportError(.unreachable, "no network") }
        self.requests.append(request)
        if let answer = try await self.interception?(request) { return answer }
        let answer = try self.answer(request)
        if self.lostAnswers > 0 {
            self.lostAnswers -= 1
            throw TransportError(.unreachable, "the answer was lost")
        }
        return answer
    }

    private func answer(_ request: TransportRequest) throws -> TransportResponse {
        let isService = request.url.path().hasPrefix("/v0/")
        do {
            let form = try Parameters(parsing: String(decoding: request.body, as: UTF8.self))
            switch request.url.path() {
            case "/oauth2/token", "/v0/sign_in/token":
                if form["grant_type"]?.hasSuffix("token-exchange") ?? false {
                    let thumbprint = try self.thumbprint(of: request)
                    return isService ? try self.exchange(form) : try self.join(form, provenBy: thumbprint)
                }
                return try self.token(form, provenBy: self.thumbprint(of: request), isService: isService)
            case "/v0/sign_in/refresh":
                return try self.renewal(
                    by: form.required("refresh_token"), provenBy: self.thumbprint(of: request), isService: true)
            case "/oauth2/revoke", "/v0/sign_in/revoke":
                self.revoke(form, isService: isService)
                return self.response(200, [:])
            case "/oauth2/challenge":
                return try self.challenge(form, provenBy: self.thumbprint(of: request))
            default: return self.response(404, [:])
            }
        } catch let error as OAuthError {
            guard isService else { return self.response(400, ["error": .string(error.code.rawValue)]) }
            var body: JSONObject = ["errors": .string("That was refused.")]
            if [.useDPoPNonce, .invalidDPoPProof].contains(error.code) { body["error"] = .string(error.code.rawValue) }
            return self.response(request.url.path().hasSuffix("refresh") ? 401 : 400, body)
        }
    }

    private func response(_ status: Int, _ body: JSONObject, cookies: [String] = []) -> TransportResponse {
        TransportResponse(
            status: status,
            headers: [("Content-Type", "application/json"), ("DPoP-Nonce", self.nonce), ("Date", self.date)]
                + cookies.map { ("Set-Cookie", $0) },
            body: JSON.object(body).serialized)
    }

    /// The server's time, in the format of the `Date` header.
    private var date: String {
        let text = self.clock.now().description
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let month = months[(Int(text.dropFirst(5).prefix(2)) ?? 1) - 1]
        return "Mon, \(text.dropFirst(8).prefix(2)) \(month) \(text.prefix(4)) \(text.dropFirst(11).prefix(8)) GMT"
    }

    /// Returns the thumbprint of the key of a request's proof. The check of the nonce comes last.
    private func thumbprint(of request: TransportRequest) throws -> String {
        guard let target = TargetURI(request.url.absoluteString) else { throw OAuthError(.invalidRequest) }
        let proof = try DPoPProof(
            verifying: request.headers.filter { $0.name == DPoPProof.header }.map(\.value), method: request.method,
            target: target,
            within: ValidityWindow(now: self.clock.now(), skew: .seconds(10), longest: .seconds(60)),
            nonceEnd: { [nonce, clock] in $0 == nonce ? clock.now() : nil })
        return proof.thumbprint.text
    }

    // MARK: Tokens

    private func token(_ form: Parameters, provenBy thumbprint: String, isService: Bool) throws -> TransportResponse {
        switch form["grant_type"] {
        case "authorization_code":
            let code = self.codes.removeValue(forKey: try form.required("code"))
            guard let code, try CodeChallenge(code.challenge).matches(CodeVerifier(form.required("code_verifier"))),
                isService || form["redirect_uri"] == code.redirectURI
            else { throw OAuthError(.invalidGrant) }
            var session = Session(
                id: self.random.identifier(), thumbprint: thumbprint, head: self.random.token(byteCount: 300))
            if code.scopes.contains("device_sso") { session.deviceSecret = self.random.token(byteCount: 16) }
            self.sessions.append(session)
            return self.issued(session, for: form["client_id"] ?? "", nonce: code.nonce, isService: isService)
        case "refresh_token":
            return try self.renewal(by: form.required("refresh_token"), provenBy: thumbprint, isService: false)
        default: throw OAuthError(.unsupportedGrantType)
        }
    }

    private func renewal(by token: String, provenBy thumbprint: String, isService: Bool) throws -> TransportResponse {
        let known = self.sessions.indices.first { token.hasPrefix(self.sessions[$0].id) || self.isOf(token, $0) }
        guard let known, self.sessions[known].isActive else { throw OAuthError(.invalidGrant) }
        // A token is worthless without its key, and nothing changes.
        guard self.sessions[known].thumbprint == thumbprint else { throw OAuthError(.invalidGrant) }
        let next = self.random.token(byteCount: 300)
        if token == self.sessions[known].head {
            self.past[token] = self.sessions[known].id
            self.sessions[known].parent = token
        } else if token == self.sessions[known].parent {
            self.past[self.sessions[known].head] = self.sessions[known].id
        } else {
            self.sessions[known].isActive = false
            throw OAuthError(.invalidGrant)
        }
        self.sessions[known].head = next
        self.sessions[known].renewalCount += 1
        return self.issued(self.sessions[known], for: "", nonce: nil, isService: isService)
    }

    /// Earlier tokens, with the sessions that the tokens belong to.
    private var past: [String: String] = [:]

    private func isOf(_ token: String, _ index: Int) -> Bool {
        let session = self.sessions[index]
        return token == session.head || token == session.parent || self.past[token] == session.id
    }

    private func issued(_ session: Session, for client: String, nonce: String?, isService: Bool) -> TransportResponse {
        let now = self.clock.now().seconds
        let claims: JSONObject = [
            "jti": .string(self.random.identifier()), "session_handle": .string(session.id), "iat": .integer(now),
            "exp": .integer(now + self.accessTokenLifetime.components.seconds),
            "cnf": .object(["jkt": .string(session.thumbprint)]),
        ]
        var body: JSONObject = [
            "access_token": .string(self.unsigned(claims)), "refresh_token": .string(session.head),
        ]
        if !client.isEmpty { body["device_secret"] = session.deviceSecret.map(JSON.string) }
        guard !isService else { return self.response(200, self.wrapsData ? ["data": .object(body)] : body) }
        body["token_type"] = .string("DPoP")
        body["expires_in"] = .integer(self.accessTokenLifetime.components.seconds)
        if let nonce {
            body["id_token"] = .string(
                self.unsigned([
                    "iss": .string(self.issuer), "aud": .string(client), "sub": .string("alice"),
                    "nonce": .string(nonce),
                ]))
        }
        return self.response(200, body)
    }

    /// Returns a token with a signature that is never verified.
    private func unsigned(_ claims: JSONObject) -> String {
        [JSON.object(["alg": .string("ES256")]).serialized, JSON.object(claims).serialized, self.random.bytes(64)].map {
            Base64URL.encode($0)
        }.joined(separator: ".")
    }

    // MARK: Web sessions

    private func exchange(_ form: Parameters) throws -> TransportResponse {
        let secret = try form.required("actor_token")
        let access = try form.required("subject_token").split(separator: ".")
        guard access.count == 3, let payload = Base64URL.decode(String(access[1])),
            case .object(let claims)? = try? JSON(parsing: payload),
            let session = self.sessions.first(where: { claims["session_handle"] == .string($0.id) }), session.isActive,
            session.deviceSecret == secret, try self.clock.now().seconds < claims.requiredInteger("exp", as: Int64.self)
        else { throw OAuthError(.invalidGrant) }
        let value = self.random.token(byteCount: 16)
        self.webSessions.append((value, secret, true))
        let site = "Path=/; Domain=\(self.cookieDomain); Secure; SameSite=Lax"
        return self.response(
            200, [:],
            cookies: [
                "\(self.cookiePrefix)access_token=\(value); HttpOnly; \(site)",
                "\(self.cookiePrefix)refresh_token=r-\(value); Path=/v0/sign_in/refresh; Secure; HttpOnly; SameSite=Lax",
                "\(self.cookiePrefix)anti_csrf_token=c-\(value); Path=/; Secure; HttpOnly; SameSite=Lax",
                "\(self.cookiePrefix)info_token=i-\(value); \(site)",
            ])
    }

    /// Signs an app in with the secret and ID token of another app. The new session gets no secret, because the first
    /// app's secret is the device's secret.
    private func join(_ form: Parameters, provenBy thumbprint: String) throws -> TransportResponse {
        let secret = try form.required("actor_token")
        guard try form.required("audience") == self.issuer, try !form.required("subject_token").isEmpty,
            !self.endedSecrets.contains(secret),
            self.sessions.contains(where: { $0.deviceSecret == secret && $0.isActive })
        else { throw OAuthError(.invalidGrant) }
        let session = Session(
            id: self.random.identifier(), thumbprint: thumbprint, head: self.random.token(byteCount: 300))
        self.sessions.append(session)
        return self.issued(session, for: form["client_id"] ?? "", nonce: "", isService: false)
    }

    /// Revokes a token.
    ///
    /// At the OpenID interface, revoking a device secret ends only the secret. At the sign-in service, revoking a
    /// device secret also ends the device's sessions.
    private func revoke(_ form: Parameters, isService: Bool) {
        for token in [form["token"], form["refresh_token"]].compactMap(\.self) {
            for index in self.sessions.indices where self.isOf(token, index) { self.sessions[index].isActive = false }
        }
        if let token = form["token"] { self.endedSecrets.insert(token) }
        guard isService, let secret = form["device_secret"] else { return }
        for index in self.sessions.indices where self.sessions[index].deviceSecret == secret {
            self.sessions[index].isActive = false
        }
        for index in self.webSessions.indices where self.webSessions[index].deviceSecret == secret {
            self.webSessions[index].isActive = false
        }
    }

    /// The device secrets and other tokens that were revoked at the OpenID interface.
    private var endedSecrets: Set<String> = []

    // MARK: Passwords

    private func challenge(_ form: Parameters, provenBy thumbprint: String) throws -> TransportResponse {
        let step = self.random.token(byteCount: 16)
        if let session = form["auth_session"] {
            guard let waiting = self.waiting.removeValue(forKey: session) else { throw OAuthError(.invalidRequest) }
            guard form["otp"] == waiting.otp else { return self.more("otp", session: step, waiting) }
            return self.code(waiting.challenge, waiting.nonce)
        }
        guard let account = self.accounts[try form.required("username")], account.password == form["password"] else {
            return self.more("password", session: step, nil)
        }
        let (challenge, nonce) = (try form.required("code_challenge"), form["nonce"])
        if let otp = account.otp { return self.more("otp", session: step, (challenge, nonce, otp)) }
        return self.code(challenge, nonce)
    }

    /// The sign-ins with a right name and password that wait for a code.
    private var waiting: [String: (challenge: String, nonce: String?, otp: String)] = [:]

    private func more(_ next: String, session: String, _ waiting: (challenge: String, nonce: String?, otp: String)?)
        -> TransportResponse
    {
        self.waiting[session] = waiting
        return self.response(
            400,
            [
                "error": .string("insufficient_authorization"), "auth_session": .string(session),
                "next": .array([.string(next)]),
            ])
    }

    private func code(_ challenge: String, _ nonce: String?) -> TransportResponse {
        let code = self.random.token(byteCount: 16)
        self.codes[code] = Code(challenge: challenge, nonce: nonce, redirectURI: nil, scopes: [])
        return self.response(200, ["authorization_code": .string(code)])
    }
}

import Accounts
import Ceremony
import CountersignServer
import CountersignTestKit
import Endpoints
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuth
import OAuthProvider
import Passwords
import Records
import Settings
import Synchronization
import Testing
import _Primitives

@testable import CountersignServerTests

/// A server, a person with a password, and a service whose tokens can be renewed: what the reports are tried on.
struct ReportPlace: Sendable {
    typealias Answer = (response: TestResponse, object: JSONObject)

    static let issuer = "http://localhost:8080"
    static let callback = "http://127.0.0.1:8081/callback"
    static let verifier = "the-verifier-has-at-least-forty-three-letters-in-it"

    let server: ServerFixture
    let client: any TestClientProtocol
    let party: RelyingParty

    /// Runs a test at a place of its own.
    static func run(
        limits: Limits = Limits(), trustedProxies: [AddressBlock] = [], hasRegistration: Bool = false,
        calls: (any OutgoingCalls)? = nil, _ body: @escaping @Sendable (ReportPlace) async throws -> Void
    ) async throws {
        let server = try await ServerFixture(
            limits: limits, trustedProxies: trustedProxies, hasRegistration: hasRegistration, calls: calls)
        _ = try await server.assembly.directory.create(username: "alice", displayName: nil, by: "test")
        try await PasswordDirectory(server.assembly.passwords).importHash(
            try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
        try await server.withPublicClient { client in
            try await body(ReportPlace(server: server, client: client, party: try await Self.service(server)))
        }
    }

    /// Another service of the same server.
    static func service(
        _ server: ServerFixture, redirectURIs: [String] = [Self.callback], party: ClientSettings.Party = .first,
        change: (inout ClientSettings) -> Void = { _ in }
    ) async throws -> RelyingParty {
        var settings = ClientSettings(
            idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "refresh_token"],
            signInMethods: ["password", "phone"], party: party)
        change(&settings)
        let registered = try await server.assembly.provider.clients.register(
            name: "Service", redirectURIs: redirectURIs, postLogoutRedirectURIs: ["http://127.0.0.1:8081/bye"],
            settings: settings)
        return RelyingParty(id: registered.client.id, secret: registered.secret ?? "")
    }

    var now: Timestamp { self.server.clock.timeSource.now() }

    // MARK: A browser

    /// An authorization request that is right but for `changes`; `nil` leaves a parameter out.
    func address(_ changes: [String: String?] = [:], of party: RelyingParty? = nil) -> String {
        "/oauth2/authorize?" + self.request(changes, of: party).encoded
    }

    /// The parameters of such a request.
    func request(_ changes: [String: String?] = [:], of party: RelyingParty? = nil) -> OAuth.Parameters {
        Self.parameters(
            [
                "response_type": "code", "client_id": (party ?? self.party).id, "redirect_uri": Self.callback,
                "scope": "openid profile", "state": "st-1", "nonce": "no-1", "code_challenge": self.party.challenge,
                "code_challenge_method": "S256",
            ], changes)
    }

    static func parameters(_ values: [String: String?], _ changes: [String: String?] = [:]) -> OAuth.Parameters {
        var parameters: OAuth.Parameters = [:]
        for (name, value) in values.merging(changes, uniquingKeysWith: { $1 }).sorted(by: { $0.key < $1.key }) {
            if let value { parameters.append(name, value) }
        }
        return parameters
    }

    /// What a browser comes to: an error that the service is told, `code`, `page` where it stays, or the path that it is led to.
    func outcome(_ answer: TestResponse) -> String {
        guard let location = answer.headers[.location] else { return "page" }
        if location.hasPrefix("/") { return String(location.prefix { $0 != "?" }) }
        return answer.redirectParameters["error"] ?? (answer.redirectParameters["code"] == nil ? location : "code")
    }

    /// What an authorization request comes to in a browser that nobody is signed in to.
    func outcome(_ changes: [String: String?], of party: RelyingParty? = nil) async throws -> String {
        self.outcome(try await TestBrowser(self.client).get(self.address(changes, of: party)))
    }

    /// A browser in which alice is signed in by her password.
    func signedIn() async throws -> TestBrowser {
        let browser = TestBrowser(self.client)
        _ = try await self.code(in: browser)
        return browser
    }

    /// Has alice sign in by her password, or go on by the browser's session, and gives the code.
    @discardableResult
    func code(_ changes: [String: String?] = [:], in browser: TestBrowser? = nil, of party: RelyingParty? = nil)
        async throws -> String
    {
        let browser = browser ?? TestBrowser(self.client)
        var answer = try await browser.get(self.address(changes, of: party))
        if let request = answer.redirectParameters["request"] {
            answer = try await self.show(PasswordPlace.password, request, browser)
            #expect(answer.status == .seeOther)
            answer = try await browser.get(try #require(answer.headers[.location]))
        }
        return try #require(answer.redirectParameters["code"], "\(self.outcome(answer)) \(answer.text)")
    }

    /// Sends the form of the sign-in page.
    func show(_ password: String, as name: String = "alice", _ request: String, _ browser: TestBrowser) async throws
        -> TestResponse
    {
        try await browser.post(
            "/sign-in/password",
            form: PasswordPlace.form(["request": request, "username": name, "password": password]))
    }

    // MARK: A service

    /// Sends a form as a service does that authenticates by its secret, or as nobody.
    func post(
        _ path: String, _ form: OAuth.Parameters, as party: RelyingParty? = nil, isAuthenticated: Bool = true,
        proofs: [String] = []
    ) async throws -> Answer {
        var headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        if isAuthenticated { headers[.authorization] = (party ?? self.party).authorization }
        headers[values: .keyProof] = proofs
        let response = try await self.client.execute(
            uri: path, method: .post, headers: headers, body: ByteBuffer(string: form.encoded))
        guard case .object(let object)? = try? JSON(parsing: Array(response.body.readableBytesView)) else {
            return (response, [:])
        }
        return (response, object)
    }

    /// Exchanges a code, by a request that is right but for `changes`.
    func redeem(
        _ code: String, _ changes: [String: String?] = [:], as party: RelyingParty? = nil,
        isAuthenticated: Bool = true, proofs: [String] = []
    ) async throws -> Answer {
        let form = Self.parameters(
            [
                "grant_type": "authorization_code", "code": code, "redirect_uri": Self.callback,
                "code_verifier": Self.verifier,
            ], changes)
        return try await self.post("/oauth2/token", form, as: party, isAuthenticated: isAuthenticated, proofs: proofs)
    }

    /// The tokens of a sign-in of alice's.
    func tokens(_ changes: [String: String?] = [:], of party: RelyingParty? = nil) async throws -> JSONObject {
        try await self.redeem(try await self.code(changes, of: party), as: party).object
    }

    /// The same with a refresh token.
    func lastingTokens() async throws -> JSONObject {
        try await self.tokens(["scope": "openid profile offline_access"])
    }

    func refresh(_ token: String, _ changes: [String: String?] = [:], as party: RelyingParty? = nil) async throws
        -> Answer
    {
        try await self.post(
            "/oauth2/token", Self.parameters(["grant_type": "refresh_token", "refresh_token": token], changes),
            as: party)
    }

    /// What introspection says to a service.
    func introspect(_ token: String, as party: RelyingParty? = nil) async throws -> JSONObject {
        try await self.post("/oauth2/introspect", ["token": token], as: party).object
    }

    // MARK: Keys

    /// A key of a service's own, and its public half as it is registered.
    static func key(named name: String? = nil) throws -> (signing: SigningKey, set: String) {
        let signing = try SigningKey(
            kept: SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: name)
        return (signing, JSON.object(JWKSet([try #require(signing.publicKey)]).publicJSON).text)
    }

    /// A service that signs who it is.
    func signingService(_ set: String) async throws -> RelyingParty {
        try await Self.service(self.server) { settings in
            settings.authenticationMethod = "private_key_jwt"
            settings.keySet = set
        }
    }

    /// The claims of an assertion of a service, right but for `changes`.
    func assertion(of party: RelyingParty, _ changes: [String: JSON?] = [:]) -> JSONObject {
        let now = self.now.seconds
        var claims: JSONObject = [
            "iss": .string(party.id), "sub": .string(party.id), "aud": .string(Self.issuer),
            "jti": .string(RandomSource.system.identifier()), "iat": .integer(now), "exp": .integer(now + 60),
        ]
        for (name, value) in changes { claims[name] = value }
        return claims
    }

    /// Exchanges a code with an assertion in the place of the secret.
    func redeem(_ code: String, assertion: String) async throws -> Answer {
        try await self.redeem(
            code,
            [
                "client_assertion": assertion,
                "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            ], isAuthenticated: false)
    }

    /// A compact JWS with any header and any signature.
    static func jws(_ header: JSONObject, _ claims: JSONObject, signature: [UInt8] = []) -> String {
        [JSON.object(header).serialized, JSON.object(claims).serialized, signature].map { Base64URL.encode($0) }
            .joined(separator: ".")
    }

    /// The claims of a token, which nobody verifies.
    static func claims(_ token: String) throws -> JSONObject {
        let parts = token.split(separator: ".")
        guard case .object(let claims) = try JSON(parsing: try #require(Base64URL.decode(String(parts[1])))) else {
            return [:]
        }
        return claims
    }

    /// A proof of a key for one request.
    func proof(
        _ key: SigningKey, _ method: String, _ path: String, of access: String? = nil, nonce: String?,
        at issuer: String = Self.issuer
    ) throws -> String {
        try DPoPProof.make(
            method: method, target: #require(TargetURI(issuer + path)), accessToken: access, nonce: nonce, with: key,
            at: self.now, random: .system)
    }
}

extension JSONObject {
    /// `error` of an answer of OAuth.
    var error: String? { (try? self.string("error")).flatMap { $0 } }
}

/// The network of a server: it has what services publish and nothing else, and notes whom the server called.
final class PublishedFiles: OutgoingCalls {
    private let files: [String: String]
    private let called = Mutex<[String]>([])

    init(_ files: [String: String] = [:]) { self.files = files }

    var addresses: [String] { self.called.withLock { $0 } }

    func send(_ call: OutgoingCall) async throws -> OutgoingAnswer {
        self.called.withLock { $0.append(call.address) }
        guard let text = self.files[call.address] else { throw OutgoingCallError("there is no connection to it") }
        return OutgoingAnswer(status: 200, body: Array(text.utf8))
    }
}

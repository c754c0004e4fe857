import Accounts
import AppSignIn
import Ceremony
import CountersignServer
import CountersignTestKit
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import Logging
import NIOCore
import OAuth
import OAuthProvider
import Passwords
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import UAFRelyingParty
import _Primitives

/// The deployment that the health app's diagrams draw: an app and a web site of the app sign-in service, and alice, who has a
/// password.
struct AppSignIn: Sendable {
    static let app = "vamobile"
    static let web = "vaweb"
    static let appAddress = "https://app.va.example/login-success"
    static let webAddress = "https://www.va.example/auth/callback"
    static let webHome = "https://www.va.example/"
    static let state = "a-state-of-22-letters-"
    static let exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"
    static let accessTokenKind = "urn:ietf:params:oauth:token-type:access_token"
    static let actorKind = "urn:x-oath:params:oauth:token-type:device-secret"

    let server: ServerFixture
    let client: any TestClientProtocol
    /// The path of the issuer, where the server shares its host with others; else empty.
    var path = ""
    let verifier = "the-verifier-has-at-least-forty-three-letters-in-it"

    static var appSettings: SignInServiceSettings {
        SignInServiceSettings(
            accessTokenLifetime: .seconds(30 * 60), refreshTokenLifetime: .seconds(45 * 24 * 60 * 60),
            audience: "vamobile", sharesSessions: true,
            levels: [.init("loa1"), .init("min"), .init("loa3", needed: AssuranceLevel.twoFactor.rawValue)])
    }

    static var webSettings: SignInServiceSettings {
        SignInServiceSettings(
            answers: .cookie, usesAntiCSRF: true, audience: "va.gov", sharesSessions: true,
            levels: [.init("loa1"), .init("min")])
    }

    static func run(
        issuer: String = "http://localhost:8080", path: String = "", app: SignInServiceSettings = Self.appSettings,
        web: SignInServiceSettings = Self.webSettings, appAddress: String = Self.appAddress,
        webHome: [String] = [Self.webHome], terms: Terms? = nil, limits: Limits = Limits(),
        names: SignInService.Names = .init(issuer: "va.gov sign in", cookiePrefix: "vagov"),
        calls: (any OutgoingCalls)? = nil, people: SimulatedPeople? = nil, trace: TraceRecorder? = nil,
        logger: Logger? = nil, _ body: @escaping @Sendable (AppSignIn) async throws -> Void
    ) async throws {
        let server = try await ServerFixture(
            issuer: issuer + path, limits: limits, trace: trace, logger: logger, calls: calls, terms: terms,
            signInService: names, simulatedPeople: people)
        for name in ["alice", "bob"] {
            _ = try await server.assembly.directory.create(
                username: name, displayName: "\(name.capitalized) van Example",
                email: AccountEmail(address: "\(name)@post.example", isVerified: true), by: "test")
            try await PasswordDirectory(server.assembly.passwords).importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: name, by: "test")
        }
        try await server.withPublicClient(logger: logger) { client async throws in
            let place = AppSignIn(server: server, client: client, path: path)
            try await place.register(Self.app, app, at: appAddress)
            try await place.register(Self.web, web, at: Self.webAddress, home: webHome)
            try await body(place)
        }
    }

    func register(
        _ id: String, _ settings: SignInServiceSettings, at address: String, home: [String] = [],
        methods: [String] = ["password", "phone"]
    ) async throws {
        // A key of this algorithm is made at once, where an RSA key takes its time.
        var client = ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: "none", signInMethods: methods)
        client.signInService = settings
        _ = try await self.server.assembly.provider.clients.register(
            name: id, redirectURIs: [address], postLogoutRedirectURIs: home, settings: client, id: id)
    }

    func change(_ id: String, _ change: @escaping @Sendable (inout SignInServiceSettings) -> Void) async throws {
        _ = try await self.server.database.changeClient(id) { client in
            var settings = try #require(client.settings.signInService)
            change(&settings)
            client.settings.signInService = settings
            return []
        }
    }

    // MARK: Signing in

    var challenge: String { Base64URL.encode(Array(SHA256.hash(data: Array(self.verifier.utf8)))) }

    /// The address that begins a sign-in; `nil` leaves a parameter out.
    func authorize(_ client: String, _ changes: [String: String?] = [:]) -> String {
        var values: [String: String?] = [
            "client_id": client, "type": "password", "acr": "loa1", "state": Self.state,
            "code_challenge": self.challenge, "code_challenge_method": "S256",
        ]
        if client == Self.app { values["scope"] = "device_sso" }
        values.merge(changes) { $1 }
        return "\(self.path)/v0/sign_in/authorize?\(Self.encoded(values))"
    }

    static func encoded(_ values: [String: String?]) -> String {
        var parameters: OAuth.Parameters = [:]
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            if let value { parameters.append(name, value) }
        }
        return parameters.encoded
    }

    /// Signs somebody in by the password and gives where the browser is sent then.
    func signedIn(
        _ client: String, as name: String = "alice", _ changes: [String: String?] = [:], in browser: TestBrowser? = nil
    ) async throws -> TestResponse {
        let browser = browser ?? TestBrowser(self.client)
        let begun = try await browser.get(self.authorize(client, changes))
        let request = try #require(begun.redirectParameters["request"], "\(begun.status) \(begun.text)")
        let shown = try await browser.post(
            "\(self.path)/sign-in/password",
            form: PasswordPlace.form(["request": request, "username": name, "password": PasswordPlace.password]))
        return try await TwoServers.follow(browser, shown, at: "http://localhost:8080")
    }

    func code(
        _ client: String, as name: String = "alice", _ changes: [String: String?] = [:]
    ) async throws -> String {
        let answer = try await self.signedIn(client, as: name, changes)
        return try #require(answer.redirectParameters["code"], "\(answer.status) \(answer.text)")
    }

    /// A whole sign-in to the app.
    func appTokens(as name: String = "alice", _ changes: [String: String?] = [:]) async throws -> AppTokens {
        try AppTokens(try await self.redeem(self.code(Self.app, as: name, changes)))
    }

    func redeem(
        _ code: String, _ changes: [String: String?] = [:], proofs: [String] = []
    ) async throws -> TestResponse {
        var values: [String: String?] = [
            "grant_type": "authorization_code", "code": code, "code_verifier": self.verifier,
        ]
        values.merge(changes) { $1 }
        return try await self.post("token", values, proofs: proofs)
    }

    // MARK: What programs send

    func post(
        _ path: String, _ values: [String: String?], cookies: [String: String] = [:], proofs: [String] = [],
        headers: HTTPFields = [:]
    ) async throws -> TestResponse {
        var headers = headers
        headers[.contentType] = "application/x-www-form-urlencoded"
        headers[values: .keyProof] = proofs
        headers[.cookie] = Self.cookie(cookies)
        return try await self.client.execute(
            uri: "\(self.path)/v0/sign_in/\(path)", method: .post, headers: headers,
            body: ByteBuffer(string: Self.encoded(values)))
    }

    func get(
        _ path: String, cookies: [String: String] = [:], headers: HTTPFields = [:]
    ) async throws -> TestResponse {
        var headers = headers
        headers[.cookie] = Self.cookie(cookies)
        return try await self.client.execute(uri: "\(self.path)/v0/sign_in/\(path)", method: .get, headers: headers)
    }

    private static func cookie(_ cookies: [String: String]) -> String? {
        cookies.isEmpty
            ? nil : cookies.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
    }

    /// What somebody is told who shows an access token: the status.
    func introspect(_ access: String) async throws -> Int {
        try await self.get("introspect", headers: [.authorization: "Bearer \(access)"]).status.code
    }

    func refresh(_ token: String) async throws -> TestResponse {
        try await self.post("refresh", ["refresh_token": token])
    }

    /// What an app sends for a session of the web.
    static func exchange(_ tokens: AppTokens, _ changes: [String: String?] = [:]) -> [String: String?] {
        var values: [String: String?] = [
            "grant_type": Self.exchangeGrant, "subject_token": tokens.access,
            "subject_token_type": Self.accessTokenKind,
            "actor_token": tokens.deviceSecret, "actor_token_type": Self.actorKind, "client_id": Self.web,
        ]
        values.merge(changes) { $1 }
        return values
    }

    /// A session of the web for an app's: the cookies by their names.
    func webView(_ tokens: AppTokens) async throws -> [String: String] {
        let answer = try await self.post("token", Self.exchange(tokens))
        #expect(answer.status == .ok, "\(answer.text)")
        return answer.signInCookies
    }
}

/// What an app was given.
struct AppTokens: Sendable {
    let access: String
    let refresh: String
    let deviceSecret: String?

    init(_ response: TestResponse) throws {
        let body = try response.json
        let data = try body.object("data") ?? body
        self.access = try data.requiredString("access_token")
        self.refresh = try data.requiredString("refresh_token")
        self.deviceSecret = try data.string("device_secret")
    }

    /// What the access token says.
    var claims: JSONObject { get throws { try Self.claims(self.access) } }

    static func claims(_ token: String) throws -> JSONObject {
        let payload = try #require(Base64URL.decode(String(token.split(separator: ".")[1])))
        guard case .object(let claims) = try JSON(parsing: payload) else { return [:] }
        return claims
    }

    static func session(_ token: String) throws -> String { try Self.claims(token).requiredString("session_handle") }
}

extension TestResponse {
    /// The body as a JSON object.
    var json: JSONObject {
        get throws {
            guard case .object(let object) = try JSON(parsing: Array(self.body.readableBytesView)) else {
                throw JSONError(.wrongType, "no object")
            }
            return object
        }
    }

    /// What is wrong, as the app sign-in service says it.
    var errors: String? { (try? self.json.string("errors")) ?? nil }

    /// The cookies that are set, by their names, without those that are taken away.
    var signInCookies: [String: String] {
        var cookies: [String: String] = [:]
        for line in self.headers[values: .setCookie] {
            let pair = line.split(separator: ";")[0].split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if !pair[1].isEmpty { cookies[String(pair[0])] = String(pair[1]) }
        }
        return cookies
    }

    /// The attributes of a cookie that is set, in lower case, sorted; without those that say until when.
    func attributes(ofCookie name: String) -> [String] {
        let line = self.headers[values: .setCookie].first { $0.hasPrefix("\(name)=") } ?? ""
        return line.split(separator: ";").dropFirst().map {
            $0.trimmingCharacters(in: .whitespaces).asciiLowercased
        }.filter { !$0.hasPrefix("expires=") && !$0.hasPrefix("max-age=") }.sorted()
    }
}

extension InMemoryStorage {
    /// Ends an app right after its so-manieth write from now on.
    func interrupt(afterWrites count: Int) {
        struct Killed: Error {}
        let left = Mutex(count)
        self.interruptAfterWrite { _ in
            let isOver = left.withLock { left in
                left -= 1
                return left == 0
            }
            if isOver { throw Killed() }
        }
    }
}

import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import Logging
import NIOCore
import OAuthProvider
import Records
import Synchronization
import Testing
import UAFRelyingParty
import _Primitives

/// The credential service providers of the drawn service, simulated: each at `https://NAME.example`, and all of one key.
final class SimulatedProviders: OutgoingCalls {
    static let names = ["idme", "logingov", "mhv"]
    static let unsure = AssuranceLevel.oneFactor.rawValue
    static let sure = AssuranceLevel.twoFactor.rawValue

    private struct State {
        var claims: JSONObject = [:]
        var userinfo: JSONObject = [:]
        var isDown = false
        /// Where they say that they sign people out; `nil` where they say nothing.
        var endSession: String? = "/logout?theme=dark"
        var callCount = 0
    }

    private let key: SigningKey
    private let state = Mutex(State())

    init() throws {
        self.key = try SigningKey(kept: SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: "csp")
    }

    static func issuer(_ name: String) -> String { "https://\(name).example" }

    /// What an answer to the next code says of the person, and what the userinfo adds.
    func say(_ claims: JSONObject, userinfo: JSONObject = [:]) {
        self.state.withLock { ($0.claims, $0.userinfo) = (claims, userinfo) }
    }

    func shutDown() { self.state.withLock { $0.isDown = true } }

    /// Has all of them say from now on that they sign people out there: below their own address, or at that one.
    func signOut(at place: String?) { self.state.withLock { $0.endSession = place } }

    /// How often any of them was called.
    var callCount: Int { self.state.withLock { $0.callCount } }

    /// Signs a browser out that was sent there, and gives where it is sent back to (OpenID Connect RP-Initiated Logout 1.0,
    /// sections 2 and 3).
    func signOut(_ sent: TestResponse, at name: String) throws -> String {
        let address = try #require(sent.headers[.location])
        try #require(address.hasPrefix("\(Self.issuer(name))/logout?theme=dark&"), "\(address)")
        let parameters = sent.redirectParameters
        try #require(parameters["client_id"] == "countersign")
        // The one that is registered.
        let back = "http://localhost:8080/v0/sign_in/logingov_logout_proxy"
        try #require(parameters["post_logout_redirect_uri"] == back)
        let state = try #require(parameters["state"])
        try #require(state.utf8.count >= 22)
        return "\(back)?\(AppSignIn.encoded(["state": state]))"
    }

    func send(_ call: OutgoingCall) async throws -> OutgoingAnswer {
        let state = self.state.withLock { state in
            state.callCount += 1
            return state
        }
        guard !state.isDown, let name = Self.names.first(where: { call.address.hasPrefix(Self.issuer($0) + "/") })
        else {
            throw OutgoingCallError("nobody answers")
        }
        let issuer = Self.issuer(name)
        func json(_ object: JSONObject) -> OutgoingAnswer {
            OutgoingAnswer(status: 200, body: Array(JSON.object(object).serialized))
        }
        switch call.address.dropFirst(issuer.count) {
        case "/.well-known/openid-configuration":
            var document: JSONObject = [
                "issuer": .string(issuer), "authorization_endpoint": .string("\(issuer)/authorize"),
                "token_endpoint": .string("\(issuer)/token"), "jwks_uri": .string("\(issuer)/keys"),
                "userinfo_endpoint": .string("\(issuer)/userinfo"),
            ]
            document["end_session_endpoint"] = state.endSession.map {
                .string($0.hasPrefix("/") ? issuer + $0 : $0)
            }
            return json(document)
        case "/keys": return json(JWKSet([try #require(self.key.publicKey)]).publicJSON)
        case "/userinfo":
            // About the person of its ID token, unless a test says otherwise.
            return json(state.userinfo.members.isEmpty ? ["sub": state.claims["sub"] ?? .string("")] : state.userinfo)
        case "/token":
            let token = try JWS.sign(JSON.object(state.claims).serialized, type: "JWT", with: self.key)
            return json([
                "id_token": .string(token), "access_token": .string("theirs"), "token_type": .string("Bearer"),
            ])
        default: throw OutgoingCallError("there is nothing at \(call.address)")
        }
    }
}

/// The deployment with its three providers, each with what is sent for the words of clients (`acr`).
struct ProvidersPlace: Sendable {
    let place: AppSignIn
    let providers: SimulatedProviders
    let browser: TestBrowser

    /// What clients may ask for; the last word no provider takes.
    static let levels: [SignInServiceSettings.Level] = [
        .init("loa1"), .init("ial1"), .init("min"), .init("loa3", needed: SimulatedProviders.sure),
        .init("ial2", needed: SimulatedProviders.sure),
        .init("urn:acr.va.gov:verified-facial-match-required", needed: SimulatedProviders.sure),
        .init("urn:acr.va.gov:verified-facial-match-preferred"), .init("loa2"),
    ]

    static func request(_ asked: String, _ sent: [String], raised: [String] = []) -> JSON {
        .object([
            "asked": .string(asked), "sent": .array(sent.map(JSON.string)),
            "raised": .array(raised.map(JSON.string)),
        ])
    }

    private static func level(_ theirs: String) -> JSON {
        .object(["theirs": .string(theirs), "ours": .string(SimulatedProviders.sure)])
    }

    private static let settings: [String: JSONObject] = [
        "idme": [
            "levels": .array([Self.level("idme/loa/3"), Self.level("idme/ial/2/aal/2")]),
            "levelHint": .string("level_of_assurance=3"),
            "levelRequests": .array([
                Self.request("loa1", ["idme/loa/1"]), Self.request("loa3", ["idme/loa/3_force"]),
                Self.request("min", ["idme/loa/1", "comparison:minimum"], raised: ["idme/loa/3"]),
                Self.request("urn:acr.va.gov:verified-facial-match-required", ["idme/ial/2/aal/2"]),
            ]),
        ],
        "logingov": [
            "levels": .array([Self.level("logingov/ial/2")]), "levelHint": .string("verified_at"),
            "levelRequests": .array([
                Self.request("ial1", ["logingov/ial/1"]), Self.request("ial2", ["logingov/ial/2"]),
                Self.request("min", ["logingov/ial/0"], raised: ["logingov/ial/2"]),
                Self.request("urn:acr.va.gov:verified-facial-match-required", ["logingov/facial-required"]),
                Self.request("urn:acr.va.gov:verified-facial-match-preferred", ["logingov/facial-preferred"]),
            ]),
        ],
        // Its people are as sure as their account there is, which another claim says.
        "mhv": [
            "levels": .array([Self.level("Premium")]), "levelClaim": .string("mhv_account"),
            "levelRequests": .array(["loa1", "loa3", "min"].map { Self.request($0, ["mhv/loa/1"]) }),
        ],
    ]

    static func run(
        people: SimulatedPeople? = nil, logger: Logger? = nil,
        _ body: @escaping @Sendable (ProvidersPlace) async throws -> Void
    ) async throws {
        let providers = try SimulatedProviders()
        try await AppSignIn.run(calls: providers, people: people, logger: logger) { place async throws in
            for name in SimulatedProviders.names {
                var described: JSONObject = [
                    "name": .string(name), "issuer": .string(SimulatedProviders.issuer(name)),
                    "clientId": .string("countersign"), "tokenEndpointAuthMethod": .string("none"),
                    "newcomers": .string("created"), "usualLevel": .string(SimulatedProviders.unsure),
                ]
                for (member, value) in try #require(Self.settings[name]).members { described[member] = value }
                let body = described
                let added = try await place.server.withSocketClient {
                    try await $0.send(.post, "/admin/v1/providers", body)
                }
                try #require(added.response.status == .created, "\(added.response.text)")
            }
            let methods = SimulatedProviders.names.map { "provider:\($0)" } + ["password"]
            var (app, web) = (AppSignIn.appSettings, AppSignIn.webSettings)
            app.levels = Self.levels
            web.levels = Self.levels
            try await place.register("app", app, at: "https://app.example/in", methods: methods)
            try await place.register(
                "web", web, at: "https://www.example/in", home: ["https://www.example/"], methods: methods)
            try await body(ProvidersPlace(place: place, providers: providers, browser: TestBrowser(place.client)))
        }
    }

    /// Begins a sign-in and follows it to where the browser leaves this server, or is told something.
    func begin(_ client: String, by provider: String, _ acr: String) async throws -> TestResponse {
        let begun = try await self.browser.get(
            self.place.authorize(client, ["type": provider, "acr": acr, "scope": nil]))
        return try await TwoServers.follow(self.browser, begun, at: "http://localhost:8080")
    }

    /// Comes back from where `away` leads, as a person of whom the provider says that.
    func comeBack(
        _ away: TestResponse, by provider: String, _ says: JSONObject = [:], userinfo: JSONObject = [:],
        error: String? = nil
    ) async throws -> TestResponse {
        let parameters = away.redirectParameters
        let now = self.place.server.clock.now().seconds
        var claims: JSONObject = [
            "iss": .string(SimulatedProviders.issuer(provider)), "aud": .string("countersign"),
            "sub": .string("somebody"), "iat": .integer(now), "exp": .integer(now + 60),
        ]
        claims["nonce"] = parameters["nonce"].map(JSON.string)
        for (name, value) in says.members { claims[name] = value }
        self.providers.say(claims, userinfo: userinfo)
        let answer = AppSignIn.encoded([
            "state": parameters["state"], "code": error == nil ? "theirs" : nil, "error": error,
        ])
        let back = try await self.browser.get("/sign-in/provider/\(provider)/callback?\(answer)")
        return try await TwoServers.follow(self.browser, back, at: "http://localhost:8080")
    }

    /// A whole sign-in that makes one trip.
    func signIn(
        _ client: String, by provider: String, _ acr: String, _ says: JSONObject = [:], userinfo: JSONObject = [:],
        error: String? = nil
    ) async throws -> TestResponse {
        try await self.comeBack(
            self.begin(client, by: provider, acr), by: provider, says, userinfo: userinfo, error: error)
    }
}

import Foundation
import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import _Primitives

/// Another provider, simulated: it answers this server's calls as a provider would, or as a test wants it to.
final class SimulatedProvider: OutgoingCalls {
    static let issuer = "https://up.example"

    struct State {
        /// What it says of itself.
        var discovery: JSONObject
        /// Its key set.
        var keySet: String
        /// The key that it signs with, as what.
        var key: ClientKey
        var type = "JWT"
        /// What it signs, and what its userinfo says.
        var claims: JSONObject
        var userinfo: JSONObject = [:]
        /// What comes beside the ID token.
        var accessToken: String? = "access-1"
        /// In the place of its token endpoint's own answer.
        var tokenAnswer: OutgoingAnswer?
        /// In the place of any answer.
        var failure: OutgoingCallError?
        /// What the code that it has given was asked for with.
        var challenge: String?
        var calls: [OutgoingCall] = []
    }

    let state: Mutex<State>

    init() throws {
        let key = try ClientKey(.es256, named: "up-1")
        let issuer = Self.issuer
        self.state = Mutex(
            State(
                discovery: [
                    "issuer": .string(issuer), "authorization_endpoint": .string("\(issuer)/authorize?tenant=7"),
                    "token_endpoint": .string("\(issuer)/token"), "jwks_uri": .string("\(issuer)/keys"),
                    "userinfo_endpoint": .string("\(issuer)/userinfo"),
                    "authorization_response_iss_parameter_supported": .bool(true),
                ], keySet: key.set, key: key, claims: [:]))
    }

    /// Changes what it does.
    func change(_ body: (inout sending State) throws -> Void) rethrows { try self.state.withLock { try body(&$0) } }

    /// What it was called for, by the last part of the address.
    var calls: [String] {
        self.state.withLock { $0.calls.map { String($0.address.split(separator: "/").last ?? "") } }
    }

    /// The form and the header of the last exchange of a code.
    var exchange: (form: Parameters, authorization: String?)? {
        get throws {
            try self.state.withLock { state in
                guard let call = state.calls.last(where: { $0.address.hasSuffix("/token") }),
                    case .form(let form) = call.content
                else { return nil }
                return (try Parameters(parsing: form), call.authorization)
            }
        }
    }

    func send(_ call: OutgoingCall) async throws -> OutgoingAnswer {
        try self.state.withLock { state in
            state.calls.append(call)
            if let failure = state.failure { throw failure }
            // As many providers do, it says of some things that there are none.
            func withNull(_ object: JSONObject) -> [UInt8] {
                Array(
                    (String(JSON.object(object).text.dropLast()) + (object.members.isEmpty ? "" : ",")
                        + #""none":null}"#).utf8)
            }
            func json(_ object: JSONObject) -> OutgoingAnswer {
                OutgoingAnswer(status: 200, body: withNull(object))
            }
            switch call.address.dropFirst(Self.issuer.count) {
            case "/.well-known/openid-configuration": return json(state.discovery)
            case "/keys": return OutgoingAnswer(status: 200, body: Array(state.keySet.utf8))
            case "/userinfo":
                guard call.authorization == state.accessToken.map({ "Bearer \($0)" }) else {
                    return OutgoingAnswer(status: 401, body: Array("{}".utf8))
                }
                // About the person of its ID token, unless a test says otherwise.
                if state.userinfo.members.isEmpty, let subject = state.claims["sub"] {
                    return json(["sub": subject])
                }
                return json(state.userinfo)
            case "/token":
                if let answer = state.tokenAnswer { return answer }
                guard case .form(let text) = call.content,
                    let verifier = try Parameters(parsing: text)["code_verifier"],
                    try CodeVerifier(verifier).challenge.text == state.challenge
                else {
                    return OutgoingAnswer(status: 400, body: Array(#"{"error":"invalid_grant"}"#.utf8))
                }
                var answer: JSONObject = ["token_type": .string("Bearer")]
                answer["access_token"] = state.accessToken.map(JSON.string)
                if !state.claims.members.isEmpty {
                    answer["id_token"] = .string(
                        try JWS.sign(
                            JSON.object(state.claims).serialized, type: state.type, with: state.key.signing))
                }
                return json(answer)
            default: return OutgoingAnswer(status: 404, body: [])
            }
        }
    }
}

/// People whose accounts are those of the store.
private struct StoredPeople: PersonDirectory {
    let store: SQLStore

    func person(account: String) async throws -> Person? {
        guard let record = try await self.store.account(id: account), !record.isLocked else { return nil }
        return Person(username: record.username?.text, displayName: record.displayName, email: record.email)
    }
}

/// A provider of ours by whose services people can sign in at a simulated one.
struct UpstreamPlace: Sendable {
    static let levels = [
        AssuranceWord("urn:low", levels: ["urn:low", "urn:high"]), AssuranceWord("urn:high", levels: ["urn:high"]),
    ]

    let f: ProviderFixture
    let upstream: SimulatedProvider
    let provider: OpenIDProvider
    let signIns: UpstreamSignIns
    let providers: UpstreamProviders

    /// - Parameter settings: Changes what the operator says of the provider `up`.
    static func run(
        kind: UpstreamProvider.Kind = .openID, limits: Limits = Limits(),
        calls: (SimulatedProvider) -> any OutgoingCalls = { $0 }, _ settings: (inout UpstreamChange) -> Void = { _ in },
        _ body: (UpstreamPlace) async throws -> Void
    ) async throws {
        try await ProviderFixture.run { f in
            let upstream = try SimulatedProvider()
            var configuration = OpenIDProvider.Configuration(
                issuer: ProviderFixture.issuer, limits: limits, levels: Self.levels)
            configuration.calls = calls(upstream)
            let provider = try await OpenIDProvider.open(
                configuration, store: f.store,
                methods: [
                    f.outcomes,
                    UpstreamSignInMethod(
                        store: f.store,
                        finished: FinishedSignIns(store: f.store, limits: limits, time: f.clock.source),
                        time: f.clock.source, random: .system),
                ], people: StoredPeople(store: f.store), time: f.clock.source)
            let providers = UpstreamProviders(provider.clients, store: f.store)
            var change = UpstreamChange()
            change.title = "Staff accounts"
            change.clientID = "our-client"
            change.secret = SecretBytes(utf8: "s3cret:&")
            change.levels = [
                .init(theirs: "their:mfa=1", ours: "urn:high"), .init(theirs: "their:pwd", ours: "urn:low"),
            ]
            if kind == .oauth2 {
                change.endpoints = .init(
                    authorization: "\(SimulatedProvider.issuer)/authorize", token: "\(SimulatedProvider.issuer)/token",
                    userinfo: "\(SimulatedProvider.issuer)/userinfo")
            }
            settings(&change)
            _ = try await providers.add(
                name: "up", kind: kind, issuer: SimulatedProvider.issuer, change, by: "operator")
            let clock = f.clock.source
            try await f.letIn(by: ["phone", "provider:up"])
            try await body(
                UpstreamPlace(
                    f: f, upstream: upstream, provider: provider,
                    signIns: UpstreamSignIns(provider.authorizations, store: f.store) { name, email in
                        AccountRecord(
                            id: RandomSource.system.identifier(), username: nil, displayName: name, email: email,
                            createdAt: clock.now())
                    }, providers: providers))
        }
    }

    /// The parameters of an address that a browser is sent to.
    struct Trip: Sendable {
        let request: String
        let address: String
        let parameters: Parameters
        subscript(name: String) -> String { self.parameters[name] ?? "" }
    }

    /// Starts a sign-in and goes to the simulated provider.
    func leave(
        _ changes: [String: String?] = [:], session: SessionSecret? = nil, by name: String = "up"
    ) async throws -> Trip {
        let answer = try await self.provider.authorizations.authorize(
            self.f.query(changes), browser: self.f.browser, session: session, source: "a", address: nil)
        guard case .signIn(let request, _) = answer else { throw OAuthError(.serverError, detail: "\(answer)") }
        return try await self.leave(request: request, by: name)
    }

    func leave(request: String, by name: String = "up") async throws -> Trip {
        let answer = try #require(
            try await self.signIns.begin(name, request: request, browser: self.f.browser, source: "a"))
        return try self.trip(answer)
    }

    func trip(_ answer: UpstreamSignIns.Answer) throws -> Trip {
        guard case .away(let address) = answer.step else {
            throw OAuthError(.serverError, detail: "not sent away: \(answer.step)")
        }
        let query = address.split(separator: "?", maxSplits: 1).last.map(String.init) ?? ""
        return Trip(request: answer.request, address: address, parameters: try Parameters(parsing: query))
    }

    /// Has the simulated provider authenticate somebody on that trip. Changes are of the ID token's claims.
    func authenticate(_ trip: Trip, as subject: String = "person-1", _ changes: [String: JSON?] = [:]) {
        let now = self.f.clock.source.now().seconds
        var claims: JSONObject = [
            "iss": .string(SimulatedProvider.issuer), "sub": .string(subject), "aud": .string("our-client"),
            "iat": .integer(now), "exp": .integer(now + 60), "nonce": .string(trip["nonce"]),
            "acr": .string("their:pwd"),
        ]
        for (name, value) in changes { claims[name] = value }
        self.upstream.change { [claims] state in
            state.claims = claims
            state.challenge = trip["code_challenge"]
        }
    }

    /// The browser comes back. Changes are of the answer's parameters; `nil` leaves one out.
    func comeBack(
        _ trip: Trip, _ changes: [String: String?] = [:], to name: String = "up", browser: BrowserSecret? = nil,
        source: String = "a"
    ) async throws -> UpstreamSignIns.Answer? {
        var values: [String: String?] = ["state": trip["state"], "code": "code-1", "iss": SimulatedProvider.issuer]
        values.merge(changes) { $1 }
        var parameters: Parameters = [:]
        for (name, value) in values { if let value { parameters.append(name, value) } }
        return try await self.signIns.arrive(
            name, query: parameters.encoded, browser: browser ?? self.f.browser,
            place: .init(source: source, browser: "Chrome on Linux", address: "192.0.2.7"))
    }

    /// A whole way there and back; gives what became of it.
    func goThere(
        as subject: String = "person-1", claims: [String: JSON?] = [:], _ changes: [String: String?] = [:],
        session: SessionSecret? = nil
    ) async throws -> (step: UpstreamSignIns.Step?, request: String) {
        let trip = try await self.leave(changes, session: session)
        self.authenticate(trip, as: subject, claims)
        return (try await self.comeBack(trip)?.step, trip.request)
    }

    /// Completes a sign-in and gives what the client is answered, and the browser's session.
    func complete(_ request: String, session: SessionSecret? = nil) async throws -> (
        fields: Parameters, session: SessionSecret?
    ) {
        switch try await self.provider.authorizations.complete(
            request: request, browser: self.f.browser, session: session)
        {
        case .signedIn(let answer, let session, _): (try ProviderFixture.fields(of: answer), session)
        case .refused(let answer): (try ProviderFixture.fields(of: answer), nil)
        case .consent(_, let session, _): ([:], session)
        case .confirmDevice, .page: ([:], nil)
        }
    }

    /// The claims of the ID token of a sign-in that is completed.
    func claims(_ request: String) async throws -> JSONObject {
        let code = try #require(try await self.complete(request).fields["code"])
        return try await self.claims(code: code)
    }

    func claims(code: String) async throws -> JSONObject {
        let answer = try await self.provider.grants.answer(header: self.f.basic(), body: self.f.form(code))
        let token = try #require(answer.body).requiredString("id_token")
        return try self.f.claims(token, type: "JWT").members
    }

    /// The account that came from the simulated provider as that subject.
    func account(_ subject: String = "person-1") async throws -> String? {
        try await self.f.store.account(
            linkedTo: UpstreamIdentity(provider: "up", issuer: SimulatedProvider.issuer, subject: subject))
    }

    func trail(_ kind: String) async throws -> [AuditEvent] {
        try await self.f.store.auditEntries(after: 0, limit: 999).map(\.event).filter { $0.kind.rawValue == kind }
    }
}

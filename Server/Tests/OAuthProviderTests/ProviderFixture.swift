import Foundation
import FreshStores
import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Sealing
import Settings
import Synchronization
import Testing
import _Primitives

/// A clock that stands still until it is moved.
final class MovedClock: Sendable {
    private let moment = Mutex(Timestamp(seconds: 1_800_000_000))
    var source: TimeSource { TimeSource { self.moment.withLock { $0 } } }
    func advance(_ span: Duration) { self.moment.withLock { $0 = $0 + span } }
}

/// Outcomes that a test has recorded.
final class RecordedOutcomes: SignInMethod {
    let name: String
    let signsTexts: Bool
    private let outcomes = Mutex<[String: (BrowserSecret, AuthenticationOutcome)]>([:])

    init(name: String = "phone", signsTexts: Bool = true) {
        self.name = name
        self.signsTexts = signsTexts
    }

    func record(_ outcome: AuthenticationOutcome, request: String, browser: BrowserSecret) {
        self.outcomes.withLock { $0[request] = (browser, outcome) }
    }

    func outcome(request: String, browser: BrowserSecret, client: String) async throws -> AuthenticationOutcome? {
        self.outcomes.withLock { outcomes in
            guard let (starter, outcome) = outcomes[request], starter == browser else { return nil }
            return outcome
        }
    }
}

/// People whose accounts can be locked.
final class ListedPeople: PersonDirectory {
    private let people = Mutex([
        "account-a": Person(username: "alice", displayName: "Alice Example"),
        "account-b": Person(
            username: "bob", displayName: nil, email: AccountEmail(address: "bob@post.example", isVerified: false)),
        "account-c": Person(
            username: "carol", displayName: nil, email: AccountEmail(address: "carol@post.example", isVerified: true),
            phone: AccountPhone(number: "+4930901820", isVerified: false),
            address: PostalAddress(["street_address": .string("Main Road 1"), "locality": .string("Berlin")])),
    ])
    private let closed = Mutex<Set<String>>([])
    private let asked = Mutex(0)
    func set(_ person: Person, account: String) { self.people.withLock { $0[account] = person } }
    func lock(_ account: String) { self.people.withLock { $0[account] = nil } }
    /// Has a client take nobody, as a service of identities where nobody is any more what they came as.
    func close(_ client: String) { self.closed.withLock { _ = $0.insert(client) } }
    func open(_ client: String) { self.closed.withLock { _ = $0.remove(client) } }
    func takes(_ account: String, in role: RoleAtService?, at client: String) async throws -> Bool {
        self.asked.withLock { $0 += 1 }
        return self.closed.withLock { !$0.contains(client) }
    }
    /// How often it was asked whether a client takes somebody.
    var timesAsked: Int { self.asked.withLock { $0 } }
    func person(account: String) async throws -> Person? { self.people.withLock { $0[account] } }
}

/// A provider over an empty SQLite store, with one registered client, a browser, and everything else movable.
struct ProviderFixture: Sendable {
    static let issuer = "https://id.example"
    static let address = "https://bank.example/callback"
    static let afterLogout = "https://bank.example/bye"

    let provider: OpenIDProvider
    let store: SQLStore
    /// The database of the store, for tests that precede a step.
    let hooks: HookedDatabase
    let clock: MovedClock
    let outcomes: RecordedOutcomes
    let people: ListedPeople
    let bank: RegisteredClient
    /// The folder of the store.
    let folder: String
    let browser = BrowserSecret()
    let verifier = CodeVerifier(random: .system)

    /// Locks an account so that nothing of the account ends.
    func lock(_ account: String) throws {
        self.people.lock(account)
        try FreshStore.lock(account: account, in: self.folder)
    }

    /// The secret of the registered client.
    var secret: String { self.bank.secret ?? "" }

    /// Runs `body` over a fixture of its own.
    ///
    /// - Parameter closing: Whether the store is still open afterwards, and to be closed here.
    static func run(
        limits: Limits = Limits(), levels: [AssuranceWord] = [], closing: Bool = true,
        mutualTLS: CertificateListener? = nil, calls: (any OutgoingCalls)? = nil,
        configure: (inout OpenIDProvider.Configuration) -> Void = { _ in },
        _ body: (ProviderFixture) async throws -> Void
    ) async throws {
        let folder = NSTemporaryDirectory() + "provider-" + UUID().uuidString
        var hooks: HookedDatabase?
        let store = try FreshStore.open(
            in: folder, key: KeyEncryptionKey(),
            decorate: { opened in
                let hooked = HookedDatabase(opened)
                hooks = hooked
                return hooked
            })
        let clock = MovedClock()
        let outcomes = RecordedOutcomes()
        let people = ListedPeople()
        var configuration = OpenIDProvider.Configuration(issuer: self.issuer, limits: limits, levels: levels)
        (configuration.mutualTLS, configuration.calls) = (mutualTLS, calls)
        configure(&configuration)
        let provider = try await OpenIDProvider.open(
            configuration, store: store,
            methods: [outcomes],
            people: people, time: clock.source)
        for account in ["account-a", "account-b", "account-c"] {
            try await store.createAccount(
                AccountRecord(
                    id: account, username: AccountName(stored: account), displayName: nil, createdAt: clock.source.now()
                ),
                audit: AuditEvent(AuditEvent.Kind(rawValue: "test-account"), at: clock.source.now()))
        }
        let bank = try await provider.clients.register(
            name: "Demo Bank", redirectURIs: [self.address], postLogoutRedirectURIs: [self.afterLogout],
            // A key for it is there already, where an RSA key would be made for each test.
            settings: ClientSettings(idTokenAlgorithm: .es256))
        try await body(
            ProviderFixture(
                provider: provider, store: store, hooks: try #require(hooks), clock: clock, outcomes: outcomes,
                people: people, bank: bank,
                folder: folder))
        if closing { await store.close() }
        try FileManager.default.removeItem(atPath: folder)
    }

    // MARK: Requests

    /// An authorization request that is right but for `changes`; `nil` leaves a parameter out.
    func query(_ changes: [String: String?] = [:], client: RegisteredClient? = nil) -> String {
        var values: [String: String?] = [
            "response_type": "code", "client_id": (client ?? self.bank).client.id, "redirect_uri": Self.address,
            "scope": "openid profile", "state": "st&te", "nonce": "n-1", "code_challenge": self.verifier.challenge.text,
            "code_challenge_method": "S256",
        ]
        values.merge(changes) { $1 }
        var parameters: Parameters = [:]
        for (name, value) in values { if let value { parameters.append(name, value) } }
        return parameters.encoded
    }

    /// Starts a sign-in and gives the request's identifier.
    func begin(_ changes: [String: String?] = [:], session: SessionSecret? = nil) async throws -> String {
        let answer = try await self.provider.authorizations.authorize(
            self.query(changes), browser: self.browser, session: session, source: "a", address: nil)
        guard case .signIn(let request, _) = answer else {
            Issue.record("expected a sign-in page, not \(answer)")
            return ""
        }
        return request
    }

    /// Records that the person authenticated.
    func authenticate(
        _ request: String, account: String = "account-a", acr: String = "urn:x", role: RoleAtService? = nil
    ) {
        self.outcomes.record(
            AuthenticationOutcome(
                account: account, authenticatedAt: self.clock.source.now(), acr: acr, amr: ["pin", "hwk"], role: role),
            request: request, browser: self.browser)
    }

    struct SignedIn {
        let redirect: String
        let session: SessionSecret
        var code: String { get throws { try #require(try ProviderFixture.parameter("code", of: self.redirect)) } }
    }

    /// A whole sign-in up to the code.
    func signIn(
        _ changes: [String: String?] = [:], account: String = "account-a", acr: String = "urn:x",
        session: SessionSecret? = nil, role: RoleAtService? = nil
    ) async throws -> SignedIn {
        let request = try await self.begin(changes, session: session)
        self.authenticate(request, account: account, acr: acr, role: role)
        let answer = try await self.provider.authorizations.complete(
            request: request, browser: self.browser, session: session)
        guard case .signedIn(.redirect(let redirect), let secret, _) = answer else {
            throw OAuthError(.serverError, detail: "not signed in: \(answer)")
        }
        return SignedIn(redirect: redirect, session: secret)
    }

    /// A whole sign-in to a third party's client, whose person agrees, up to the code.
    func agreedCode(_ changes: [String: String?], client: RegisteredClient) async throws -> String {
        let session = try await self.signIn().session
        let asked = try await self.provider.authorizations.authorize(
            self.query(changes, client: client), browser: self.browser, session: session, source: "a", address: nil)
        guard case .consent(let request, _) = asked else {
            throw OAuthError(.serverError, detail: "not asked: \(asked)")
        }
        let answer = try await self.provider.authorizations.decide(
            request: request, browser: self.browser, session: session, isGranted: true, address: nil)
        guard case .client(let client) = answer else { throw OAuthError(.serverError, detail: "\(answer)") }
        return try #require(try Self.fields(of: client)["code"])
    }

    /// A token request that is right but for `changes`.
    func form(_ code: String, _ changes: [String: String?] = [:]) -> String {
        var values: [String: String?] = [
            "grant_type": "authorization_code", "code": code, "redirect_uri": Self.address,
            "code_verifier": self.verifier.text,
        ]
        values.merge(changes) { $1 }
        var parameters: Parameters = [:]
        for (name, value) in values { if let value { parameters.append(name, value) } }
        return parameters.encoded
    }

    /// Lets people sign in to the bank in these ways from now on, whether there are such ways or not.
    func letIn(by ways: [String]) async throws {
        _ = try await self.store.changeClient(self.bank.client.id) { client in
            client.settings.signInMethods = ways
            return []
        }
    }

    /// Ends all of alice's sessions.
    func endSessions() async throws {
        for session in try await self.provider.sessions.running(ofAccount: "account-a") {
            #expect(try await self.provider.sessions.end(session.id, ofAccount: "account-a"))
        }
    }

    /// A token of a device of alice's.
    func deviceToken() throws -> String {
        try self.provider.tokens.deviceToken(for: DeviceTokenHolder(account: "account-a", device: "device-a"))
    }

    /// The `Authorization` of a client.
    func basic(_ client: RegisteredClient? = nil, secret: String? = nil) -> String {
        let client = client ?? self.bank
        return "Basic " + Data("\(client.client.id):\(secret ?? client.secret ?? "")".utf8).base64EncodedString()
    }

    func token(_ code: String, _ changes: [String: String?] = [:]) async throws -> ProviderAnswer {
        try await self.provider.grants.answer(header: self.basic(), body: self.form(code, changes))
    }

    /// A whole sign-in up to the tokens.
    func tokens(_ changes: [String: String?] = [:], account: String = "account-a") async throws
        -> (access: String, id: String, session: SessionSecret)
    {
        let signedIn = try await self.signIn(changes, account: account)
        let body = try #require(try await self.token(signedIn.code).body)
        return (
            try body.requiredString("access_token"), try body.requiredString("id_token"), signedIn.session
        )
    }

    // MARK: Answers

    /// What an authorization request came to: `sign-in`, `too many`, `page`, `code`, or the error that the client is told.
    func answer(
        _ changes: [String: String?], session: SessionSecret?, client: RegisteredClient? = nil
    ) async throws -> String {
        switch try await self.provider.authorizations.authorize(
            self.query(changes, client: client), browser: self.browser, session: session, source: "a", address: nil)
        {
        case .signIn: return "sign-in"
        case .consent: return "consent"
        case .tooMany: return "too many"
        case .page: return "page"
        case .client(let answer):
            let fields = try Self.fields(of: answer)
            return fields["error"] ?? (fields["code"] == nil ? "nothing" : "code")
        }
    }

    /// The parameters of an answer to a client, however it gets there.
    static func fields(of answer: ClientAnswer) throws -> Parameters {
        switch answer {
        case .redirect(let address):
            try Parameters(parsing: address.split(separator: "?", maxSplits: 1).last.map(String.init) ?? "")
        case .post(let posted): posted.fields
        case .told: [:]
        }
    }

    /// A parameter of an address's query.
    static func parameter(_ name: String, of address: String) throws -> String? {
        let query = address.split(separator: "?", maxSplits: 1).last.map(String.init) ?? ""
        return try Parameters(parsing: query)[name]
    }

    /// Verifies a token with the published keys, as a client would.
    func claims(_ compact: String, type: String) throws -> JWTClaims {
        let keys = try JWKSet(parsing: JSON.object(self.provider.keys.keySet).serialized)
        let token = try UnverifiedJWS(compact: compact).verified(by: keys, allowing: [.rs256, .es256, .ps256, .edDSA])
        #expect(token.header.hasType(type))
        return try JWTClaims(token)
    }
}

extension ProviderAnswer {
    /// `error` of the body.
    var error: String? { (try? self.body?.string("error")).flatMap { $0 } }
    func header(_ name: String) -> String? { self.headers.first { $0.name == name }?.value }
}

import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import Synchronization
import Testing

@testable import BankCommand

/// The bank in front of a provider that lies, and a browser that keeps the bank's cookie.
struct BankFixture: Sendable {
    let provider: LyingProvider
    let issuer: String
    private let browser: any TestClientProtocol
    private let follower: Follower
    private let cookie = Cookie()

    /// The browser's cookie.
    private actor Cookie {
        var value: String?
        func take(_ header: String?) {
            if let header { self.value = header.split(separator: ";").first.map(String.init) }
        }
    }

    /// An answer of the bank.
    struct Page: Sendable {
        let status: Int
        let location: String?
        let text: String
        let headers: HTTPFields

        /// The token that the page's forms carry.
        func formToken() throws -> String {
            try String(#require(self.text.firstMatch(of: /name="form_token" value="([^"]+)"/)).1)
        }

        /// A parameter of the address that the answer leads to.
        func parameter(_ name: String) throws -> String {
            let items = URLComponents(string: try #require(self.location))?.queryItems
            return try #require(items?.first { $0.name == name }?.value)
        }
    }

    /// Runs a test against a bank whose provider is at a loopback address.
    static func run(
        as house: House = .bank, trace: TraceFile? = nil, log: BankLog = BankLog(),
        _ test: @escaping @Sendable (BankFixture) async throws -> Void
    ) async throws {
        let provider = LyingProvider()
        try await Application(router: provider.router()).test(.live) { server in
            let issuer = "http://localhost:\(try #require(server.port))"
            let calls = try ProviderCalls(issuer: issuer, clientID: "bank", clientSecret: "p:w d", caFile: nil)
            let openID = OpenIDClient(
                calls: calls, redirectURI: "http://127.0.0.1:8081/callback", scope: house.scope)
            let (confirmations, ledger) = (Confirmations(calls: calls), Ledger())
            let settlement = Settlement(
                confirmations: confirmations, provider: openID, ledger: ledger, logger: Logger(label: "bank"))
            let (begun, continuation) = AsyncStream.makeStream(of: Transfer.self)
            let follower = Follower(settlement: settlement, begun: begun, pause: .zero)
            let router = Router()
            if house.word == House.townHall.word {
                TownHall(
                    origin: "http://127.0.0.1:8081", provider: openID, sessions: SessionTable(), trace: trace
                ).addRoutes(to: router)
            } else {
                Bank(
                    origin: "http://127.0.0.1:8081", provider: openID, confirmations: confirmations,
                    sessions: SessionTable(), ledger: ledger, settlement: settlement, trace: trace, begun: continuation
                ).addRoutes(to: router)
            }
            do {
                let logger = Logger(label: "bank") { _ in log }
                try await Application(router: router, logger: logger).test(.router) { browser in
                    try await test(
                        BankFixture(provider: provider, issuer: issuer, browser: browser, follower: follower))
                }
            } catch {
                try await calls.shutDown()
                throw error
            }
            try await calls.shutDown()
        }
    }

    /// The same bank, for another browser.
    func otherBrowser() -> Self {
        Self(provider: self.provider, issuer: self.issuer, browser: self.browser, follower: self.follower)
    }

    private init(provider: LyingProvider, issuer: String, browser: any TestClientProtocol, follower: Follower) {
        (self.provider, self.issuer, self.browser, self.follower) = (provider, issuer, browser, follower)
    }

    /// Follows the next transfer to its end, as the program does beside its pages.
    func follow() async throws {
        let next = await self.follower.begun.first { _ in true }
        await self.follower.follow(try #require(next))
    }

    func get(_ path: String) async throws -> Page { try await self.send(.get, path, nil) }

    func post(_ path: String, _ fields: [(String, String)]) async throws -> Page {
        try await self.send(.post, path, Form.encode(fields))
    }

    private func send(_ method: HTTPRequest.Method, _ path: String, _ form: String?) async throws -> Page {
        var headers = HTTPFields()
        headers[.cookie] = await self.cookie.value
        if form != nil { headers[.contentType] = "application/x-www-form-urlencoded" }
        let answer = try await self.browser.execute(
            uri: path, method: method, headers: headers, body: form.map { ByteBuffer(string: $0) })
        await self.cookie.take(answer.headers[.setCookie])
        let text = String(buffer: answer.body)
        // Every page of every test: its words have one apostrophe, which no typewriter has.
        if answer.headers[.contentType]?.hasPrefix("text/html") == true {
            let shown = text.replacing(#/<(style|script)\b[\s\S]*?<\/\1>|<[^>]*>/#, with: " ")
            #expect(!shown.contains("'") && !shown.contains("&#39;") && !shown.contains("&apos;"), "\(path): \(shown)")
        }
        return Page(
            status: answer.status.code, location: answer.headers[.location], text: text, headers: answer.headers)
    }

    /// Begins a sign-in: where the browser is sent.
    func beginSignIn(isNewcomer: Bool = false) async throws -> Page {
        let token = try await self.get("/").formToken()
        let sent = try await self.post(
            "/sign-in", [("form_token", token)] + (isNewcomer ? [("newcomer", "yes")] : []))
        if sent.location != nil {
            let nonce = try sent.parameter("nonce")
            self.provider.state.withLock { $0.nonce = nonce }
        }
        return sent
    }

    /// Comes back from the provider with these parameters, the right ones where they are not given.
    func comeBack(_ sent: Page, _ changes: [String: String?] = [:]) async throws -> Page {
        let right: [String: String?] = ["code": "code", "state": try sent.parameter("state"), "iss": self.issuer]
        let fields = right.merging(changes) { $1 }.compactMap { name, value in value.map { (name, $0) } }
        return try await self.get("/callback?\(Form.encode(fields))")
    }

    func signIn() async throws {
        let answer = try await self.comeBack(try await self.beginSignIn())
        #expect(answer.location == "/accounts")
    }

    /// Tries to sign in, and expects that nobody is signed in afterwards.
    func expectRefusal() async throws {
        let answer = try await self.comeBack(try await self.beginSignIn())
        #expect(answer.status == 400)
        let isSignedIn = try await self.isSignedIn
        #expect(!isSignedIn)
    }

    var isSignedIn: Bool { get async throws { try await self.get("/accounts").status == 200 } }

    /// Sends the transfer form with these changes.
    func transfer(_ changes: [String: String] = [:]) async throws -> Page {
        let token = try await self.get("/accounts").formToken()
        let fields = [
            "form_token": token, "amount": "1234,5", "payee": "Jo Gardener", "iban": "DE89 3704 0044 0532 0130 00",
            "reference": "Fence",
        ]
        return try await self.post("/transfers", fields.merging(changes) { $1 }.map { ($0.key, $0.value) })
    }

    func balance() async throws -> String {
        let page = try await self.get("/accounts").text
        return String(try #require(page.firstMatch(of: /data-testid="balance">[^>]*>[^>]*> ([^<]+)</)).1)
    }
}

/// Keeps what the bank logs.
final class BankLog: LogHandler {
    private let kept = Mutex<[Logger.Metadata]>([])
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .notice }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) { self.kept.withLock { $0.append(event.metadata ?? [:]) } }

    /// The reason at the line with the number that a page shows.
    func reason(for page: BankFixture.Page) throws -> String {
        let shown = try #require(page.text.firstMatch(of: /<code>([0-9A-Z]{4}-[0-9A-Z]{4})<\/code>/))
        let line = self.kept.withLock { $0.first { $0["reference"]?.description == String(shown.1) } }
        return try #require(line?["reason"]).description
    }
}

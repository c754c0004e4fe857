import Accounts
import Countersign
import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuthProvider
import Passwords
import Records
import Settings
import Testing
import _Primitives

/// Takes this server's calls to the routes of another server in the same process.
struct RouterCalls: OutgoingCalls {
    let client: any TestClientProtocol
    let origin: String

    func send(_ call: OutgoingCall) async throws -> OutgoingAnswer {
        guard call.address.hasPrefix(self.origin + "/") else { throw OutgoingCallError("there is no such server") }
        var headers = HTTPFields()
        headers[.authorization] = call.authorization
        var body: ByteBuffer?
        switch call.content {
        case .none: break
        case .form(let form):
            headers[.contentType] = "application/x-www-form-urlencoded"
            body = ByteBuffer(string: form)
        case .json(let bytes):
            headers[.contentType] = "application/json"
            body = ByteBuffer(bytes: bytes)
        case .bytes(let bytes, let fields):
            for field in fields { if let name = HTTPField.Name(field.name) { headers[name] = field.value } }
            body = ByteBuffer(bytes: bytes)
        }
        let response = try await self.client.execute(
            uri: String(call.address.dropFirst(self.origin.count)), method: body == nil ? .get : .post,
            headers: headers, body: body)
        return OutgoingAnswer(status: response.status.code, body: Array(response.body.readableBytesView))
    }
}

/// Two servers of ours: at the one people sign in by the other, where pat has a password.
struct TwoServers: Sendable {
    static let password = "correct horse battery"
    static let upstream = "http://127.0.0.1:9090"

    let server: ServerFixture
    let other: ServerFixture
    let client: any TestClientProtocol
    let party: RelyingParty
    /// One browser, as each of the servers sees it.
    let here: TestBrowser
    let there: TestBrowser

    static func run(
        methods: [String] = ["provider:staff"], settings: JSONObject = [:], limits: Limits = Limits(),
        _ body: @escaping @Sendable (TwoServers) async throws -> Void
    ) async throws {
        let other = try await ServerFixture(issuer: Self.upstream)
        _ = try await other.assembly.directory.create(
            username: "pat", displayName: "Pat Example",
            email: AccountEmail(address: "pat@staff.example", isVerified: true), by: "test")
        try await PasswordDirectory(other.assembly.passwords).importHash(
            try await PasswordPlace.hash(Self.password), username: "pat", by: "test")
        try await other.withPublicClient { upstream in
            let server = try await ServerFixture(
                issuer: "http://127.0.0.1:8080", limits: limits,
                calls: RouterCalls(client: upstream, origin: Self.upstream))
            let registered = try await other.assembly.provider.clients.register(
                name: "The other server", redirectURIs: ["http://127.0.0.1:8080/sign-in/provider/staff/callback"],
                settings: ClientSettings(idTokenAlgorithm: .es256, signInMethods: ["password"]))
            var described: JSONObject = [
                "name": .string("staff"), "title": .string("Staff <&> accounts"), "issuer": .string(Self.upstream),
                "clientId": .string(registered.client.id),
                "clientSecret": .string(try #require(registered.secret)),
            ]
            for (name, value) in settings.members { described[name] = value }
            let provider = described
            let added = try await server.withSocketClient { try await $0.send(.post, "/admin/v1/providers", provider) }
            #expect(added.response.status == .created, "\(added.response.text)")
            try await server.withPublicClient { client in
                try await body(
                    TwoServers(
                        server: server, other: other, client: client,
                        party: try await server.relyingParty(signInMethods: methods), here: TestBrowser(client),
                        there: TestBrowser(upstream)))
            }
        }
    }

    /// Follows a page's way as long as it leads somewhere else at the same server.
    static func follow(_ browser: TestBrowser, _ response: TestResponse, at origin: String) async throws -> TestResponse
    {
        var response = response
        while response.status == .seeOther, let location = response.headers[.location],
            location.hasPrefix("/") || location.hasPrefix(origin + "/")
        { response = try await browser.get(location) }
        return response
    }

    /// Connects the account of whoever is asked, and confirms it by the password: where the browser is led then.
    func connect(_ question: TestResponse) async throws -> TestResponse {
        let fields = question.hiddenFields + "&decision=allow"
        let asked = try await self.here.post("/sign-in/consent", form: fields)
        #expect(asked.asksForPhone)
        let page = try await Self.follow(self.here, asked, at: "http://127.0.0.1:8080")
        let right = try await self.here.post(
            "/account/change/password",
            form: page.hiddenFields + "&" + PasswordPlace.form(["password": Self.password]))
        let confirmed = try await Self.follow(self.here, right, at: "http://127.0.0.1:8080")
        #expect(confirmed.text.contains("You have confirmed this."))
        return try await self.here.post("/sign-in/consent", form: confirmed.hiddenFields + "&decision=allow")
    }

    /// A phone of alice's.
    func enrolledPhone() async throws -> VirtualPhone {
        try await self.server.enrolledPhone(self.client, origin: "http://127.0.0.1:8080")
    }

    /// What a phone makes of the code that the page shows for typing.
    func typedPayload(_ page: TestResponse) throws -> OutOfBandPayload {
        try self.server.typedPayload(page, origin: "http://127.0.0.1:8080")
    }

    /// Opens the service's sign-in and gives what the browser comes to.
    func open(_ more: String = "") async throws -> TestResponse {
        try await Self.follow(
            self.here, try await self.here.get(self.party.authorizeAddress(more)), at: "http://127.0.0.1:8080")
    }

    /// Signs pat in at the other server, where `response` leads, and comes back.
    func signIn(_ response: TestResponse, as name: String = "pat") async throws -> TestResponse {
        let page = try await self.otherPage(response)
        guard let request = Self.field("request", page) else { return try await self.comeBack(page) }
        let answer = try await self.there.post(
            "/sign-in/password",
            form: PasswordPlace.form(["request": request, "username": name, "password": Self.password]))
        return try await self.comeBack(answer)
    }

    /// Lets time pass at both servers.
    func advance(by time: Duration) {
        self.server.clock.advance(by: time)
        self.other.clock.advance(by: time)
    }

    /// The value of a page's hidden field.
    static func field(_ name: String, _ page: TestResponse) -> String? {
        let pattern = try? Regex("name=\"\(name)\" value=\"([^\"]*)\"")
        return pattern.flatMap { page.text.firstMatch(of: $0)?.output[1].substring.map(String.init) }
    }

    /// The other server's page.
    func otherPage(_ response: TestResponse) async throws -> TestResponse {
        let location = try #require(response.headers[.location])
        #expect(location.hasPrefix(Self.upstream + "/oauth2/authorize?"))
        return try await Self.follow(self.there, try await self.there.get(location), at: Self.upstream)
    }

    /// Follows the other server until it leads back, and this one as far as it goes.
    func comeBack(_ response: TestResponse) async throws -> TestResponse {
        let left = try await Self.follow(self.there, response, at: Self.upstream)
        let callback = try #require(left.headers[.location])
        #expect(callback.hasPrefix("http://127.0.0.1:8080/sign-in/provider/staff/callback?"))
        return try await Self.follow(self.here, try await self.here.get(callback), at: "http://127.0.0.1:8080")
    }

    /// The claims that the service gets.
    func claims(_ response: TestResponse) async throws -> JSONObject {
        #expect(response.headers[.location]?.hasPrefix(self.party.redirectURI) == true, "\(response.text)")
        let code = try #require(response.redirectParameters["code"])
        let tokens = try await self.party.exchange(code, self.client)
        let token = try tokens.object.requiredString("id_token")
        let payload = try #require(Base64URL.decode(String(token.split(separator: ".")[1])))
        guard case .object(let claims) = try JSON(parsing: payload) else { return [:] }
        return claims
    }
}

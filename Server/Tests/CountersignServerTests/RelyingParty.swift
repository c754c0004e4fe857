import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuthProvider
import Records
import SQLStore
import Testing
import UAFClient
import _Primitives

/// A client of the server, as far as tests need one.
struct RelyingParty: Sendable {
    let id: String
    let secret: String
    let redirectURI = "http://127.0.0.1:8081/callback"
    let verifier = "the-verifier-has-at-least-forty-three-letters-in-it"

    /// The challenge of its verifier (RFC 7636).
    var challenge: String { Base64URL.encode(Array(SHA256.hash(data: Array(self.verifier.utf8)))) }

    /// The address with which it sends a browser to the server.
    func authorizeAddress(_ more: String = "") -> String {
        "/oauth2/authorize?response_type=code&client_id=\(self.id)&scope=openid%20profile&state=st-1&nonce=no-1"
            + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A8081%2Fcallback&code_challenge_method=S256"
            + "&code_challenge=\(self.challenge)\(more)"
    }

    /// What its own app asks a server of identities with which to sign its person in.
    func inAppRequest(to issuer: String, state: String? = nil, nonce: String? = nil) -> InAppAuthenticationRequest {
        InAppAuthenticationRequest(
            idmIdentifier: issuer, clientID: self.id, redirectURI: self.redirectURI, state: state, nonce: nonce,
            codeChallenge: self.challenge)
    }

    var authorization: String { "Basic " + Data("\(self.id):\(self.secret)".utf8).base64EncodedString() }

    /// Exchanges a code.
    func exchange(_ code: String, _ client: any TestClientProtocol, proofs: [String] = [], path: String = "")
        async throws -> (response: TestResponse, object: JSONObject)
    {
        let form =
            "grant_type=authorization_code&code=\(code)&code_verifier=\(self.verifier)"
            + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A8081%2Fcallback"
        var headers: HTTPFields = [
            .contentType: "application/x-www-form-urlencoded", .authorization: self.authorization,
        ]
        headers[values: .keyProof] = proofs
        let response = try await client.execute(
            uri: path + "/oauth2/token", method: .post, headers: headers, body: ByteBuffer(string: form))
        guard case .object(let object)? = try? JSON(parsing: Array(response.body.readableBytesView)) else {
            return (response, [:])
        }
        return (response, object)
    }

    /// Has a browser go on from a sign-in that was answered, and exchanges the code that it comes back with.
    func complete(_ request: String, in browser: TestBrowser) async throws -> (
        response: TestResponse, object: JSONObject
    ) {
        let back = try await browser.get("/sign-in/complete?request=\(request)").redirectParameters
        return try await self.exchange(try #require(back["code"]), browser.client)
    }
}

extension ServerFixture {
    /// A registered client.
    func relyingParty(
        mayDeregister: Bool = false, home: String? = nil, signInMethods: [String] = ["phone"],
        party: ClientSettings.Party = .first
    ) async throws -> RelyingParty {
        let registered = try await self.assembly.provider.clients.register(
            name: "Demo Bank", redirectURIs: ["http://127.0.0.1:8081/callback"],
            postLogoutRedirectURIs: ["http://127.0.0.1:8081/bye"], clientURI: home,
            // A key for it is there already, where an RSA key would be made for each test.
            settings: ClientSettings(
                idTokenAlgorithm: .es256, mayDeregister: mayDeregister, signInMethods: signInMethods, party: party))
        return RelyingParty(id: registered.client.id, secret: try #require(registered.secret))
    }

    /// What an app shows after an authentication with a device of a new account.
    func deviceAuthorization(username: String) async throws -> String {
        try await self.deviceAuthorization(
            of: try await self.assembly.directory.create(username: username, displayName: nil, by: "test"))
    }

    /// The same of an account that is there.
    func deviceAuthorization(of account: AccountRecord) async throws -> String {
        let device = "device-\(account.id)"
        var change = CeremonyChange()
        change.registration = DeviceRegistration(
            device: DeviceRecord(
                id: device, accountID: account.id, name: "Phone", isActive: true,
                createdAt: account.createdAt), credentials: [])
        _ = try await self.database.answer(
            AnsweredChallenge(digest: Array(account.id.utf8), expiresAt: account.createdAt), change: change,
            at: account.createdAt)
        let holder = DeviceTokenHolder(account: account.id, device: device)
        return "Bearer \(try self.assembly.provider.tokens.deviceToken(for: holder))"
    }

    /// A phone that is enrolled for a new account, and confirmed.
    func enrolledPhone(
        _ client: any TestClientProtocol, username: String = "alice", policy: String? = nil,
        sensor: ScriptedSensor = ScriptedSensor(), trace: TraceRecorder? = nil, path: String = "",
        origin: String = "http://localhost:8080", isNew: Bool = true, keys: (any DeviceKeys)? = nil,
        appAttestor: (any AppAttestor)? = nil,
        through wrap: (any Transport) -> any Transport = { $0 }
    ) async throws -> VirtualPhone {
        if isNew {
            _ = try await self.assembly.directory.create(username: username, displayName: "Alice Example", by: "test")
        }
        let enrolment = try await self.assembly.ceremonies.enrolments.createEnrolmentLink(
            username: username, policy: policy, by: "test")
        var configuration = ClientConfiguration(baseURL: try #require(URL(string: "\(origin)\(path)")))
        configuration.facetID = "linux:program:countersign-phone"
        let phone = try await VirtualPhone(
            configuration: configuration,
            transport: wrap(RouterTransport(client: client)), clock: self.clock, sensor: sensor, keys: keys,
            appAttestor: appAttestor, traceRecorder: trace)
        let result = try await phone.enroll(try OutOfBandPayload(link: enrolment.link))
        let number = try #require(result.confirmation?.number)
        _ = try await self.assembly.ceremonies.enrolments.confirmEnrolment(
            id: enrolment.id, number: number, by: "test")
        phone.person.forget()
        return phone
    }

    /// Has the browser open the sign-in page of a client.
    func signInPage(_ browser: TestBrowser, _ party: RelyingParty, _ more: String = "") async throws -> (
        request: String, page: TestResponse
    ) {
        let authorize = try await browser.get(party.authorizeAddress(more))
        #expect(authorize.status == .seeOther)
        let request = try #require(authorize.redirectParameters["request"])
        return (request, try await browser.get(try #require(authorize.headers[.location])))
    }

    /// Runs a test of a sign-in that has begun: `test` gets an enrolled phone, a browser at the sign-in page, the name
    /// of its request, and the page.
    func withSignIn(_ test: @escaping @Sendable (VirtualPhone, TestBrowser, String, TestResponse) async throws -> Void)
        async throws
    {
        try await self.withPublicClient { client in
            let phone = try await self.enrolledPhone(client)
            let browser = TestBrowser(client)
            let (request, page) = try await self.signInPage(browser, try await self.relyingParty())
            try await test(phone, browser, request, page)
        }
    }

    /// Has a person sign in by the phone, and once more by the session that the browser has then.
    func signInTwice(_ browser: TestBrowser, _ party: RelyingParty, _ phone: VirtualPhone) async throws {
        let (request, page) = try await self.signInPage(browser, party)
        _ = try await phone.authenticate(try self.typedPayload(page))
        _ = try await browser.get("/sign-in/complete?request=\(request)")
        let again = try await browser.get(party.authorizeAddress())
        #expect(again.headers[.location]?.hasPrefix(party.redirectURI) == true)
    }

    /// What a phone makes of the code that the page shows for typing.
    func typedPayload(_ page: TestResponse, origin: String = "http://localhost:8080") throws -> OutOfBandPayload {
        try OutOfBandPayload(
            redeemData: .init(
                token: try page.words(of: "typed-code"),
                redeemURL: try #require(URL(string: "\(origin)/token/redeem/authentication"))))
    }
}

extension VirtualPhone {
    /// Authenticates alice by her PIN, and registers her finger beside it.
    func addFinger() async throws {
        let authentication = try await self.authenticate(username: "alice")
        self.sensor.feel(.match)
        _ =
            try await self.client.operations.registration.username("alice")
            .authorizationProvider(try #require(authentication.authorizationProvider))
            .authenticatorSelector(self.person).fingerprintUserVerifier(self.person).execute()
    }
}

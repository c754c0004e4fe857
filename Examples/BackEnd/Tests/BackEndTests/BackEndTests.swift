import BackEnd
import Countersign
import CountersignBackend
import CountersignTestKit
import Foundation
import Hummingbird
import HummingbirdTesting
import PersonalInformation
import Testing
import UAFClient
import _Primitives

@testable import FirstApp

/// The server of these tests is a double (`VirtualIdentityServer`): it speaks the real messages and OpenID Connect, verifies
/// what comes and signs what it says. App, SDK and back end are the real ones.
@Suite("Parity 67: an app signs itself in to its back end") struct BackEndTests {
    private let clock = FakeClock()
    private let server: VirtualIdentityServer
    private let phone: VirtualIdentityPhone
    private let calls: Recorder

    init() async throws {
        self.server = try VirtualIdentityServer(clock: self.clock)
        self.phone = try await VirtualIdentityPhone(server: self.server)
        try await self.phone.personalize()
        await self.server.register(clientID: "town-app", secret: "s3cret", redirectURI: "https://town.example/app")
        await self.server.hold("ada@example.org", as: "e-1")
        await self.server.ask {
            $0.name = "Town Hall"
            $0.roles = [("citizen", "Citizen", [["pin", "device"]])]
            $0.attributes = [
                RequestedAttribute(.givenName),
                RequestedAttribute(
                    .email, aliases: [PersonalInformationAlias(id: "e-1", alias: "At home", isPrimary: true)]),
            ]
        }
        await self.server.forgetRequests()
        self.calls = Recorder(server: self.server)
    }

    private func backEnd(
        secret: String = "s3cret", signIns: Int = 10, sessions: Int = 10
    ) -> (backEnd: BackEnd, application: some ApplicationProtocol) {
        let identities = IdentityBackend(
            BackendConfiguration(
                issuer: self.server.identifier, clientID: "town-app", clientSecret: SecretBytes(utf8: secret),
                redirectURI: "https://town.example/app"),
            transport: self.calls, time: self.clock.timeSource)
        let backEnd = BackEnd(identities, time: self.clock.timeSource, signIns: signIns, sessions: sessions)
        return (backEnd, Application(router: backEnd.router))
    }

    private func own(_ client: some TestClientProtocol) throws -> OwnBackEnd {
        let port = try #require(client.port)
        return OwnBackEnd(address: try #require(URL(string: "http://127.0.0.1:\(port)")))
    }

    /// Signs the person in on the phone, for what the back end has begun.
    private func code(for begun: OwnBackEnd.SignIn) async throws -> AuthorizationCode {
        let authenticator = self.phone.sdk.authenticator
        let data = try await authenticator.fetchInAppAuthenticationInitializationData(
            InAppAuthenticationRequest(
                idmIdentifier: self.server.identifier, clientID: begun.clientID, redirectURI: begun.redirectURI,
                scope: begun.scope, state: begun.state, nonce: begun.nonce, codeChallenge: begun.codeChallenge))
        let screens = Person()
        return try #require(try await authenticate(data, with: self.phone.sdk, on: screens))
    }

    @Test("the app gets a session and a greeting; who it is, and what was confirmed, the back end alone gets to know")
    func whole() async throws {
        let (service, application) = self.backEnd()
        let person = Person()
        try await application.test(.live) { client in
            let backEnd = try self.own(client)
            let session = try #require(
                try await signIn(to: backEnd, at: self.server.identifier, with: self.phone.sdk, on: person))
            #expect(session.greeting == "Hello, Ada!")
            #expect(
                await person.sentences == [
                    "Sign in to Town Hall (https://health.example) as Citizen, and tell it your given name, "
                        + "your e-mail address (At home)?"
                ])
            // What the app has asked, and what the back end has.
            let asked = await self.calls.paths
            #expect(
                asked == [
                    "/.well-known/openid-configuration", "/oauth2/token", "/oauth2/jwks", "/oauth2/userinfo",
                ])
            let all = await self.server.requests
            let ofApp = all.filter { !asked.contains($0.url.path()) }
            #expect(all.count == ofApp.count + asked.count)
            #expect(ofApp.allSatisfy { $0.url.path().hasPrefix("/identity/") })

            let me = try await client.execute(
                uri: "/me", method: .get, headers: [.authorization: "Bearer \(session.token)"])
            #expect(me.status == .ok)
            #expect(
                try JSON(parsing: Array(buffer: me.body))
                    == .object(["greeting": .string("Hello, Ada!"), "roles": .array([.string("citizen")])]))
            let activation = try #require(try self.phone.sdk.personalizer.personalizedIdentities.first?.activation)
            let known = try #require(await service.person(of: session.token))
            #expect(known.mappingID == "person of \(activation) at town-app")
            #expect(known.roles == ["citizen"])
            #expect(known.attributes == [.givenName: "Ada", .email: "ada@example.org"])
            for (method, status) in [(HTTPRequest.Method.delete, HTTPResponse.Status.noContent), (.get, .unauthorized)]
            {
                let answer = try await client.execute(
                    uri: "/me", method: method, headers: [.authorization: "Bearer \(session.token)"])
                #expect(answer.status == status)
            }
        }
    }

    @Test("a code is good once, for the sign-in that it belongs to, and in time") func refusals() async throws {
        try await self.backEnd().application.test(.live) { client in
            let backEnd = try self.own(client)
            func refusal(_ begun: OwnBackEnd.SignIn, _ code: AuthorizationCode) async -> String? {
                await #expect(throws: OwnBackEnd.Refusal.self) {
                    _ = try await backEnd.finish(begun, with: code)
                }?.error
            }
            let over = "This sign-in is over. Begin again."
            let one = try await backEnd.begin()
            let oneCode = try await self.code(for: one)
            _ = try await backEnd.finish(one, with: oneCode)
            #expect(await refusal(one, oneCode) == over)
            // Another's code, which its state betrays; and with that state as well, which the verifier does.
            let two = try await backEnd.begin()
            let three = try await backEnd.begin()
            let stolen = try await self.code(for: two)
            #expect(await refusal(three, stolen) == over)
            let four = try await backEnd.begin()
            let renamed = try await client.execute(
                uri: "/sign-in/finish", method: .post, headers: [.contentType: "application/json"],
                body: ByteBuffer(
                    bytes: try JSONEncoder().encode([
                        "handle": four.handle, "code": stolen.code, "state": four.state, "issuer": stolen.issuer,
                    ])))
            #expect(renamed.status == .forbidden)
            let late = try await backEnd.begin()
            let lateCode = try await self.code(for: late)
            self.clock.advance(by: .seconds(15 * 60))
            #expect(await refusal(late, lateCode) == over)
        }
    }

    @Test("a session ends by itself, and what is no session is none") func sessions() async throws {
        try await self.backEnd().application.test(.live) { client in
            let session = try #require(
                try await signIn(
                    to: try self.own(client), at: self.server.identifier, with: self.phone.sdk, on: Person()))
            for header in [nil, "", "Bearer ", "Bearer x", "Basic \(session.token)", session.token] {
                let answer = try await client.execute(
                    uri: "/me", method: .get, headers: header.map { [.authorization: $0] } ?? [:])
                #expect(answer.status == .unauthorized, "\(header ?? "none")")
            }
            self.clock.advance(by: .seconds(12 * 3600))
            let late = try await client.execute(
                uri: "/me", method: .get, headers: [.authorization: "Bearer \(session.token)"])
            #expect(late.status == .unauthorized)
        }
    }

    @Test("past its limit nobody is put out: who comes then is told when to come again") func full() async throws {
        try await self.backEnd(signIns: 2, sessions: 1).application.test(.live) { client in
            let backEnd = try self.own(client)
            func begin() async throws -> TestResponse { try await client.execute(uri: "/sign-in", method: .post) }
            let first = try await backEnd.begin()
            self.clock.advance(by: .milliseconds(60_500))
            let second = try await backEnd.begin()
            let third = try await begin()
            #expect(third.status == .serviceUnavailable)
            // The rest of the first one's quarter of an hour.
            #expect(third.headers[.retryAfter] == "840")
            #expect(
                String(buffer: third.body) == #"{"error":"Too many people come at once. Begin again later."}"#)
            _ = try await backEnd.finish(first, with: try await self.code(for: first))
            // What has ended makes room; so does what was taken.
            _ = try await backEnd.begin()
            #expect(try await begin().status == .serviceUnavailable)
            // There is but one session. It stays, and nobody else gets one.
            let error = await #expect(throws: OwnBackEnd.Refusal.self) {
                _ = try await backEnd.finish(second, with: try await self.code(for: second))
            }
            #expect(error?.error == "Too many people come at once. Begin again later.")
            self.clock.advance(by: .seconds(15 * 60))
            for _ in 0..<2 { #expect(try await begin().status == .ok) }
            #expect(try await begin().status == .serviceUnavailable)
        }
    }

    @Test("what is no request is refused, and trouble with the server says what to do") func trouble() async throws {
        try await self.backEnd().application.test(.router) { client in
            for body in ["", "[]", "{}", #"{"handle":1}"#, String(repeating: "x", count: 5000)] {
                let answer = try await client.execute(
                    uri: "/sign-in/finish", method: .post, headers: [.contentType: "application/json"],
                    body: ByteBuffer(string: body))
                #expect(answer.status == .badRequest, "\(body.prefix(20))")
            }
        }
        for (secret, isDown, error) in [
            ("another", false, "We cannot sign you in now. Tell us, if it stays so."),
            ("s3cret", true, "Nobody answers. Begin again in a moment."),
        ] {
            try await self.backEnd(secret: secret).application.test(.live) { client in
                let backEnd = try self.own(client)
                let begun = try await backEnd.begin()
                let code = try await self.code(for: begun)
                await self.server.goDown(isDown)
                let refusal = await #expect(throws: OwnBackEnd.Refusal.self) {
                    _ = try await backEnd.finish(begun, with: code)
                }
                #expect(refusal?.error == error)
                await self.server.goDown(false)
            }
        }
    }
}

/// What the back end asks of the server.
private actor Recorder: Transport {
    private let server: VirtualIdentityServer
    private(set) var paths: [String] = []

    init(server: VirtualIdentityServer) { self.server = server }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        self.paths.append(request.url.path())
        return try await self.server.send(request)
    }
}

/// Somebody who says yes, and is called Ada.
private actor Person: IdentityScreens {
    struct Unasked: Error {}
    private(set) var sentences: [String] = []
    func pin(_ why: String) -> String { "824193" }
    func role(of roles: [RequestedRole]) -> RequestedRole { roles[0] }
    func text(of attribute: String, _ error: String?) -> String { "Ada" }
    func day(of attribute: String, _ error: String?) throws -> Date { throw Unasked() }
    func address(of attribute: String, _ error: String?) throws -> Address { throw Unasked() }
    func gender(of attribute: String, _ error: String?) throws -> Gender { throw Unasked() }
    func choice(of attribute: String, among aliases: Set<PersonalInformationAlias>) throws -> PersonalInformationAlias {
        throw Unasked()
    }
    func agrees(to sentence: String) -> Bool {
        self.sentences.append(sentence)
        return true
    }
    func show(_ sentence: String) {}
    func log(_ error: any Error) {}
    func openInBrowser(_ address: URL) {}
    func wait(for duration: Duration) {}
}

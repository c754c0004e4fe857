import Accounts
import Countersign
import CountersignServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OAuthProvider
import Records
import Testing
import UAFClient
import _Primitives

@Suite("An app that signs its own person in, against a whole server")
struct InAppLoginTests {
    private static let profile: JSONObject = ["roles": .array([.resident]), "inApp": .bool(true)]

    private static func run(_ test: @Sendable (TerminalPhoneFixture) async throws -> Void) async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            _ = try await fixture.server.assembly.identities.setService(fixture.party.id, to: Self.profile, by: "test")
            _ = try await fixture.enroll().line("finished")
            try await test(fixture)
        }
    }

    /// Has the app sign its person in.
    private func login(
        _ fixture: TerminalPhoneFixture, _ body: (Authenticator, ServiceLoginResult) async throws -> Void
    ) async throws {
        let party = fixture.party
        try await fixture.app { sdk, identity async throws in
            let authenticator = sdk.authenticator
            let data = try await authenticator.fetchInAppAuthenticationInitializationData(
                party.inAppRequest(to: identity.idmIdentifier, state: "s-1", nonce: "n-1"))
            let request = try await authenticator.startAuthentication(data: data)
            #expect(request.serviceName == "Demo Bank")
            guard
                case .success(let info) = try await authenticator.prepareAuthenticationUserInformation(request: request)
            else {
                Issue.record("not prepared")
                return
            }
            try info.sign(factor: DeviceFactor())
            try info.sign(factor: PinFactor("258036"))
            guard case .serviceLogin(let login) = try await authenticator.finishAuthentication(userInfo: info) else {
                Issue.record("no login of the app")
                return
            }
            try await body(authenticator, login)
        }
    }

    private func code(_ fixture: TerminalPhoneFixture) async throws -> String {
        var code = ""
        try await self.login(fixture) { authenticator, login async throws in
            code = try await authenticator.fetchAuthorizationCode(login).code
        }
        return try #require(code.isEmpty ? nil : code)
    }

    /// What the token endpoint says to a form.
    private func exchange(
        _ fixture: TerminalPhoneFixture, code: String, redirectURI: String? = nil, verifier: String? = nil,
        by party: RelyingParty? = nil
    ) async throws -> (status: HTTPResponse.Status, error: String?, token: String?) {
        var form = URLComponents()
        form.queryItems = [
            URLQueryItem(name: "grant_type", value: "authorization_code"), URLQueryItem(name: "code", value: code),
            URLQueryItem(name: "redirect_uri", value: redirectURI ?? fixture.party.redirectURI),
            URLQueryItem(name: "code_verifier", value: verifier ?? fixture.party.verifier),
        ]
        let response = try await fixture.client.execute(
            uri: "/oauth2/token", method: .post,
            headers: [
                .contentType: "application/x-www-form-urlencoded",
                .authorization: (party ?? fixture.party).authorization,
            ], body: ByteBuffer(string: form.percentEncodedQuery ?? ""))
        guard case .object(let object) = try JSON(parsing: Array(response.body.readableBytesView)) else {
            return (response.status, nil, nil)
        }
        return (response.status, try object.string("error"), try object.string("access_token"))
    }

    private func userInfo(_ fixture: TerminalPhoneFixture, _ token: String?) async throws -> (
        response: TestResponse, object: JSONObject
    ) {
        try await fixture.client.userinfo(try #require(token))
    }

    @Test("The terminal phone signs an app in, and says the code that its back end exchanges") func terminalPhone()
        async throws
    {
        try await Self.run { fixture async throws in
            let party = fixture.party
            func signIn(_ answer: String, _ arguments: [String]) async throws -> TerminalPhoneFixture.Outcome {
                try await fixture.authenticate([answer], ["--service", party.id] + arguments, lines: ["258036"])
            }
            let arguments = [
                "--redirect-uri", party.redirectURI, "--state", "s-1", "--nonce", "n-1", "--code-challenge",
                party.challenge,
            ]
            let outcome = try await signIn("--approve", arguments)
            #expect(outcome.reason == nil, "\(outcome.lines)")
            let finished = try outcome.line("finished")
            #expect(try finished.string("outcome") == "authenticated" && finished.string("state") == "s-1")
            #expect(try finished.string("service") == "Demo Bank")
            let exchanged = try await self.exchange(fixture, code: try finished.requiredString("code"))
            #expect(exchanged.status == .ok)
            #expect(try await self.userInfo(fixture, exchanged.token).object.strings("roles") == ["resident"])

            #expect(try await signIn("--deny", arguments).reason == "denied")
            let elsewhere = ["--redirect-uri", "https://evil.example/"] + arguments.dropFirst(2)
            #expect(try await signIn("--approve", elsewhere).reason == "unexpected")
            // What its back end has to say is asked for before anything is sent.
            await #expect(throws: (any Error).self) { _ = try await signIn("--approve", []) }
        }
    }

    @Test("It gets one code, once, which its back end exchanges with the verifier of PKCE")
    func oneCode() async throws {
        try await Self.run { fixture async throws in
            var code = ""
            try await self.login(fixture) { authenticator, login async throws in
                let fetched = try await authenticator.fetchAuthorizationCode(login)
                #expect(fetched.state == "s-1" && fetched.issuer == "http://localhost:8080")
                code = fetched.code
                let second = await #expect(throws: CountersignError.self) {
                    _ = try await authenticator.fetchAuthorizationCode(login)
                }
                #expect(second?.errorCode == .sessionConsumed)
            }
            let exchanged = try await self.exchange(fixture, code: code)
            #expect(exchanged.status == .ok && exchanged.error == nil)
            let claims = try await self.userInfo(fixture, exchanged.token).object
            #expect(try claims.strings("roles") == ["resident"])
        }
    }

    @Test("A code for another client, another address or another verifier is no grant")
    func boundCode() async throws {
        try await Self.run { fixture async throws in
            let other = try await fixture.server.relyingParty()
            let mismatches = [
                try await self.exchange(fixture, code: try await self.code(fixture), by: other),
                try await self.exchange(
                    fixture, code: try await self.code(fixture), redirectURI: "http://127.0.0.1:8081/other"),
                try await self.exchange(
                    fixture, code: try await self.code(fixture), verifier: String(repeating: "x", count: 43)),
            ]
            for (index, answer) in mismatches.enumerated() {
                #expect(answer.status == .badRequest && answer.error == "invalid_grant", "\(index)")
                #expect(answer.token == nil, "\(index)")
            }
        }
    }

    @Test("A code that is used again revokes what it gave")
    func reusedCode() async throws {
        try await Self.run { fixture async throws in
            let code = try await self.code(fixture)
            let first = try await self.exchange(fixture, code: code)
            #expect(try await self.userInfo(fixture, first.token).response.status == .ok)
            let again = try await self.exchange(fixture, code: code)
            #expect(again.status == .badRequest && again.error == "invalid_grant")
            #expect(try await self.userInfo(fixture, first.token).response.status == .unauthorized)
        }
    }

    @Test(
        "Who has to agree to something first is told that, before anything is signed, and where it comes to that later")
    func missingConsent() async throws {
        try await Self.run { fixture async throws in
            let shop = try await fixture.server.relyingParty(party: .third)
            _ = try await fixture.server.assembly.identities.setService(shop.id, to: Self.profile, by: "test")
            try await fixture.app { sdk, identity async throws in
                let refused = await #expect(throws: CountersignError.self) {
                    _ = try await sdk.authenticator.fetchInAppAuthenticationInitializationData(
                        shop.inAppRequest(to: identity.idmIdentifier))
                }
                #expect(refused?.errorCode == .consentRequired)
                #expect(refused?.errorDescription?.contains("browser") ?? false)
            }
            let outcome = try await fixture.authenticate(
                ["--approve"],
                [
                    "--service", shop.id, "--redirect-uri", shop.redirectURI, "--code-challenge", shop.challenge,
                ], lines: ["258036"])
            #expect(outcome.refusal != nil && outcome.reason != "unexpected")
            // The operator makes the client a third party's while its person signs.
            try await self.login(fixture) { authenticator, login async throws in
                _ = try await fixture.server.assembly.provider.clients.change(
                    fixture.party.id, ClientChange(party: .third))
                let late = await #expect(throws: CountersignError.self) {
                    _ = try await authenticator.fetchAuthorizationCode(login)
                }
                #expect(late?.errorCode == .consentRequired)
            }
        }
    }
}

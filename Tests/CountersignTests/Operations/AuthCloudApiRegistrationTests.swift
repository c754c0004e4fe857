import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Operations parity 12: registration with the answer to a request for an enrolment", .overEachKeyAbility)
struct AuthCloudApiRegistrationTests {
    /// The forms in which an app gets an enrolment.
    enum Form: CaseIterable {
        case appLinkUri
        /// The answer of a cloud.
        case cloudResponse
        /// The answer of this product's server.
        case serverResponse
    }

    private static func link(_ world: World, channel: String? = nil) async throws -> String {
        try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]), channel: channel)
            .link(base: "https://id.example.com")
    }

    private static func response(_ link: String) -> String {
        #"""
        {"userId":"7d1f","username":"alice","status":"new","authenticators":[],"enrollment":{"transactionId":"43a0",
        "statusToken":"x","qrCode":{"type":"png","size":300,"dataUri":"data:image/png;base64,AA=="},
        "appLinkUri":"\#(link)"}}
        """#
    }

    private static func operation(_ form: Form, _ link: String, _ world: World) -> AuthCloudApiRegistration {
        let operation = world.phone.ready(world.phone.client.operations.authCloudApiRegistration)
        return switch form {
        case .appLinkUri: operation.appLinkUri(link)
        case .cloudResponse: operation.enrollResponse(Self.response(link))
        case .serverResponse:
            operation.enrollResponse(
                #"{"id":"9","link":"\#(link)","qrCodeSvg":"<svg/>","expiresAt":"2026-12-01T00:00:00Z"}"#)
        }
    }

    private static func error(_ form: Form, _ link: String, _ world: World) async -> OperationError? {
        await operationError { _ = try await self.operation(form, link, world).execute() }
    }

    @Test("The answer and its link lead to a registered account that authenticates", arguments: Form.allCases)
    func registers(form: Form) async throws {
        let world = try await World()
        let result = try await Self.operation(form, try await Self.link(world, channel: "link"), world).execute()
        #expect(result.account.username == "alice")
        #expect(await world.phone.client.localData.accounts == [result.account])
        #expect(await world.server.credentials.values.map(\.username) == ["alice"])
        #expect(await world.server.deviceNames == ["Virtual phone"])
        #expect(world.phone.person.asked.map(\.question) == [.authenticator, .newPin])
        _ = try await world.phone.authenticate(try await world.server.authentication())
    }

    @Test("With callbacks the operation gives a handle, and ends with one call")
    func callbacks() async throws {
        let world = try await World()
        let link = try await Self.link(world)
        for isUsed in [false, true] {
            let end = await withCheckedContinuation { continuation in
                Self.operation(.appLinkUri, link, world)
                    .onSuccess { result in
                        continuation.resume(
                            returning: Result<Username, OperationError>.success(result.account.username))
                    }
                    .onError { continuation.resume(returning: .failure($0)) }
                    .execute()
            }
            #expect(end == (isUsed ? .failure(AuthCloudApiError(.tokenAlreadyRedeemed)) : .success("alice")))
        }
    }

    @Test("A handle cancels the registration: the server is told, and nothing stays")
    func cancelled() async throws {
        let world = try await World()
        world.phone.person.script.reactions[.newPin] = .ignores
        let link = try await Self.link(world)
        let end = await withCheckedContinuation { continuation in
            let handle = Self.operation(.appLinkUri, link, world)
                .onError { continuation.resume(returning: $0) }
                .execute()
            Task {
                while !world.phone.person.asked.contains(where: { $0.question == .newPin }) { await Task.yield() }
                handle.cancel()
            }
        }
        #expect(end == .fido(.userCanceled))
        #expect(await world.server.clientErrorCodes == [3])
        #expect(await world.isEmpty())
    }

    @Test("None of the two, both, and one of them twice are a mistake that is told before any work")
    func exactlyOne() async throws {
        let world = try await World()
        let link = try await Self.link(world)
        let response = Self.response(link)
        func fresh() -> AuthCloudApiRegistration {
            world.phone.ready(world.phone.client.operations.authCloudApiRegistration)
        }
        for operation in [
            fresh(), fresh().appLinkUri(link).enrollResponse(response), fresh().appLinkUri(link).appLinkUri(link),
            fresh().enrollResponse(response).enrollResponse(response),
        ] {
            let error = await operationError { _ = try await operation.execute() }
            #expect(error == OperationError(.missingInteraction) && error?.recovery == .correctApp)
        }
        #expect(await world.server.requests.isEmpty && world.phone.person.asked.isEmpty)
        #expect(await Self.error(.appLinkUri, link, world) == nil, "the link is still good")
    }

    @Test("An operation is executed once")
    func oneShot() async throws {
        let world = try await World()
        let operation = Self.operation(.appLinkUri, try await Self.link(world), world)
        _ = try await operation.execute()
        #expect(await operationError { _ = try await operation.execute() } == OperationError(.operationReused))
    }

    @Test(
        "An expired, a used and an unknown link are three different errors, and nothing stays",
        arguments: Form.allCases)
    func spentLinks(form: Form) async throws {
        let world = try await World()
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        await world.server.expire(payload)
        let expired = payload.link(base: "https://id.example.com")
        #expect(await Self.error(form, expired, world) == OperationError(.tokenExpired))
        let other = try await World()
        let foreign = try await Self.link(other)
        #expect(await Self.error(form, foreign, try await World()) == OperationError(.tokenUnknown))
        let used = try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        _ = try await world.phone.redeem(used)
        let again = used.link(base: "https://id.example.com")
        #expect(await Self.error(form, again, world) == OperationError(.tokenAlreadyRedeemed))
        #expect(await world.isEmpty() && world.phone.person.asked.isEmpty)
    }

    @Test(
        "An answer without the one link of an enrolment is malformed, and nothing is sent",
        arguments: [
            "", "[]", "null", "{}", "{", #"{"enrollment":{}}"#, #"{"enrollment":null}"#, #"{"enrollment":[]}"#,
            #"{"enrollment":{"appLinkUri":7}}"#, #"{"link":true}"#, #"{"link":""}"#, #"{"link":"x"}"#,
            #"{"link":"https://id.example.com/open"}"#,
            #"{"enrollment":{"appLinkUri":"https://id.example.com/open?dispatchTokenResponse=%20"}}"#,
            #"{"link":"a","link":"b"}"#, #"{"link":"a","enrollment":{"appLinkUri":"b"}}"#,
            #"{"x":""# + String(repeating: "x", count: 262_144) + #""}"#,
        ])
    func malformed(text: String) async throws {
        let world = try await World()
        let operation = world.phone.ready(world.phone.client.operations.authCloudApiRegistration)
            .enrollResponse(text)
        let error = await operationError { _ = try await operation.execute() }
        #expect(error == OperationError(.malformedPayload) && error?.recovery == .haveCodeShownAgain)
        #expect(await Self.error(.appLinkUri, text, world) == OperationError(.malformedPayload))
        #expect(await world.server.requests.isEmpty)
    }

    @Test("A payload of another version asks for an update, one for another device for another link")
    func payloads() async throws {
        let world = try await World()
        func link(_ json: String) -> String {
            "https://id.example.com/open?dispatchTokenResponse=\(Base64URL.encode(json.utf8))"
        }
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        let newer = payload.json.replacing(#""nma_data_version":"1""#, with: #""nma_data_version":"2""#)
        let version = await Self.error(.appLinkUri, link(newer), world)
        #expect(version == OperationError(.malformedPayload) && version?.recovery == .updateApp)

        try await world.enroll("bob")
        let encrypted = link(try await world.server.encrypted(payload, for: "bob"))
        let other = try await World()
        #expect(await Self.error(.appLinkUri, encrypted, other) == OperationError(.decryptionError))
        #expect(await other.server.requests.isEmpty)
        #expect(await Self.error(.appLinkUri, encrypted, world) == nil)
    }

    @Test("A link of an authentication or a deregistration registers nobody: no such token is sent, and no key deleted")
    func otherOperations() async throws {
        let world = try await World()
        try await world.enroll()
        let requests = await world.server.requests.count
        for payload in [try await world.server.authentication(), try await world.server.deregistration(of: "alice")] {
            let link = payload.link(base: "https://id.example.com")
            #expect(await Self.error(.appLinkUri, link, world) == OperationError(.malformedPayload))
        }
        #expect(await world.server.requests.count == requests)
        #expect(await world.phone.client.localData.accounts.map(\.username) == ["alice"])
        // A token of an authentication at the address of registrations is declined.
        let payload = try await world.server.authentication()
        let moved = try OutOfBandPayload(
            redeemData: OutOfBandPayload.RedeemData(
                token: payload.redeemData.token,
                redeemURL: try #require(URL(string: "https://id.example.com/token/redeem/registration"))))
        let link = moved.link(base: "https://id.example.com")
        #expect(await Self.error(.appLinkUri, link, world) == .fido(.protocolError))
        #expect(await world.server.clientErrorCodes == [255])
    }

    @Test("A link at another host, and a code for scanning in a link, are refused as from an out-of-band payload")
    func links() async throws {
        let world = try await World()
        let payload = try OutOfBandPayload(
            redeemData: OutOfBandPayload.RedeemData(
                token: "s3cret", redeemURL: try #require(URL(string: "https://evil.example/token/redeem/registration")))
        )
        let foreign = payload.link(base: "https://id.example.com")
        #expect(await Self.error(.appLinkUri, foreign, world) == OperationError(.hostNotAllowed))
        #expect(await world.server.requests.isEmpty)
        let scanned = try await Self.link(world, channel: "png-qr-code")
        #expect(await Self.error(.cloudResponse, scanned, world) == OperationError(.codeCameByLink))
        #expect(await world.isEmpty())
    }

    @Test("The description of the operation has no part of the link")
    func description() async throws {
        let world = try await World()
        let link = try await Self.link(world)
        let operation = Self.operation(.cloudResponse, link, world)
        #expect("\(operation)" == "AuthCloudApiRegistration")
        #expect(!String(reflecting: operation).contains("dispatchTokenResponse"))
    }
}

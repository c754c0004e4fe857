import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("What carries a secret shows it in no description and no reflection")
struct SecretDescriptionTests {
    /// Everything that a log could make of a value, also where it lies in another one.
    private static func texts(_ value: some Any) -> [String] {
        var dumped = ""
        dump([value], to: &dumped)
        return [dumped, "\(value)", String(reflecting: value), "\([value])", "\(Optional(value) as Any)"]
    }

    @Test("A request shows neither its bearer token nor the token that it redeems")
    func request() throws {
        let request = TransportRequest(
            method: "POST", url: try #require(URL(string: "https://id.example.com/account/v1/sessions/s3cret")),
            headers: [("Authorization", "Bearer s3cret")], body: Array(#"{"token":"s3cret"}"#.utf8),
            timeout: .seconds(1))
        for text in Self.texts(request) {
            #expect(!text.contains("s3cret") && !text.contains("115, 51") && text.contains("POST"))
        }
    }

    @Test("An answer shows neither header fields nor body")
    func response() {
        let response = TransportResponse(
            status: 302, headers: [("Location", "https://id.example.com/?code=s3cret")],
            body: Array(#"{"additionalTokens":"s3cret"}"#.utf8))
        for text in Self.texts(response) {
            #expect(!text.contains("s3cret") && !text.contains("115, 51") && text.contains("302"))
        }
    }

    @Test("An answer that is arriving shows no header field")
    func stream() {
        let stream = TransportStream(
            status: 302, headers: [("Location", "https://id.example.com/?code=s3cret")],
            pieces: AsyncStream<[UInt8]> { $0.finish() })
        for text in Self.texts(stream) { #expect(!text.contains("s3cret") && text.contains("302")) }
    }

    @Test("An authentication's result shows neither the address that signs a browser in nor the token")
    func result() async throws {
        let world = try await World()
        try await world.enroll()
        await world.server.judge(
            ServerResponse(
                statusCode: .ok, additionalTokens: [Token(kind: .jwt, value: "s3cret")],
                location: "https://id.example.com/sign-in/continue?code=s3cret"))
        let result = try await world.phone.authenticate(try await world.server.authentication())
        #expect(result.location?.query() == "code=s3cret")
        for text in Self.texts(result) { #expect(!text.contains("s3cret") && text.contains("hasLocation")) }
    }

    @Test("The client, and whatever it hands out, shows neither the device's secret nor a token that it keeps")
    func client() async throws {
        let world = try await World()
        try await world.enroll()
        let secret = try #require(try await world.server.registrationContexts.last?.string("deviceSecret"))
        let deregistration = try await world.server.deregistration(of: "alice")
        await world.server.intercept { _ in throw TransportError(.unreachable, "cut") }
        _ = await operationError { _ = try await world.phone.redeem(deregistration) }
        await world.server.stopIntercepting()
        let token = deregistration.redeemData.token
        let stored = String(decoding: try #require(world.phone.storage.snapshot["accounts"]), as: UTF8.self)
        #expect(stored.contains(secret) && stored.contains(token), "it is there to be shown")
        // Bytes are shown as numbers.
        let wrapped = try #require(world.phone.storage.snapshot["module"]).prefix(4).map(String.init)
        let client = world.phone.client
        let values: [any Sendable] = [
            client, client.operations, client.localData, client.operations.authentication.username("alice"),
            client.operations.outOfBandOperation.payload(deregistration),
            client.operations.outOfBandOperation.payload(deregistration).onError { _ in },
            client.operations.authentication.onError { _ in },
            try await world.operation(try await world.server.authentication()),
            MobileAuthenticationClientInitializer().configuration(client.configuration)
                .platform(DevicePlatform(storage: world.phone.storage, clock: world.phone.clock)),
        ]
        for value in values {
            for text in Self.texts(value) {
                #expect(!text.contains(secret), "\(type(of: value))")
                #expect(!text.contains("\"\(token)\"") && !text.contains("StoredAccount"), "\(type(of: value))")
                #expect(!text.contains(wrapped.joined(separator: ", ")), "\(type(of: value))")
            }
        }
    }

    @Test("What decodes a payload does not show it")
    func decode() async throws {
        let decode = try await World().phone.client.operations.outOfBandPayloadDecode
        for operation in [decode.typedCode("s3cret"), decode.json("s3cret"), decode.link("s3cret")] {
            for text in Self.texts(operation) { #expect(!text.contains("s3cret")) }
        }
    }
}

import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF

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

    @Test("What decodes a payload does not show it")
    func decode() async throws {
        let decode = try await World().phone.client.operations.outOfBandPayloadDecode
        for operation in [decode.typedCode("s3cret"), decode.json("s3cret"), decode.link("s3cret")] {
            for text in Self.texts(operation) { #expect(!text.contains("s3cret")) }
        }
    }
}

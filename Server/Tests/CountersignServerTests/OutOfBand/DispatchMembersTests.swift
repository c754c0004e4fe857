import CeremonyEngine
import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing
import _Primitives

extension Dispatchers {
    /// The dispatchers without a target: those of a server without the devices' own stream.
    static let ofPages =
        (try? Dispatchers([LinkQRCodeDispatcher(), LinkDispatcher(), QRCodeDispatcher()])) ?? .standard
}

@Suite("A dispatch with a member that the server would pass over is refused")
struct DispatchMembersTests {
    private static let addresses = ["/token/dispatch/authentication", "/token/dispatch/deregistration"]

    /// A dispatch that has all its members and is answered.
    private static let whole: JSONObject = [
        "dispatcher": .string("link"), "getUafRequest": .object(["op": .string("Auth")]),
    ]

    /// Sends dispatches to an address, and returns the refusals' details. Each refusal is a typed 400.
    private func refusals(
        of dispatches: [JSONObject], at address: String = Self.addresses[0]
    ) async throws -> [String] {
        let server = try await ServerFixture(configure: { $0.dispatchers = .ofPages })
        let party = try await server.relyingParty()
        return try await server.withPublicClient { client in
            var details: [String] = []
            for dispatch in dispatches {
                let (response, problem) = try await client.send(
                    .post, address, dispatch, headers: [.authorization: party.authorization])
                #expect(response.status == .badRequest)
                #expect(response.headers[.contentType] == "application/problem+json")
                #expect(problem["type"] == .string("urn:countersign:error:invalid-request"))
                #expect(problem["sessionId"] == nil && problem["token"] == nil)
                details.append(try problem.requiredString("detail"))
            }
            return details
        }
    }

    private static func whole(with name: String, _ value: JSON = .string("x")) -> JSONObject {
        var dispatch = Self.whole
        dispatch[name] = value
        return dispatch
    }

    @Test("A target and a dispatcher's data are refused with a sentence that says so", arguments: Self.addresses)
    func unsupported(address: String) async throws {
        let information = JSON.object(["notification": .object(["title": .string("t"), "body": .string("b")])])
        let details = try await self.refusals(
            of: [
                Self.whole(with: "dispatchTargetId"), Self.whole(with: "dispatchTargetId", .integer(1)),
                Self.whole(with: "dispatchInformation", information),
            ], at: address)
        let target =
            "dispatchTargetId is not supported: no dispatcher sends to a single device, or encrypts to its key."
        #expect(
            details == [
                target, target, "dispatchInformation is not supported: no dispatcher takes data of its own.",
            ])
    }

    @Test("An unknown member is refused by its name, in any place and spelling", arguments: Self.addresses)
    func unknown(address: String) async throws {
        let names = [
            "subject", "Dispatcher", "dispatcher ", "dispatchTargetID", "dispatcher\u{301}", "getUAFRequest", "",
            "client_secret",
        ]
        let details = try await self.refusals(of: names.map { Self.whole(with: $0) }, at: address)
        #expect(
            details
                == names.map {
                    "There is no member \"\($0)\": the members of a dispatch are dispatcher, getUafRequest."
                })
    }

    @Test("A name that hides or is long is shown as one safe line, and the value of the member is never shown")
    func shownName() async throws {
        let details = try await self.refusals(of: [
            Self.whole(with: "a\u{202E}b\nc\u{7F}", .string("secret value")),
            Self.whole(with: String(repeating: "n", count: 100), .string("secret value")),
        ])
        #expect(
            details == [
                "There is no member \"a\u{FFFD}b\u{FFFD}c\u{FFFD}\": the members of a dispatch are dispatcher, "
                    + "getUafRequest.",
                "There is no member \"\(String(repeating: "n", count: 64))…\": the members of a dispatch are "
                    + "dispatcher, getUafRequest.",
            ])
    }

    @Test("A member of getUafRequest that belongs into its context, or nowhere, is refused by its name")
    func ofTheRequest() async throws {
        let names = ["username", "subject", "policy", "Context", "lifetimeMillis"]
        let details = try await self.refusals(
            of: names.map {
                [
                    "dispatcher": .string("link"),
                    "getUafRequest": .object(["op": .string("Auth"), $0: .string("x")]),
                ]
            })
        #expect(
            details
                == names.map {
                    "There is no member \"\($0)\": the members of getUafRequest are op, previousRequest, context."
                })
    }

    @Test("A dispatch with nothing but what the server knows goes on, whatever the order of its members")
    func known() async throws {
        let server = try await ServerFixture(configure: { $0.dispatchers = .ofPages })
        let party = try await server.relyingParty()
        try await server.withPublicClient { client in
            let asked: JSONObject = [
                "context": .string("{}"), "previousRequest": .string("before"), "op": .string("Auth"),
            ]
            for dispatch: JSONObject in [
                Self.whole, ["getUafRequest": .object(asked), "dispatcher": .string("png-qr-code")],
                ["dispatcher": .string("link-png-qr-code"), "getUafRequest": .object([:])],
            ] {
                let (response, answer) = try await client.send(
                    .post, Self.addresses[0], dispatch, headers: [.authorization: party.authorization])
                #expect(response.status == .ok)
                #expect(answer["dispatchResult"] == .string("dispatched"))
            }
        }
    }

    @Test("A caller without credentials is told of no member")
    func withoutCredentials() async throws {
        let server = try await ServerFixture(configure: { $0.dispatchers = .ofPages })
        try await server.withPublicClient { client in
            for address in Self.addresses {
                let answer = try await client.send(.post, address, Self.whole(with: "dispatchTargetId"))
                #expect(answer.response.status == .unauthorized)
            }
        }
    }

    @Test("The document of the addresses says that a dispatch has no other members")
    func document() async throws {
        let server = try await ServerFixture(configure: { $0.dispatchers = .ofPages })
        let paths = try await server.withPublicClient {
            try await $0.send(.get, "/openapi.json").object.requiredObject("paths")
        }
        for address in Self.addresses {
            let body = try paths.requiredObject(address).requiredObject("post").requiredObject("requestBody")
            let schema = try body.requiredObject("content").requiredObject("application/json").requiredObject("schema")
            #expect(schema["additionalProperties"] == .bool(false))
            let asked = try schema.requiredObject("properties").requiredObject("getUafRequest")
            #expect(asked["additionalProperties"] == .bool(false))
        }
    }
}

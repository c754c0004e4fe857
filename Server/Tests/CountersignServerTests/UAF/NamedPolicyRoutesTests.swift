import Accounts
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Records
import SQLStore
import Testing
import UAF
import UAFClient
import UAFRelyingParty
import _Primitives

@Suite("Policies by name over HTTP (threat model, Policy downgrade by the caller): who may name one")
struct NamedPolicyRoutesTests {
    private static let finger = "C516#0003"

    private static func server() async throws -> ServerFixture {
        try await ServerFixture(rules: {
            var rules = RuleSet(metadata: try .builtIn())
            for (name, models) in [
                ("finger", [["C516#0003"]]), ("pin-and-finger", [["C516#0001"], ["C516#0003"]]),
                ("pin-and-device", [["C516#0001"], ["C516#0006"]]),
            ] {
                let criteria = try models.map { MatchCriteria(aaid: try $0.map { try AAID($0) }) }
                try rules.policies.add(Policy(accepted: [criteria]), named: name, metadata: rules.metadata)
            }
            return rules
        })
    }

    private func ask(
        _ operation: UAF.Operation, _ context: JSONObject, _ authorization: String?, _ client: any TestClientProtocol
    ) async throws -> (status: HTTPResponse.Status, answer: ReturnUAFRequest?) {
        var headers: HTTPFields = [.contentType: "application/fido+uaf"]
        headers[.authorization] = authorization
        let name = operation == .registration ? "registration" : "authentication"
        let response = try await client.execute(
            uri: "/uaf/1.1/request/\(name)", method: .post, headers: headers,
            body: ByteBuffer(bytes: GetUAFRequest(operation: operation, context: context).serialized))
        return (response.status, try? ReturnUAFRequest(parsing: Array(response.body.readableBytesView)))
    }

    @Test("A relying party that proves who it is names a policy; anybody else is answered 1400, and a false secret 401")
    func authentication() async throws {
        let server = try await Self.server()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let device = try await server.deviceAuthorization(username: "alice")
            let named: JSONObject = ["policy": .string("finger")]
            let request = try await self.ask(.authentication, named, party.authorization, client).answer
            #expect(request?.statusCode == .ok)
            let message = try AuthenticationRequest(parsing: (request?.uafRequest ?? "").utf8)
            #expect(message.policy.accepted == [[MatchCriteria(aaid: [try AAID(Self.finger)])]])

            for authorization in [nil, "", "Bearer x", device] {
                let answer = try await self.ask(.authentication, named, authorization, client)
                #expect(answer.status == .ok && answer.answer?.statusCode == .badRequest, "\(authorization ?? "none")")
                #expect(answer.answer?.uafRequest == nil)
            }
            for authorization in ["Basic eDp5", "Basic x", party.authorization + "x"] {
                #expect(try await self.ask(.authentication, named, authorization, client).status == .unauthorized)
            }
            for context: JSONObject in [
                ["policy": .string("other")], ["policy": .string("")], ["policy": .integer(1)],
                ["policy": .array([.string("finger")])],
                ["policy": .string("finger"), "transaction": .array([])],
                ["policy": .string("finger"), "username": .integer(1)],
            ] {
                let answer = try await self.ask(.authentication, context, party.authorization, client)
                #expect(answer.status == .ok && answer.answer?.statusCode == .badRequest, "\(context)")
            }
            // A caller that names none gets the default one, known or not.
            for authorization in [nil, party.authorization] {
                let answer = try await self.ask(.authentication, [:], authorization, client).answer
                let message = try AuthenticationRequest(parsing: (answer?.uafRequest ?? "").utf8)
                #expect(message.policy.accepted.count == CeremonyConfiguration.everyFactor.count)
            }
        }
    }

    @Test("A device names a policy for its further keys; an unknown one is 1400")
    func registration() async throws {
        let server = try await Self.server()
        try await server.withPublicClient { client in
            let device = try await server.deviceAuthorization(username: "alice")
            let answer = try await self.ask(.registration, ["policy": .string("finger")], device, client).answer
            let message = try RegistrationRequest(parsing: (answer?.uafRequest ?? "").utf8)
            #expect(message.policy.accepted == [[MatchCriteria(aaid: [try AAID(Self.finger)])]])
            for policy: JSON in [.string("other"), .string(""), .integer(1)] {
                let refused = try await self.ask(.registration, ["policy": policy], device, client)
                #expect(refused.status == .ok && refused.answer?.statusCode == .badRequest)
            }
            #expect(
                try await self.ask(.registration, ["policy": .string("finger")], nil, client).status == .unauthorized)
        }
    }

    @Test("Keys that a phone registered one after another answer a policy that wants both")
    func both() async throws {
        let server = try await Self.server()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            try await phone.addFinger()
            let party = try await server.relyingParty()
            let context: JSONObject = ["policy": .string("pin-and-finger"), "username": .string("alice")]
            let answer = try await self.ask(.authentication, context, party.authorization, client).answer
            let message = try AuthenticationRequest(parsing: (answer?.uafRequest ?? "").utf8)
            #expect(message.policy.accepted.map(\.count) == [2])
            let account = try await server.assembly.directory.account(username: "alice")
            let keys = try await server.database.credentials(accountID: account.id)
            #expect(message.policy.accepted[0].compactMap { $0.keyIDs?.first?.bytes } == keys.map(\.keyID))
        }
    }

    @Test("A PIN and possession of the device, two keys of one policy, enrol and authenticate in one answer each")
    func pinAndDevice() async throws {
        let server = try await Self.server()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client, policy: "pin-and-device")
            let account = try await server.assembly.directory.account(username: "alice")
            let keys = try await server.database.credentials(accountID: account.id)
            #expect(Set(keys.map(\.aaid)) == ["C516#0001", "C516#0006"] && Set(keys.map(\.deviceID)).count == 1)

            let party = try await server.relyingParty()
            let context: JSONObject = ["policy": .string("pin-and-device")]
            let dispatched = try await client.send(
                .post, "/token/dispatch/authentication",
                [
                    "dispatcher": .string("link-png-qr-code"),
                    "getUafRequest": .object(["op": .string("Auth"), "context": .string(JSON.object(context).text)]),
                ], headers: [.authorization: party.authorization])
            try await phone.scan(try dispatched.object.requiredString("link"))
            let session = try dispatched.object.requiredString("sessionId")
            let status = try await client.send(
                .post, "/status", ["sessionId": .string(session)], headers: [.authorization: party.authorization])
            #expect(status.object["status"] == .string("succeeded"))
            let models = try #require(try status.object.array("authenticators")).map(\.text)
            #expect(models.count == 2 && models.joined().contains("C516#0006"))
            let used = try await server.database.credentials(accountID: account.id)
            #expect(used.map { $0.lastUsedAt != nil } == [true, true], "both have signed")
        }
    }

    @Test("An operator's link names a policy; an unknown one is 422 unknown-policy, and the document says so")
    func activation() async throws {
        let server = try await Self.server()
        try await server.withSocketClient { client in
            _ = try await client.send(.post, "/admin/v1/accounts", ["username": .string("alice")])
            let made = try await client.send(
                .post, "/admin/v1/activations", ["username": .string("alice"), "policy": .string("finger")])
            #expect(made.response.status == .created)
            for policy in ["other", "", "Finger"] {
                let refused = try await client.send(
                    .post, "/admin/v1/activations", ["username": .string("alice"), "policy": .string(policy)])
                #expect(refused.response.status.code == 422)
                #expect(refused.object["type"] == .string("urn:countersign:error:unknown-policy"))
            }
            let typed = try await client.send(
                .post, "/admin/v1/activations", ["username": .string("alice"), "policy": .integer(1)])
            #expect(typed.response.status == .badRequest)
            let document = try await client.send(.get, "/admin/v1/openapi.json").object
            let create = try document.requiredObject("paths").requiredObject("/activations").requiredObject("post")
            #expect(try create.requiredObject("responses").object("422") != nil)
            let body = try create.requiredObject("requestBody").requiredObject("content")
                .requiredObject("application/json").requiredObject("schema")
            #expect(try body.requiredObject("properties").object("policy") != nil)
            #expect(try body.strings("required") == ["username"])
        }
    }
}

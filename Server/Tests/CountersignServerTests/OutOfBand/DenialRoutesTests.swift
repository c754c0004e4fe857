import Accounts
import Ceremony
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import HummingbirdTesting
import OAuthProvider
import Records
import Testing
import UAF
import _Primitives

@Suite("Operations parity 95: the SDK's denials at the server, as a back end and the person's devices see them")
struct DenialRoutesTests {
    /// A back end that has dispatched a request for alice, and her phone.
    private struct Stage {
        let server: ServerFixture
        let client: any TestClientProtocol
        let party: RelyingParty
        let phone: VirtualPhone
        let subject: String

        init(_ server: ServerFixture, _ client: any TestClientProtocol) async throws {
            self.server = server
            self.client = client
            self.party = try await server.relyingParty()
            self.phone = try await server.enrolledPhone(client)
            try await server.signInTwice(TestBrowser(client), self.party, self.phone)
            let account = try await server.assembly.directory.account(username: "alice").id
            self.subject = server.assembly.provider.keys.subject(ofAccount: account, client: self.party.id)
        }

        func dispatch() async throws -> (session: String, payload: OutOfBandPayload) {
            let transaction = JSON.array([.object(Transaction(content: Array("Pay 5 EUR".utf8)).json)])
            let context: JSONObject = ["subject": .string(self.subject), "transaction": transaction]
            let answer = try await self.client.send(
                .post, "/token/dispatch/authentication",
                [
                    "dispatcher": .string("link"),
                    "getUafRequest": .object(["context": .string(JSON.object(context).text)]),
                ], headers: [.authorization: self.party.authorization]
            ).object
            return (
                try answer.requiredString("sessionId"),
                try OutOfBandPayload(link: try answer.requiredString("link"))
            )
        }

        func status(_ session: String) async throws -> JSONObject {
            try await self.client.send(
                .post, "/status", ["sessionId": .string(session)],
                headers: [.authorization: self.party.authorization]
            ).object
        }
    }

    @Test("The status names the refusal; \"not me\" is a notice on the person's devices")
    func status() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let stage = try await Stage(server, client)
            for (statement, word) in [
                (DenialStatement.unwanted, "denied"), (.wrongContent, "wrongContent"), (.notMe, "notMe"),
            ] {
                let (session, payload) = try await stage.dispatch()
                #expect(try await stage.status(session)["refusal"] == nil)
                try await stage.phone.client.operations.denial.payload(payload).statement(statement).execute()
                let status = try await stage.status(session)
                #expect(status["status"] == .string("failed") && status["refusal"] == .string(word))
            }
            let (session, payload) = try await stage.dispatch()
            stage.phone.person.script.reactions = [.authenticator: .cancels]
            await #expect(throws: OperationError.self) { try await stage.phone.authenticate(payload) }
            #expect(try await stage.status(session)["refusal"] == .string("givenUp"))
            let notices = try await stage.phone.client.operations.accountNotices.username("alice").execute()
            #expect(notices.filter { $0.kind == .requestDisowned }.map(\.subject) == ["Demo Bank"])
        }
    }

    @Test("A screen of the app denies while it shows the content")
    func screen() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let stage = try await Stage(server, client)
            let (session, payload) = try await stage.dispatch()
            stage.phone.person.script.reactions = [.authenticator: .denies]
            stage.phone.person.script.denial = .wrongContent
            await #expect(throws: OperationError.fido(.userCanceled)) { try await stage.phone.authenticate(payload) }
            #expect(try await stage.status(session)["refusal"] == .string("wrongContent"))
        }
    }
}

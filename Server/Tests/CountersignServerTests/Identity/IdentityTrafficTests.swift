import Accounts
import CountersignServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing
import _Primitives

@Suite("What the phone of a personalised identity is told, all of it")
struct IdentityTrafficTests {
    @Test("A person's values never reach the phone: not those that are chosen by their words, nor those typed before")
    func valuesStay() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            _ = try await fixture.enroll().line("finished")
            let first = try await fixture.scan(
                nil, ["--alias", "email=Office", "--value-stdin"],
                lines: [#"{"givenName":"Wilhelmina"}"#, "999111", "258036"])
            #expect(try first.line("finished").string("outcome") == "approved")
            _ = try first.line("lockout")
            // Nothing is asked any more: the choice and the name are the account's.
            let second = try await fixture.scan(
                try await fixture.code(in: TestBrowser(fixture.client)), lines: ["258036"])
            #expect(try second.line("finished").string("outcome") == "approved")

            let told = fixture.answers.text
            for value in ["alice@home.example", "alice@office.example", "office.example", "Wilhelmina"] {
                #expect(!told.contains(value), "\(value)")
            }
            // It is read to the last: the words of the values are in it.
            #expect(told.contains("Office") && told.contains("Home") && told.contains("Resident"))
        }
    }

    @Test("Who proves nothing is told so with 401, in an answer that is signed like every other")
    func unproven() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let answer = try await client.execute(
                uri: "/identity/sessions/unknown/finish", method: .post, headers: [.contentType: "application/json"],
                body: ByteBuffer(string: "{}"))
            #expect(answer.status == .unauthorized)
            #expect(answer.text.split(separator: ".").count == 3, "a compact JWS")
        }
    }

    @Test("A name with a control character is nobody's: the database would take what is before U+0000 for it")
    func controlCharacters() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            for path in [
                "sessions/unknown%00x/abort", "sessions/unknown%0Ax/start", "sessions/unknown%7Fx/finish",
                "activations/unknown%00x/enroll",
            ] {
                let answer = try await client.execute(
                    uri: "/identity/\(path)", method: .post, headers: [.contentType: "application/json"],
                    body: ByteBuffer(string: "{}"))
                #expect(answer.status == .notFound, "\(path)")
            }
        }
    }
}

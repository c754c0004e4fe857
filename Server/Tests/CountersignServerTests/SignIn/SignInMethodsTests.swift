import CountersignServer
import HTTPTypes
import HummingbirdTesting
import OAuth
import Testing
import WebPages
import _Primitives

@Suite("Decisions 26 and 40: ways to sign in and types of details are lists, and the rest follows from the lists")
struct SignInMethodsTests {
    @Test("texts for operators name the words of all ways, and the names of all types")
    func words() {
        #expect(SignInMethods.words == "phone, password, or provider:NAME")
        #expect(DetailTypes.names == "payment")
    }

    @Test("the administration's document explains the words")
    func explainedWords() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let document = JSON.object(try await client.send(.get, "/admin/v1/openapi.json").object).text
            #expect(
                document.contains(
                    "the first to be offered first: phone, password, or provider:NAME for another provider. A new service has phone."
                ))
            #expect(document.contains("agree to in detail (RFC 9396): payment. A new service may ask nothing."))
        }
    }

    @Test("a client takes the words of the list, and no other word", arguments: ["passkey", "session", "app", ""])
    func otherWord(word: String) async throws {
        let server = try await ServerFixture()
        for known in ["phone", "password", "provider:staff"] {
            _ = try await server.relyingParty(signInMethods: [known])
        }
        await #expect(throws: OAuthError.self) { try await server.relyingParty(signInMethods: [word]) }
    }
}

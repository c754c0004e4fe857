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
        for word in ["phone", "asked-phone", "password", "provider:NAME"] {
            #expect(SignInMethods.words.contains(word) && SignInMethods.explainedWords.contains(word))
        }
        #expect(SignInMethods.words.contains(", or "))
        #expect(SignInMethods.explainedWords.contains("provider:NAME for another provider"))
        #expect(DetailTypes.names.contains("payment"))
    }

    @Test("the administration's document explains the words")
    func explainedWords() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let document = JSON.object(try await client.send(.get, "/admin/v1/openapi.json").object).text
            #expect(
                document.contains(
                    "the first to be offered first: \(SignInMethods.explainedWords). A new service has phone."))
            #expect(
                document.contains(
                    "agree to in detail (RFC 9396): \(DetailTypes.names). A new service may ask nothing."))
        }
    }

    @Test("a client takes the words of the list, and no other word", arguments: ["passkey", "session", "app", ""])
    func otherWord(word: String) async throws {
        let server = try await ServerFixture()
        for known in ["phone", "asked-phone", "password", "provider:staff"] {
            _ = try await server.relyingParty(signInMethods: [known])
        }
        await #expect(throws: OAuthError.self) { try await server.relyingParty(signInMethods: [word]) }
    }
}

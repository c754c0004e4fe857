import Countersign
import Testing

@testable import FirstApp

@Suite("Operations parity 98: the listing of the guide on messages")
struct MessageListingTests {
    private struct ForeignError: Error {}

    @Test("A person reads the app's own sentences, the SDK's sentences, and English without a wish that is known")
    func messages() {
        let german = messageLanguage(for: ["de-AT", "en"])
        #expect(
            text(about: OperationError(.accountLocked), in: german)
                == "Ihr Konto bei der Musterbank ist gesperrt. Rufen Sie die Musterbank an: 030 123456.")
        #expect(text(about: SignInError(.notSignedIn), in: german) == "Niemand ist angemeldet. Melden Sie sich an.")
        #expect(
            text(about: SignInError(.notSignedIn), in: messageLanguage(for: ["pt"])) == "Nobody is signed in. Sign in.")
        #expect(text(about: ForeignError(), in: german).hasPrefix("Etwas ist schiefgegangen. "))
    }
}

import Accounts
import CeremonyEngine
import Endpoints
import OAuthProvider
import Pages
import Records
import Texts
import _Primitives

/// The sign-in with a phone that asks: the person types a name at the page, and the page's number on the phone
/// (decision 126).
struct AskedPhoneSignIn: SignInWay {
    static let word = AuthenticationRecord.askedPhoneMethod
    static let explanation: String? = "for the phone after a name at the page, with a number"

    let name = Self.word
    let signsTexts = true
    private let ceremonies: LateCeremonies
    private let directory: AccountDirectory

    init(_ foundation: SignInFoundation) {
        self.ceremonies = foundation.ceremonies
        self.directory = foundation.directory
    }

    func outcome(request: String, browser: BrowserSecret, client: String) async throws -> AuthenticationOutcome? {
        try await self.ceremonies.signIns?.consume(
            reference: request, browser: browser.cookieValue, client: client, askedByName: true
        ).map { AuthenticationOutcome($0) }
    }

    func choices(for words: [String]) -> [SignInChoice] {
        [
            SignInChoice(
                word: Self.word, entry: .init(.byAskedPhone, name: Self.word, path: AskedPhonePage.path))
        ]
    }

    func endpoints(_ parts: SignInParts) -> [Endpoint] {
        AskedPhoneRoutes(
            ceremonies: self.ceremonies, directory: self.directory, provider: parts.provider, answers: parts.answers,
            cookies: parts.cookies, limits: parts.limits
        ).endpoints
    }
}

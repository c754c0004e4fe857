import CeremonyEngine
import Endpoints
import OAuthProvider
import Pages
import Records
import Texts
import _Primitives

/// The sign-in with a phone: hands the outcomes of ceremonies to the provider. So neither engine knows the other.
///
/// The page of the phone is the page with which every sign-in begins (``SignInRoutes``).
struct PhoneSignIn: SignInWay {
    static let word = AuthenticationRecord.phoneMethod
    static let isDirect = true

    let name = Self.word
    let signsTexts = true
    private let ceremonies: LateCeremonies

    init(_ foundation: SignInFoundation) { self.ceremonies = foundation.ceremonies }

    func outcome(request: String, browser: BrowserSecret, client: String) async throws -> AuthenticationOutcome? {
        try await self.ceremonies.signIns?.consume(
            reference: request, browser: browser.cookieValue, client: client
        ).map { AuthenticationOutcome($0) }
    }

    func choices(for words: [String]) -> [SignInChoice] {
        [SignInChoice(word: Self.word, entry: .init(.byPhone, name: "phone", path: "/sign-in", isHere: true))]
    }

    /// Returns no endpoint: the endpoints of the page with which every sign-in begins are the phone's, too.
    func endpoints(_ parts: SignInParts) -> [Endpoint] { [] }
}

extension AuthenticationOutcome {
    /// Creates the outcome of a sign-in by a phone.
    init(_ outcome: SignInOutcome) {
        self.init(
            account: outcome.accountID, authenticatedAt: outcome.authTime, acr: outcome.acr, amr: outcome.amr,
            browser: outcome.browser, address: outcome.address, device: outcome.deviceID,
            signedText: outcome.contentHash, role: outcome.role)
    }
}

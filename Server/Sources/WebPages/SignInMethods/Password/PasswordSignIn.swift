import Accounts
import Endpoints
import OAuthProvider
import Pages
import Records
import Texts
import UAFRelyingParty
import _Primitives

/// The sign-in with a password, and with a code if the account has a second factor.
struct PasswordSignIn: SignInWay {
    static let word = AuthenticationRecord.passwordMethod

    let name = Self.word
    private let accounts: PasswordAccounts

    init(_ foundation: SignInFoundation) { self.accounts = foundation.passwords }

    func outcome(request: String, browser: BrowserSecret, client: String) async throws -> AuthenticationOutcome? {
        // The provider has found the request by the browser's secret, and the sign-in belongs to the request.
        guard let outcome = try await PasswordSignIns(self.accounts).outcome(request: request) else { return nil }
        let level: AssuranceLevel = outcome.hasTwoFactors ? .twoFactor : .oneFactor
        return AuthenticationOutcome(
            account: outcome.accountID, authenticatedAt: outcome.at, acr: level.rawValue, amr: outcome.methods,
            browser: outcome.browser, address: outcome.address)
    }

    func choices(for words: [String]) -> [SignInChoice] {
        [SignInChoice(word: Self.word, entry: .init(.byPassword, name: "password", path: "/sign-in/password"))]
    }

    func endpoints(_ parts: SignInParts) -> [Endpoint] {
        PasswordSignInRoutes(
            signIns: PasswordSignIns(self.accounts), provider: parts.provider, answers: parts.answers,
            cookies: parts.cookies, limits: parts.limits, hashing: self.accounts.hashing,
            hasMail: self.accounts.sendsMail
        ).endpoints
    }
}

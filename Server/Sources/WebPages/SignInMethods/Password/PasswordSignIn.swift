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
    static let isDirect = true

    let name = Self.word
    private let accounts: PasswordAccounts
    private let finished: FinishedSignIns

    init(_ foundation: SignInFoundation) {
        self.accounts = foundation.passwords
        self.finished = foundation.finished
    }

    func outcome(request: String, browser: BrowserSecret, client: String) async throws -> AuthenticationOutcome? {
        try await self.finished.outcome(request: request, by: self)
    }

    func choices(for words: [String]) -> [SignInChoice] {
        [SignInChoice(word: Self.word, entry: .init(.byPassword, name: "password", path: "/sign-in/password"))]
    }

    func endpoints(_ parts: SignInParts) -> [Endpoint] {
        PasswordSignInRoutes(
            signIns: self.accounts.signIns, provider: parts.provider, answers: parts.answers,
            cookies: parts.cookies, limits: parts.limits, hashing: self.accounts.hashing,
            hasMail: self.accounts.sendsMail
        ).endpoints
    }
}

extension PasswordAccounts {
    /// The sign-ins by a password, with the levels of this server.
    var signIns: PasswordSignIns {
        PasswordSignIns(
            self,
            levels: .init(
                oneFactor: AssuranceLevel.oneFactor.rawValue, twoFactors: AssuranceLevel.twoFactor.rawValue))
    }
}

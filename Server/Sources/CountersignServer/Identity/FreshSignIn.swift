import OAuthProvider
import Pages
import Store
import UAFRelyingParty
import _Primitives

extension ActiveSession {
    /// Whether a session says enough of who is there for what nobody is to do with a browser that was left open. Another
    /// provider may have answered by a session of its own, and asked nobody.
    func isFresh(at now: Timestamp, _ limits: Limits) -> Bool {
        !self.isByAnotherProvider && now < self.authenticatedAt + limits.freshSignIn
            && AssuranceLevel.twoFactor.met.contains { $0.rawValue.hasSameBytes(as: self.acr) }
    }
}

extension ResultPage {
    /// Said to whoever has signed in too long ago, or by one factor. `what` is done only soon after: a sentence up to its verb.
    static func stale(_ what: String, _ limits: Limits) -> Self {
        let minutes = limits.freshSignIn.components.seconds / 60
        return ResultPage(
            outcome: .refused, headline: "Sign in once more",
            explanation:
                "\(what) within \(minutes) minutes of a sign-in by two factors here, as with your app. Sign out here, sign in again, and come back.",
            link: ("Sign out", SignOutQuestionPage.path))
    }
}

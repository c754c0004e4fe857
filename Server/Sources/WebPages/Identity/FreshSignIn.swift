import OAuthProvider
import Pages
import Settings
import Texts
import UAFRelyingParty
import _Primitives

extension ActiveSession {
    /// Returns `true` if the session's sign-in is fresh, has two factors, and did not come from another provider.
    ///
    /// Some actions need such a sign-in, to protect a browser that a person left open. Another provider may have
    /// answered by a session of its own, without asking anybody.
    func isFresh(at now: Timestamp, _ limits: Limits) -> Bool {
        !self.isByAnotherProvider && now < self.authenticatedAt + limits.freshSignIn
            && AssuranceLevel.twoFactor.met.contains { $0.rawValue.hasSameBytes(as: self.acr) }
    }
}

extension ResultPage {
    /// Returns the page for a person who has signed in too long ago, or by one factor. `matter`
    /// is the action that needs a fresh sign-in.
    static func stale(_ matter: Notice.StaleMatter, _ limits: Limits) -> Self {
        let minutes = limits.freshSignIn.components.seconds / 60
        return ResultPage(
            .refused, .staleSignIn(matter, minutes: Int(minutes)), target: SignOutQuestionPage.path)
    }
}

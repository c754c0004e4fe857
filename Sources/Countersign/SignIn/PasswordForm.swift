public import Observation

/// An app's own sign-in screen: its two fields, its button, and what has come of it. For an app of the server's own operator,
/// as ``SignIn/withPassword(username:password:offeringBiometrics:secondFactor:)`` is.
///
/// Bind two fields to ``username`` and ``password``, disable the button unless ``canSubmit``, call
/// ``submit(offeringBiometrics:secondFactor:)`` behind it, and show what ``state`` says. However it ends the password's field
/// is empty then: what somebody has typed is not there for whoever picks up the device next.
@MainActor
@Observable
public final class PasswordForm {
    /// What the screen shows.
    public enum State: Sendable {
        /// Fields that can be typed in. So it is, too, when the person has given up.
        case typing
        /// The server is being asked.
        case waiting
        /// The person is signed in: show what is theirs.
        case signedIn
        /// The person is not signed in; ``PasswordForm/message`` says why. Mostly ``SignInError``, whose codes say what
        /// the app does next.
        case failed(any Error)
    }

    /// The field of the person's name at the server.
    public var username = ""
    /// The field of their password.
    public var password = ""
    /// What has come of it.
    public private(set) var state = State.typing
    private let signIn: SignIn

    /// Empty fields of somebody who is to sign in to this.
    public nonisolated init(_ signIn: SignIn) {
        self.signIn = signIn
    }

    /// Whether the button does something: both fields are filled, and no answer is waited for.
    public var canSubmit: Bool {
        if case .waiting = self.state { return false }
        return SignIn.canSubmit(username: self.username, password: self.password)
    }

    /// Why the person is not signed in and what they can do, in English and fit to be shown; `nil` unless it has failed.
    public var message: String? {
        guard case .failed(let error) = self.state else { return nil }
        guard let error = error as? SignInError else { return "That did not work. Try again." }
        return [error.errorDescription, error.recoverySuggestion].compactMap(\.self).joined(separator: " ")
    }

    /// Signs in with what the fields hold, and empties the password's. Does nothing unless ``canSubmit``.
    ///
    /// - Parameters:
    ///   - offer: As ``SignIn/withPassword(username:password:offeringBiometrics:secondFactor:)`` has it.
    ///   - secondFactor: Likewise.
    public func submit(
        offeringBiometrics offer: SignIn.BiometricOffer? = nil, secondFactor: SignIn.SecondFactorPrompt? = nil
    ) async {
        guard self.canSubmit else { return }
        self.state = .waiting
        let result: State
        do {
            try await self.signIn.withPassword(
                username: self.username, password: self.password, offeringBiometrics: offer, secondFactor: secondFactor)
            result = .signedIn
        } catch let error as SignInError where error.code == .cancelled {
            result = .typing
        } catch is CancellationError {
            result = .typing
        } catch {
            result = .failed(error)
        }
        self.password = ""
        self.state = result
    }
}

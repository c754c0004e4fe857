public import Observation

/// The model of an app's own sign-in screen: two fields, a button, and the result. Meant for an app of the server's own
/// operator, like ``SignIn/withPassword(username:password:offeringBiometrics:secondFactor:)``.
///
/// Bind two fields to ``username`` and ``password``, disable the button unless ``canSubmit``, call
/// ``submit(offeringBiometrics:secondFactor:)`` from the button, and show ``state``. After every end of a sign-in the
/// password's field is empty: the next user of the device does not find a typed password.
@MainActor
@Observable
public final class PasswordForm {
    /// The state of the screen.
    public enum State: Sendable {
        /// The person can type in the fields. The state is the same after the person has given up.
        case typing
        /// The form waits for the server's answer.
        case waiting
        /// The person is signed in. Show the person's content.
        case signedIn
        /// The sign-in failed; ``PasswordForm/message`` states the reason. The error is usually a ``SignInError``,
        /// whose codes state the remedy for the app.
        case failed(any Error)
    }

    /// The text of the field for the person's name at the server.
    public var username = ""
    /// The text of the field for the person's password.
    public var password = ""
    /// The state of the sign-in.
    public private(set) var state = State.typing
    private let signIn: SignIn

    /// Creates an empty form for a sign-in with `signIn`.
    public nonisolated init(_ signIn: SignIn) {
        self.signIn = signIn
    }

    /// `true` if the button has an effect: both fields are filled, and no sign-in is running.
    public var canSubmit: Bool {
        if case .waiting = self.state { return false }
        return SignIn.canSubmit(username: self.username, password: self.password)
    }

    /// The reason of the failure and the person's remedy, in English and fit to be shown; `nil` unless the sign-in has
    /// failed.
    public var message: String? {
        guard case .failed(let error) = self.state else { return nil }
        guard let error = error as? SignInError else { return "That did not work. Try again." }
        return [error.errorDescription, error.recoverySuggestion].compactMap(\.self).joined(separator: " ")
    }

    /// Signs in with the content of the fields, and empties the password's field. Does nothing unless ``canSubmit``.
    ///
    /// - Parameters:
    ///   - offer: The same as in ``SignIn/withPassword(username:password:offeringBiometrics:secondFactor:)``.
    ///   - secondFactor: The same as in that function.
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

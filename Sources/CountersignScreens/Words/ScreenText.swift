/// A text of the screens that is no error: a title, a button, or a label for people who hear the screen.
///
/// Each language has words for each text. The parameters are values that no language changes.
public enum ScreenText: Hashable, Sendable {
    // MARK: PINs

    /// The title of the question for the PIN.
    case pinTitle
    /// The title of the question for a new PIN.
    case newPinTitle
    /// The number of typed digits, for people who hear the screen.
    case digitsTyped(Int)
    /// The remaining waiting time in seconds.
    case wait(seconds: Int)
    /// The number of tries that remain.
    case triesLeft(Int)
    /// The last try before the PIN locks.
    case lastTry

    // MARK: Approvals

    /// The title of a payment that a service asks for; `nil` for a service without a name.
    case paymentTitle(service: String?)
    /// The title of a text that a service asks to confirm; `nil` for a service without a name.
    case signingTitle(service: String?)
    /// The label of the account's name.
    case account
    /// The label of the requesting browser.
    case browser
    /// The label of the text that the page of the service shows, too.
    case comparison
    /// A picture to confirm, for people who hear the screen.
    case picture
    /// The label of a payment's amount.
    case amount
    /// The label of a payment's payee.
    case payee
    /// The label of an account number that is no IBAN.
    case accountNumber
    /// The label of a payment's message.
    case reference
    /// The label of the day on which the money leaves.
    case executionDate

    // MARK: Numbers and choices

    /// The title of the question for the number that the place of the request shows.
    case numberTitle
    /// The advice beside the question for a number.
    case numberAdvice
    /// The title of the choice of an account.
    case accountTitle
    /// The title of the choice of an authenticator.
    case authenticatorTitle
    /// An authenticator by a PIN.
    case pin
    /// An authenticator by a password.
    case password
    /// An authenticator by a finger.
    case fingerprint
    /// An authenticator by a face.
    case face
    /// An authenticator by the device's passcode.
    case devicePasscode
    /// An authenticator without an action.
    case devicePossession

    // MARK: Buttons

    /// The button that approves.
    case approve
    /// The button that goes on with the typed digits.
    case goOn
    /// The button that erases the last digit.
    case erase
    /// The button that gives up.
    case cancel
    /// The button that denies a request of somebody else.
    case notMe
}

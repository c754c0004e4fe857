/// Words that several pages have.
public enum SharedText: Sendable {
    /// The link that jumps over the top of a page.
    case skipToContent
    /// The foot of every page.
    case youAreAt(host: String)
    /// The number by which the operator finds a refusal in the log.
    case helpNumber(String)
    /// A hint for the people who run the service.
    case forOperators(detail: String)
    /// The button by which a person gives up a sign-in.
    case cancelAndGoBack(client: String)
    /// The link to a service.
    case goTo(name: String)
    /// The account of a person who is signed in.
    case signedInAs(username: String)
    /// The way to stay signed in, if no link leads back.
    case closeToStay
    /// Words of links and buttons.
    case cancel, continueOn, goOn, tryAgain, no, signInAnotherWay, backToIdentity, confirmOnPhone, signOut, remove
    /// Words of buttons that copy, and the answer of the page's script.
    case copy, copyPageAddress, copied
}

/// Words of the fields of forms, and of what stands beside the fields.
public enum FieldText: Sendable {
    /// Labels.
    case name, code, password, yourPassword, passwordNow, newPassword, email, phone, deviceName, newName
    /// Labels of a PIN that is chosen for the way from a page to an app.
    case pin, pinAgain
    /// Hints about codes.
    case codeHint, mailedCodeHint
    /// The least number of characters of a new password.
    case newPasswordHint(fewest: Int)
    /// The numbers of digits that a PIN can have.
    case pinHint(fewest: Int, most: Int)
    /// Hints about a phone number and a device's name.
    case phoneHint, deviceNameHint
    /// Another button of the form for a new password, and the words above the button.
    case keepsPassword, keepPassword
    /// Links below a form.
    case forgottenPassword, haveIdentity
    /// The label of a QR code for people who do not see the code.
    case authenticatorQR
    /// New recovery codes: the heading, the use, and the warning.
    case recoveryCodes, recoveryCodesUse, recoveryCodesOnce
    /// A recovery code in place of a used code: the heading, the use, and the warning.
    case recoveryCodeReplaced, recoveryCodeReplacedUse, recoveryCodeReplacedOnce
}

/// The reason why a form is shown once more.
public enum FormProblem: Sendable, Equatable {
    /// Name or password of a sign-in are wrong, or the password rests.
    case signInRefused
    /// A code beside the password does not count.
    case codeRefused
    /// Password or code are wrong, or rest.
    case proofRefused
    /// A code that was mailed is wrong, too old, or rests.
    case mailedCodeRefused
    /// No code was mailed, because several letters were.
    case noCodeMailed
    /// A new password is too short.
    case passwordTooShort(fewest: Int)
    /// A new password is too long.
    case passwordTooLong(most: Int)
    /// A new password has characters that do not show, is known to attackers, or has another fault.
    case passwordNotShown, passwordBreached, passwordRefused
    /// Recovery codes without an authenticator app.
    case noAuthenticatorApp
    /// An authenticator app was added too slowly.
    case offerOver
    /// The first code of an authenticator app is wrong.
    case firstCodeWrong
    /// The two PINs differ.
    case notTheSamePIN
    /// The PIN has other characters than digits, or too few or too many digits.
    case noPIN(fewest: Int, most: Int)
    /// A PIN that others try first.
    case pinTooSimple
    /// A text that is no e-mail address, or no phone number.
    case noEmail, noPhone
    /// The account has as many values, or as many addresses, as it can have.
    case tooManyValues, tooManyAddresses
    /// A name that is too long, or not one line that shows.
    case noName(most: Int)
    /// No device waits for a code.
    case deviceCodeUnknown
    /// Another provider begins no sign-in now.
    case providerCrowded
    /// Another provider has authenticated somebody else.
    case providerOfAnother
    /// Another provider has not authenticated the person: declined, not fresh, or failed.
    case providerDeclined, providerStale, providerFailed
}

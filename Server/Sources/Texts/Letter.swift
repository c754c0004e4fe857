/// A letter to a person. Links and codes are complete; `name` is the name of the account.
public enum Letter: Sendable {
    /// Somebody has asked for a new password.
    case passwordReset(service: String, name: String, link: String)
    /// An address has to be confirmed. `name` is empty if the account has none to show.
    case addressConfirmation(service: String, name: String, link: String)
    /// The password was changed. `question` is the link to the question about the change; `nil` for none.
    case passwordChanged(service: String, name: String, question: String?)
    /// The second factor was changed.
    case secondFactorChanged(service: String, name: String, question: String?)
    /// A recovery code was used.
    case recoveryCodeUsed(service: String, name: String)
    /// A device was reported as lost, or is in use again. `devices` is the address of the page with the devices.
    case deviceRested(service: String, name: String, devices: String)
    case deviceReturned(service: String, name: String, devices: String)
    /// The account was changed.
    case accountChanged(service: String, name: String, change: String, made: String, question: String?)
    /// A change rests.
    case changeDisowned(service: String, name: String, change: String, made: String, question: String?)
    /// A change counts again.
    case changeReclaimed(service: String, name: String, change: String, made: String)
    /// A change waits. `text` is the text that the person has confirmed, `changes` the address of the list.
    case changeWaits(service: String, name: String, text: String, from: String, changes: String)
    /// A code that confirms a change.
    case changeCode(service: String, name: String, text: String, code: String)
    /// An invitation. `until` is the end of the invitation, if the letter names the end.
    case invitation(service: String, link: String, until: String?)
    /// A code for another device.
    case newActivation(service: String, name: String, link: String, until: String?)
    /// A test by an operator.
    case test(service: String)
}

/// The subject and the text of a letter.
public struct LetterWords: Sendable, Equatable {
    /// The subject.
    public let subject: String
    /// The text.
    public let text: String

    /// Creates the words of a letter.
    public init(subject: Sentence, text: Sentence) {
        self.subject = subject.plain
        self.text = text.plain
    }
}

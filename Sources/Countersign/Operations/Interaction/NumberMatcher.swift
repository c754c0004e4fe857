public import Ceremony
import UAF

/// A screen on which the person types the number that is shown in the place where the person began the request. The SDK
/// calls the matcher before the authenticator is chosen, and only if the server asks for a number.
///
/// A ``TransactionConfirmer`` has shown the content before. Without a confirmer, the authenticator selector shows the
/// content after the number.
///
/// The number proves that the person sees the place of the request. Without the number, one tap could approve the
/// sign-in of another person (NIST SP 800-63B-4, section 3.1.3). Do not offer numbers to choose from, and do not fill the
/// number in. The server alone knows the number, and a wrong number ends the operation.
///
/// The answer comes through the handler, from any thread, within the configured time. The call may wait for the answer
/// or return earlier. A class of the main actor can conform to this protocol.
public protocol NumberMatcher: Sendable {
    /// Asks the person to type the number of ``NumberMatchContext/length`` digits.
    func matchNumber(context: NumberMatchContext, handler: NumberMatchHandler) async
}

/// The information for a number matcher.
public struct NumberMatchContext: Sendable {
    /// The account of the operation.
    public let account: RegisteredAccount
    /// The service and browser that request the operation, as far as the server says.
    public let requester: Requester?
    /// The number of digits to type.
    public let length: Int
    /// The reason for asking again; `nil` for the first question.
    public let lastRecoverableError: NumberMatchError?

    /// Creates a context. Public also for an app's own tests.
    public init(
        account: RegisteredAccount, requester: Requester? = nil, length: Int = 6,
        lastRecoverableError: NumberMatchError? = nil
    ) {
        self.account = account
        self.requester = requester
        self.length = length
        self.lastRecoverableError = lastRecoverableError
    }
}

/// The reason for asking for a number again. Nothing was sent, and no try was counted.
public enum NumberMatchError: Hashable, Sendable {
    /// The answer has other characters than digits and spaces, or another number of digits.
    case invalidNumberFormat
}

/// The receiver of the answer of a number matcher. The first call counts.
public struct NumberMatchHandler: Sendable {
    let reply: Reply<String>

    init(answer: Answer<String>) { self.reply = Reply(to: answer) }
    /// Creates a handler for an app's own tests. One of the closures is called, once.
    public init(
        number: @escaping @Sendable (String) -> Void, cancel: @escaping @Sendable () -> Void = {},
        deny: @escaping @Sendable (DenialStatement) -> Void = { _ in }
    ) {
        self.reply = Reply(number, cancel: cancel, deny: deny)
    }

    /// Gives the typed number. Spaces between the digits do not matter.
    public func number(_ number: String) { self.reply.give(number) }
    /// Gives up: the operation ends with `userCanceled`, and the server is told.
    public func cancel() { self.reply.cancel() }
    /// Denies the request, as a person does who sees no number because the person did not begin the request
    /// (`DenialStatement.notMe`): the server gets the person's denial, signed by this device, and the operation ends
    /// with `userCanceled`. See ``Denial``.
    public func deny(_ statement: DenialStatement = .unwanted) { self.reply.deny(statement) }
}

extension NumberMatchContext {
    /// Returns the digits of an answer; `nil` for an answer of another form.
    func digits(of answer: String) -> String? {
        let digits = answer.filter { !$0.isWhitespace }
        guard digits.utf8.count == self.length, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return digits
    }
}

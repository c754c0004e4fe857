import OAuth
public import Settings
public import _Primitives

/// A question for the person whom a client has named.
public struct AskedPerson: Sendable, Equatable {
    /// The identifier by which the answer is found.
    public let request: String
    /// The person's account; `nil` if the client's hint names no person here, or none whom the client may know.
    public let account: String?
    /// The kind of the client's hint and the name or subject in it, the same text for each spelling of a name. Budgets
    /// count by the hint, even if the hint names no person.
    public let hint: String
    /// The text that the person reads and signs: the client's `binding_message`, or the text of its
    /// `authorization_details`; `nil` for neither.
    public let message: String?
    /// The number that the client shows, and that the person has to type on the phone; `nil` for a client that shows no
    /// numbers.
    public let number: String?
    /// The asking client.
    public let client: AuthenticatedClient
    /// The end of the time for the person's answer.
    public let end: Timestamp
}

/// The result of an attempt to ask a person.
public enum AskingResult: Sendable, Equatable {
    /// The person is asked. If the client's hint names no person here, nothing is asked, and the result is the same.
    case asked
    /// The message cannot be shown, for this reason. No person is asked.
    case unfitMessage(String)
    /// The client may not have people's devices asked. No person is asked.
    case notAllowed
    /// The client has asked too many people, or asked this person too often.
    case tooMany(Shortage)
}

/// A person's answer to a client's question.
public enum PersonsAnswer: Sendable, Equatable {
    case waiting
    case denied
    /// The question has ended, and can no longer be answered.
    case over
    case authenticated(AuthenticationOutcome)
}

/// A way to ask people who sit at no browser: by a phone of theirs (OpenID Connect CIBA Core 1.0, section 2).
public protocol BackchannelMethod: Sendable {
    /// The method's name in records and metrics: a word that never changes.
    var name: String { get }

    /// Returns the account of a user name; `nil` if no account has the name.
    func account(username: String) async throws -> String?

    /// Asks a person. The method must take as long, and write as much, if there is no account
    /// (``AskedPerson/account``).
    func ask(_ asked: AskedPerson) async throws -> AskingResult

    /// Returns the person's answer. A repeated call returns the same answer: the caller makes sure that at most one
    /// grant comes of the answer.
    func answer(request: String, client: String) async throws -> PersonsAnswer
}

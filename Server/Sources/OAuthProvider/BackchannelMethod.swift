import OAuth
public import Store
public import _Primitives

/// A question for the person whom a client has named.
public struct AskedPerson: Sendable, Equatable {
    /// The identifier by which the answer is found.
    public let request: String
    /// The person's account, if the client has named a person whom the client may know.
    public let account: String?
    /// The client's hint, letter by letter. Budgets count by the hint, even if the hint names no person.
    public let hint: String
    /// The message for the person (`binding_message`).
    public let message: String?
    /// The asking client.
    public let client: AuthenticatedClient
    /// The end of the time for the person's answer.
    public let end: Timestamp
}

/// The result of an attempt to ask a person.
public enum AskingResult: Sendable, Equatable {
    /// The person is asked. If the client named no person, no person is asked, and the result does not tell the
    /// difference.
    case asked
    /// The message cannot be shown. No person is asked.
    case unfitMessage(String)
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

    /// Returns the account of a user name.
    func account(username: String) async throws -> String?

    /// Asks a person. The method must take as long, and write as much, if no person was named.
    func ask(_ asked: AskedPerson) async throws -> AskingResult

    /// Returns the person's answer. A repeated call returns the same answer: the caller makes sure that at most one
    /// grant comes of the answer.
    func answer(request: String, client: String) async throws -> PersonsAnswer
}

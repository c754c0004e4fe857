import OAuth
public import Store
public import _Primitives

/// What a person is to be asked whom a client names.
public struct AskedPerson: Sendable, Equatable {
    /// By what the answer is found.
    public let request: String
    /// The person, where the client has named one whom it may know.
    public let account: String?
    /// What the client has said, letter by letter: budgets are counted by it, whether or not it names anybody.
    public let hint: String
    /// What the person is to see (`binding_message`).
    public let message: String?
    /// Who asks.
    public let client: AuthenticatedClient
    /// Until when it can be answered.
    public let end: Timestamp
}

/// How having somebody asked went.
public enum AskingResult: Sendable, Equatable {
    /// They are asked; or nobody is, where nobody was named, and nothing tells which.
    case asked
    /// The message cannot be shown. Nobody is asked.
    case unfitMessage(String)
    /// The client has had too many people asked, or this one too often.
    case tooMany(Shortage)
}

/// What a person has said.
public enum PersonsAnswer: Sendable, Equatable {
    case waiting
    case denied
    /// There is nothing to answer any more.
    case over
    case authenticated(AuthenticationOutcome)
}

/// A way in which people are asked who sit at no browser: by a phone of theirs (OpenID Connect CIBA Core 1.0, section 2).
public protocol BackchannelMethod: Sendable {
    /// What it is called in records and metrics: a word that never changes.
    var name: String { get }

    /// The account of that user name.
    func account(username: String) async throws -> String?

    /// Has a person asked. Must take as long, and write as much, where there is none.
    func ask(_ asked: AskedPerson) async throws -> AskingResult

    /// What the person has said. The same answer is given again: the caller sees to it that one grant comes of it.
    func answer(request: String, client: String) async throws -> PersonsAnswer
}

import OAuth
import Records
public import _Primitives

/// The result of an authentication for a session that goes on.
public enum RaisedSession: Sendable, Equatable {
    /// The session has the authentication, and a new secret. The former secret opens nothing any more.
    case raised(SessionSecret)
    /// The session was at least as sure before, or stands for a role at a service: session and secret stay.
    case kept
    /// The session has ended, or is another account's.
    case ended
}

/// An authentication of a person by their phone, for a session that the person has already.
public struct FurtherAuthentication: Sendable, Equatable {
    let account: String
    let device: String?
    let at: Timestamp
    let acr: String
    let amr: [String]

    /// Creates the authentication of an account by a device, with its level and its methods.
    public init(account: String, device: String?, at: Timestamp, acr: String, amr: [String]) {
        self.account = account
        self.device = device
        self.at = at
        self.acr = acr
        self.amr = amr
    }
}

extension AuditEvent.Kind {
    /// A session got a further authentication of its person, by the person's phone in an app, and a new secret. The
    /// detail has the methods.
    static let sessionRaised = Self(rawValue: "session-raised")
}

/// A call of this server to an address that somebody else has named: a client's, for its keys or for what it has to be told;
/// or another provider's, by which people sign in.
public struct OutgoingCall: Sendable, Equatable {
    /// Whose address it is. The calls of one kind never use up the places of the other.
    public enum Party: Hashable, Sendable {
        /// A client's, whoever has registered it.
        case client
        /// That of a client's metadata document, or of a stranger's keys: anybody can name such an address.
        case clientDocument
        /// Another provider's, which the operator has set up. How many of these are under way at once is bounded by those who
        /// call (``Limits/OAuth/arrivalsAtOnce``, and two documents of each provider).
        case provider
    }

    /// What is sent.
    public enum Content: Sendable, Equatable {
        /// Nothing: something is fetched.
        case none
        /// A form, encoded.
        case form(String)
        /// A JSON document.
        case json([UInt8])
    }

    /// The address.
    public let address: String
    /// What is sent: with content it is a POST, else a GET.
    public let content: Content
    /// The credential that it comes with (`Authorization`), where it has one. Not for a log.
    public let authorization: String?
    /// Bytes of the answer's body that are read. A longer one is a failure; `nil` where none of it is read.
    public let longestAnswer: Int?
    /// Whose address it is.
    public let party: Party

    /// A call of these values.
    public init(
        to address: String, _ content: Content = .none, authorization: String? = nil, longestAnswer: Int?,
        party: Party = .client
    ) {
        self.party = party
        self.address = address
        self.content = content
        self.authorization = authorization
        self.longestAnswer = longestAnswer
    }
}

/// What came back.
public struct OutgoingAnswer: Sendable, Equatable {
    /// The status. A redirect is an answer like any other: nobody follows it.
    public let status: Int
    /// The body.
    public let body: [UInt8]
    /// The media type of the body (`Content-Type`), without parameters and in small letters; `nil` if the answer names none.
    public let mediaType: String?
    /// For how long the answer says that it may be kept (`Cache-Control`, `max-age`); `nil` where it says nothing.
    public let mayBeKept: Duration?

    /// An answer.
    public init(status: Int, body: [UInt8], mediaType: String? = nil, mayBeKept: Duration? = nil) {
        self.mediaType = mediaType
        self.status = status
        self.body = body
        self.mayBeKept = mayBeKept
    }
}

/// Why a call came to nothing. The reason is for the operator's log: what happened, and what can be done.
public struct OutgoingCallError: Error, Sendable, Equatable, CustomStringConvertible {
    /// In words, without anything that was sent.
    public let reason: String

    /// A failed call.
    public init(_ reason: String) { self.reason = reason }

    public var description: String { self.reason }
}

/// Calls addresses that somebody else has named.
///
/// Whoever implements it sees to what makes that safe: https, or http to a literal loopback address; no redirects; no
/// address of a private network, whatever a name stands for at the moment of the call, unless the operator has allowed it;
/// a bound on time, on bytes, and on calls to clients' addresses at once, of one host and in all.
public protocol OutgoingCalls: Sendable {
    /// Calls, and gives what came back, whatever its status. Throws ``OutgoingCallError``.
    func send(_ call: OutgoingCall) async throws -> OutgoingAnswer
}

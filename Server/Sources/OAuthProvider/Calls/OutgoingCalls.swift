/// A call of this server to an address that another party has named: an address of a client, for its keys or for
/// messages to the client, an address of another provider, by which people sign in, or the address of a push service.
public struct OutgoingCall: Sendable, Equatable {
    /// The owner of the address. Calls to one kind of party never use up the places of another kind.
    public enum Party: Hashable, Sendable {
        /// A client, however it was registered.
        case client
        /// The address of a client's metadata document, or of a stranger's keys: anybody can name such an address.
        case clientDocument
        /// Another provider, which the operator has set up. The callers bound the number of simultaneous calls
        /// (``Limits/OAuth/arrivalsAtOnce``, and two documents of each provider).
        case provider
        /// A push service, at an address that a person's device has named.
        case device
    }

    /// A header field of a call.
    public struct Field: Sendable, Equatable {
        /// The name.
        public let name: String
        /// The value. Not for a log.
        public let value: String

        /// Makes a field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The content of the call.
    public enum Content: Sendable, Equatable {
        /// No content: the call fetches something.
        case none
        /// A form, encoded.
        case form(String)
        /// A JSON document.
        case json([UInt8])
        /// Bytes, with the fields that describe the bytes.
        case bytes([UInt8], fields: [Field])
    }

    /// The address.
    public let address: String
    /// The content. A call with content is a POST, any other a GET.
    public let content: Content
    /// The credential of the call (`Authorization`), if any. Not for a log.
    public let authorization: String?
    /// The number of bytes of the answer's body that are read. A longer body is a failure; `nil` if no body is read.
    public let longestAnswer: Int?
    /// The owner of the address.
    public let party: Party

    /// Creates a call.
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

/// The answer to a call.
public struct OutgoingAnswer: Sendable, Equatable {
    /// The status. A redirect is an answer like any other, and is not followed.
    public let status: Int
    /// The body.
    public let body: [UInt8]
    /// The media type of the body (`Content-Type`), without parameters and in small letters; `nil` if the answer names
    /// none.
    public let mediaType: String?
    /// The time for which the answer may be kept (`Cache-Control`, `max-age`); `nil` if the answer does not say.
    public let mayBeKept: Duration?
    /// The field `Retry-After`; `nil` without the field.
    public let retryAfter: String?

    /// Creates an answer.
    public init(
        status: Int, body: [UInt8], mediaType: String? = nil, mayBeKept: Duration? = nil, retryAfter: String? = nil
    ) {
        self.retryAfter = retryAfter
        self.mediaType = mediaType
        self.status = status
        self.body = body
        self.mayBeKept = mayBeKept
    }
}

/// The reason why a call failed: the event and the remedy, for the operator's log.
public struct OutgoingCallError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The reason in words, without any content of the call.
    public let reason: String

    /// Creates the error of a failed call.
    public init(_ reason: String) { self.reason = reason }

    public var description: String { self.reason }
}

/// Calls addresses that other parties have named.
///
/// An implementation makes the calls safe. Addresses are https, or http to a literal loopback address. Redirects are
/// not followed. An address of a private network is never called, whatever a name stands for at the moment of the call,
/// unless the operator has allowed the address. Bounds hold for time, for bytes, and for simultaneous calls to clients'
/// addresses, of one host and in all.
public protocol OutgoingCalls: Sendable {
    /// Makes the call and returns the answer, whatever its status. Throws ``OutgoingCallError``.
    func send(_ call: OutgoingCall) async throws -> OutgoingAnswer
}

public import _Primitives

/// An error of a dispatcher's delivery that says when a further try is worth its cost. After any other error the outbox
/// tries at its usual pace.
public struct DeliveryError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The next try.
    public enum NextTry: Sendable, Equatable {
        /// At the usual pace of the outbox.
        case asUsual
        /// Not before a moment. A message that is over by then is given up.
        case notBefore(Timestamp)
        /// Never: the message is given up.
        case never
    }

    /// The next try.
    public let nextTry: NextTry
    /// The reason for the operator's log. The reason holds no part of the message, no target and no text of a provider.
    public let reason: String

    /// Creates the error of a delivery.
    public init(_ reason: String, nextTry: NextTry) {
        self.nextTry = nextTry
        self.reason = reason
    }

    public var description: String { self.reason }
}

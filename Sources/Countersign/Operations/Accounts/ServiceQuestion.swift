public import Ceremony

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A question of a service to a person, without a browser. Example: a call centre wants to authenticate the person on
/// the telephone.
///
/// The text of the question appears when ``payload`` is redeemed, as with a scanned code. Reading the list agrees to
/// nothing.
public struct ServiceQuestion: Hashable, Sendable, Identifiable {
    /// The server's identifier of the question: the same at each reading of the list. The identifier opens nothing.
    public let id: String
    /// The service's name. One line, fit to be shown.
    public let service: String
    /// Scheme, host and port of the service, fit to be compared by a person.
    public let origin: String?
    /// The payload for ``OutOfBandOperation``, which asks the person. The payload works once, and is the same at each
    /// reading of the list on this device.
    public let payload: OutOfBandPayload
    /// The latest time at which the question can be answered.
    public let expiresAt: Date
}

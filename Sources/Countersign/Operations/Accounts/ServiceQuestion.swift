public import Ceremony

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Something that a service asks a person, without a browser: a call centre that wants to know who is on the telephone.
///
/// What it asks in words shows when ``payload`` is redeemed, as with a scanned code: nothing is agreed to by reading the list.
public struct ServiceQuestion: Hashable, Sendable, Identifiable {
    /// The server's name for it: the same each time that the list is read. It opens nothing.
    public let id: String
    /// The service's name. One line, fit to be shown.
    public let service: String
    /// Scheme, host and port of the service, fit to be compared by a person.
    public let origin: String?
    /// What ``OutOfBandOperation`` takes to ask the person, once. The next reading of the list gives another, and this one is
    /// of no use any more.
    public let payload: OutOfBandPayload
    /// Until when it can be taken up.
    public let expiresAt: Date
}

/// The effect of a client's change on the rows that depend on the client.
package struct ClientChangeEffect: Sendable, Equatable {
    /// `true` if the requests, grants and device secrets of the client end. A client has one face, the OpenID provider
    /// or the app sign-in service: its grants of one face are invalid at the other.
    package let endsIssued: Bool
    private let client: ClientRecord

    /// Judges a change of a client from its former settings.
    package init(of client: ClientRecord, from former: ClientSettings) {
        self.client = client
        self.endsIssued = (former.signInService == nil) != (client.settings.signInService == nil)
    }

    /// Returns the addresses among `addresses` that the client does not have any more. The requests that wait to answer
    /// at these addresses end.
    package func addressesWithoutAnswer(among addresses: [String]) -> [String] {
        addresses.filter { self.client.address(answering: $0) == nil }
    }
}

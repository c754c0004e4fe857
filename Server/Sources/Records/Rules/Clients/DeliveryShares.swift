package import _Primitives

/// The number of deliveries that a caller may take, by client and in all.
package struct DeliveryShares: Sendable, Equatable {
    /// The turn of a client.
    package struct Turn: Sendable, Equatable {
        /// The client.
        package let client: String
        /// The number of further deliveries that the client may have under way.
        package let places: Int
    }

    private let share: Int
    private let most: Int
    private let underWay: [ExactText: Int]

    /// Makes shares of these values.
    ///
    /// - Parameters:
    ///   - share: The largest number of deliveries to the same client, the deliveries under way included.
    ///   - most: The largest number of taken deliveries in all.
    ///   - underWay: The number of deliveries under way already, by client.
    package init(share: Int, most: Int, underWay: [ExactText: Int]) {
        self.share = share
        self.most = most
        self.underWay = underWay
    }

    /// Returns the turns of the clients with a place left. The client with the fewest deliveries under way comes first,
    /// then the client that comes first in `clients`.
    package func turns(of clients: [String]) -> [Turn] {
        clients.map { Turn(client: $0, places: self.share - (self.underWay[ExactText($0)] ?? 0)) }
            .filter { $0.places > 0 }
            .sorted { $0.places > $1.places }
    }

    /// Returns the number of deliveries to take in a turn; `nil` if the caller has as many deliveries as it may take.
    ///
    /// - Parameter taken: The number of deliveries that the caller has taken in earlier turns.
    package func limit(of turn: Turn, beside taken: Int) -> Int? {
        guard taken < self.most else { return nil }
        return min(turn.places, self.most - taken)
    }
}

/// The places for rows that clients or an operator can add: as many rows as a limit allows.
package struct ClientRoom: Sendable, Equatable {
    /// The number of present rows.
    package let count: Int
    /// The largest number of rows.
    package let limit: Int

    /// Makes a room with `count` rows of at most `limit`.
    package init(count: Int, limit: Int) {
        self.count = count
        self.limit = limit
    }

    /// `true` if no place is left.
    package var isFull: Bool { self.count >= self.limit }

    /// The number of rows that may go to make room for one more row: a full room gives up one row.
    package var displaceable: Int { self.isFull ? 1 : 0 }

    /// Returns the room after the end of `count` rows.
    package func without(_ count: Int) -> Self { Self(count: self.count - count, limit: self.limit) }

    /// Throws ``StoreError/Code/conflict`` if no place is left.
    ///
    /// - Parameter rows: The name of the rows, for the log.
    package func check(_ rows: String) throws(StoreError) {
        guard !self.isFull else { throw StoreError(.conflict, "there are \(self.count) \(rows)") }
    }
}

extension InitialTokenRecord {
    /// The refusal of a client that cannot be counted against a token: the token does not exist, has expired, or is
    /// used up.
    package static let refusal = StoreError(.notFound, "no initial token, or one that is used up")
}

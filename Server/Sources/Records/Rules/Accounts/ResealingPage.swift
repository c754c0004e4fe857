/// Some rows of a table, as a search for values under former key-encryption keys has found them.
package struct ResealingPage<Place: Sendable>: Sendable {
    /// The places of the values under a former key.
    package let former: [Place]
    /// The number of examined rows.
    package let examined: Int
    /// The place of the last examined row; `nil` if no rows are left.
    package let last: Place?

    /// Describes a page.
    ///
    /// - Parameters:
    ///   - rows: The examined rows in the order of the table.
    ///   - size: The number of rows of a full page. A smaller page is the last page.
    package init(_ rows: [(place: Place, isFormer: Bool)], size: Int) {
        self.former = rows.filter(\.isFormer).map(\.place)
        self.examined = rows.count
        self.last = rows.count < size ? nil : rows.last?.place
    }

    /// The progress and the last place of a page without a value under a former key; `nil` if values have to be
    /// resealed.
    package var answerWithoutWriting: (resealed: Resealed, last: Place?)? {
        self.former.isEmpty ? (Resealed(examined: self.examined), self.last) : nil
    }
}

extension Resealed {
    /// Returns `true` if values can be sealed under another key than the newest.
    package static func isNeeded(keys: [String]) -> Bool { keys.count > 1 }

    /// `true` if the former keys can be forgotten. If a value could not be read, all former keys stay: the key that the
    /// value needs is unknown.
    package var allowsForgetting: Bool { self.unreadable == 0 }
}

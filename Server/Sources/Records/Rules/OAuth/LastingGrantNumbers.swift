/// The order of a client's and a person's lasting grants: each grant has the next number when it begins to last.
package struct LastingGrantNumbers: Sendable, Equatable {
    /// The number of the oldest grant; 0 if no grant lasts. The numbers begin with 1.
    package let oldest: Int64
    /// The number of the newest grant; 0 if no grant lasts.
    package let newest: Int64

    /// Makes a pair of numbers.
    package init(oldest: Int64, newest: Int64) {
        self.oldest = oldest
        self.newest = newest
    }

    /// The numbers of no grants.
    package static let none = Self(oldest: 0, newest: 0)

    /// The numbers after one more grant has begun to last.
    package var withNext: Self {
        let next = self.newest + 1
        return Self(oldest: self.newest > 0 ? self.oldest : next, newest: next)
    }

    /// Returns the number of grants beyond `most` that can have the numbers from the oldest to the newest. Only if there
    /// can be any, the grants have to be counted: the grants between may have ended.
    package func surplus(over most: Int) -> Int64 { max(0, self.newest - self.oldest + 1 - Int64(most)) }
}

/// The place of a grant that begins to last, among the lasting grants of its client and its person.
package struct LastingGrantPlace: Sendable, Equatable {
    /// An old lasting grant that ends for the new grant.
    package struct Displaced: Sendable, Equatable {
        /// The grant.
        package let grant: EndedGrant
        /// The account of the grant.
        package let account: String

        /// Makes a displaced grant of these values.
        package init(grant: EndedGrant, account: String) {
            self.grant = grant
            self.account = account
        }
    }

    /// The number of the new grant.
    package let number: Int64
    /// The oldest grants, which end because too many grants would last.
    package let displaced: [Displaced]

    /// Makes a place of these values.
    package init(number: Int64, displaced: [Displaced]) {
        self.number = number
        self.displaced = displaced
    }

    /// Returns `true` if the new grant would end at once, because no grant may last, or because the new grant came of a
    /// displaced grant.
    package func ends(_ grant: RefreshFamilyStart.Grant, most: Int) -> Bool {
        most < 1
            || self.displaced.contains { $0.grant.takesAlong(origin: grant.origin, deviceSecret: grant.deviceSecret) }
    }
}

extension RefreshFamilyStart {
    /// The largest number of other lasting grants that stay beside the new grant.
    package var mostOthers: Int { max(0, self.most - 1) }
}

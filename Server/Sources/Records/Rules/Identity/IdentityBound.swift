package import _Primitives

/// A bound on the number of rows that a step of personalised identities adds to.
package enum IdentityBound: Sendable, CaseIterable {
    /// Open invitations of the server.
    case openInvites
    /// Invitations to one address.
    case invitesOfAddress
    /// Organisations of the server.
    case organisations
    /// Offers of an account that can still be used.
    case offers
    /// An account's values of one attribute.
    case values
    /// An account's values of one attribute, if a session adds values that its person has typed. The person has
    /// confirmed a state that has changed since, so the refusal is `outdated` and not `conflict`. A conflict would be
    /// about keys or counters, for which the signer is responsible.
    case suppliedValues
    /// Keys that phones seal to.
    case sealingKeys

    /// Throws if `count` rows leave no room for another row; `most` is `nil` for no bound.
    package func requireRoom(_ count: Int, most: Int?) throws(StoreError) {
        guard let most, count >= most else { return }
        switch self {
        case .openInvites: throw StoreError(.conflict, "there are \(count) open invitations")
        case .invitesOfAddress: throw StoreError(.conflict, "an address was sent \(count) invitations")
        case .organisations: throw StoreError(.conflict, "there are \(count) organisations")
        case .offers: throw StoreError(.conflict, "there are \(most) offers already")
        case .values: throw StoreError(.conflict, "there are \(count) values of an attribute")
        case .suppliedValues: throw StoreError(.outdated, "there are \(count) values of an attribute")
        case .sealingKeys: throw StoreError(.conflict, "there are \(count) keys to seal to")
        }
    }
}

extension SealingKeyRecord {
    /// Returns the keys that a step adds to the kept keys: this key, or none if a kept key was made at `moment` or
    /// later.
    ///
    /// - Parameter moments: The moments when the kept keys were made.
    package func additions(toKeysMadeAt moments: [Timestamp], unlessMadeSince moment: Timestamp) -> [Self] {
        moments.contains { $0 >= moment } ? [] : [self]
    }
}

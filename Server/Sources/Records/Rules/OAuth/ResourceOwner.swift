import _Primitives

/// The owner of a resource (RFC 8707), as the store has found the client.
package struct ResourceOwner: Sendable, Equatable {
    /// The identifier of the owner; `nil` if no client owns the resource.
    package let client: String?

    /// Makes an owner.
    package init(client: String?) { self.client = client }

    /// Throws ``StoreError/Code/conflict`` if a client other than `claimant` owns the resource.
    package func check(claimant: String) throws {
        guard let client = self.client, !client.hasSameBytes(as: claimant) else { return }
        throw StoreError(.conflict, "another client owns the resource")
    }
}

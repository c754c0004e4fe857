public import JOSE

/// What anybody may know of the keys of personalised identities.
public struct IdentityKeys: Sendable {
    let keys: ManagerKeys

    /// The set of keys that phones fetch, a JWT that the root has signed.
    public func keySet() async throws -> String { try await self.keys.keySet() }

    /// The public part of the root: what makers of apps configure them with.
    public func root() async throws -> JWK? { try await self.keys.root().publicKey }

    /// The keys that phones seal to, the newest first. One is made where the newest is a day old.
    public func sealingKeys() async throws -> [ListedSealingKey] { try await self.keys.listedSealingKeys() }

    /// The names of the keys that sign codes and answers, or have signed what is still good: they are the provider's.
    public var signingKeyNames: [String] { self.keys.signingKeyNames }

    /// Makes a key to seal to by hand. Another server over the same store has it in its set within a day, and opens what is
    /// sealed to it at once. Throws `CeremonyError` `conflict` where there are ``Limits/Fixed/sealingKeys``.
    ///
    /// - Parameter operator: The name for the audit trail.
    public func rotateSealingKey(by operator: String) async throws {
        try await self.keys.rotateSealingKey(by: `operator`)
    }

    /// Makes the root at the first start, and the key to seal to where the newest is a day old.
    public func follow() async throws {
        _ = try await self.keys.root()
        try await self.keys.sealingKeys(at: self.keys.now)
    }
}

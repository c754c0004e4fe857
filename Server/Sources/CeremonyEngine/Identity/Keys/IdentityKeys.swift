public import JOSE

/// The public view of the keys of personalised identities.
public struct IdentityKeys: Sendable {
    let keys: ManagerKeys

    /// Returns the set of keys that phones fetch: a JWT with the root's signature.
    public func keySet() async throws -> String { try await self.keys.keySet() }

    /// Returns the public part of the root, for the configuration of apps.
    public func root() async throws -> JWK? { try await self.keys.root().publicKey }

    /// Returns the keys to which phones seal, and the former keys that the server still opens, the newest first. Makes
    /// a new key if the newest is a day old.
    public func sealingKeys() async throws -> [ListedSealingKey] { try await self.keys.listedSealingKeys() }

    /// The names of the provider's keys that sign codes and answers, or have made signatures that are still valid.
    public var signingKeyNames: [String] { self.keys.signingKeyNames }

    /// Makes a new key for sealing, at an operator's request. Another server over the same store has the key in its set
    /// within a day, and opens messages for the key at once. Throws `CeremonyError` `conflict` if
    /// ``Limits/Fixed/sealingKeys`` keys exist.
    ///
    /// - Parameter operator: The name for the audit trail.
    public func rotateSealingKey(by operator: String) async throws {
        try await self.keys.rotateSealingKey(by: `operator`)
    }

    /// Makes the root at the first start, and a new key for sealing if the newest is a day old.
    public func follow() async throws {
        _ = try await self.keys.root()
        try await self.keys.sealingKeys(at: self.keys.now)
    }
}

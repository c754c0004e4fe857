public import JOSE
import _Primitives

/// What anybody may know of the keys of personalised identities.
public struct IdentityKeys: Sendable {
    let keys: ManagerKeys

    /// The set of keys that phones fetch, a JWT that the root has signed.
    public func keySet() async throws -> String { try await self.keys.keySet() }

    /// The public part of the root: what makers of apps configure them with.
    public func root() async throws -> JWK? { try await self.keys.root().publicKey }

    /// Makes the root at the first start, and the key to seal to where the newest is a day old.
    public func follow() async throws {
        _ = try await self.keys.root()
        try await self.keys.sealingKeys(at: self.keys.now)
    }
}

public import JOSE
public import _Primitives

/// The keys that the server signs codes and answers of personalised identities with: those of ES256 that sign its ID tokens,
/// which turn by themselves. Whoever has them hands them in, so that neither engine knows the other.
public struct ManagerSigner: Sendable {
    let key: @Sendable (_ now: Timestamp) throws -> SigningKey
    let publicKeys: @Sendable (_ now: Timestamp) -> JWKSet

    /// `key` is the one whose turn it is at a moment, `publicKeys` are those whose signatures are good then.
    public init(
        key: @escaping @Sendable (_ now: Timestamp) throws -> SigningKey,
        publicKeys: @escaping @Sendable (_ now: Timestamp) -> JWKSet
    ) {
        self.key = key
        self.publicKeys = publicKeys
    }
}

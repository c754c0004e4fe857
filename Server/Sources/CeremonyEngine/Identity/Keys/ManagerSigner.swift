public import JOSE
public import _Primitives

/// The keys with which the server signs codes and answers of personalised identities: the ES256 keys of its ID tokens,
/// which rotate by themselves. The owner of the keys hands them in, so that neither engine knows the other.
public struct ManagerSigner: Sendable {
    let key: @Sendable (_ now: Timestamp) throws -> SigningKey
    let publicKeys: @Sendable (_ now: Timestamp) -> JWKSet

    /// Creates the signer. `key` returns the key in turn at a moment, `publicKeys` the keys whose signatures are valid
    /// then.
    public init(
        key: @escaping @Sendable (_ now: Timestamp) throws -> SigningKey,
        publicKeys: @escaping @Sendable (_ now: Timestamp) -> JWKSet
    ) {
        self.key = key
        self.publicKeys = publicKeys
    }
}

public import JOSE
public import _Primitives

extension OpenIDProvider {
    /// Returns the key that signs codes and answers of personalised identities at a moment: the ES256 key that signs ID
    /// tokens. Each kind of signed text has a type of its own (RFC 8725, section 3.11), so none can stand for another.
    ///
    /// Throws `StoreError` `corrupt` if this node knows no such key.
    public func identitySigningKey(at now: Timestamp) throws -> SigningKey { try self.keys.key(.es256, at: now) }

    /// Returns the public ES256 keys whose signatures are valid at a moment, and the public ES256 keys that will sign.
    public func identityPublicKeys(at now: Timestamp) -> JWKSet { self.keys.publicKeys(at: now).fitting(.es256) }
}

public import JOSE
public import _Primitives

extension OpenIDProvider {
    /// The key that codes and answers of personalised identities are signed with at a moment: the one of ES256 that signs ID
    /// tokens. Each of them has a type of its own (RFC 8725, section 3.11), so that none stands for another.
    ///
    /// Throws `StoreError` `corrupt` where this node knows none.
    public func identitySigningKey(at now: Timestamp) throws -> SigningKey { try self.keys.key(.es256, at: now) }

    /// The public keys of those whose signatures are good at a moment, and of those that will sign.
    public func identityPublicKeys(at now: Timestamp) -> JWKSet { self.keys.publicKeys(at: now).fitting(.es256) }
}

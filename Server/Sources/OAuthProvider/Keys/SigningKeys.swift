import Crypto
import Dispatch
package import JOSE
package import Records
import Settings
import Synchronization
package import _Primitives

/// The provider's copy of its keys, ready for use.
package final class SigningKeys: Sendable {
    private struct Known {
        let jwk: JWK
        let signing: SigningKey
        let verification: VerificationKey
        let face: SigningKeyRecord.Face
        let createdAt: Timestamp
        let retiredAt: Timestamp?
    }

    /// A key, as operators see it.
    struct Turn: Sendable {
        let name: String
        let algorithm: JWSAlgorithm
        let face: SigningKeyRecord.Face
        /// The time from which the key signs.
        let start: Timestamp
        /// The time from which another key signs; `nil` if no other key exists yet.
        let end: Timestamp?
    }

    /// The algorithms that can sign clients' ID tokens (`id_token_signing_alg_values_supported`). The first is for
    /// clients that name none.
    static let algorithms: [JWSAlgorithm] = [.rs256, .es256, .ps256, .edDSA]

    /// The known keys, the newest first.
    private let state: Mutex<[Known]>
    /// The time of the last reading of the keys because of an unknown name.
    private let lastLookup = Mutex(Timestamp(milliseconds: .min))
    private let subjectSecret: SymmetricKey
    /// The key for tokens that only this provider reads. Derived, so that every node has the key.
    private let ownTokenKey: (signing: SigningKey, verification: VerificationKey)
    /// The key for refresh tokens. Derived, so that every node has the key.
    private let refreshTokenKey: SymmetricKey
    /// The key for opaque access tokens. Derived, so that every node has the key. Each hour has a key of its own,
    /// derived from this key.
    let opaqueTokenKey: SymmetricKey
    /// The key for the nonces of key proofs. Derived, so that every node has the key.
    private let keyProofNonceKey: SymmetricKey
    private let retention: Duration

    /// Reads the store's keys. `epoch` is the store's: own tokens, refresh tokens, opaque tokens and nonces from
    /// another epoch no longer count as this provider's.
    ///
    /// Throws ``StoreError/Code/corrupt`` if the store's keys are not keys.
    init(_ keys: ProviderKeys, epoch: String, retention: Duration) throws {
        self.state = Mutex(try Self.state(of: keys))
        let secret = keys.subjectSecret.withBytes { SymmetricKey(data: $0) }
        self.subjectSecret = secret
        let own = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret, info: Array("countersign own tokens\(epoch)".utf8), outputByteCount: 32)
        let jwk = try JWK(.octets(own.withUnsafeBytes { Array($0) }), algorithm: JWSAlgorithm.hs256.rawValue)
        self.ownTokenKey = (try SigningKey(jwk, algorithm: .hs256), try VerificationKey(jwk, algorithm: .hs256))
        self.refreshTokenKey = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret, info: Array("countersign refresh tokens\(epoch)".utf8), outputByteCount: 32)
        self.opaqueTokenKey = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret, info: Array("countersign opaque tokens\(epoch)".utf8), outputByteCount: 32)
        self.keyProofNonceKey = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret, info: Array("countersign key proof nonces\(epoch)".utf8), outputByteCount: 32)
        self.retention = retention
    }

    /// Replaces the known keys by the store's present keys. Throws ``StoreError/Code/corrupt`` if these are not keys,
    /// and changes nothing then.
    func replace(by keys: ProviderKeys) throws {
        let state = try Self.state(of: keys)
        self.state.withLock { $0 = state }
    }

    /// `true` if the keys may be read again because of an unknown name: once a second, as anybody can invent names.
    func mayLookUp(at moment: Timestamp) -> Bool {
        self.lastLookup.withLock { last in
            guard moment >= last + Limits.Fixed.keyLookupPause else { return false }
            last = moment
            return true
        }
    }

    private static func state(of keys: ProviderKeys) throws -> [Known] {
        let known = try keys.signingKeys.map { record in
            guard
                let signing = try? SigningKey(
                    kept: record.privateKey, algorithm: record.algorithm, keyID: record.id),
                let jwk = signing.publicKey,
                let verification = try? VerificationKey(jwk, algorithm: record.algorithm)
            else { throw StoreError(.corrupt, "a signing key") }
            return Known(
                jwk: jwk, signing: signing, verification: verification, face: record.face,
                createdAt: record.createdAt, retiredAt: record.retiredAt)
        }
        guard
            known.contains(where: {
                $0.retiredAt == nil && $0.signing.algorithm == .es256 && $0.face == .openID
            })
        else {
            throw StoreError(.corrupt, "no signing key")
        }
        return known
    }

    /// Creates a new key, named by its thumbprint (RFC 7638). An RSA key costs hundreds of milliseconds, on a thread
    /// that neither an event loop nor the cooperative pool waits for.
    static func newKey(
        _ algorithm: JWSAlgorithm, of face: SigningKeyRecord.Face = .openID, random: RandomSource, at moment: Timestamp
    ) async throws -> SigningKeyRecord {
        let bytes = try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global(qos: .utility).async {
                continuation.resume(with: Result { try SigningKey.make(algorithm, random: random) })
            }
        }
        let key = try SigningKey(kept: bytes, algorithm: algorithm, keyID: nil)
        guard let name = key.keyID else { throw StoreError(.corrupt, "a key without a name") }
        return SigningKeyRecord(
            id: name, algorithm: algorithm, privateKey: bytes, face: face, createdAt: moment, retiredAt: nil)
    }

    /// Returns the algorithms for which a face has a key that is not retired.
    func activeAlgorithms(of face: SigningKeyRecord.Face = .openID) -> [JWSAlgorithm] {
        self.state.withLock { known in
            known.filter { $0.retiredAt == nil && $0.face == face }.map(\.signing.algorithm)
        }
    }

    /// The keys with their times of signing, the newest first. Each key starts when the key before it retires.
    var turns: [Turn] {
        self.state.withLock { known in
            known.compactMap { key in
                guard let name = key.jwk.keyID else { return nil }
                let ends = known.filter {
                    $0.signing.algorithm == key.signing.algorithm && $0.face == key.face
                }.compactMap(\.retiredAt)
                let start = ends.filter { end in key.retiredAt.map { end < $0 } ?? true }.max()
                return Turn(
                    name: name, algorithm: key.signing.algorithm, face: key.face, start: start ?? key.createdAt,
                    end: key.retiredAt)
            }
        }
    }

    /// Returns the public keys of a face whose signatures are valid at `moment` (a retired key's for a while), and the
    /// keys that will sign; the newest first.
    package func publicKeys(of face: SigningKeyRecord.Face = .openID, at moment: Timestamp) -> JWKSet {
        JWKSet(
            self.state.withLock { known in
                known.filter { $0.face == face && self.isUsable($0, at: moment) }.map(\.jwk)
            })
    }

    private func isUsable(_ key: Known, keptFor retention: Duration? = nil, at moment: Timestamp) -> Bool {
        key.retiredAt.map { moment < $0 + (retention ?? self.retention) } ?? true
    }

    /// Signs claims with the key whose turn it is at `moment`: the oldest of the algorithm that is not retired. A newer
    /// key is only announced until then, so that verifiers of the signature know the key in time. Cost: one signature.
    ///
    /// Throws ``StoreError/Code/corrupt`` if this node knows no key of the algorithm.
    package func sign(
        _ claims: JSONObject, type: String, algorithm: JWSAlgorithm, of face: SigningKeyRecord.Face = .openID,
        at moment: Timestamp
    ) throws -> String {
        try self.signed(claims, type: type, algorithm: algorithm, of: face, at: moment).text
    }

    /// Signs as ``sign(_:type:algorithm:at:)``, and also returns the name of the key.
    func signed(
        _ claims: JSONObject, type: String, algorithm: JWSAlgorithm, of face: SigningKeyRecord.Face = .openID,
        at moment: Timestamp
    ) throws -> (text: String, keyID: String?) {
        let signing = try self.key(algorithm, of: face, at: moment)
        return (try JWS.sign(JSON.object(claims).serialized, type: type, with: signing), signing.keyID)
    }

    /// Returns the key of an algorithm whose turn it is at `moment`.
    ///
    /// Throws ``StoreError/Code/corrupt`` if this node knows no such key.
    func key(
        _ algorithm: JWSAlgorithm, of face: SigningKeyRecord.Face = .openID, at moment: Timestamp
    ) throws -> SigningKey {
        let signing = self.state.withLock { known in
            known.last { key in
                key.signing.algorithm == algorithm && key.face == face && key.retiredAt.map { moment < $0 } ?? true
            }?.signing
        }
        guard let signing else { throw StoreError(.corrupt, "no signing key of \(algorithm.rawValue)") }
        return signing
    }

    /// `true` if signatures of the key of that name are valid at `moment`.
    func isUsable(keyID: String, at moment: Timestamp) -> Bool {
        self.state.withLock { state in
            state.contains { $0.jwk.keyID?.hasSameBytes(as: keyID) ?? false && self.isUsable($0, at: moment) }
        }
    }

    /// Returns the claims of a token that a key of this provider signed, under this `typ`, with the key's algorithm.
    /// Also returns the key's name. Cost: one verification.
    ///
    /// - Parameter retention: The time after its end for which a key verifies; `nil` for the time of the key in the key
    ///   set.
    ///
    /// Throws ``JOSEError``.
    func verified(
        _ compact: String, type: String, of face: SigningKeyRecord.Face = .openID, keptFor retention: Duration? = nil,
        at moment: Timestamp
    ) throws -> (claims: JWTClaims, keyID: String?) {
        let token = try UnverifiedJWS(
            compact: compact, limits: JOSELimits(compactLength: Limits.Fixed.signedTokenCharacters))
        // Another kind of this provider's own tokens is not this kind (RFC 8725, section 3.11).
        guard token.header.hasType(type) else { throw JOSEError(.wrongType, "typ") }
        let known = self.state.withLock { state in
            state.first {
                $0.face == face && $0.jwk.keyID.map(ExactText.init) == token.header.keyID.map(ExactText.init)
                    && self.isUsable($0, keptFor: retention, at: moment)
            }
        }
        guard let known else { throw JOSEError(.unknownKey, "kid") }
        return (try JWTClaims(token.verified(by: known.verification)), known.jwk.keyID)
    }

    /// Signs claims that only this provider reads. Cost: one HMAC.
    func signOwn(_ claims: JSONObject, type: String) throws -> String {
        try JWS.sign(JSON.object(claims).serialized, type: type, with: self.ownTokenKey.signing)
    }

    /// Returns the claims of ``signOwn(_:type:)``, under this `typ`. Cost: one HMAC. Throws ``JOSEError``.
    func verifiedOwn(_ compact: String, type: String) throws -> JWTClaims {
        let token = try UnverifiedJWS(
            compact: compact, limits: JOSELimits(compactLength: Limits.Fixed.signedTokenCharacters))
        guard token.header.hasType(type) else { throw JOSEError(.wrongType, "typ") }
        return try JWTClaims(token.verified(by: self.ownTokenKey.verification))
    }

    /// Returns the seal of a refresh token's bytes: the first half of an HMAC-SHA256, 16 bytes.
    func seal(ofRefreshToken bytes: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: self.refreshTokenKey).prefix(16))
    }

    /// Returns the secret of the next refresh token, from a token's secret and a step: HMAC-SHA256, 32 bytes. The label
    /// keeps these bytes apart from the bytes of a seal.
    func secret(ofRefreshTokenAfter secret: [UInt8], step: [UInt8]) -> [UInt8] {
        Array(
            HMAC<SHA256>.authenticationCode(
                for: Array("successor".utf8) + secret + step, using: self.refreshTokenKey))
    }

    /// Returns the nonce of a slot of time: 128 bits that nobody can predict, as base64url. Cost: one HMAC.
    func keyProofNonce(ofSlot slot: Int64) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array("\(slot)".utf8), using: self.keyProofNonceKey)
        return Base64URL.encode(Array(code.prefix(16)))
    }

    /// Returns a name that cannot be traced back, or to another client's name: HMAC-SHA256 over kind, client and value,
    /// as base64url.
    package func pairwise(_ kind: String, client: String, of value: String) -> String {
        let input = Array(kind.utf8) + [0] + Array(client.utf8) + [0] + Array(value.utf8)
        return Base64URL.encode(Array(HMAC<SHA256>.authenticationCode(for: input, using: self.subjectSecret)))
    }
}

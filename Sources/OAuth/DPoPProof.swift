import Crypto
public import JOSE
public import _Primitives

/// The thumbprint of a public key, computed from the key's numbers (RFC 7638).
///
/// Tokens are bound to the thumbprint (`jkt` in `cnf`, RFC 9449, section 6.1), and a client announces the thumbprint
/// with `dpop_jkt` (section 10).
public struct KeyThumbprint: Hashable, Sendable, CustomStringConvertible {
    /// A SHA-256 in base64url.
    public let text: String

    /// Computes the thumbprint of a key.
    public init(_ key: JWK) { self.text = key.thumbprint }

    /// Reads a thumbprint. Throws ``OAuthError`` `invalid_request` if the text is not 32 bytes in base64url.
    public init(_ text: String) throws(OAuthError) {
        guard Base64URL.decode(text)?.count == 32 else {
            throw OAuthError(.invalidRequest, "The dpop_jkt is not a SHA-256 in base64url.")
        }
        self.text = text
    }

    /// The value of `cnf` in a token that is bound to the key (RFC 9449, section 6.1).
    public var confirmation: JSONObject { ["jkt": .string(self.text)] }

    public var description: String { self.text }
}

/// A proof that the sender of a request holds a key (RFC 9449): a JWT signed with the key for this one request. Every
/// value of this type was verified; no other way creates a value.
///
/// A proof counts once. A server accepts the proof after storing ``replayDigest``, if the digest is new (section 11.1).
public struct DPoPProof: Hashable, Sendable, CustomStringConvertible {
    /// The name of the header field.
    public static let header = "DPoP"
    /// The signature algorithms for proofs (`dpop_signing_alg_values_supported`).
    public static let algorithms = JWSAlgorithm.ofFAPI2

    /// The key that the sender holds.
    public let thumbprint: KeyThumbprint
    /// The proof's identifier (`jti`), chosen by the sender.
    public let identifier: String
    /// The moment of creation, according to the sender (`iat`).
    public let issuedAt: Timestamp
    /// The server's nonce in the proof.
    public let nonce: String?
    /// The moment after which the proof is refused: because of its nonce or, without a required nonce, because of its
    /// age. The server need not remember the proof after this moment.
    public let repeatableUntil: Timestamp

    /// Verifies the proof of a request, with the steps as numbered in section 4.3. The caller has to do the last step,
    /// the check that the token is bound to ``thumbprint``.
    ///
    /// Before any verification, the initializer refuses a proof of more than 4096 letters, a header of more than 2048
    /// bytes and an RSA key of more than 4096 bits, because anybody may send a proof.
    ///
    /// Cost: one signature and the reading of one key.
    ///
    /// - Parameters:
    ///   - fields: The values of all header fields with the name.
    ///   - method: The request's method.
    ///   - target: The request's address as the client knows it.
    ///   - accessToken: The access token of the request, at a resource.
    ///   - window: The time in which the proof counts.
    ///   - nonceEnd: Returns the end of the time in which a nonce of this server is accepted; `nil` for any other text.
    ///     Without `nonceEnd` no nonce is needed.
    /// - Throws: ``OAuthError`` `invalid_dpop_proof`, and `use_dpop_nonce` if only the nonce is wrong.
    public init(
        verifying fields: [String], method: String, target: TargetURI, accessToken: String? = nil,
        within window: ValidityWindow, nonceEnd: ((String) -> Timestamp?)? = nil
    ) throws(OAuthError) {
        // 1. The request has exactly one field.
        guard let field = fields.first, fields.count == 1 else { throw Self.refusal("\(fields.count) fields") }
        let claims: JWTClaims
        do throws(JOSEError) {
            // 2. The field is a well-formed JWT.
            let token = try UnverifiedJWS(
                compact: field, limits: JOSELimits(compactLength: 4096, headerLength: 2048))
            // 4. The type is right.
            guard token.header.hasType("dpop+jwt") else { throw JOSEError(.wrongType, "typ") }
            // 5. The algorithm is asymmetric and accepted here.
            guard let algorithm = JWSAlgorithm(exactly: token.header.algorithm), Self.algorithms.contains(algorithm)
            else { throw JOSEError(.algorithmNotAllowed, "alg") }
            // 7. The key is public, without a private part.
            guard case .object(let json) = token.header.members["jwk"] else { throw JOSEError(.malformed, "jwk") }
            if let modulus = json["n"], case .string(let text) = modulus, text.utf8.count > 683 {
                throw JOSEError(.unsupportedKey, "an RSA key of more than 4096 bits")
            }
            let key = try JWK(publicJSON: json)
            // 6. The signature belongs to the key.
            claims = try JWTClaims(token.verified(by: VerificationKey(key, algorithm: algorithm)))
            self.thumbprint = KeyThumbprint(key)
        } catch {
            throw Self.refusal(error.reason)
        }
        // 3. All required claims are present; the following steps check each claim.
        guard case .string(let identifier)? = claims.members["jti"], (1...256).contains(identifier.utf8.count) else {
            throw Self.refusal("jti")
        }
        self.identifier = identifier
        // 8. The method matches, letter for letter.
        guard case .string(let claimed)? = claims.members["htm"], claimed.hasSameBytes(as: method) else {
            throw Self.refusal("htm")
        }
        // 9. The address matches, without query and fragment.
        guard case .string(let address)? = claims.members["htu"], TargetURI(address) == target else {
            throw Self.refusal("htu")
        }
        // 11. The proof was made a short time ago.
        guard let issuedAt = claims.issuedAt, window.hasBegun(issuedAt), window.isRecent(issuedAt) else {
            throw Self.refusal("iat")
        }
        self.issuedAt = issuedAt
        // 12. The proof is for the access token of the request.
        if let accessToken {
            guard case .string(let hash)? = claims.members["ath"],
                constantTimeEqual(Array(hash.utf8), Array(Self.hash(ofToken: accessToken).utf8))
            else { throw Self.refusal("ath") }
        }
        // 10. The nonce comes last: a client that is asked for another nonce has done everything else right.
        self.nonce = try Self.nonce(claims.members["nonce"])
        guard let nonceEnd else {
            self.repeatableUntil = issuedAt + window.longest
            return
        }
        guard let end = self.nonce.flatMap(nonceEnd) else {
            throw OAuthError(.useDPoPNonce, "The proof has to have the nonce of this answer.")
        }
        // The sender's clock does not matter here: a proof counts no longer than its nonce.
        self.repeatableUntil = end
    }

    /// 32 bytes that are equal for two proofs of the same key with the same identifier.
    public var replayDigest: [UInt8] { OAuth.replayDigest(of: "dpop", self.thumbprint.text, self.identifier) }

    public var description: String { "DPoPProof(\(self.thumbprint))" }

    /// Returns the nonce, if its characters are allowed (section 8.1); at most 256 characters. `nil` if the claim is
    /// missing.
    private static func nonce(_ value: JSON?) throws(OAuthError) -> String? {
        guard let value else { return nil }
        guard case .string(let text) = value, (1...256).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
        else { throw Self.refusal("nonce") }
        return text
    }

    /// Returns the value of `ath`.
    private static func hash(ofToken token: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(token.utf8))))
    }

    private static func refusal(_ detail: String) -> OAuthError {
        OAuthError(.invalidDPoPProof, "The DPoP proof is missing or is not right for this request.", detail: detail)
    }

    // MARK: At the client

    /// Creates the value of the header field for one request (section 4.2).
    ///
    /// - Parameters:
    ///   - method: The request's method.
    ///   - target: The request's address.
    ///   - accessToken: The access token of the request, at a resource.
    ///   - nonce: The server's latest nonce, from the field `DPoP-Nonce`.
    ///   - key: A key for an algorithm of ``algorithms``.
    ///   - now: The time.
    ///   - random: The source of the proof's identifier.
    /// - Throws: `JOSEError`: `algorithmNotAllowed`, `invalidKey`.
    public static func make(
        method: String, target: TargetURI, accessToken: String? = nil, nonce: String? = nil, with key: SigningKey,
        at now: Timestamp, random: RandomSource
    ) throws(JOSEError) -> String {
        guard Self.algorithms.contains(key.algorithm), var publicKey = key.publicKey else {
            throw JOSEError(.algorithmNotAllowed, key.algorithm.rawValue)
        }
        publicKey.keyID = nil
        publicKey.use = nil
        publicKey.algorithm = nil
        var claims: JSONObject = [
            "jti": .string(random.token(byteCount: 16)), "htm": .string(method), "htu": .string(target.text),
            "iat": .integer(now.seconds),
        ]
        claims["ath"] = accessToken.map { .string(Self.hash(ofToken: $0)) }
        claims["nonce"] = nonce.map(JSON.string)
        return try JWS.sign(
            JSON.object(claims).serialized, type: "dpop+jwt", header: ["jwk": .object(publicKey.publicJSON ?? [:])],
            with: key)
    }
}

import Crypto
public import JOSE
public import _Primitives

/// The name of a public key by its numbers (RFC 7638): what tokens are bound to (`jkt` in `cnf`, RFC 9449, section 6.1),
/// and what a client announces with `dpop_jkt` (section 10).
public struct KeyThumbprint: Hashable, Sendable, CustomStringConvertible {
    /// A SHA-256 in base64url.
    public let text: String

    /// The thumbprint of a key.
    public init(_ key: JWK) { self.text = key.thumbprint }

    /// Reads a thumbprint. Throws ``OAuthError`` `invalid_request` where it is not 32 bytes in base64url.
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

/// What shows that the sender of a request holds a key (RFC 9449): a JWT that is signed with the key for this one request.
/// A value of this type was verified, or nobody could have made it.
///
/// It counts once: a server takes it when it has remembered ``replayDigest``, which nobody had shown before (section
/// 11.1).
public struct DPoPProof: Hashable, Sendable, CustomStringConvertible {
    /// The name of the header field.
    public static let header = "DPoP"
    /// What proofs are signed with (`dpop_signing_alg_values_supported`).
    public static let algorithms = JWSAlgorithm.ofFAPI2

    /// The key that the sender holds.
    public let thumbprint: KeyThumbprint
    /// The proof's name (`jti`), which the sender chose.
    public let identifier: String
    /// When the sender says that it was made (`iat`).
    public let issuedAt: Timestamp
    /// The server's nonce that is in it.
    public let nonce: String?
    /// After this moment the proof is refused, for its nonce or, where none is needed, for its age, and need not be remembered.
    public let repeatableUntil: Timestamp

    /// Verifies the proof of a request, as section 4.3 numbers the steps. The last of them, that a token is bound to
    /// ``thumbprint``, is the caller's.
    ///
    /// A proof of more than 4096 letters, a header of more than 2048 bytes and an RSA key of more than 4096 bits are
    /// refused before anything is verified: everybody may send one.
    ///
    /// Cost: one signature and the reading of one key.
    ///
    /// - Parameters:
    ///   - fields: The values of all header fields of that name.
    ///   - method: The request's method.
    ///   - target: The request's address as the client knows it.
    ///   - accessToken: The access token that the request shows, at a resource.
    ///   - window: When it counts.
    ///   - nonceEnd: Until when a nonce is taken that this server gave; `nil` for any other text. Without it none is needed.
    /// - Throws: ``OAuthError`` `invalid_dpop_proof`, and `use_dpop_nonce` where all is right but the nonce.
    public init(
        verifying fields: [String], method: String, target: TargetURI, accessToken: String? = nil,
        within window: ValidityWindow, nonceEnd: ((String) -> Timestamp?)? = nil
    ) throws(OAuthError) {
        // 1. Not more than one field.
        guard let field = fields.first, fields.count == 1 else { throw Self.refusal("\(fields.count) fields") }
        let claims: JWTClaims
        do throws(JOSEError) {
            // 2. A well-formed JWT.
            let token = try UnverifiedJWS(
                compact: field, limits: JOSELimits(compactLength: 4096, headerLength: 2048))
            // 4. The type.
            guard token.header.hasType("dpop+jwt") else { throw JOSEError(.wrongType, "typ") }
            // 5. An asymmetric algorithm that is taken here.
            guard let algorithm = JWSAlgorithm(exactly: token.header.algorithm), Self.algorithms.contains(algorithm)
            else { throw JOSEError(.algorithmNotAllowed, "alg") }
            // 7. A public key, no private one.
            guard case .object(let json) = token.header.members["jwk"] else { throw JOSEError(.malformed, "jwk") }
            if let modulus = json["n"], case .string(let text) = modulus, text.utf8.count > 683 {
                throw JOSEError(.unsupportedKey, "an RSA key of more than 4096 bits")
            }
            let key = try JWK(publicJSON: json)
            // 6. The signature is that key's.
            claims = try JWTClaims(token.verified(by: VerificationKey(key, algorithm: algorithm)))
            self.thumbprint = KeyThumbprint(key)
        } catch {
            throw Self.refusal(error.reason)
        }
        // 3. All required claims; each is looked at where it is needed.
        guard case .string(let identifier)? = claims.members["jti"], (1...256).contains(identifier.utf8.count) else {
            throw Self.refusal("jti")
        }
        self.identifier = identifier
        // 8. The method, in its letters.
        guard case .string(let claimed)? = claims.members["htm"], claimed.hasSameBytes(as: method) else {
            throw Self.refusal("htm")
        }
        // 9. The address, without query and fragment.
        guard case .string(let address)? = claims.members["htu"], TargetURI(address) == target else {
            throw Self.refusal("htu")
        }
        // 11. Made a short time ago.
        guard let issuedAt = claims.issuedAt, window.hasBegun(issuedAt), window.isRecent(issuedAt) else {
            throw Self.refusal("iat")
        }
        self.issuedAt = issuedAt
        // 12. The access token that it comes with.
        if let accessToken {
            guard case .string(let hash)? = claims.members["ath"],
                constantTimeEqual(Array(hash.utf8), Array(Self.hash(ofToken: accessToken).utf8))
            else { throw Self.refusal("ath") }
        }
        // 10. The nonce, last: who is asked for another one has done all else right.
        self.nonce = try Self.nonce(claims.members["nonce"])
        guard let nonceEnd else {
            self.repeatableUntil = issuedAt + window.longest
            return
        }
        guard let end = self.nonce.flatMap(nonceEnd) else {
            throw OAuthError(.useDPoPNonce, "The proof has to have the nonce of this answer.")
        }
        // The sender's clock has no say here: a proof counts no longer than its nonce does.
        self.repeatableUntil = end
    }

    /// 32 bytes that are the same for two proofs of one key with one name.
    public var replayDigest: [UInt8] { OAuth.replayDigest(of: "dpop", self.thumbprint.text, self.identifier) }

    public var description: String { "DPoPProof(\(self.thumbprint))" }

    /// The characters that a nonce may have (section 8.1), at most 256 of them.
    private static func nonce(_ value: JSON?) throws(OAuthError) -> String? {
        guard let value else { return nil }
        guard case .string(let text) = value, (1...256).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
        else { throw Self.refusal("nonce") }
        return text
    }

    /// The value of `ath`.
    private static func hash(ofToken token: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(token.utf8))))
    }

    private static func refusal(_ detail: String) -> OAuthError {
        OAuthError(.invalidDPoPProof, "The DPoP proof is missing or is not right for this request.", detail: detail)
    }

    // MARK: At the client

    /// Makes the value of the header field for one request (section 4.2).
    ///
    /// - Parameters:
    ///   - method: The request's method.
    ///   - target: The request's address.
    ///   - accessToken: The access token that the request shows, at a resource.
    ///   - nonce: The nonce that the server gave last, in its own field `DPoP-Nonce`.
    ///   - key: A key for an algorithm of ``algorithms``.
    ///   - now: The time.
    ///   - random: Where the proof's name comes from.
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

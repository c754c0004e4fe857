public import _Primitives

/// A JSON Web Signature in compact form, read but not verified (RFC 7515, section 7.1).
///
/// The payload is not available before ``verified(by:)`` or ``verified(by:allowing:)``. The header is available for the
/// choice of a key, and ``uncheckedClaim(_:)`` returns the name of the alleged signer.
public struct UnverifiedJWS: Sendable {
    /// The header. Nothing in the header can be trusted yet.
    public let header: JOSEHeader
    private let payload: [UInt8]
    private let signature: [UInt8]
    private let signingInput: [UInt8]

    /// Reads a compact form.
    ///
    /// Throws ``JOSEError``: `malformed`, `tooLarge`, `criticalHeader`.
    public init(compact: String, limits: JOSELimits = JOSELimits()) throws(JOSEError) {
        let parts = try CompactParts(compact, count: 3, limits: limits)
        self.header = try JOSEHeader(parsing: parts.decoded[0], limits: limits)
        self.payload = parts.decoded[1]
        self.signature = parts.decoded[2]
        // The signature covers the letters as received, not the bytes encoded again.
        self.signingInput = Array(parts.letters[0]) + [UInt8(ascii: ".")] + Array(parts.letters[1])
    }

    /// Returns a claim of the payload before any verification; `nil` if the payload has no such text. Use the claim
    /// only to find the keys for the verification.
    public func uncheckedClaim(_ name: String) -> String? {
        guard case .object(let claims)? = try? JSON(parsing: self.payload), case .string(let text)? = claims[name]
        else {
            return nil
        }
        return text
    }

    /// Verifies with one key. The key's algorithm must be the header's algorithm.
    ///
    /// Throws ``JOSEError``: `algorithmNotAllowed`, `invalidSignature`.
    public func verified(by key: VerificationKey) throws(JOSEError) -> VerifiedJWS {
        guard self.header.algorithm == key.algorithm.rawValue else {
            throw JOSEError(.algorithmNotAllowed, String(self.header.algorithm.prefix(16)))
        }
        guard key.isValid(self.signature, over: self.signingInput) else {
            throw JOSEError(.invalidSignature, key.algorithm.rawValue)
        }
        return VerifiedJWS(header: self.header, payload: self.payload)
    }

    /// Verifies with the key of `keys` that the header's `kid` names. Without `kid` the set must have a single key.
    ///
    /// Throws ``JOSEError``: `algorithmNotAllowed`, `unknownKey`, `invalidKey`, `invalidSignature`.
    public func verified(by keys: JWKSet, allowing algorithms: Set<JWSAlgorithm>) throws(JOSEError)
        -> VerifiedJWS
    {
        guard let algorithm = JWSAlgorithm(rawValue: self.header.algorithm), algorithms.contains(algorithm) else {
            throw JOSEError(.algorithmNotAllowed, String(self.header.algorithm.prefix(16)))
        }
        let key: JWK
        if let name = self.header.keyID {
            guard let named = keys[name] else {
                let unusable = keys.unusable.first { $0.keyID?.hasSameBytes(as: name) == true }
                throw JOSEError(
                    .unknownKey,
                    unusable.map { "the key of that name cannot be used: \($0.error.reason)" } ?? "no key of that name")
            }
            key = named
        } else {
            guard let only = keys.keys.first, keys.keys.count == 1 else {
                throw JOSEError(
                    .unknownKey,
                    "no kid, and \(keys.keys.count) keys"
                        + (keys.unusable.first.map { "; one cannot be used: \($0.error.reason)" } ?? ""))
            }
            key = only
        }
        return try self.verified(by: VerificationKey(key, algorithm: algorithm))
    }
}

/// A JSON Web Signature with a verified or newly made signature. Only verifying and signing create a value.
public struct VerifiedJWS: Sendable {
    /// The protected header, which the signature covers.
    public let header: JOSEHeader
    /// The signed payload.
    public let payload: [UInt8]

    fileprivate init(header: JOSEHeader, payload: [UInt8]) {
        self.header = header
        self.payload = payload
    }
}

/// Creates JSON Web Signatures.
public enum JWS {
    /// Signs `payload` and returns the compact form. The key sets `alg` and, if the key has a name, `kid`.
    ///
    /// - Parameters:
    ///   - type: The header's `typ`, such as `at+jwt`.
    ///   - header: Further members. The function replaces `alg`, replaces `kid` if the key has a name, and refuses
    ///     `crit`.
    /// - Throws: ``JOSEError``: `criticalHeader`, `invalidKey`.
    public static func sign(
        _ payload: some Collection<UInt8>, type: String? = nil, header: JSONObject = [:], with key: SigningKey
    ) throws(JOSEError) -> String {
        let unsigned = try UnsignedJWS(
            payload, type: type, header: header, algorithm: key.algorithm, keyID: key.keyID)
        return unsigned.compact(signature: try key.signature(over: unsigned.signingInput))
    }
}

/// A JSON Web Signature before signing, for a key that never leaves its place, such as a key in a chip.
public struct UnsignedJWS: Sendable {
    private let text: String

    /// The bytes to sign (RFC 7515, section 5.1).
    public var signingInput: [UInt8] { Array(self.text.utf8) }

    /// Combines header and payload.
    ///
    /// - Parameters:
    ///   - type: The header's `typ`, such as `at+jwt`.
    ///   - header: Further members. The initializer replaces `alg`, replaces `kid` if `keyID` is given, and refuses
    ///     `crit`.
    ///   - algorithm: The algorithm of the signature.
    ///   - keyID: The name of the signing key.
    /// - Throws: ``JOSEError`` `criticalHeader`.
    public init(
        _ payload: some Collection<UInt8>, type: String? = nil, header: JSONObject = [:], algorithm: JWSAlgorithm,
        keyID: String?
    ) throws(JOSEError) {
        guard header["crit"] == nil else { throw JOSEError(.criticalHeader, "crit") }
        var members = header
        members["alg"] = .string(algorithm.rawValue)
        if let type { members["typ"] = .string(type) }
        if let keyID { members["kid"] = .string(keyID) }
        self.text = Base64URL.encode(JSON.object(members).serialized) + "." + Base64URL.encode(payload)
    }

    /// Returns the compact form with the key's signature, in the form of RFC 7518, section 3. The function does not
    /// verify the signature.
    public func compact(signature: [UInt8]) -> String { self.text + "." + Base64URL.encode(signature) }
}

public import Crypto

/// Encodes and decodes P-256 keys and signatures in the formats and encodings of the registry (§4.1, §4.2).
public enum P256Encoding {
    /// Returns the key of TAG_PUB_KEY, or a stored key.
    ///
    /// Throws `unsupportedAlgorithm` for a format that is not of elliptic curves, `invalidKey` for bytes that are not
    /// an uncompressed point on P-256 in the format.
    public static func publicKey(_ bytes: some Collection<UInt8>, format: PublicKeyFormat) throws(UAFError)
        -> P256.Signing.PublicKey
    {
        let point = try ECDSAEncoding.point(bytes, format: format, kind: .p256)
        do { return try P256.Signing.PublicKey(x963Representation: point) } catch {
            throw UAFError(.invalidKey, "not a point on P-256")
        }
    }

    /// Returns the bytes of a key for TAG_PUB_KEY. Throws ``UAFError/Code/unsupportedAlgorithm``.
    public static func bytes(of key: P256.Signing.PublicKey, format: PublicKeyFormat) throws(UAFError) -> [UInt8] {
        try ECDSAEncoding.bytes(ofPoint: key.x963Representation, format: format, kind: .p256)
    }

    /// Returns the signature of TAG_SIGNATURE. DER is read strictly; a high s is accepted (§18, rows 6 and 7).
    ///
    /// Throws `unsupportedAlgorithm` and `invalidSignature`.
    public static func signature(_ bytes: some Collection<UInt8>, algorithm: SignatureAlgorithm) throws(UAFError)
        -> P256.Signing.ECDSASignature
    {
        guard algorithm.keyKind == .p256 else { throw UAFError(.unsupportedAlgorithm, "\(algorithm)") }
        let raw = try ECDSAEncoding.numbers(bytes, algorithm: algorithm)
        do { return try P256.Signing.ECDSASignature(rawRepresentation: raw) } catch {
            throw UAFError(.invalidSignature, "not a signature")
        }
    }

    /// Returns the bytes of a signature for TAG_SIGNATURE. Throws ``UAFError/Code/unsupportedAlgorithm``.
    public static func bytes(of signature: P256.Signing.ECDSASignature, algorithm: SignatureAlgorithm)
        throws(UAFError) -> [UInt8]
    {
        switch algorithm {
        case .p256Raw: Array(signature.rawRepresentation)
        case .p256DER: Array(signature.derRepresentation)
        default: throw UAFError(.unsupportedAlgorithm, "\(algorithm)")
        }
    }
}

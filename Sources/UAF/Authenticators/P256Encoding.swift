public import Crypto

/// The bytes of P-256 keys and signatures in the formats and encodings of the registry (§4.1, §4.2).
public enum P256Encoding {
    /// The head of a SubjectPublicKeyInfo for an uncompressed point on P-256; the point follows (RFC 5480).
    private static let subjectPublicKeyInfoHead: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]

    /// The key behind TAG_PUB_KEY or a stored key.
    ///
    /// Throws `unsupportedAlgorithm` for a format that is not of elliptic curves, `invalidKey` for bytes that are not
    /// an uncompressed point on P-256 in that format.
    public static func publicKey(_ bytes: some Collection<UInt8>, format: PublicKeyFormat) throws(UAFError)
        -> P256.Signing.PublicKey
    {
        var point = Array(bytes)
        switch format {
        case .eccX962Raw: break
        case .eccX962DER:
            guard point.starts(with: self.subjectPublicKeyInfoHead) else {
                throw UAFError(.invalidKey, "no SubjectPublicKeyInfo of P-256")
            }
            point.removeFirst(self.subjectPublicKeyInfoHead.count)
        default: throw UAFError(.unsupportedAlgorithm, "\(format)")
        }
        guard point.count == 65, point.first == 0x04 else { throw UAFError(.invalidKey, "no uncompressed point") }
        do { return try P256.Signing.PublicKey(x963Representation: point) } catch {
            throw UAFError(.invalidKey, "not a point on P-256")
        }
    }

    /// The bytes for TAG_PUB_KEY. Throws ``UAFError/Code/unsupportedAlgorithm``.
    public static func bytes(of key: P256.Signing.PublicKey, format: PublicKeyFormat) throws(UAFError) -> [UInt8] {
        switch format {
        case .eccX962Raw: Array(key.x963Representation)
        case .eccX962DER: self.subjectPublicKeyInfoHead + Array(key.x963Representation)
        default: throw UAFError(.unsupportedAlgorithm, "\(format)")
        }
    }

    /// The signature behind TAG_SIGNATURE. DER is read strictly; a high s is accepted (§18, rows 6 and 7).
    ///
    /// Throws `unsupportedAlgorithm` and `invalidSignature`.
    public static func signature(_ bytes: some Collection<UInt8>, algorithm: SignatureAlgorithm) throws(UAFError)
        -> P256.Signing.ECDSASignature
    {
        let raw: [UInt8]
        switch algorithm {
        case .p256Raw: raw = Array(bytes)
        case .p256DER: raw = try self.raw(fromDER: Array(bytes))
        default: throw UAFError(.unsupportedAlgorithm, "\(algorithm)")
        }
        guard raw.count == 64 else { throw UAFError(.invalidSignature, "\(raw.count) bytes") }
        do { return try P256.Signing.ECDSASignature(rawRepresentation: raw) } catch {
            throw UAFError(.invalidSignature, "not a signature")
        }
    }

    /// The bytes for TAG_SIGNATURE. Throws ``UAFError/Code/unsupportedAlgorithm``.
    public static func bytes(of signature: P256.Signing.ECDSASignature, algorithm: SignatureAlgorithm)
        throws(UAFError) -> [UInt8]
    {
        switch algorithm {
        case .p256Raw: Array(signature.rawRepresentation)
        case .p256DER: Array(signature.derRepresentation)
        default: throw UAFError(.unsupportedAlgorithm, "\(algorithm)")
        }
    }

    /// R‖S of a DER SEQUENCE of two INTEGER, each in its one shortest form and below 2^256.
    private static func raw(fromDER bytes: [UInt8]) throws(UAFError) -> [UInt8] {
        guard bytes.count >= 2, bytes[0] == 0x30, bytes[1] < 0x80, Int(bytes[1]) == bytes.count - 2 else {
            throw UAFError(.invalidSignature, "not one DER SEQUENCE")
        }
        var position = 2
        var raw: [UInt8] = []
        for _ in 0..<2 {
            guard position + 2 <= bytes.count, bytes[position] == 0x02 else {
                throw UAFError(.invalidSignature, "a DER INTEGER is missing")
            }
            let length = Int(bytes[position + 1])
            position += 2
            guard (1...33).contains(length), position + length <= bytes.count else {
                throw UAFError(.invalidSignature, "a DER INTEGER of \(length) bytes")
            }
            var number = bytes[position..<position + length]
            position += length
            guard number.first! < 0x80 else { throw UAFError(.invalidSignature, "a negative DER INTEGER") }
            if number.count > 1, number.first == 0 {
                number = number.dropFirst()
                guard number.first! >= 0x80 else { throw UAFError(.invalidSignature, "a padded DER INTEGER") }
            }
            guard number.count <= 32 else { throw UAFError(.invalidSignature, "a DER INTEGER over 32 bytes") }
            raw += [UInt8](repeating: 0, count: 32 - number.count) + number
        }
        guard position == bytes.count else { throw UAFError(.invalidSignature, "bytes follow in DER") }
        return raw
    }
}

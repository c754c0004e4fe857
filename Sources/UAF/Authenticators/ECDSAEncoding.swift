/// Encodes and decodes points and ECDSA signatures in the formats and encodings of the registry (§4.1, §4.2).
///
/// The functions serve every curve with numbers of 32 bytes, and compute nothing with the numbers.
public enum ECDSAEncoding {
    /// Returns the head of a SubjectPublicKeyInfo for an uncompressed point (RFC 5480). The point follows the head.
    ///
    /// Throws `unsupportedAlgorithm` for a kind of key without points.
    private static func subjectPublicKeyInfoHead(_ kind: SignatureAlgorithm.KeyKind) throws(UAFError) -> [UInt8] {
        switch kind {
        case .p256:
            [
                0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86,
                0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
            ]
        case .secp256k1:
            [
                0x30, 0x56, 0x30, 0x10, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x05, 0x2B, 0x81,
                0x04, 0x00, 0x0A, 0x03, 0x42, 0x00,
            ]
        case .rsa: throw UAFError(.unsupportedAlgorithm, "RSA has no points")
        }
    }

    /// Returns the point of TAG_PUB_KEY or of a stored key, `04 ‖ X ‖ Y`. The library that computes with the point
    /// checks if the point is on the curve.
    ///
    /// Throws `unsupportedAlgorithm` for a format that is not of elliptic curves, `invalidKey` for bytes that are not
    /// an uncompressed point in the format.
    public static func point(
        _ bytes: some Collection<UInt8>, format: PublicKeyFormat, kind: SignatureAlgorithm.KeyKind
    ) throws(UAFError) -> [UInt8] {
        var point = Array(bytes)
        switch format {
        case .eccX962Raw: break
        case .eccX962DER:
            let head = try self.subjectPublicKeyInfoHead(kind)
            guard point.starts(with: head) else { throw UAFError(.invalidKey, "no SubjectPublicKeyInfo of \(kind)") }
            point.removeFirst(head.count)
        default: throw UAFError(.unsupportedAlgorithm, "\(format)")
        }
        guard point.count == 65, point.first == 0x04 else { throw UAFError(.invalidKey, "no uncompressed point") }
        return point
    }

    /// Returns the bytes of a point `04 ‖ X ‖ Y` for TAG_PUB_KEY. Throws ``UAFError/Code/unsupportedAlgorithm``.
    public static func bytes(
        ofPoint point: some Collection<UInt8>, format: PublicKeyFormat, kind: SignatureAlgorithm.KeyKind
    ) throws(UAFError) -> [UInt8] {
        switch format {
        case .eccX962Raw: Array(point)
        case .eccX962DER: try self.subjectPublicKeyInfoHead(kind) + point
        default: throw UAFError(.unsupportedAlgorithm, "\(format)")
        }
    }

    /// Returns R‖S, 64 bytes, of the signature in TAG_SIGNATURE. DER is read strictly (§18, row 6).
    ///
    /// Throws `unsupportedAlgorithm` for an algorithm that is not ECDSA, and `invalidSignature`.
    public static func numbers(_ bytes: some Collection<UInt8>, algorithm: SignatureAlgorithm) throws(UAFError)
        -> [UInt8]
    {
        guard let kind = algorithm.keyKind, kind != .rsa else { throw UAFError(.unsupportedAlgorithm, "\(algorithm)") }
        let raw = algorithm.isDER ? try self.raw(fromDER: Array(bytes)) : Array(bytes)
        guard raw.count == 64 else { throw UAFError(.invalidSignature, "\(raw.count) bytes") }
        return raw
    }

    /// Returns R‖S of a DER SEQUENCE of two INTEGER, each in its shortest form and below 2^256.
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

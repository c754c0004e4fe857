import Crypto
import Testing
import UAF

@Suite("uaf-sections §4.1 and §4.2: P-256 keys and signatures")
struct P256EncodingTests {
    private static let key = P256.Signing.PrivateKey()
    private static let message = Array("message".utf8)

    @Test("A public key survives both formats", arguments: [(PublicKeyFormat.eccX962Raw, 65), (.eccX962DER, 91)])
    func keyRoundTrip(format: PublicKeyFormat, count: Int) throws {
        let bytes = try P256Encoding.bytes(of: Self.key.publicKey, format: format)
        #expect(bytes.count == count)
        let read = try P256Encoding.publicKey(bytes, format: format)
        #expect(read.rawRepresentation == Self.key.publicKey.rawRepresentation)
    }

    @Test("Our SubjectPublicKeyInfo is the one of the cryptographic library")
    func subjectPublicKeyInfo() throws {
        #expect(
            try P256Encoding.bytes(of: Self.key.publicKey, format: .eccX962DER)
                == Array(Self.key.publicKey.derRepresentation))
    }

    @Test("Keys of no curve, of another format or off the curve are refused")
    func badKeys() throws {
        let raw = try P256Encoding.bytes(of: Self.key.publicKey, format: .eccX962Raw)
        let der = try P256Encoding.bytes(of: Self.key.publicKey, format: .eccX962DER)
        var offCurve = raw
        offCurve[64] ^= 1
        let bad: [([UInt8], PublicKeyFormat)] = [
            ([], .eccX962Raw),
            (Array(raw.dropLast()), .eccX962Raw),
            (raw + [0], .eccX962Raw),
            (offCurve, .eccX962Raw),
            (bytes(65, 0), .eccX962Raw), ([0x04] + bytes(64, 0), .eccX962Raw), (der, .eccX962Raw), (raw, .eccX962DER),
            (Array(der.dropLast()), .eccX962DER), (der + [0], .eccX962DER),
            (Array(Self.key.publicKey.compressedRepresentation), .eccX962Raw),
        ]
        for (bytes, format) in bad {
            #expect(throws: UAFError(.invalidKey)) { try P256Encoding.publicKey(bytes, format: format) }
        }
        #expect(throws: UAFError(.unsupportedAlgorithm)) { try P256Encoding.publicKey(raw, format: .rsa2048Raw) }
        #expect(throws: UAFError(.unsupportedAlgorithm)) {
            try P256Encoding.bytes(of: Self.key.publicKey, format: .rsa2048DER)
        }
    }

    @Test("A signature survives both encodings and verifies", arguments: [SignatureAlgorithm.p256Raw, .p256DER])
    func signatureRoundTrip(algorithm: SignatureAlgorithm) throws {
        for _ in 0..<20 {
            let signature = try Self.key.signature(for: Self.message)
            let bytes = try P256Encoding.bytes(of: signature, algorithm: algorithm)
            let read = try P256Encoding.signature(bytes, algorithm: algorithm)
            #expect(read.rawRepresentation == signature.rawRepresentation)
            #expect(Self.key.publicKey.isValidSignature(read, for: Self.message))
        }
    }

    @Test("Short numbers are filled up from DER")
    func shortNumbers() throws {
        let signature = try P256Encoding.signature(
            [0x30, 0x06, 0x02, 0x01, 0x05, 0x02, 0x01, 0x07], algorithm: .p256DER)
        #expect(Array(signature.rawRepresentation) == bytes(31, 0) + [5] + bytes(31, 0) + [7])
    }

    @Test(
        "DER that is not the one shortest form is refused",
        arguments: [
            [], [0x30], [0x30, 0x00], [0x31, 0x06, 0x02, 0x01, 0x05, 0x02, 0x01, 0x07],
            [0x30, 0x06, 0x03, 0x01, 0x05, 0x02, 0x01, 0x07], [0x30, 0x05, 0x02, 0x01, 0x05, 0x02, 0x01],
            [0x30, 0x07, 0x02, 0x01, 0x05, 0x02, 0x01, 0x07, 0x00],
            [0x30, 0x06, 0x02, 0x01, 0x05, 0x02, 0x01, 0x07, 0],
            [0x30, 0x81, 0x06, 0x02, 0x01, 0x05, 0x02, 0x01, 0x07], [0x30, 0x05, 0x02, 0x00, 0x02, 0x01, 0x07],
            [0x30, 0x06, 0x02, 0x01, 0x85, 0x02, 0x01, 0x07], [0x30, 0x07, 0x02, 0x02, 0x00, 0x05, 0x02, 0x01, 0x07],
            [0x30, 0x03, 0x02, 0x01, 0x05], [0x30, 0x06, 0x02, 0x01, 0x05, 0x02, 0x02, 0x07],
            [0x30, 0x26, 0x02, 0x21, 0x01] + [UInt8](repeating: 1, count: 32) + [0x02, 0x01, 0x07],
            [0x30, 0x27, 0x02, 0x22, 0x00] + [UInt8](repeating: 0x81, count: 33) + [0x02, 0x01, 0x07],
        ] as [[UInt8]])
    func badDER(bytes: [UInt8]) {
        #expect(throws: UAFError(.invalidSignature)) { try P256Encoding.signature(bytes, algorithm: .p256DER) }
    }

    @Test("A raw signature has exactly 64 bytes (§18, row 6)", arguments: [0, 63, 65])
    func badRaw(count: Int) {
        #expect(throws: UAFError(.invalidSignature)) { try P256Encoding.signature(bytes(count), algorithm: .p256Raw) }
    }

    @Test("Other algorithms are refused")
    func otherAlgorithm() throws {
        #expect(throws: UAFError(.unsupportedAlgorithm)) {
            try P256Encoding.signature(bytes(64), algorithm: SignatureAlgorithm(rawValue: 5))
        }
        let signature = try Self.key.signature(for: Self.message)
        #expect(throws: UAFError(.unsupportedAlgorithm)) {
            try P256Encoding.bytes(of: signature, algorithm: .rsaPSSRaw)
        }
    }
}

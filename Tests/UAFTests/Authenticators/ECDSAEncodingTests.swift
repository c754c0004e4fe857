import Testing
import UAF

@Suite("uaf-sections §4.1 and §4.2: points and ECDSA signatures as bytes, on both curves")
struct ECDSAEncodingTests {
    private static let point: [UInt8] = [4] + (1...64)

    @Test(
        "A point is written in both formats, each curve's with its own head, and read back",
        arguments: [
            SignatureAlgorithm.KeyKind.p256, .secp256k1,
        ])
    func points(kind: SignatureAlgorithm.KeyKind) throws {
        for format in [PublicKeyFormat.eccX962Raw, .eccX962DER] {
            let written = try ECDSAEncoding.bytes(ofPoint: Self.point, format: format, kind: kind)
            #expect(try ECDSAEncoding.point(written, format: format, kind: kind) == Self.point)
            let length = format == .eccX962Raw ? 65 : kind == .p256 ? 91 : 88
            #expect(written.count == length)
            for bad in [written + [0], Array(written.dropLast()), []] {
                #expect(throws: UAFError(.invalidKey)) {
                    try ECDSAEncoding.point(bad, format: format, kind: kind)
                }
            }
            if format == .eccX962DER {
                let other: SignatureAlgorithm.KeyKind = kind == .p256 ? .secp256k1 : .p256
                #expect(throws: UAFError(.invalidKey)) {
                    try ECDSAEncoding.point(written, format: format, kind: other)
                }
            }
        }
        for first: UInt8 in [0, 2, 3, 5, 6, 7] {
            #expect(throws: UAFError(.invalidKey)) {
                try ECDSAEncoding.point([first] + Self.point[1...], format: .eccX962Raw, kind: kind)
            }
        }
    }

    @Test("RSA has no points, and no other format holds one")
    func otherKinds() {
        #expect(throws: UAFError(.unsupportedAlgorithm)) {
            try ECDSAEncoding.point(Self.point, format: .eccX962DER, kind: .rsa)
        }
        for format in [PublicKeyFormat.rsa2048Raw, .rsa2048DER] {
            #expect(throws: UAFError(.unsupportedAlgorithm)) {
                try ECDSAEncoding.point(Self.point, format: format, kind: .secp256k1)
            }
            #expect(throws: UAFError(.unsupportedAlgorithm)) {
                try ECDSAEncoding.bytes(ofPoint: Self.point, format: format, kind: .secp256k1)
            }
        }
    }

    @Test("The numbers of a signature are 64 bytes, or two INTEGER of DER in their one form")
    func numbers() throws {
        let raw = [UInt8](1...64)
        #expect(try ECDSAEncoding.numbers(raw, algorithm: .secp256k1Raw) == raw)
        let der: [UInt8] = [0x30, 0x07, 0x02, 0x01, 0x05, 0x02, 0x02, 0x00, 0x80]
        let padded = [UInt8](repeating: 0, count: 31)
        #expect(try ECDSAEncoding.numbers(der, algorithm: .secp256k1DER) == padded + [5] + padded + [0x80])
        for bad in [raw + [0], Array(raw.dropLast()), der] {
            #expect(throws: UAFError(.invalidSignature)) {
                try ECDSAEncoding.numbers(bad, algorithm: .secp256k1Raw)
            }
        }
        for bad: [UInt8] in [
            raw, der + [0], [0x30, 0x81] + der[1...], [0x30, 0x06, 0x02, 0x01, 0x05, 0x02, 0x01, 0x80],
            [0x30, 0x07, 0x02, 0x02, 0x00, 0x05, 0x02, 0x01, 0x05], [0x30, 0x05, 0x02, 0x01, 0x05, 0x02, 0x00],
        ] {
            #expect(throws: UAFError(.invalidSignature)) {
                try ECDSAEncoding.numbers(bad, algorithm: .secp256k1DER)
            }
        }
        for other in [SignatureAlgorithm.rsaPSSRaw, .sm2Raw, .init(rawValue: 0)] {
            #expect(throws: UAFError(.unsupportedAlgorithm)) { try ECDSAEncoding.numbers(raw, algorithm: other) }
        }
    }
}

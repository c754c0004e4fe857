import Crypto
import CryptoExtras
import SwiftASN1
import Testing
import UAF
import UAFRelyingParty

/// The numbers of a public RSA key, written as the formats of the registry.
private struct RSANumbers {
    var modulus: [UInt8]
    var exponent: [UInt8] = [1, 0, 1]

    init(_ key: _RSA.Signing.PublicKey = RSAKeys.one.publicKey) throws {
        self.modulus = Array(try key.getKeyPrimitives().modulus)
    }

    /// An INTEGER's bytes: a number with the highest bit set has a zero before it.
    private static func integer(_ number: [UInt8]) -> ArraySlice<UInt8> {
        (number[0] < 0x80 ? number : [0] + number)[...]
    }

    var raw: [UInt8] { self.modulus + self.exponent }

    func der() throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { numbers in
            try numbers.serialize(Self.integer(self.modulus))
            try numbers.serialize(Self.integer(self.exponent))
        }
        return serializer.serializedBytes
    }

    func subjectPublicKeyInfo(
        algorithm: ASN1ObjectIdentifier = .AlgorithmIdentifier.rsaEncryption, hasParameters: Bool = true,
        paddingBits: Int = 0
    ) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { info in
            try info.appendConstructedNode(identifier: .sequence) { identifier in
                try identifier.serialize(algorithm)
                if hasParameters { try identifier.serialize(ASN1Null()) }
            }
            var key = try self.der()
            if paddingBits > 0 { key.append(0) }
            try info.serialize(ASN1BitString(bytes: key[...], paddingBits: paddingBits))
        }
        return serializer.serializedBytes
    }
}

@Suite("uaf-sections §4.1 and §4.2: keys and signatures that the server works with")
struct SignatureVerificationTests {
    private static let message = Array("message".utf8)

    private static func expectBadKey(
        _ name: String, _ bytes: [UInt8], _ format: PublicKeyFormat, _ algorithm: SignatureAlgorithm = .rsaPSSRaw
    ) {
        #expect("\(name)") {
            _ = try SignatureVerification(publicKey: bytes, format: format, algorithm: algorithm)
        } throws: { error in
            guard let refusal = error as? UAFRefusal else { return false }
            return refusal.statusCode == .unacceptableKey && refusal.step == .publicKey
        }
    }

    @Test("An RSA key is read from both formats, 0x103 as PKCS#1 and as SubjectPublicKeyInfo (§18, row 5)")
    func rsaFormats() throws {
        let numbers = try RSANumbers()
        for (bytes, format) in [
            (numbers.raw, PublicKeyFormat.rsa2048Raw), (try numbers.der(), .rsa2048DER),
            (try numbers.subjectPublicKeyInfo(), .rsa2048DER),
        ] {
            let key = try SignatureVerification(publicKey: bytes, format: format, algorithm: .rsaPSSRaw)
            let signature = try SigningKey.rsa(RSAKeys.one).signature(Self.message, .rsaPSSRaw)
            #expect(key.isValid(signature, over: Self.message))
        }
        #expect(try numbers.der() == Array(RSAKeys.one.publicKey.pkcs1DERRepresentation))
        #expect(try numbers.subjectPublicKeyInfo() == Array(RSAKeys.one.publicKey.derRepresentation))
    }

    @Test("Moduli of other sizes are refused with 1494", arguments: [1024, 3072, 4096])
    func modulusSize(bits: Int) throws {
        let key = try _RSA.Signing.PrivateKey(unsafeKeySize: _RSA.Signing.KeySize(bitCount: bits)).publicKey
        let numbers = try RSANumbers(key)
        Self.expectBadKey("raw", numbers.raw, .rsa2048Raw)
        Self.expectBadKey("PKCS#1", try numbers.der(), .rsa2048DER)
        Self.expectBadKey("SubjectPublicKeyInfo", try numbers.subjectPublicKeyInfo(), .rsa2048DER)
    }

    @Test("A modulus of 2047 bits and an even one are refused with 1494")
    func modulusValue() throws {
        var numbers = try RSANumbers()
        numbers.modulus[0] &= 0x7F
        Self.expectBadKey("2047 bits", numbers.raw, .rsa2048Raw)
        Self.expectBadKey("2047 bits, DER", try numbers.der(), .rsa2048DER)
        numbers = try RSANumbers()
        numbers.modulus[255] &= 0xFE
        Self.expectBadKey("even", numbers.raw, .rsa2048Raw)
    }

    @Test(
        "Exponents that are even, tiny, padded or very long are refused with 1494",
        arguments: [[0], [1], [2], [3], [17], [0xFF, 0xFF], [1, 0, 0], [1, 0, 2], bytes(6), bytes(256)] as [[UInt8]])
    func exponent(exponent: [UInt8]) throws {
        var numbers = try RSANumbers()
        numbers.exponent = exponent
        Self.expectBadKey("raw", numbers.raw, .rsa2048Raw)
        Self.expectBadKey("DER", try numbers.der(), .rsa2048DER)
    }

    @Test("No exponent, and one with a zero before it, are refused in the raw format")
    func rawExponent() throws {
        var numbers = try RSANumbers()
        Self.expectBadKey("none", numbers.modulus, .rsa2048Raw)
        Self.expectBadKey("nothing", [], .rsa2048Raw)
        numbers.exponent = [0, 1, 0, 1]
        Self.expectBadKey("padded", numbers.raw, .rsa2048Raw)
    }

    @Test("DER that is not the one form of an RSA key is refused with 1494")
    func badDER() throws {
        let numbers = try RSANumbers()
        let der = try numbers.der()
        let info = try numbers.subjectPublicKeyInfo()
        let bad: [(String, [UInt8])] = [
            ("nothing", []), ("a byte behind", der + [0]), ("a byte less", Array(der.dropLast())),
            ("a byte behind the info", info + [0]), ("raw", numbers.raw),
            ("a long length", [0x30, 0x83, 0x00] + der[2...]),
            ("an indefinite length", [0x30, 0x80] + der[4...] + [0, 0]),
            ("an empty SEQUENCE", [0x30, 0x00]),
            ("another kind of key", try numbers.subjectPublicKeyInfo(algorithm: [1, 2, 840, 113549, 1, 1, 10])),
            ("no NULL", try numbers.subjectPublicKeyInfo(hasParameters: false)),
            ("bits that are no bytes", try numbers.subjectPublicKeyInfo(paddingBits: 1)),
            ("a key of P-256", Array(P256.Signing.PrivateKey().publicKey.derRepresentation)),
            // SEQUENCE, modulus with its sign's zero removed: negative.
            ("a negative modulus", [0x30, 0x82, 0x01, 0x09, 0x02, 0x82, 0x01, 0x00] + der[9...]),
        ]
        for (name, bytes) in bad { Self.expectBadKey(name, bytes, .rsa2048DER) }
    }

    @Test("A format of the other kind of key is refused with 1494", arguments: SignatureAlgorithm.all)
    func otherKind(algorithm: SignatureAlgorithm) throws {
        let numbers = try RSANumbers()
        let point = Array(P256.Signing.PrivateKey().publicKey.x963Representation)
        for format in [PublicKeyFormat.eccX962Raw, .eccX962DER, .rsa2048Raw, .rsa2048DER, .init(rawValue: 0x104)]
        where !algorithm.formats.contains(format) {
            Self.expectBadKey("\(format)", algorithm.isRSA ? numbers.raw : point, format, algorithm)
        }
    }

    @Test("A signature verifies under its own algorithm and no other", arguments: SignatureAlgorithm.all)
    func algorithms(algorithm: SignatureAlgorithm) throws {
        let key = SigningKey(for: algorithm)
        let signature = try key.signature(Self.message, algorithm)
        for other in SignatureAlgorithm.all where other.keyKind == algorithm.keyKind {
            let verification = try SignatureVerification(
                publicKey: key.publicKey(other.formats[0]), format: other.formats[0], algorithm: other)
            #expect(verification.isValid(signature, over: Self.message) == (other == algorithm))
            #expect(!verification.isValid(signature, over: Self.message + [0]))
            #expect(!verification.isValid([], over: Self.message))
        }
    }

    @Test("A high s verifies too, on both curves (§18, row 7)", arguments: SignatureAlgorithm.ecdsa)
    func highS(algorithm: SignatureAlgorithm) throws {
        let key = SigningKey(for: algorithm)
        let raw = try ECDSAEncoding.numbers(key.signature(Self.message, algorithm), algorithm: algorithm)
        let (r, s) = (Array(raw[..<32]), Array(raw[32...]))
        let negated = ECDSANumbers.negated(s, algorithm)
        // One of the two is the higher: both are tried, whichever the signer took.
        #expect(s.lexicographicallyPrecedes(negated) || negated.lexicographicallyPrecedes(s))
        let verification = try SignatureVerification(
            publicKey: key.publicKey(.eccX962Raw), format: .eccX962Raw, algorithm: algorithm)
        for s in [s, negated] {
            #expect(verification.isValid(ECDSANumbers.written([r, s], algorithm), over: Self.message))
            #expect(!verification.isValid(ECDSANumbers.written([r, s], algorithm), over: Self.message + [0]))
        }
    }

    @Test(
        "A key on secp256k1 is read from both formats, and nothing else is one",
        arguments: [
            SignatureAlgorithm.secp256k1Raw, .secp256k1DER,
        ])
    func secp256k1Keys(algorithm: SignatureAlgorithm) throws {
        let key = SigningKey(for: algorithm)
        let (raw, der) = (try key.publicKey(.eccX962Raw), try key.publicKey(.eccX962DER))
        #expect(raw.count == 65 && der.count == 88 && der.suffix(65) == raw[...])
        for (bytes, format) in [(raw, PublicKeyFormat.eccX962Raw), (der, .eccX962DER)] {
            let verification = try SignatureVerification(publicKey: bytes, format: format, algorithm: algorithm)
            #expect(verification.isValid(try key.signature(Self.message, algorithm), over: Self.message))
        }
        let p256 = P256.Signing.PrivateKey().publicKey
        // p, of secp256k1: not below itself.
        let prime = bytes(27, 0xFF) + [0xFE, 0xFF, 0xFF, 0xFC, 0x2F]
        let bad: [(String, [UInt8], PublicKeyFormat)] = [
            ("nothing", [], .eccX962Raw), ("infinity", [0], .eccX962Raw), ("zeros", [4] + bytes(64, 0), .eccX962Raw),
            ("x of p", [4] + prime + raw[33...], .eccX962Raw), ("y of p", raw[..<33] + prime, .eccX962Raw),
            ("off the curve", raw.dropLast() + [raw[64] ^ 1], .eccX962Raw),
            ("compressed", [2 + raw[64] % 2] + raw[1..<33], .eccX962Raw),
            // Which the library itself would read: 6 or 7, by whether y is odd.
            ("hybrid", [6 + raw[64] % 2] + raw[1...], .eccX962Raw),
            ("a byte behind", raw + [0], .eccX962Raw), ("a byte less", Array(raw.dropLast()), .eccX962Raw),
            ("of P-256", Array(p256.x963Representation), .eccX962Raw),
            ("of P-256, DER", Array(p256.derRepresentation), .eccX962DER), ("DER as raw", der, .eccX962Raw),
            ("raw as DER", raw, .eccX962DER), ("DER with a byte behind", der + [0], .eccX962DER),
            ("DER of another form", [0x30, 0x81] + der[1...], .eccX962DER),
        ]
        for (name, bytes, format) in bad { Self.expectBadKey(name, bytes, format, algorithm) }
    }

    @Test(
        "An ECDSA signature in DER has one form, on both curves (§18, row 6)",
        arguments: [
            SignatureAlgorithm.p256DER, .secp256k1DER,
        ])
    func strictDER(algorithm: SignatureAlgorithm) throws {
        let key = SigningKey(for: algorithm)
        let verification = try SignatureVerification(
            publicKey: key.publicKey(.eccX962Raw), format: .eccX962Raw, algorithm: algorithm)
        let signature = try key.signature(Self.message, algorithm)
        #expect(verification.isValid(signature, over: Self.message))
        let body = Array(signature[2...])
        let (r, s) = (Array(body[..<(2 + Int(body[1]))]), Array(body[(2 + Int(body[1]))...]))
        func sequence(_ content: [UInt8]) -> [UInt8] { [0x30, UInt8(content.count)] + content }
        let numbers = try ECDSAEncoding.numbers(signature, algorithm: algorithm)
        for bad in [
            [], numbers, signature + [0], Array(signature.dropLast()), sequence(body + [0]), sequence(r),
            [0x30, 0x81, UInt8(body.count)] + body, [0x31] + signature[1...], sequence(r + s + s),
            // A zero more before the number, a long form of its length, none, and a number of 34 bytes.
            sequence([0x02, r[1] + 1, 0] + r[2...] + s), sequence([0x02, 0x81, r[1]] + r[2...] + s),
            sequence([0x02, 0] + s), sequence([0x02, 34] + bytes(34, 1) + s), sequence([0x03] + r[1...] + s),
        ] { #expect(!verification.isValid(bad, over: Self.message)) }
    }

    @Test("Keys and signatures of the two curves are not taken for one another")
    func otherCurve() throws {
        for (algorithm, other) in [
            (SignatureAlgorithm.p256Raw, SignatureAlgorithm.secp256k1Raw), (.p256DER, .secp256k1DER),
        ] {
            let (key, foreign) = (SigningKey(for: algorithm), SigningKey(for: other))
            for (signer, verifier, own) in [(key, foreign, other), (foreign, key, algorithm)] {
                let verification = try SignatureVerification(
                    publicKey: verifier.publicKey(.eccX962Raw), format: .eccX962Raw, algorithm: own)
                #expect(!verification.isValid(try signer.signature(Self.message, algorithm), over: Self.message))
                #expect(!verification.isValid(try signer.signature(Self.message, other), over: Self.message))
            }
        }
    }

    @Test("One key on secp256k1 verifies for many at once, with the library's one constant context")
    func manyAtOnce() async throws {
        let key = SigningKey(for: .secp256k1DER)
        let verification = try SignatureVerification(
            publicKey: key.publicKey(.eccX962DER), format: .eccX962DER, algorithm: .secp256k1DER)
        let verdicts = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<64 {
                let message = Self.message + [UInt8(number)]
                let signature = try key.signature(message, .secp256k1DER)
                group.addTask {
                    verification.isValid(signature, over: message) && !verification.isValid(signature, over: [0])
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(verdicts == [Bool](repeating: true, count: 64))
    }

    @Test("An RSA signature in DER has one form", arguments: [SignatureAlgorithm.rsaPSSDER, .rsaPKCS1DER])
    func octetString(algorithm: SignatureAlgorithm) throws {
        let verification = try SignatureVerification(
            publicKey: try RSANumbers().raw, format: .rsa2048Raw, algorithm: algorithm)
        let signature = try SigningKey.rsa(RSAKeys.one).signature(Self.message, algorithm)
        #expect(verification.isValid(signature, over: Self.message))
        let raw = Array(signature[4...])
        for bad in [
            raw, [0x04, 0x83, 0x00, 0x01, 0x00] + raw, [0x24, 0x82, 0x01, 0x00] + raw, [0x03, 0x82, 0x01, 0x00] + raw,
            signature + [0], [0x04, 0x82, 0x00, 0xFF] + raw, [0x30, 0x82, 0x01, 0x04] + signature,
        ] { #expect(!verification.isValid(bad, over: Self.message)) }
    }

    @Test("Algorithms that are not there are refused with 1495 whatever the key is", arguments: [0, 7, 10, 0x13])
    func unknownAlgorithm(number: UInt16) {
        #expect {
            _ = try SignatureVerification(
                publicKey: bytes(65), format: .eccX962Raw, algorithm: SignatureAlgorithm(rawValue: number))
        } throws: { error in
            guard let refusal = error as? UAFRefusal else { return false }
            return refusal.statusCode == .unacceptableAlgorithm && refusal.step == .signatureAlgorithm
                && refusal.reason.contains("SM2") == (number == 7)
        }
    }
}

import Crypto
import CryptoExtras
import SwiftASN1
import UAF

/// Reads RSA keys and signatures in the formats and encodings of the registry (§4.1, §4.2).
enum RSAEncoding {
    /// Reads the key behind TAG_PUB_KEY or a stored key: a modulus of exactly 2048 bits, an exponent from 65537 to 33
    /// bits.
    ///
    /// Throws `unsupportedAlgorithm` for a format that is not for RSA, and `invalidKey` for bytes that are no such key.
    static func publicKey(_ bytes: [UInt8], format: PublicKeyFormat) throws(UAFError) -> _RSA.Signing.PublicKey {
        let modulus: ArraySlice<UInt8>
        let exponent: ArraySlice<UInt8>
        switch format {
        case .rsa2048Raw: (modulus, exponent) = (bytes.prefix(256), bytes.dropFirst(256))
        case .rsa2048DER:
            do { (modulus, exponent) = try self.numbers(try DER.parse(bytes)) } catch {
                throw UAFError(.invalidKey, "no DER of an RSA key")
            }
        default: throw UAFError(.unsupportedAlgorithm, "\(format)")
        }
        guard modulus.count == 256, modulus.first! >= 0x80 else { throw UAFError(.invalidKey, "not 2048 bits") }
        guard (3...5).contains(exponent.count), exponent.first != 0,
            exponent.reduce(0, { $0 << 8 | UInt64($1) }) >= 65537
        else { throw UAFError(.invalidKey, "a tiny or padded exponent") }
        // The library refuses even numbers.
        do { return try _RSA.Signing.PublicKey(n: modulus, e: exponent) } catch {
            throw UAFError(.invalidKey, "no RSA key")
        }
    }

    /// Reads modulus and exponent of a PKCS#1 RSAPublicKey, or of the SubjectPublicKeyInfo that some devices write
    /// instead (§18, row 5). The library refuses negative and padded INTEGERs, and removes the zero byte for the sign.
    private static func numbers(_ root: ASN1Node) throws -> (ArraySlice<UInt8>, ArraySlice<UInt8>) {
        try DER.sequence(root, identifier: .sequence) { items in
            guard let first = items.next(), let second = items.next() else {
                throw UAFError(.invalidKey, "too short a SEQUENCE")
            }
            if first.identifier == .integer {
                return (try ArraySlice(derEncoded: first), try ArraySlice(derEncoded: second))
            }
            try DER.sequence(first, identifier: .sequence) { algorithm in
                guard try ASN1ObjectIdentifier(derEncoded: &algorithm) == .AlgorithmIdentifier.rsaEncryption else {
                    throw UAFError(.invalidKey, "another kind of key")
                }
                _ = try ASN1Null(derEncoded: &algorithm)
            }
            let key = try ASN1BitString(derEncoded: second)
            guard key.paddingBits == 0 else { throw UAFError(.invalidKey, "not whole bytes") }
            return try DER.sequence(try DER.parse(key.bytes), identifier: .sequence) { numbers in
                guard let modulus = numbers.next(), let exponent = numbers.next() else {
                    throw UAFError(.invalidKey, "too short a SEQUENCE")
                }
                return (try ArraySlice(derEncoded: modulus), try ArraySlice(derEncoded: exponent))
            }
        }
    }

    /// Reads the signature behind TAG_SIGNATURE: 256 bytes, for a DER algorithm in an OCTET STRING; `nil` for anything
    /// else.
    static func signature(_ bytes: [UInt8], algorithm: SignatureAlgorithm) -> _RSA.Signing.RSASignature? {
        var signature = bytes[...]
        if [.rsaPSSDER, .rsaPKCS1DER].contains(algorithm) {
            let head: [UInt8] = [0x04, 0x82, 0x01, 0x00]
            guard signature.starts(with: head) else { return nil }
            signature = signature.dropFirst(head.count)
        }
        guard signature.count == 256 else { return nil }
        return _RSA.Signing.RSASignature(rawRepresentation: signature)
    }
}

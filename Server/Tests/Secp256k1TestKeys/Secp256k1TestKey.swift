import CSecp256k1
import Crypto
public import UAF
import _Primitives

/// A private key on secp256k1, for tests and measurements: nothing of value may rest on it, and no program of this
/// product makes one.
public struct Secp256k1TestKey: Sendable {
    private let secret: [UInt8]
    /// The public key, `04 ‖ X ‖ Y`.
    public let point: [UInt8]

    /// What the library signs with: its constant context is for public data alone.
    private static func withContext<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        guard let context = secp256k1_context_create(UInt32(SECP256K1_CONTEXT_NONE)) else {
            preconditionFailure("no memory for a context")
        }
        defer { secp256k1_context_destroy(context) }
        return body(context)
    }

    /// A random key.
    public init() {
        (self.secret, self.point) = Self.withContext { context in
            var secret: [UInt8]
            repeat { secret = RandomSource.system.bytes(32) } while secp256k1_ec_seckey_verify(context, secret) != 1
            var key = secp256k1_pubkey()
            var point = [UInt8](repeating: 0, count: 65)
            var count = point.count
            precondition(secp256k1_ec_pubkey_create(context, &key, secret) == 1)
            precondition(
                secp256k1_ec_pubkey_serialize(context, &point, &count, &key, UInt32(SECP256K1_EC_UNCOMPRESSED)) == 1)
            return (secret, point)
        }
    }

    /// The bytes for TAG_PUB_KEY (§4.2). Throws ``UAFError/Code/unsupportedAlgorithm``.
    public func publicKey(_ format: PublicKeyFormat) throws(UAFError) -> [UInt8] {
        try ECDSAEncoding.bytes(ofPoint: self.point, format: format, kind: .secp256k1)
    }

    /// The bytes for TAG_SIGNATURE (§4.1), with the lower s; raw for an algorithm that is not of this curve.
    public func signature(_ bytes: [UInt8], _ algorithm: SignatureAlgorithm) -> [UInt8] {
        Self.withContext { context in
            var signature = secp256k1_ecdsa_signature()
            let digest = Array(SHA256.hash(data: bytes))
            precondition(secp256k1_ecdsa_sign(context, &signature, digest, self.secret, nil, nil) == 1)
            var encoded = [UInt8](repeating: 0, count: 72)
            guard algorithm == .secp256k1DER else {
                precondition(secp256k1_ecdsa_signature_serialize_compact(context, &encoded, &signature) == 1)
                return Array(encoded.prefix(64))
            }
            var count = encoded.count
            precondition(secp256k1_ecdsa_signature_serialize_der(context, &encoded, &count, &signature) == 1)
            return Array(encoded.prefix(count))
        }
    }

    /// Verifies with nothing left to read, to be measured.
    public func bareVerification(_ signature: [UInt8], _ algorithm: SignatureAlgorithm, over bytes: [UInt8]) throws
        -> () -> Bool
    {
        let numbers = try ECDSAEncoding.numbers(signature, algorithm: algorithm)
        guard let context = countersign_secp256k1_context() else { throw UAFError(.invalidSignature, "no context") }
        var given = secp256k1_ecdsa_signature()
        var key = secp256k1_pubkey()
        guard secp256k1_ecdsa_signature_parse_compact(context, &given, numbers) == 1,
            secp256k1_ec_pubkey_parse(context, &key, self.point, self.point.count) == 1
        else { throw UAFError(.invalidSignature, "of a test key") }
        return { [given, key] in
            withUnsafePointer(to: given) { given in
                withUnsafePointer(to: key) { key in
                    secp256k1_ecdsa_verify(context, given, Array(SHA256.hash(data: bytes)), key) == 1
                }
            }
        }
    }
}

import CSecp256k1
import Crypto
import UAF

/// A public key on secp256k1 (§4.1, algorithms 5 and 6). libsecp256k1 verifies the signatures.
///
/// All data here is public: the key, the signature and the signed bytes. So the library's constant context is enough.
/// This context holds no secret, is not randomised, and may be used by all threads at once.
struct Secp256k1Key: Sendable {
    private let key: secp256k1_pubkey

    /// `04 ‖ X ‖ Y`.
    let point: [UInt8]

    /// Runs the library's self-test once. The self-test ends the program if the library was built for another machine.
    private static let check: Void = secp256k1_selftest()

    /// The library's constant context.
    private static var context: OpaquePointer {
        _ = Self.check
        guard let context = countersign_secp256k1_context() else {
            preconditionFailure("libsecp256k1 has a constant context")
        }
        return context
    }

    /// Reads a key. Throws `unsupportedAlgorithm` for a format that is not for elliptic curves, and `invalidKey` for
    /// bytes that are not an uncompressed point on secp256k1 in that format.
    init(_ bytes: [UInt8], format: PublicKeyFormat) throws(UAFError) {
        try self.init(encodedPoint: try ECDSAEncoding.point(bytes, format: format, kind: .secp256k1))
    }

    /// Makes the point with these 32 bytes as x and an even y; `nil` if no such point exists.
    init?(evenPointAt x: some Collection<UInt8>) {
        guard x.count == 32, let key = try? Self(encodedPoint: [2] + x) else { return nil }
        self = key
    }

    private init(encodedPoint bytes: [UInt8]) throws(UAFError) {
        let context = Self.context
        var key = secp256k1_pubkey()
        guard secp256k1_ec_pubkey_parse(context, &key, bytes, bytes.count) == 1 else {
            throw UAFError(.invalidKey, "not a point on secp256k1")
        }
        var point = [UInt8](repeating: 0, count: 65)
        var count = point.count
        _ = secp256k1_ec_pubkey_serialize(context, &point, &count, &key, UInt32(SECP256K1_EC_UNCOMPRESSED))
        self.key = key
        self.point = point
    }

    /// The key as DER SubjectPublicKeyInfo.
    var subjectPublicKeyInfo: [UInt8] {
        (try? ECDSAEncoding.bytes(ofPoint: self.point, format: .eccX962DER, kind: .secp256k1)) ?? []
    }

    /// Returns `true` if `signature` over `bytes` belongs to this key. Malformed signatures are invalid, and so are
    /// signatures with a number that is 0 or not below the group's order.
    ///
    /// The library accepts only the lower s, by which Bitcoin prevents others from rewriting a payment. FIDO UAF does
    /// not require this form, and neither does a P-256 signature. So a signature with the higher s is first brought
    /// into this form.
    func isValid(_ signature: [UInt8], algorithm: SignatureAlgorithm, over bytes: [UInt8]) -> Bool {
        guard let numbers = try? ECDSAEncoding.numbers(signature, algorithm: algorithm) else { return false }
        let context = Self.context
        var given = secp256k1_ecdsa_signature()
        guard secp256k1_ecdsa_signature_parse_compact(context, &given, numbers) == 1 else { return false }
        var normalized = secp256k1_ecdsa_signature()
        _ = secp256k1_ecdsa_signature_normalize(context, &normalized, &given)
        let digest = Array(SHA256.hash(data: bytes))
        return withUnsafePointer(to: self.key) { key in
            secp256k1_ecdsa_verify(context, &normalized, digest, key) == 1
        }
    }
}

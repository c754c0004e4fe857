import CSecp256k1
import Crypto
import UAF

/// A public key on secp256k1 (§4.1, algorithms 5 and 6), with which libsecp256k1 verifies.
///
/// Everything here is public: key, signature and what is signed. So the library's constant context serves, which holds
/// no secret, is not randomised, and may be used by all threads at once.
struct Secp256k1Key: Sendable {
    private let key: secp256k1_pubkey

    /// `04 ‖ X ‖ Y`.
    let point: [UInt8]

    /// The library's checks of itself, once: they end the program where it was built for another machine.
    private static let check: Void = secp256k1_selftest()

    /// The library's constant context.
    private static var context: OpaquePointer {
        _ = Self.check
        guard let context = countersign_secp256k1_context() else {
            preconditionFailure("libsecp256k1 has a constant context")
        }
        return context
    }

    /// Throws `unsupportedAlgorithm` for a format that is not of elliptic curves, `invalidKey` for bytes that are not an
    /// uncompressed point on secp256k1 in that format.
    init(_ bytes: [UInt8], format: PublicKeyFormat) throws(UAFError) {
        try self.init(encodedPoint: try ECDSAEncoding.point(bytes, format: format, kind: .secp256k1))
    }

    /// The point whose x is these 32 bytes and whose y is even; `nil` where there is none.
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

    /// Whether `signature` over `bytes` is this key's; malformed ones are not, nor those with a number that is 0 or not
    /// below the group's order.
    ///
    /// The library takes the lower s alone, by which Bitcoin keeps others from rewriting a payment; FIDO UAF asks for no
    /// such form, and a P-256 signature has none either. So the other one of the two is brought into that form first.
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

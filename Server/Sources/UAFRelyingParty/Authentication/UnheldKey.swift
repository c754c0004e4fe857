import Crypto
public import UAF

extension RegisteredCredential {
    /// Returns a key that nobody holds, under a name that an answer must not distinguish from a registered key's name.
    /// Checking a signature against the key costs the same, and no signature is valid.
    ///
    /// The public keys are made of hashes, the same in every process: no private key ever existed. The caller must
    /// refuse a signature that verifies with such a key all the same.
    public static func unheld(
        _ id: CredentialID, algorithm: SignatureAlgorithm, account: String, deviceRegistration: String
    ) -> RegisteredCredential {
        let (key, format): ([UInt8], PublicKeyFormat) =
            switch algorithm.keyKind {
            case .p256: (UnheldKey.p256, .eccX962Raw)
            case .secp256k1: (UnheldKey.secp256k1, .eccX962Raw)
            case .rsa, nil: (UnheldKey.rsa, .rsa2048Raw)
            }
        return RegisteredCredential(
            id: id, publicKey: key, publicKeyFormat: format, signatureAlgorithm: algorithm, signCounter: 0,
            account: account, deviceRegistration: deviceRegistration)
    }
}

extension SignatureVerification {
    /// A verification with the key on P-256 that nobody holds. The value is made each time, as for a real key.
    static var unheld: SignatureVerification? {
        try? SignatureVerification(publicKey: UnheldKey.p256, format: .eccX962Raw, algorithm: .p256Raw)
    }
}

private enum UnheldKey {
    /// The first point whose x is such a hash. About every second number is the x of a point.
    static let p256: [UInt8] = {
        for number in 0..<UInt8.max {
            let point = [2] + Self.hash(number)
            if let key = try? P256.Signing.PublicKey(compressedRepresentation: point) {
                return Array(key.x963Representation)
            }
        }
        return []
    }()

    /// The same kind of point on the other curve.
    static let secp256k1: [UInt8] =
        (0..<UInt8.max).lazy.compactMap { Secp256k1Key(evenPointAt: Self.hash($0))?.point }.first ?? []

    /// An odd modulus of 2048 bits, with the usual exponent.
    static let rsa: [UInt8] = {
        var modulus = (0..<8).flatMap { Self.hash($0) }
        modulus[0] |= 0x80
        modulus[255] |= 1
        return modulus + [1, 0, 1]
    }()

    private static func hash(_ number: UInt8) -> [UInt8] {
        Array(SHA256.hash(data: Array("countersign: a key that nobody has".utf8) + [number]))
    }
}

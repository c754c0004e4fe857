public import Crypto
import CryptoExtras
public import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A signature algorithm of RFC 7518, section 3.1, or RFC 8037, section 3.1. The type has no value for `none`.
public struct JWSAlgorithm: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init?(rawValue: String) {
        guard ["ES256", "EdDSA", "HS256", "RS256", "PS256"].contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }
    private init(known: String) { self.rawValue = known }

    /// ECDSA on P-256 with SHA-256; the signature is r and s, 32 bytes each.
    public static let es256 = Self(known: "ES256")
    /// EdDSA on Ed25519 only; the signature has 64 bytes.
    public static let edDSA = Self(known: "EdDSA")
    /// HMAC with SHA-256; the key has at least 32 bytes.
    public static let hs256 = Self(known: "HS256")
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    public static let rs256 = Self(known: "RS256")
    /// RSASSA-PSS with SHA-256, MGF1 with SHA-256, and a salt of 32 bytes.
    public static let ps256 = Self(known: "PS256")
}

/// A key that signs with one algorithm.
///
/// Cost on one core: ES256 about 14 µs, EdDSA about 25 µs, HS256 about 2 µs, RS256 and PS256 of 2048 bits about 450 µs.
public struct SigningKey: Sendable {
    private enum Material: Sendable {
        case p256(P256.Signing.PrivateKey)
        case ed25519(Curve25519.Signing.PrivateKey)
        case octets(SymmetricKey)
        case rsa(_RSA.Signing.PrivateKey)
    }

    /// The only algorithm of the key.
    public let algorithm: JWSAlgorithm
    /// The key's name, written as `kid` into the header of each signed object.
    public let keyID: String?
    /// The public key that verifies the signatures; `nil` for HS256, which has no public part.
    public let publicKey: JWK?
    private let material: Material

    /// Creates a signing key from a private JWK, for one algorithm.
    ///
    /// Throws ``JOSEError`` `invalidKey` if the key is of another type, is too short, has no private part, or is for
    /// something else according to its `alg` or `use`.
    public init(_ key: JWK, algorithm: JWSAlgorithm) throws(JOSEError) {
        try key.checkFits(algorithm)
        self.algorithm = algorithm
        self.keyID = key.keyID
        self.publicKey = key.publicKey
        do {
            switch key.material {
            case .p256(_, _, .some(let d)): self.material = .p256(try P256.Signing.PrivateKey(rawRepresentation: d))
            case .ed25519(_, .some(let d)):
                self.material = .ed25519(try Curve25519.Signing.PrivateKey(rawRepresentation: d))
            case .rsa(let n, let e, .some(let numbers)):
                self.material = .rsa(
                    try _RSA.Signing.PrivateKey(n: n, e: e, d: numbers.d, p: numbers.p, q: numbers.q))
            case .octets(let k): self.material = .octets(SymmetricKey(data: k))
            case .p256, .ed25519, .rsa: throw JOSEError(.invalidKey, "no private part")
            }
        } catch {
            throw error as? JOSEError ?? JOSEError(.invalidKey, "numbers that are no key")
        }
    }

    // MARK: Keys that are kept

    /// Generates a key for the algorithm, in the form for ``init(kept:algorithm:keyID:)``: the scalar of ES256 and the
    /// seed of EdDSA, 32 bytes each, or the PKCS#1 form of an RSA key of 2048 bits (RFC 8017, appendix A.1.2).
    ///
    /// An RSA key costs tens to hundreds of milliseconds. Call the function on a thread that nothing else waits for.
    ///
    /// - Parameter random: The source of 32 bytes. An RSA key comes from the library's own generator.
    /// - Throws: ``JOSEError`` `unsupportedKey` for HS256, and if no key was generated.
    public static func make(_ algorithm: JWSAlgorithm, random: RandomSource) throws(JOSEError) -> SecretBytes {
        switch algorithm {
        case .es256:
            while true {
                // Once in four thousand million times the bytes are not a scalar of the curve, and other bytes are
                // drawn.
                let bytes = random.bytes(32)
                if (try? P256.Signing.PrivateKey(rawRepresentation: bytes)) != nil { return SecretBytes(bytes) }
            }
        case .edDSA: return SecretBytes(random.bytes(32))
        case .rs256, .ps256:
            guard let key = try? _RSA.Signing.PrivateKey(keySize: .bits2048) else {
                throw JOSEError(.unsupportedKey, "no RSA key came about")
            }
            return SecretBytes(key.derRepresentation)
        default: throw JOSEError(.unsupportedKey, "no key is made for \(algorithm.rawValue)")
        }
    }

    /// Creates a signing key from the bytes of ``make(_:random:)``.
    ///
    /// - Parameter keyID: The key's name; `nil` uses the thumbprint as the name (RFC 7638).
    /// - Throws: ``JOSEError`` `invalidKey`.
    public init(kept bytes: SecretBytes, algorithm: JWSAlgorithm, keyID: String?) throws(JOSEError) {
        let made: (material: Material, jwk: JWK.Material)
        do {
            made = try bytes.withBytes { bytes in
                switch algorithm {
                case .es256:
                    let key = try P256.Signing.PrivateKey(rawRepresentation: bytes)
                    let point = Array(key.publicKey.rawRepresentation)
                    return (.p256(key), .p256(x: Array(point[..<32]), y: Array(point[32...]), d: nil))
                case .edDSA:
                    let key = try Curve25519.Signing.PrivateKey(rawRepresentation: bytes)
                    return (.ed25519(key), .ed25519(x: Array(key.publicKey.rawRepresentation), d: nil))
                case .rs256, .ps256:
                    let key = try _RSA.Signing.PrivateKey(derRepresentation: bytes)
                    let numbers = try key.publicKey.getKeyPrimitives()
                    return (
                        .rsa(key),
                        .rsa(n: Array(numbers.modulus), e: Array(numbers.publicExponent), privateNumbers: nil)
                    )
                default: throw JOSEError(.invalidKey, "no such key is kept")
                }
            }
        } catch {
            throw JOSEError(.invalidKey, "bytes that are no key")
        }
        var publicKey = try JWK(made.jwk, use: "sig", algorithm: algorithm.rawValue)
        publicKey.keyID = keyID ?? publicKey.thumbprint
        self.algorithm = algorithm
        self.keyID = publicKey.keyID
        self.material = made.material
        self.publicKey = publicKey
    }

    /// Returns the signature over `input`.
    func signature(over input: [UInt8]) throws(JOSEError) -> [UInt8] {
        do {
            switch self.material {
            case .p256(let key): return Array(try key.signature(for: input).rawRepresentation)
            case .ed25519(let key): return Array(try key.signature(for: input))
            case .octets(let key): return Array(HMAC<SHA256>.authenticationCode(for: input, using: key))
            case .rsa(let key):
                let padding: _RSA.Signing.Padding = self.algorithm == .ps256 ? .PSS : .insecurePKCS1v1_5
                return Array(try key.signature(for: SHA256.hash(data: input), padding: padding).rawRepresentation)
            }
        } catch {
            throw JOSEError(.invalidKey, "the key did not sign")
        }
    }
}

/// A key that verifies signatures of one algorithm. Because the key knows its algorithm, a header cannot turn an RSA
/// key's public text into an HMAC key (RFC 8725, section 3.1).
///
/// Cost on one core: ES256 about 35 µs, EdDSA about 60 µs, HS256 about 2 µs, RS256 and PS256 of 2048 bits about 13 µs.
public struct VerificationKey: Sendable {
    private enum Material: Sendable {
        case p256(P256.Signing.PublicKey)
        case ed25519(Curve25519.Signing.PublicKey)
        case octets(SymmetricKey)
        case rsa(_RSA.Signing.PublicKey)
    }

    /// The only algorithm of the key.
    public let algorithm: JWSAlgorithm
    private let material: Material

    /// Creates a key for ES256.
    public init(_ key: P256.Signing.PublicKey) {
        self.algorithm = .es256
        self.material = .p256(key)
    }

    /// Creates a verification key from a JWK, public or private, for one algorithm.
    ///
    /// Throws ``JOSEError`` `invalidKey` if the key is of another type, is too short, or is for something else
    /// according to its `alg` or `use`.
    public init(_ key: JWK, algorithm: JWSAlgorithm) throws(JOSEError) {
        try key.checkFits(algorithm)
        self.algorithm = algorithm
        do {
            switch key.material {
            case .p256(let x, let y, _):
                self.material = .p256(try P256.Signing.PublicKey(x963Representation: [4] + x + y))
            case .ed25519(let x, _): self.material = .ed25519(try Curve25519.Signing.PublicKey(rawRepresentation: x))
            case .rsa(let n, let e, _): self.material = .rsa(try _RSA.Signing.PublicKey(n: n, e: e))
            case .octets(let k): self.material = .octets(SymmetricKey(data: k))
            }
        } catch {
            throw JOSEError(.invalidKey, "numbers that are no key")
        }
    }

    /// Returns `true` if `signature` is this key's signature over `input`; `false` for a signature of another length or
    /// form.
    func isValid(_ signature: [UInt8], over input: [UInt8]) -> Bool {
        switch self.material {
        case .p256(let key):
            guard signature.count == 64, let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { return false }
            return key.isValidSignature(parsed, for: input)
        case .ed25519(let key): return key.isValidSignature(signature, for: input)
        case .octets(let key):
            // The comparison takes constant time.
            return HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: input, using: key)
        case .rsa(let key):
            let padding: _RSA.Signing.Padding = self.algorithm == .ps256 ? .PSS : .insecurePKCS1v1_5
            return key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature), for: SHA256.hash(data: input),
                padding: padding)
        }
    }
}

extension JWK {
    /// Returns `true` if the key is of the algorithm's kind, and neither its `alg` nor its `use` names another purpose.
    public func fits(_ algorithm: JWSAlgorithm) -> Bool {
        self.isOfKind(algorithm) && (self.algorithm ?? algorithm.rawValue).hasSameBytes(as: algorithm.rawValue)
            && (self.use ?? "sig").hasSameBytes(as: "sig")
    }

    private func isOfKind(_ algorithm: JWSAlgorithm) -> Bool {
        switch self.material {
        case .p256: algorithm == .es256
        case .ed25519: algorithm == .edDSA
        case .rsa: algorithm == .rs256 || algorithm == .ps256
        // RFC 7518, section 3.2: the key is at least as long as the hash.
        case .octets(let k): algorithm == .hs256 && k.count >= 32
        }
    }

    /// Throws if the type, `alg` or `use` of the key do not fit the algorithm.
    fileprivate func checkFits(_ algorithm: JWSAlgorithm) throws(JOSEError) {
        guard self.isOfKind(algorithm) else {
            throw JOSEError(.invalidKey, "the key does not fit \(algorithm.rawValue)")
        }
        guard self.fits(algorithm) else { throw JOSEError(.invalidKey, "alg or use of the key") }
    }
}

extension JWKSet {
    /// Returns the keys that can verify signatures of an algorithm: keys of the algorithm's kind, without another `alg`
    /// or `use`.
    public func fitting(_ algorithm: JWSAlgorithm) -> JWKSet { JWKSet(self.keys.filter { $0.fits(algorithm) }) }
}

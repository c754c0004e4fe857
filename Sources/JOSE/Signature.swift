public import Crypto
import CryptoExtras

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A signature algorithm of RFC 7518, section 3.1. There is no value for `none`.
public struct SignatureAlgorithm: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init?(rawValue: String) {
        guard ["ES256", "HS256", "RS256", "PS256"].contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }
    private init(known: String) { self.rawValue = known }

    /// ECDSA on P-256 with SHA-256; the signature is r and s, 32 bytes each.
    public static let es256 = Self(known: "ES256")
    /// HMAC with SHA-256; the key has at least 32 bytes.
    public static let hs256 = Self(known: "HS256")
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    public static let rs256 = Self(known: "RS256")
    /// RSASSA-PSS with SHA-256, MGF1 with SHA-256, and a salt of 32 bytes.
    public static let ps256 = Self(known: "PS256")
}

/// A key that signs with one algorithm.
///
/// Cost on one core: ES256 about 14 µs, HS256 about 2 µs, RS256 and PS256 of 2048 bits about 450 µs.
public struct SigningKey: Sendable {
    private enum Material: Sendable {
        case p256(P256.Signing.PrivateKey)
        case octets(SymmetricKey)
        case rsa(_RSA.Signing.PrivateKey)
    }

    /// The one algorithm that the key is used with.
    public let algorithm: SignatureAlgorithm
    /// Written as `kid` into the header of what the key signs.
    public let keyID: String?
    private let material: Material

    /// An ES256 key.
    public init(_ key: P256.Signing.PrivateKey, keyID: String?) {
        self.algorithm = .es256
        self.keyID = keyID
        self.material = .p256(key)
    }

    /// A private JWK for one algorithm.
    ///
    /// Throws ``JOSEError`` `invalidKey` where the key is of another type, too short, has no private part, or says with
    /// `alg` or `use` that it is for something else.
    public init(_ key: JWK, algorithm: SignatureAlgorithm) throws(JOSEError) {
        try key.checkFits(algorithm)
        self.algorithm = algorithm
        self.keyID = key.keyID
        do {
            switch key.material {
            case .p256(_, _, .some(let d)): self.material = .p256(try P256.Signing.PrivateKey(rawRepresentation: d))
            case .rsa(let n, let e, .some(let numbers)):
                self.material = .rsa(
                    try _RSA.Signing.PrivateKey(n: n, e: e, d: numbers.d, p: numbers.p, q: numbers.q))
            case .octets(let k): self.material = .octets(SymmetricKey(data: k))
            case .p256, .rsa: throw JOSEError(.invalidKey, "no private part")
            }
        } catch {
            throw error as? JOSEError ?? JOSEError(.invalidKey, "numbers that are no key")
        }
    }

    /// The signature over `input`.
    func signature(over input: [UInt8]) throws(JOSEError) -> [UInt8] {
        do {
            switch self.material {
            case .p256(let key): return Array(try key.signature(for: input).rawRepresentation)
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

/// A key that verifies signatures of one algorithm. Because it knows its algorithm, a header cannot make an RSA key's
/// public text serve as an HMAC key (RFC 8725, section 3.1).
///
/// Cost on one core: ES256 about 35 µs, HS256 about 2 µs, RS256 and PS256 of 2048 bits about 13 µs.
public struct VerificationKey: Sendable {
    private enum Material: Sendable {
        case p256(P256.Signing.PublicKey)
        case octets(SymmetricKey)
        case rsa(_RSA.Signing.PublicKey)
    }

    /// The one algorithm that the key is used with.
    public let algorithm: SignatureAlgorithm
    private let material: Material

    /// An ES256 key.
    public init(_ key: P256.Signing.PublicKey) {
        self.algorithm = .es256
        self.material = .p256(key)
    }

    /// A JWK, public or private, for one algorithm.
    ///
    /// Throws ``JOSEError`` `invalidKey` where the key is of another type, too short, or says with `alg` or `use` that it
    /// is for something else.
    public init(_ key: JWK, algorithm: SignatureAlgorithm) throws(JOSEError) {
        try key.checkFits(algorithm)
        self.algorithm = algorithm
        do {
            switch key.material {
            case .p256(let x, let y, _):
                self.material = .p256(try P256.Signing.PublicKey(x963Representation: [4] + x + y))
            case .rsa(let n, let e, _): self.material = .rsa(try _RSA.Signing.PublicKey(n: n, e: e))
            case .octets(let k): self.material = .octets(SymmetricKey(data: k))
            }
        } catch {
            throw JOSEError(.invalidKey, "numbers that are no key")
        }
    }

    /// Whether `signature` is this key's over `input`. A signature of another length or form is not.
    func isValid(_ signature: [UInt8], over input: [UInt8]) -> Bool {
        switch self.material {
        case .p256(let key):
            guard signature.count == 64, let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { return false }
            return key.isValidSignature(parsed, for: input)
        case .octets(let key):
            // In constant time.
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
    /// Refuses a key whose type, `alg` or `use` do not fit the algorithm.
    fileprivate func checkFits(_ algorithm: SignatureAlgorithm) throws(JOSEError) {
        let fits =
            switch self.material {
            case .p256: algorithm == .es256
            case .rsa: algorithm == .rs256 || algorithm == .ps256
            // RFC 7518, section 3.2: at least as long as the hash.
            case .octets(let k): algorithm == .hs256 && k.count >= 32
            }
        guard fits else { throw JOSEError(.invalidKey, "the key does not fit \(algorithm.rawValue)") }
        if let own = self.algorithm, own != algorithm.rawValue { throw JOSEError(.invalidKey, "alg of the key") }
        if let use = self.use, use != "sig" { throw JOSEError(.invalidKey, "use of the key") }
    }
}

import Crypto
import CryptoExtras
public import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The algorithm that brings the content key to the recipient (RFC 7518, section 4.1).
public struct KeyManagementAlgorithm: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init?(rawValue: String) {
        guard Self.all.contains(where: { $0.rawValue.hasSameBytes(as: rawValue) }) else { return nil }
        self.rawValue = rawValue
    }
    private init(known: String) { self.rawValue = known }

    /// Agreement with a fresh P-256 key; the agreed key is the content key.
    public static let ecdhES = Self(known: "ECDH-ES")
    /// RSAES-OAEP with SHA-256.
    public static let rsaOAEP256 = Self(known: "RSA-OAEP-256")
    /// RSAES-OAEP with SHA-1, for recipients that know no other algorithm. OAEP does not need resistance against
    /// collisions.
    public static let rsaOAEP = Self(known: "RSA-OAEP")

    /// All supported algorithms, the preferred algorithm first.
    public static let all: [Self] = [.ecdhES, .rsaOAEP256, .rsaOAEP]
}

/// A decrypted JSON Web Encryption in compact form (RFC 7516, section 7.1).
///
/// Cost on one core: ECDH-ES about 100 µs in either direction; RSA of 2048 bits about 450 µs to decrypt and 15 µs to
/// encrypt.
public struct JWE: Sendable {
    /// The protected header: `alg`, `enc` and the maker's further members.
    public let header: JOSEHeader
    /// The decrypted content.
    public let plaintext: [UInt8]

    /// Decrypts a compact form with a private key.
    ///
    /// Compressed content (`zip`) is refused. Every failure of keys, padding or tags gives the same error. A random key
    /// replaces a content key of the wrong length before the check of the tag, so nobody learns which step failed (RFC
    /// 7516, section 11.5).
    ///
    /// - Throws: ``JOSEError``: `malformed`, `tooLarge`, `criticalHeader`, `algorithmNotAllowed`, `invalidKey`,
    ///   `unsupportedKey` for a sender's key (`epk`) of another kind, `undecryptable`.
    public init(
        opening compact: String, with key: JWK, allowing algorithms: Set<KeyManagementAlgorithm>,
        encryptions: Set<ContentEncryption>, limits: JOSELimits = JOSELimits(), random: RandomSource = .system
    ) throws(JOSEError) {
        let sealed = try SealedContent(compact, algorithms, encryptions, limits)
        try key.checkFits(sealed.algorithm)
        let contentKey: [UInt8]
        switch key.material {
        case .p256(_, _, .some(let d)):
            let secret = try Agreement.secret(
                privateScalar: d, publicKey: Agreement.ephemeralKey(of: sealed.header.members))
            contentKey = try sealed.contentKey(agreedOn: secret)
        case .rsa(let n, let e, .some(let numbers)):
            contentKey =
                Self.decrypt(sealed.encryptedKey, n: n, e: e, numbers: numbers, algorithm: sealed.algorithm) ?? []
        case .p256, .ed25519, .rsa, .octets: throw JOSEError(.invalidKey, "no private part")
        }
        self.header = sealed.header
        self.plaintext = try sealed.open(
            with: contentKey.count == sealed.encryption.keyLength
                ? contentKey : random.bytes(sealed.encryption.keyLength))
    }

    /// Decrypts a compact form (ECDH-ES) with a private key that never leaves its place, such as a key in a chip.
    ///
    /// `agree` receives the header, whose `kid` names the key, and a checked point of P-256 (65 bytes). It returns the
    /// agreed secret: the coordinate x, 32 bytes. A refused header is never passed on.
    ///
    /// - Throws: ``JOSEError`` as ``init(opening:with:allowing:encryptions:limits:random:)`` does, and the errors of
    ///   `agree`.
    public init(
        opening compact: String, encryptions: Set<ContentEncryption>, limits: JOSELimits = JOSELimits(),
        agreeing agree: (_ header: JOSEHeader, _ point: [UInt8]) throws -> SecretBytes
    ) throws {
        let sealed = try SealedContent(compact, [.ecdhES], encryptions, limits)
        let point = try Agreement.ephemeralKey(of: sealed.header.members)
        self.header = sealed.header
        let secret = try agree(sealed.header, [4] + point)
        self.plaintext = try sealed.open(with: try sealed.contentKey(agreedOn: secret))
    }

    /// Encrypts `plaintext` to a public key and returns the compact form.
    ///
    /// - Parameters:
    ///   - header: Further members, such as `typ` or `cty`. The function replaces `alg`, `enc`, `kid` and `epk`, and
    ///     refuses `crit` and `zip`.
    ///   - random: The source of the content key, the initialization vector and the ephemeral key.
    /// - Throws: ``JOSEError``: `algorithmNotAllowed` for `zip`, `criticalHeader`, `invalidKey`, `malformed` if `apu`
    ///   or `apv` are not base64url.
    public static func seal(
        _ plaintext: some Collection<UInt8>, to key: JWK, algorithm: KeyManagementAlgorithm,
        encryption: ContentEncryption = .a256GCM, header: JSONObject = [:], random: RandomSource = .system
    ) throws(JOSEError) -> String {
        guard header["zip"] == nil else { throw JOSEError(.algorithmNotAllowed, "zip") }
        guard header["crit"] == nil else { throw JOSEError(.criticalHeader, "crit") }
        try key.checkFits(algorithm)
        var members = header
        members["alg"] = .string(algorithm.rawValue)
        members["enc"] = .string(encryption.rawValue)
        members["kid"] = key.keyID.map(JSON.string)
        members["epk"] = nil

        let contentKey: [UInt8]
        var encryptedKey: [UInt8] = []
        switch key.material {
        case .p256(let x, let y, _):
            let ephemeral = Agreement.freshKey(random)
            let point = Array(ephemeral.publicKey.rawRepresentation)
            members["epk"] = .object([
                "kty": .string("EC"), "crv": .string("P-256"), "x": .string(Base64URL.encode(point[..<32])),
                "y": .string(Base64URL.encode(point[32...])),
            ])
            contentKey = try Agreement(header: members, encryption: encryption).contentKey(
                of: Agreement.secret(privateScalar: Array(ephemeral.rawRepresentation), publicKey: x + y))
        case .rsa(let n, let e, _):
            contentKey = random.bytes(encryption.keyLength)
            guard
                let encrypted = try? _RSA.Encryption.PublicKey(n: n, e: e).encrypt(
                    contentKey, padding: algorithm.padding)
            else { throw JOSEError(.invalidKey, "the key did not encrypt") }
            encryptedKey = Array(encrypted)
        case .ed25519, .octets: throw JOSEError(.invalidKey, "no public part to encrypt to")
        }

        let protected = Base64URL.encode(JSON.object(members).serialized)
        let vector = random.bytes(encryption.vectorLength)
        let sealed = try ContentCipher(encryption, key: contentKey)
            .seal(Array(plaintext), vector: vector, beside: Array(protected.utf8))
        let parts = [encryptedKey, vector, sealed.ciphertext, sealed.tag]
        return ([protected] + parts.map { Base64URL.encode($0) }).joined(separator: ".")
    }

    private static func decrypt(
        _ encrypted: [UInt8], n: [UInt8], e: [UInt8], numbers: JWK.RSAPrivateNumbers, algorithm: KeyManagementAlgorithm
    ) -> [UInt8]? {
        let key = try? _RSA.Encryption.PrivateKey(n: n, e: e, d: numbers.d, p: numbers.p, q: numbers.q)
        return (try? key?.decrypt(encrypted, padding: algorithm.padding)).map { Array($0) }
    }
}

/// A compact form, read and not yet decrypted.
private struct SealedContent {
    let header: JOSEHeader
    let algorithm: KeyManagementAlgorithm
    let encryption: ContentEncryption
    private let parts: CompactParts

    var encryptedKey: [UInt8] { self.parts.decoded[1] }

    init(
        _ compact: String, _ algorithms: Set<KeyManagementAlgorithm>, _ encryptions: Set<ContentEncryption>,
        _ limits: JOSELimits
    ) throws(JOSEError) {
        self.parts = try CompactParts(compact, count: 5, limits: limits)
        self.header = try JOSEHeader(parsing: self.parts.decoded[0], limits: limits)
        guard let algorithm = KeyManagementAlgorithm(rawValue: self.header.algorithm), algorithms.contains(algorithm)
        else { throw JOSEError(.algorithmNotAllowed, String(self.header.algorithm.prefix(16))) }
        guard case .string(let name) = self.header.members["enc"] else { throw JOSEError(.malformed, "enc") }
        guard let encryption = ContentEncryption(rawValue: name), encryptions.contains(encryption) else {
            throw JOSEError(.algorithmNotAllowed, String(name.prefix(16)))
        }
        guard self.header.members["zip"] == nil else { throw JOSEError(.algorithmNotAllowed, "zip") }
        guard self.parts.decoded[2].count == encryption.vectorLength,
            self.parts.decoded[4].count == encryption.tagLength
        else {
            throw JOSEError(.malformed, "an initialization vector or tag of another length")
        }
        guard algorithm != .ecdhES || self.parts.decoded[1].isEmpty else {
            throw JOSEError(.malformed, "an encrypted key beside ECDH-ES")
        }
        self.algorithm = algorithm
        self.encryption = encryption
    }

    func contentKey(agreedOn secret: SecretBytes) throws(JOSEError) -> [UInt8] {
        try Agreement(header: self.header.members, encryption: self.encryption).contentKey(of: secret)
    }

    func open(with contentKey: [UInt8]) throws(JOSEError) -> [UInt8] {
        let sealed = ContentCipher.Sealed(ciphertext: self.parts.decoded[3], tag: self.parts.decoded[4])
        guard
            let plaintext = try ContentCipher(self.encryption, key: contentKey)
                .open(sealed, vector: self.parts.decoded[2], beside: Array(self.parts.letters[0]))
        else { throw JOSEError(.undecryptable, self.algorithm.rawValue) }
        return plaintext
    }
}

/// Direct key agreement (RFC 7518, section 4.6), which derives the content key from an agreed secret with the Concat
/// KDF.
private struct Agreement {
    private let encryption: ContentEncryption
    private let partyU: [UInt8]
    private let partyV: [UInt8]

    init(header: JSONObject, encryption: ContentEncryption) throws(JOSEError) {
        self.encryption = encryption
        self.partyU = try Self.party(header, "apu")
        self.partyV = try Self.party(header, "apv")
    }

    private static func party(_ header: JSONObject, _ name: String) throws(JOSEError) -> [UInt8] {
        guard let value = header[name] else { return [] }
        guard case .string(let text) = value, let bytes = Base64URL.decode(text) else {
            throw JOSEError(.malformed, "\(name) is not base64url")
        }
        return bytes
    }

    /// Returns the point of `epk`.
    static func ephemeralKey(of header: JSONObject) throws(JOSEError) -> [UInt8] {
        guard case .object(let json) = header["epk"] else { throw JOSEError(.malformed, "epk") }
        // The initializer of `JWK` checks that the point lies on the curve: a point outside the curve would reveal
        // parts of our key.
        guard case .p256(let x, let y, nil) = try JWK(json: json).material else {
            throw JOSEError(.malformed, "epk is not a public P-256 key")
        }
        return x + y
    }

    /// Returns a key from the random source. A scalar out of range, once in four thousand million times, is drawn
    /// again.
    static func freshKey(_ random: RandomSource) -> P256.KeyAgreement.PrivateKey {
        while true {
            if let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: random.bytes(32)) { return key }
        }
    }

    /// Returns the secret that two keys agree on.
    static func secret(privateScalar: [UInt8], publicKey: [UInt8]) throws(JOSEError) -> SecretBytes {
        guard let own = try? P256.KeyAgreement.PrivateKey(rawRepresentation: privateScalar),
            let other = try? P256.KeyAgreement.PublicKey(rawRepresentation: publicKey),
            let secret = try? own.sharedSecretFromKeyAgreement(with: other)
        else { throw JOSEError(.undecryptable, "no agreement") }
        return SecretBytes(secret.withUnsafeBytes { Array($0) })
    }

    func contentKey(of secret: SecretBytes) throws(JOSEError) -> [UInt8] {
        var key: [UInt8] = []
        var round = 0
        while key.count < self.encryption.keyLength {
            round += 1
            var hash = SHA256()
            hash.update(data: Self.fourBytes(round))
            secret.withBytes { hash.update(bufferPointer: $0) }
            for field in [Array(self.encryption.rawValue.utf8), self.partyU, self.partyV] {
                hash.update(data: Self.fourBytes(field.count))
                hash.update(data: field)
            }
            hash.update(data: Self.fourBytes(self.encryption.keyLength * 8))
            key += Array(hash.finalize())
        }
        return Array(key.prefix(self.encryption.keyLength))
    }

    private static func fourBytes(_ number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}

extension KeyManagementAlgorithm {
    fileprivate var padding: _RSA.Encryption.Padding { self == .rsaOAEP ? .PKCS1_OAEP : .PKCS1_OAEP_SHA256 }
}

extension JWK {
    /// Returns `true` if a content can be encrypted to the key with this algorithm: the key's type, `alg` and `use`
    /// fit.
    public func fits(_ algorithm: KeyManagementAlgorithm) -> Bool { (try? self.checkFits(algorithm)) != nil }

    /// Throws if the type, `alg` or `use` of the key do not fit the algorithm.
    fileprivate func checkFits(_ algorithm: KeyManagementAlgorithm) throws(JOSEError) {
        let fits =
            switch self.material {
            case .p256: algorithm == .ecdhES
            case .rsa: algorithm != .ecdhES
            case .ed25519, .octets: false
            }
        guard fits else { throw JOSEError(.invalidKey, "the key does not fit \(algorithm.rawValue)") }
        if let own = self.algorithm, own != algorithm.rawValue { throw JOSEError(.invalidKey, "alg of the key") }
        if let use = self.use, use != "enc" { throw JOSEError(.invalidKey, "use of the key") }
    }
}

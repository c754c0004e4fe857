import Crypto
import CryptoExtras
public import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A key in the form of RFC 7517, RFC 7518, section 6, and RFC 8037, section 2: a P-256 key, an Ed25519 key, an RSA key
/// of 2048 to 8192 bits, or an octet sequence of 16 to 128 bytes. A value of this type is a valid key: a point lies on
/// its curve, and a private part belongs to its public part.
///
/// The description shows only the kind and the name.
public struct JWK: Hashable, Sendable, CustomStringConvertible {
    /// The numbers of an RSA private key (RFC 7518, section 6.3.2). The exponents `dp`, `dq` and `qi` are computed from
    /// these numbers.
    public struct RSAPrivateNumbers: Hashable, Sendable {
        /// The private exponent.
        public let d: [UInt8]
        /// The first prime factor.
        public let p: [UInt8]
        /// The second prime factor.
        public let q: [UInt8]
    }

    /// The numbers of the key. All numbers are big-endian.
    public enum Material: Hashable, Sendable {
        /// `EC` on `P-256`: two coordinates of 32 bytes and, in a private key, a scalar of 32 bytes.
        case p256(x: [UInt8], y: [UInt8], d: [UInt8]?)
        /// `OKP` on `Ed25519`: a public key of 32 bytes and, in a private key, a seed of 32 bytes.
        case ed25519(x: [UInt8], d: [UInt8]?)
        /// `RSA`: modulus and public exponent without leading zeros.
        case rsa(n: [UInt8], e: [UInt8], privateNumbers: RSAPrivateNumbers?)
        /// `oct`: the bytes of a symmetric key.
        case octets([UInt8])
    }

    /// The numbers of the key, by the kind of key.
    public let material: Material
    /// The key's name (`kid`).
    public var keyID: String?
    /// The purpose of the key (`use`): `sig` or `enc`.
    public var use: String?
    /// The only algorithm for the key (`alg`).
    public var algorithm: String?

    /// Creates a key after checking the numbers. Throws ``JOSEError``: `invalidKey`, `unsupportedKey`.
    public init(_ material: Material, keyID: String? = nil, use: String? = nil, algorithm: String? = nil)
        throws(JOSEError)
    {
        try Self.check(material)
        self.material = material
        self.keyID = keyID
        self.use = use
        self.algorithm = algorithm
    }

    /// Reads a key from its JSON form. Unknown members are ignored, as RFC 7517, section 4, requires.
    ///
    /// Throws ``JOSEError``: `malformed`, `invalidKey`, `unsupportedKey`.
    public init(json: JSONObject) throws(JOSEError) {
        do {
            let material: Material
            switch ExactText(try json.requiredString("kty")) {
            case "EC":
                let curve = try json.requiredString("crv")
                guard curve.hasSameBytes(as: "P-256") else {
                    throw JOSEError(.unsupportedKey, "curve \(curve.prefix(16))")
                }
                material = .p256(
                    x: try Self.bytes(json, "x"), y: try Self.bytes(json, "y"), d: try Self.optionalBytes(json, "d"))
            case "OKP":
                let curve = try json.requiredString("crv")
                guard curve.hasSameBytes(as: "Ed25519") else {
                    throw JOSEError(.unsupportedKey, "curve \(curve.prefix(16))")
                }
                material = .ed25519(x: try Self.bytes(json, "x"), d: try Self.optionalBytes(json, "d"))
            case "RSA":
                var numbers: RSAPrivateNumbers?
                if let d = try Self.optionalBytes(json, "d") {
                    guard json["oth"] == nil else { throw JOSEError(.unsupportedKey, "more than two primes") }
                    numbers = RSAPrivateNumbers(d: d, p: try Self.bytes(json, "p"), q: try Self.bytes(json, "q"))
                }
                material = .rsa(n: try Self.bytes(json, "n"), e: try Self.bytes(json, "e"), privateNumbers: numbers)
            case "oct":
                material = .octets(try Self.bytes(json, "k"))
            case let other:
                throw JOSEError(.unsupportedKey, "kty \(other.text.prefix(16))")
            }
            try self.init(
                material, keyID: try json.string("kid"), use: try json.string("use"), algorithm: try json.string("alg"))
        } catch let error as JSONError {
            throw JOSEError(.malformed, "key: \(error.reason)")
        } catch let error as JOSEError {
            throw error
        } catch {
            throw JOSEError(.malformed, "key")
        }
    }

    /// Reads another party's public key, for verification. A member of a private or symmetric key is refused, whatever
    /// the kind of the key, because the sender has given the private part away (RFC 9449, section 4.2; RFC 7518,
    /// section 6).
    ///
    /// Throws ``JOSEError`` `invalidKey` for a private part, otherwise as ``init(json:)``.
    public init(publicJSON json: JSONObject) throws(JOSEError) {
        for name in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] where json[name] != nil {
            throw JOSEError(.invalidKey, "a private part: \(name)")
        }
        try self.init(json: json)
    }

    /// `true` if the key can sign or decrypt.
    public var isPrivate: Bool {
        switch self.material {
        case .p256(_, _, let d), .ed25519(_, let d): d != nil
        case .rsa(_, _, let numbers): numbers != nil
        case .octets: true
        }
    }

    /// The key without its private part; `nil` for an octet sequence, which has no public part.
    public var publicKey: JWK? {
        var copy: JWK
        switch self.material {
        case .p256(let x, let y, _): copy = JWK(unchecked: .p256(x: x, y: y, d: nil))
        case .ed25519(let x, _): copy = JWK(unchecked: .ed25519(x: x, d: nil))
        case .rsa(let n, let e, _): copy = JWK(unchecked: .rsa(n: n, e: e, privateNumbers: nil))
        case .octets: return nil
        }
        copy.keyID = self.keyID
        copy.use = self.use
        copy.algorithm = self.algorithm
        return copy
    }

    /// The JSON form of the public part; `nil` for an octet sequence. A private part is never written.
    public var publicJSON: JSONObject? {
        guard self.publicKey != nil else { return nil }
        var json = self.requiredMembers
        json["kid"] = self.keyID.map(JSON.string)
        json["use"] = self.use.map(JSON.string)
        json["alg"] = self.algorithm.map(JSON.string)
        return json
    }

    /// The SHA-256 thumbprint of the key in base64url (RFC 7638).
    public var thumbprint: String {
        // RFC 7638, section 3.2: only the required members, in the order of their names, without white space.
        let members = self.requiredMembers.members.sorted { $0.name < $1.name }
        return Base64URL.encode(SHA256.hash(data: JSON.object(JSONObject(members)).serialized).map { $0 })
    }

    public var description: String {
        let kind =
            switch self.material {
            case .p256: "P-256"
            case .ed25519: "Ed25519"
            case .rsa: "RSA"
            case .octets: "octets"
            }
        return "JWK(\(kind), \(self.keyID ?? "without name"))"
    }

    private init(unchecked material: Material) { self.material = material }

    private var requiredMembers: JSONObject {
        switch self.material {
        case .p256(let x, let y, _):
            [
                "kty": .string("EC"), "crv": .string("P-256"), "x": .string(Base64URL.encode(x)),
                "y": .string(Base64URL.encode(y)),
            ]
        case .ed25519(let x, _):
            ["kty": .string("OKP"), "crv": .string("Ed25519"), "x": .string(Base64URL.encode(x))]
        case .rsa(let n, let e, _):
            ["kty": .string("RSA"), "n": .string(Base64URL.encode(n)), "e": .string(Base64URL.encode(e))]
        case .octets(let k): ["kty": .string("oct"), "k": .string(Base64URL.encode(k))]
        }
    }

    // MARK: Numbers

    private static func optionalBytes(_ json: JSONObject, _ name: String) throws -> [UInt8]? {
        guard let text = try json.string(name) else { return nil }
        guard let bytes = Base64URL.decode(text) else { throw JOSEError(.malformed, "\(name) is not base64url") }
        return bytes
    }

    private static func bytes(_ json: JSONObject, _ name: String) throws -> [UInt8] {
        guard let bytes = try self.optionalBytes(json, name) else { throw JOSEError(.malformed, "\(name) is missing") }
        return bytes
    }

    private static func check(_ material: Material) throws(JOSEError) {
        switch material {
        case .p256(let x, let y, let d):
            // RFC 7518, section 6.2.1.2: leading zeros are part of a coordinate.
            guard x.count == 32, y.count == 32 else {
                throw JOSEError(.invalidKey, "coordinates that are not 32 bytes")
            }
            guard let point = try? P256.Signing.PublicKey(x963Representation: [4] + x + y) else {
                throw JOSEError(.invalidKey, "not a point of the curve")
            }
            guard let d else { return }
            guard d.count == 32, let scalar = try? P256.Signing.PrivateKey(rawRepresentation: d),
                scalar.publicKey.rawRepresentation == point.rawRepresentation
            else { throw JOSEError(.invalidKey, "d does not belong to x and y") }
        case .ed25519(let x, let d):
            guard x.count == 32, (try? Curve25519.Signing.PublicKey(rawRepresentation: x)) != nil else {
                throw JOSEError(.invalidKey, "not an Ed25519 key")
            }
            guard let d else { return }
            guard d.count == 32, let seed = try? Curve25519.Signing.PrivateKey(rawRepresentation: d),
                Array(seed.publicKey.rawRepresentation) == x
            else { throw JOSEError(.invalidKey, "d does not belong to x") }
        case .rsa(let n, let e, let numbers):
            guard n.first != 0, e.first != 0 else { throw JOSEError(.invalidKey, "a number with leading zeros") }
            guard (256...1024).contains(n.count), (1...4).contains(e.count) else {
                throw JOSEError(.unsupportedKey, "an RSA key of another size")
            }
            guard (try? _RSA.Signing.PublicKey(n: n, e: e)) != nil else {
                throw JOSEError(.invalidKey, "not an RSA key")
            }
            guard let numbers else { return }
            guard
                (try? _RSA.Signing.PrivateKey(n: n, e: e, d: numbers.d, p: numbers.p, q: numbers.q)) != nil
            else { throw JOSEError(.invalidKey, "d, p and q do not belong to n") }
        case .octets(let k):
            guard (16...128).contains(k.count) else { throw JOSEError(.unsupportedKey, "\(k.count) octets") }
        }
    }
}

/// A JWK Set (RFC 7517, section 5).
public struct JWKSet: Hashable, Sendable {
    /// A key that this product cannot use.
    public struct Unusable: Hashable, Sendable {
        /// The key's name.
        public let keyID: String?
        /// The reason why the key cannot be used.
        public let error: JOSEError
    }

    /// The keys in their original order.
    public let keys: [JWK]
    /// The keys that were left out. The list serves to explain why such a key is missing.
    public let unusable: [Unusable]

    /// Creates a set of the keys.
    public init(_ keys: [JWK], unusable: [Unusable] = []) {
        self.keys = keys
        self.unusable = unusable
    }

    /// Reads a set of at most 64 keys.
    ///
    /// Keys that this product cannot use are left out, as RFC 7517, section 5, requires. Two keys of the same name are
    /// refused. A member that is null counts as absent.
    ///
    /// Throws ``JOSEError``: `malformed`, `tooLarge`.
    public init(parsing bytes: some Collection<UInt8>) throws(JOSEError) {
        var keys: [JWK] = []
        var unusable: [Unusable] = []
        do {
            guard case .object(let object) = try JSON(parsing: bytes, leavesOutNull: true) else {
                throw JOSEError(.malformed, "not a key set")
            }
            guard let members = try object.array("keys") else { throw JOSEError(.malformed, "keys is missing") }
            guard members.count <= 64 else { throw JOSEError(.tooLarge, "\(members.count) keys") }
            for member in members {
                guard case .object(let json) = member else { throw JOSEError(.malformed, "a key is not an object") }
                let key: JWK
                do throws(JOSEError) {
                    key = try JWK(json: json)
                } catch {
                    unusable.append(Unusable(keyID: try? json.string("kid"), error: error))
                    continue
                }
                if let name = key.keyID, keys.contains(where: { $0.keyID?.hasSameBytes(as: name) == true }) {
                    throw JOSEError(.malformed, "two keys of one name")
                }
                keys.append(key)
            }
        } catch let error as JSONError {
            throw JOSEError(error.code == .tooLarge ? .tooLarge : .malformed, "key set: \(error.reason)")
        } catch let error as JOSEError {
            throw error
        } catch {
            throw JOSEError(.malformed, "key set")
        }
        self.init(keys, unusable: unusable)
    }

    /// Returns the key with the name; `nil` if the set has none.
    public subscript(keyID: String) -> JWK? { self.keys.first { $0.keyID?.hasSameBytes(as: keyID) == true } }

    /// The JSON form of the public parts. Octet sequences are left out.
    public var publicJSON: JSONObject { ["keys": .array(self.keys.compactMap { $0.publicJSON.map(JSON.object) })] }
}

import Crypto
import Foundation

/// The provider's public keys (RFC 7517). Only P-256 keys count: the bank accepts signatures of no other kind.
struct KeySet: Decodable, Sendable {
    struct Key: Decodable, Sendable {
        let kty: String
        let crv: String?
        let kid: String?
        let use: String?
        let x: String?
        let y: String?
    }
    let keys: [Key]

    /// Returns the signing key with the given id.
    func signingKey(id: String) -> P256.Signing.PublicKey? {
        for key in self.keys
        where key.kid.map({ $0.isSame(as: id) }) == true && key.kty == "EC" && key.crv == "P-256"
            && key.use ?? "sig" == "sig"
        {
            guard let x = key.x.flatMap(Base64.decodeURL), let y = key.y.flatMap(Base64.decodeURL) else { continue }
            return try? P256.Signing.PublicKey(rawRepresentation: x + y)
        }
        return nil
    }
}

/// A compact JWS whose signature has not been checked yet.
struct UnverifiedToken {
    struct Header: Decodable {
        let alg: String
        let kid: String
        let typ: String?
        let crit: [String]?
    }
    let header: Header
    private let signed: Data
    private let payload: Data
    private let signature: Data

    init(_ compact: String) throws {
        let parts = compact.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let header = Base64.decodeURL(parts[0]), let payload = Base64.decodeURL(parts[1]),
            let signature = Base64.decodeURL(parts[2])
        else { throw ProviderError.refused("a token is not a compact JWS") }
        guard let decoded = try? JSONDecoder().decode(Header.self, from: header) else {
            throw ProviderError.refused("a token's header cannot be read")
        }
        self.header = decoded
        self.signed = Data("\(parts[0]).\(parts[1])".utf8)
        self.payload = payload
        self.signature = signature
    }

    /// Returns the claims after verifying the signature. Accepts ES256 and nothing else (RFC 8725, section 3.1).
    func claims<Claims: Decodable>(_ type: Claims.Type, keys: KeySet) throws -> Claims {
        guard self.header.alg == "ES256" else {
            throw ProviderError.refused(
                "a token is not signed with ES256: register the bank with --id-token-signed-response-alg ES256")
        }
        guard self.header.crit == nil, let key = keys.signingKey(id: self.header.kid),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: self.signature),
            key.isValidSignature(signature, for: self.signed)
        else { throw ProviderError.refused("a token's signature does not verify") }
        guard let claims = try? JSONDecoder().decode(type, from: self.payload) else {
            throw ProviderError.refused("a token's claims cannot be read")
        }
        return claims
    }
}

/// The recipients of a token: one audience, or a list of audiences (RFC 7519, section 4.1.3).
struct Audience: Decodable {
    let values: [String]

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let one = try? container.decode(String.self) {
            self.values = [one]
        } else {
            self.values = try container.decode([String].self)
        }
    }

    /// Returns `true` if the audience is the given name and no other.
    func isOnly(_ name: String) -> Bool { self.values.count == 1 && self.values[0].isSame(as: name) }
}

extension String {
    /// Returns `true` if both names are the same bytes of UTF-8. `==` would also take a KELVIN SIGN for the letter K.
    func isSame(as other: String) -> Bool { self.utf8.elementsEqual(other.utf8) }
}

/// The claims that the bank reads from an ID token (OpenID Connect Core 1.0, section 2).
struct IDTokenClaims: Decodable {
    let iss: String
    let sub: String
    let aud: Audience
    let azp: String?
    let exp: Double
    let iat: Double
    let nonce: String?

    /// Checks the claims by section 3.1.3.7. Throws ``ProviderError`` for the first rule that is broken.
    func validate(issuer: String, clientID: String, nonce: String, now: Date) throws {
        guard self.iss.isSame(as: issuer) else { throw ProviderError.refused("the ID token has another issuer") }
        guard self.aud.isOnly(clientID), (self.azp ?? clientID).isSame(as: clientID) else {
            throw ProviderError.refused("the ID token is for somebody else")
        }
        guard self.exp > now.timeIntervalSince1970, self.iat < now.timeIntervalSince1970 + BankLimits.clockSkew else {
            throw ProviderError.refused("the ID token is not of now")
        }
        guard self.nonce?.isSame(as: nonce) == true else {
            throw ProviderError.refused("the ID token answers another request")
        }
        guard !self.sub.isEmpty else { throw ProviderError.refused("the ID token names nobody") }
    }
}

/// The provider's statement that a person confirmed a text on their phone.
struct ConfirmationClaims: Decodable {
    let iss: String
    let sub: String
    let aud: Audience
    let exp: Double
    let sessionID: String
    let transactionHash: String
    let transactionContentType: String

    enum CodingKeys: String, CodingKey {
        case iss, sub, aud, exp
        case sessionID = "session_id"
        case transactionHash = "transaction_hash"
        case transactionContentType = "transaction_content_type"
    }

    static let tokenType = "transaction-confirmation+jwt"

    /// Checks that the statement is for this bank, this person, this session, and above all this text.
    ///
    /// The statement names the confirmed text by its hash, and the bank hashes the text on which the bank is about to
    /// act.
    func validate(issuer: String, clientID: String, subject: String, session: String, text: String, now: Date) throws {
        guard self.iss.isSame(as: issuer), self.aud.isOnly(clientID) else {
            throw ProviderError.refused("the confirmation is of another provider or for another service")
        }
        guard self.exp > now.timeIntervalSince1970 else { throw ProviderError.refused("the confirmation is too old") }
        guard self.sub.isSame(as: subject) else { throw ProviderError.refused("somebody else confirmed") }
        guard self.sessionID.isSame(as: session) else {
            throw ProviderError.refused("the confirmation is of another session")
        }
        guard self.transactionContentType == "text/plain",
            self.transactionHash.isSame(as: Base64.sha256URL(text))
        else {
            throw ProviderError.refused("another text was confirmed")
        }
    }
}

/// The encoding base64url without padding, as tokens use it.
enum Base64 {
    static func encodeURL(_ bytes: some DataProtocol) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }

    static func decodeURL(_ text: String) -> Data? {
        guard !text.contains(where: { "+/=".contains($0) }) else { return nil }
        let plain = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4))
    }

    static func sha256URL(_ text: String) -> String { self.encodeURL(Data(SHA256.hash(data: Data(text.utf8)))) }

    /// Returns `true` if two secrets are the same. The time of the comparison does not tell where the secrets differ:
    /// digests compare in constant time.
    static func isSame(_ left: String, _ right: String) -> Bool {
        SHA256.hash(data: Data(left.utf8)) == SHA256.hash(data: Data(right.utf8))
    }

    /// Returns random text of `count` bytes from the system's generator.
    static func random(_ count: Int = 32) -> String {
        self.encodeURL(SymmetricKey(size: SymmetricKeySize(bitCount: count * 8)).withUnsafeBytes { Data($0) })
    }
}

import Crypto
public import _Primitives

/// The secret that the client keeps while a person signs in (RFC 7636, section 4.1): 43 to 128 unreserved characters.
public struct CodeVerifier: Hashable, Sendable, CustomStringConvertible {
    /// The verifier as sent: a secret until the exchange of the code.
    public let text: String

    /// Creates a verifier. Throws ``OAuthError`` `invalid_grant` if the text has another length or other characters.
    public init(_ text: String) throws(OAuthError) {
        guard (43...128).contains(text.utf8.count), text.utf8.allSatisfy(FormEncoding.isUnreserved) else {
            throw OAuthError(.invalidGrant, "The code_verifier is malformed.")
        }
        self.text = text
    }

    /// Creates a verifier of 32 hexadecimal digits in lower case; `nil` for any other text.
    ///
    /// Such a verifier has at most 128 random bits and is shorter than RFC 7636, section 4.1, allows. A server accepts
    /// the form only after an operator has configured this.
    public init?(shortHexadecimal text: String) {
        let isDigit = { (byte: UInt8) in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        guard text.utf8.count == 32, text.utf8.allSatisfy(isDigit) else { return nil }
        self.text = text
    }

    /// Creates a new verifier of 256 random bits.
    public init(random: RandomSource) { self.text = random.token(byteCount: 32) }

    /// The challenge for the authorization request.
    public var challenge: CodeChallenge {
        CodeChallenge(digest: Array(SHA256.hash(data: Array(self.text.utf8))))
    }

    public var description: String { "CodeVerifier" }
}

/// The SHA-256 of a ``CodeVerifier`` (RFC 7636, section 4.2). This product does not have the method `plain`.
public struct CodeChallenge: Hashable, Sendable {
    /// 32 bytes.
    public let digest: [UInt8]

    /// The name of the only method (`code_challenge_method`).
    public static let method = "S256"

    /// Creates the challenge from a stored digest.
    public init(digest: [UInt8]) { self.digest = digest }

    /// Reads `code_challenge`. Throws ``OAuthError`` `invalid_request` if the text is not 32 bytes in base64url.
    public init(_ text: String) throws(OAuthError) {
        guard let digest = Base64URL.decode(text), digest.count == 32 else {
            throw OAuthError(.invalidRequest, "The code_challenge is not a SHA-256 in base64url.")
        }
        self.digest = digest
    }

    /// The value of `code_challenge`.
    public var text: String { Base64URL.encode(self.digest) }

    /// Returns `true` if the verifier belongs to this challenge. The comparison takes constant time.
    public func matches(_ verifier: CodeVerifier) -> Bool {
        constantTimeEqual(verifier.challenge.digest, self.digest)
    }
}

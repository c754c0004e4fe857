import Crypto
public import _Primitives

/// The secret that the client keeps while a person signs in (RFC 7636, section 4.1): 43 to 128 unreserved characters.
public struct CodeVerifier: Hashable, Sendable, CustomStringConvertible {
    /// The verifier as it is sent: a secret until the code is exchanged.
    public let text: String

    /// Throws ``OAuthError`` `invalid_grant` where the text has another length or other characters.
    public init(_ text: String) throws(OAuthError) {
        guard (43...128).contains(text.utf8.count), text.utf8.allSatisfy(FormEncoding.isUnreserved) else {
            throw OAuthError(.invalidGrant, "The code_verifier is malformed.")
        }
        self.text = text
    }

    /// A verifier of 32 hexadecimal digits in lower case, which is 128 random bits at most and shorter than RFC 7636,
    /// section 4.1, allows; `nil` for any other text. Only a server that an operator has told to takes one.
    public init?(shortHexadecimal text: String) {
        let isDigit = { (byte: UInt8) in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        guard text.utf8.count == 32, text.utf8.allSatisfy(isDigit) else { return nil }
        self.text = text
    }

    /// A new verifier of 256 random bits.
    public init(random: RandomSource) { self.text = random.token(byteCount: 32) }

    /// The challenge to send with the authorization request.
    public var challenge: CodeChallenge {
        CodeChallenge(digest: Array(SHA256.hash(data: Array(self.text.utf8))))
    }

    public var description: String { "CodeVerifier" }
}

/// The SHA-256 of a ``CodeVerifier`` (RFC 7636, section 4.2). The method `plain` does not exist here.
public struct CodeChallenge: Hashable, Sendable {
    /// 32 bytes.
    public let digest: [UInt8]

    /// The name of the only method (`code_challenge_method`).
    public static let method = "S256"

    /// The challenge of a digest that a store kept.
    public init(digest: [UInt8]) { self.digest = digest }

    /// Reads `code_challenge`. Throws ``OAuthError`` `invalid_request` where it is not 32 bytes in base64url.
    public init(_ text: String) throws(OAuthError) {
        guard let digest = Base64URL.decode(text), digest.count == 32 else {
            throw OAuthError(.invalidRequest, "The code_challenge is not a SHA-256 in base64url.")
        }
        self.digest = digest
    }

    /// The value of `code_challenge`.
    public var text: String { Base64URL.encode(self.digest) }

    /// Whether the verifier belongs to this challenge, in constant time.
    public func matches(_ verifier: CodeVerifier) -> Bool {
        constantTimeEqual(verifier.challenge.digest, self.digest)
    }
}

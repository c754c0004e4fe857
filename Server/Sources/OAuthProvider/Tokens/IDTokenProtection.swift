import JOSE
import OAuth
import Records
import _Primitives

/// The signing algorithm of a client's ID tokens and, at the client's wish, the client's key to which they are
/// encrypted (OpenID Connect Core 1.0, sections 2 and 16.14). Determined before a code or token is spent.
struct IDTokenProtection: Sendable {
    let algorithm: JWSAlgorithm
    private let recipient: (key: JWK, encryption: IDTokenEncryption)?

    fileprivate init(_ algorithm: JWSAlgorithm, recipient: (key: JWK, encryption: IDTokenEncryption)?) {
        self.algorithm = algorithm
        self.recipient = recipient
    }

    /// Returns the signed token in the form for the client. Throws `JOSEError`. Cost: nothing, or an agreement or an
    /// RSA encryption.
    func protected(_ signed: String, random: RandomSource) throws -> String {
        guard let recipient else { return signed }
        // RFC 7519, section 5.2: a JWT within.
        return try JWE.seal(
            Array(signed.utf8), to: recipient.key, algorithm: recipient.encryption.algorithm,
            encryption: recipient.encryption.content, header: ["cty": .string("JWT")], random: random)
    }
}

extension Tokens {
    /// Returns the protection of a client's ID tokens.
    ///
    /// Throws as ``Keys/require(_:of:)`` does, and `OAuthError` if the client's tokens are encrypted:
    /// `invalid_request` if the client has no key for the encryption, which is reported to the operator, and
    /// `temporarily_unavailable` if its keys cannot be fetched. Cost: as ``Keys/require(_:of:)`` and, if the keys
    /// are at an address of the client's, a call, at most one in each ``Limits/OAuth/keySetPause``.
    func idTokenProtection(of client: ClientRecord) async throws -> IDTokenProtection {
        let algorithm = client.settings.idTokenAlgorithm
        try await self.keys.require(algorithm)
        guard let encryption = client.settings.tokens.idTokenEncryption else {
            return IDTokenProtection(algorithm, recipient: nil)
        }
        let refusal = OAuthError(
            .invalidRequest, "The ID tokens of this client are encrypted, and it has no key for that.",
            detail: "its setting is --id-token-encrypted-response-alg \(encryption.algorithm.rawValue)")
        let keys: JWKSet
        do { keys = try await self.clients.keys(of: client, naming: nil) } catch let error as OutgoingCallError {
            guard client.settings.keySetAddress != nil else { throw refusal }
            throw OAuthError(
                .temporarilyUnavailable, "The keys of this client cannot be fetched now: ask again.",
                detail: error.reason)
        }
        guard let key = keys.recipient(for: encryption.algorithm) else {
            self.clients.note(
                client, "--id-token-encrypted-response-alg",
                "None of its keys is for \(encryption.algorithm.rawValue). The service has to have one with the use enc."
            )
            throw refusal
        }
        return IDTokenProtection(algorithm, recipient: (key, encryption))
    }
}

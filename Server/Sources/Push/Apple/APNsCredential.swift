public import Crypto
import JOSE
public import Settings
import Synchronization
import _Primitives

/// The credential for the Apple Push Notification service: the key of a developer team, and the token that the key signs.
public final class APNsCredential: Sendable {
    private struct Token: Sendable {
        let text: String
        let madeAt: Timestamp
    }

    private let key: SigningKey
    private let team: String
    private let limits: Limits.Push
    private let current = Mutex<Token?>(nil)

    /// Makes the credential of a team.
    ///
    /// - Parameters:
    ///   - key: The private key that Apple has made for the team.
    ///   - keyID: The name of the key at Apple.
    ///   - team: The name of the team at Apple.
    /// - Throws: `JOSEError` `invalidKey`.
    public init(key: P256.Signing.PrivateKey, keyID: String, team: String, limits: Limits.Push = Limits.Push()) throws {
        self.key = try SigningKey(kept: SecretBytes(key.rawRepresentation), algorithm: .es256, keyID: keyID)
        self.team = team
        self.limits = limits
    }

    /// Returns the provider token: the same token until the token has the age ``Limits/Push/providerTokenAge``. Apple
    /// refuses a token that is older than an hour or from the future, and a provider with another token each 20 minutes.
    func token(at now: Timestamp) throws -> String {
        try self.current.withLock { current in
            if let current, current.madeAt <= now, now - current.madeAt < self.limits.providerTokenAge {
                return current.text
            }
            let claims: JSONObject = ["iss": .string(self.team), "iat": .integer(now.seconds)]
            let text = try JWS.sign(JSON.object(claims).serialized, with: self.key)
            current = Token(text: text, madeAt: now)
            return text
        }
    }
}

import JOSE
import UAFClient
import _Primitives

/// The key to which a sign-in's tokens are bound, as a secret and as a signing key. Each sign-in has its own key, so
/// that no sign-in deletes the key of another sign-in.
struct ProofKey: Sendable {
    let secret: SecretBytes
    let signing: SigningKey

    /// Creates the key from its stored secret.
    init(_ secret: SecretBytes) throws {
        self.secret = secret
        self.signing = try SigningKey(kept: secret, algorithm: .es256, keyID: nil)
    }

    /// Creates a new key.
    static func make(random: RandomSource) throws -> Self { try Self(SigningKey.make(.es256, random: random)) }
}

/// The stored data of a session for the time after the app ends: one value that is always replaced as a whole.
struct KeptSession: Sendable {
    /// The identifier of a session, and the number of its renewals. Data for one mark is never written over data with
    /// another mark.
    struct Mark: Hashable, Sendable {
        /// A random identifier, made at the sign-in.
        let id: String
        /// The number of renewals of the kept session, by any process of the app.
        var generation: Int64
    }

    var mark: Mark
    /// The app and server of the session: ``SignInConfiguration/registration``.
    let registration: String
    /// The key to which the tokens are bound.
    let proofKey: ProofKey
    /// The key to which the tokens are encrypted; `nil` if the tokens are not guarded.
    var key: JWK?
    /// The refresh token, encrypted if `key` is set. From the arrival of a new token until the old token is removed,
    /// the array holds both, the new token first.
    var tokens: [String]

    /// The version of the format that this version of the app writes.
    private static let version: Int64 = 1

    var serialized: [UInt8] {
        var object: JSONObject = [
            "version": .integer(Self.version), "session": .string(self.mark.id),
            "generation": .integer(self.mark.generation),
            "for": .string(self.registration),
            "proof_key": .string(self.proofKey.secret.withBytes { Base64URL.encode(Array($0)) }),
            "tokens": .array(self.tokens.map(JSON.string)),
        ]
        if let json = self.key?.publicJSON { object["key"] = .object(json) }
        return JSON.object(object).serialized
    }

    init(mark: Mark, registration: String, proofKey: ProofKey, key: JWK?, tokens: [String]) {
        self.mark = mark
        self.registration = registration
        self.proofKey = proofKey
        self.key = key
        self.tokens = tokens
    }

    /// Reads a kept session. Throws `StorageError`: `newer` for a value of a later version, `corrupt` for every other
    /// failure.
    init(parsing bytes: [UInt8]) throws {
        do {
            guard case .object(let object) = try JSON(parsing: bytes, limits: JSONLimits(bytes: 65_536)) else {
                throw JSONError(.wrongType, "session")
            }
            let version: Int64 = try object.requiredInteger("version")
            guard version <= Self.version else { throw StorageError(.newer, "a session of version \(version)") }
            guard version == Self.version, let proofKey = Base64URL.decode(try object.requiredString("proof_key"))
            else { throw JSONError(.wrongType, "version") }
            self.mark = Mark(
                id: try object.requiredString("session"), generation: try object.requiredInteger("generation"))
            self.registration = try object.requiredString("for")
            self.proofKey = try ProofKey(SecretBytes(proofKey))
            self.tokens = try object.strings("tokens") ?? []
            self.key = try object.object("key").map { try JWK(publicJSON: $0) }
        } catch let error as StorageError {
            throw error
        } catch {
            throw StorageError(.corrupt, "the kept session is none")
        }
    }
}

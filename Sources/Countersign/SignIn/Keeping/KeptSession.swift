import JOSE
import UAFClient
import _Primitives

/// The key that a sign-in's tokens are bound to, in both of its forms: one of its own for each sign-in, so that no sign-in
/// takes another one's away.
struct ProofKey: Sendable {
    let secret: SecretBytes
    let signing: SigningKey

    /// A key as it was kept.
    init(_ secret: SecretBytes) throws {
        self.secret = secret
        self.signing = try SigningKey(kept: secret, algorithm: .es256, keyID: nil)
    }

    /// A new one.
    static func make(random: RandomSource) throws -> Self { try Self(SigningKey.make(.es256, random: random)) }
}

/// What is kept of a session when the app ends, one value that is replaced as a whole.
struct KeptSession: Sendable {
    /// Which session it is, and how often it was renewed: what was made for one of these is written over no other.
    struct Mark: Hashable, Sendable {
        /// Drawn at the sign-in.
        let id: String
        /// How often what is kept was renewed, by whichever process of the app.
        var generation: Int64
    }

    var mark: Mark
    /// Whose it is at which server: ``SignInConfiguration/registration``.
    let registration: String
    /// What the tokens are bound to.
    let proofKey: ProofKey
    /// What the tokens are encrypted to; `nil` where they are not guarded.
    var key: JWK?
    /// The refresh token, encrypted where there is a key; and after it the one before, from the moment that the new one is
    /// here to the moment that the old one is forgotten.
    var tokens: [String]

    /// Which form of it this version of the app writes.
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

    /// Throws `StorageError`: `newer` for what a later version has written, `corrupt` for everything else.
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

import Crypto
import JOSE
import UAFClient
import _Primitives

/// A box that encrypts data to a key whose private half the device releases only for a finger or a face.
///
/// Encrypting needs no person. A token that was renewed while the app runs is encrypted again without a question, and
/// no private key stays in memory.
struct GuardedBox: Sendable {
    let keys: any BiometricKeys
    let name: String
    let random: RandomSource

    /// Creates a new key in place of an earlier key. Data that was encrypted to the earlier key is lost.
    func makeKey(guardedBy guardian: BiometricGuard) async throws -> JWK {
        let scalar = try SigningKey.make(.es256, random: self.random)
        let key = try Self.key(scalar)
        try await self.keys.keep(scalar, as: self.name, guardedBy: guardian)
        guard let publicKey = key.publicKey else { throw SignInError(.storageError, "a key without a public part") }
        return publicKey
    }

    /// Encrypts a text to the key. The function needs no box: neither a sensor nor a person.
    static func seal(_ text: String, to key: JWK, random: RandomSource) throws -> String {
        try JWE.seal(Array(text.utf8), to: key, algorithm: .ecdhES, random: random)
    }

    /// Asks for a finger or a face, once. Throws ``SignInError`` for every result other than a match, and the errors of
    /// ``BiometricKeys/release(_:_:)``.
    func open(_ prompt: SystemPrompt) async throws -> OpenedBox {
        let release: BiometricRelease
        do {
            release = try await self.keys.release(self.name, prompt)
        } catch let error as StorageError where error.code == .corrupt {
            throw SignInError(.notSignedIn, "what is guarded cannot be read")
        }
        switch release {
        case .released(let scalar): return OpenedBox(key: try Self.key(scalar), random: self.random)
        case .cancelled: throw SignInError(.cancelled, "the person gave up in the dialog")
        case .noMatch(let hint): throw SignInError(.biometricsNotMatched, hint)
        case .lockedOut: throw SignInError(.biometricsLockedOut)
        case .changed: throw SignInError(.biometricsChanged)
        case .missing: throw SignInError(.notSignedIn, "nothing is guarded")
        }
    }

    private static func key(_ scalar: SecretBytes) throws -> JWK {
        try scalar.withBytes { bytes in
            guard let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: bytes) else {
                throw SignInError(.notSignedIn, "a guarded key is none")
            }
            let point = Array(key.publicKey.rawRepresentation)
            return try JWK(.p256(x: Array(point[..<32]), y: Array(point[32...]), d: Array(bytes)))
        }
    }
}

/// A box after a match: its data can be read.
struct OpenedBox: Sendable {
    fileprivate let key: JWK
    fileprivate let random: RandomSource

    /// The public key for encrypting data into the box.
    var publicKey: JWK? { self.key.publicKey }

    /// Decrypts a text. Throws ``SignInError`` `notSignedIn` if the text was encrypted to another key.
    func read(_ sealed: String) throws -> String {
        let opened: JWE
        do {
            opened = try JWE(
                opening: sealed, with: self.key, allowing: [.ecdhES], encryptions: [.a256GCM], random: self.random)
        } catch {
            throw SignInError(.notSignedIn, "what is guarded does not open")
        }
        return String(decoding: opened.plaintext, as: UTF8.self)
    }
}

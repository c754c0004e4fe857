import Crypto
import JOSE
import Synchronization
import _Primitives

/// The access tokens, of either face, that this process has made, or verified a while ago: their signature need not be verified again.
/// Whether they are valid, whether their key is, and whether they were taken back is asked each time all the same.
///
/// A token is kept as the hash of its text and the name of its key, a hundred bytes; what it says is read from it again,
/// which costs a tenth of its signature.
///
/// Two generations: where the younger one is full it takes the place of the elder. So the last tokens are there, as many as
/// fit, and none costs a search for another that has to go.
final class VerifiedTokens: Sendable {
    private struct Generations {
        var young: [SHA256Digest: String] = [:]
        var old: [SHA256Digest: String] = [:]
    }

    private let size: Int
    private let generations = Mutex(Generations())

    init(size: Int) { self.size = size }

    /// What a token says whose signature is known to be good, and the key that signed it; `nil` where nothing is known of
    /// it. Cost: one hash.
    ///
    /// - Parameter type: The `typ` that it was made or verified under: another kind of our own tokens is not this kind.
    func claims(of text: String, type: String) -> (claims: JWTClaims, keyID: String)? {
        let digest = Self.name(of: text, type: type)
        let known = self.generations.withLock { $0.young[digest] ?? $0.old[digest] }
        guard let keyID = known else { return nil }
        // The very text that was signed: what it says needs no second look at its signature.
        let parts = text.splitBytes(at: ".")
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
            case .object(let members)? = try? JSON(parsing: payload), let claims = try? JWTClaims(members: members)
        else { return nil }
        return (claims, keyID)
    }

    /// Keeps that the signature of a token of that `typ` is good. Cost: one hash.
    func keep(_ text: String, type: String, keyID: String) {
        let digest = Self.name(of: text, type: type)
        self.generations.withLock { generations in
            if generations.young.count >= self.size {
                generations.old = generations.young
                generations.young = [:]
            }
            generations.young[digest] = keyID
        }
    }

    private static func name(of text: String, type: String) -> SHA256Digest {
        // No type has a space in it.
        SHA256.hash(data: Array(type.utf8) + [UInt8(ascii: " ")] + Array(text.utf8))
    }
}

import Crypto
import JOSE
import Synchronization
import _Primitives

/// The access tokens, of either face, that this process has made, or verified a while ago. Their signatures need not be
/// verified again. The validity of the token and of its key, and a revocation, are still checked each time.
///
/// A token is kept as the hash of its text and the name of its key, a hundred bytes. The claims are read again from the
/// text, which costs a tenth of its signature.
///
/// The tokens are in two generations. When the younger generation is full, it replaces the older. So the latest tokens
/// are present, as many as fit, and no token costs a search for another token that has to go.
final class VerifiedTokens: Sendable {
    private struct Generations {
        var young: [SHA256Digest: String] = [:]
        var old: [SHA256Digest: String] = [:]
    }

    private let size: Int
    private let generations = Mutex(Generations())

    init(size: Int) { self.size = size }

    /// Returns the claims of a token with a known good signature, and the key that signed the token; `nil` for an
    /// unknown token. Cost: one hash.
    ///
    /// - Parameter type: The `typ` that the token was made or verified under. Another kind of this provider's own
    ///   tokens is not this kind.
    func claims(of text: String, type: String) -> (claims: JWTClaims, keyID: String)? {
        let digest = Self.name(of: text, type: type)
        let known = self.generations.withLock { $0.young[digest] ?? $0.old[digest] }
        guard let keyID = known else { return nil }
        // The hash names the very text that was signed, so the claims need no second look at the signature.
        let parts = text.splitBytes(at: ".")
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
            case .object(let members)? = try? JSON(parsing: payload), let claims = try? JWTClaims(members: members)
        else { return nil }
        return (claims, keyID)
    }

    /// Remembers that the signature of a token of that `typ` is good. Cost: one hash.
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

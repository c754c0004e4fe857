import Crypto
import JOSE
import Synchronization

/// What access tokens say that this process has made, or verified a while ago: their signature need not be verified again.
/// Whether they are valid, whether their key is, and whether they were taken back is asked each time all the same.
///
/// Two generations: where the younger one is full it takes the place of the elder. So the last tokens are there, as many as
/// fit, and none costs a search for another that has to go.
final class VerifiedTokens: Sendable {
    private struct Entry {
        let claims: JWTClaims
        let keyID: String
    }

    private struct Generations {
        var young: [SHA256Digest: Entry] = [:]
        var old: [SHA256Digest: Entry] = [:]
    }

    private let size: Int
    private let generations = Mutex(Generations())

    init(size: Int) { self.size = size }

    /// What a token says that was kept, and the key that signed it. Cost: one hash.
    func claims(of text: String) -> (claims: JWTClaims, keyID: String)? {
        let digest = SHA256.hash(data: Array(text.utf8))
        return self.generations.withLock { $0.young[digest] ?? $0.old[digest] }.map { ($0.claims, $0.keyID) }
    }

    /// Keeps what a token says whose signature is good. Cost: one hash.
    func keep(_ claims: JWTClaims, of text: String, keyID: String) {
        let digest = SHA256.hash(data: Array(text.utf8))
        self.generations.withLock { generations in
            if generations.young.count >= self.size {
                generations.old = generations.young
                generations.young = [:]
            }
            generations.young[digest] = Entry(claims: claims, keyID: keyID)
        }
    }
}

import Ceremony
import Crypto
import JOSE
import Store
import _Primitives

/// The proof that a request shows, read once, and whose it says it is. Nothing of it is to be trusted before it is verified.
struct ProofClaim {
    /// The proof, as it came.
    let proof: String
    /// Whose it says it is: to find the key.
    let claimant: String
    private let token: UnverifiedJWS

    /// `nil` for a request that shows none, or what cannot be one.
    init?(_ call: IdentityCall) {
        guard let proof = call.proof, let token = try? DeviceProof.token(of: proof), let id = token.header.keyID,
            (1...Limits.Fixed.activationLetters).contains(id.utf8.count)
        else { return nil }
        (self.proof, self.claimant, self.token) = (proof, id, token)
    }

    /// By what the request of this proof is known again, if it was answered; `nil` where the proof has no name.
    var unverifiedName: RequestName? {
        self.token.uncheckedClaim("jti").map {
            RequestName(
                caller: self.claimant, request: $0, hash: Array(SHA256.hash(data: Array(self.proof.utf8))))
        }
    }

    /// Whether the proof says that it is of this request to the server of that address. Who has written it is not looked at.
    func names(_ call: IdentityCall, at issuer: String) -> Bool {
        [
            ("aud", issuer), ("htm", call.method), ("htu", issuer + call.path),
            ("bdh", Base64URL.encode(Array(SHA256.hash(data: call.body)))),
        ].allSatisfy { name, value in self.token.uncheckedClaim(name)?.hasSameBytes(as: value) ?? false }
    }

    /// Verifies the proof of a request to the server of that address.
    ///
    /// Throws `IdentityProblem`: `notProven`, and `clockSkew` where all is right but the time, which only the key's holder
    /// is told.
    func verified(of call: IdentityCall, by key: VerificationKey, at issuer: String, now: Timestamp)
        throws(IdentityProblem) -> DeviceProof
    {
        do throws(JOSEError) {
            return try DeviceProof(
                verifying: self.token,
                of: DeviceProof.Request(
                    audience: issuer, method: call.method, target: issuer + call.path, body: call.body),
                with: key, at: now)
        } catch {
            throw IdentityProblem([.expired, .notYetValid].contains(error.code) ? .clockSkew : .notProven)
        }
    }
}

import Ceremony
import Crypto
import JOSE
import Records
import Settings
import _Primitives

/// The unverified proof of a request, read once, with the claimed sender. No part may be trusted before the
/// verification.
struct ProofClaim {
    /// The proof, as received.
    let proof: String
    /// The claimed sender, for finding the key.
    let claimant: String
    private let token: UnverifiedJWS

    /// Reads the proof of a request; `nil` for a request without a proof, or with a text that cannot be a proof.
    init?(_ call: IdentityCall) {
        guard let proof = call.proof, let token = try? DeviceProof.token(of: proof), let id = token.header.keyID,
            (1...Limits.Fixed.activationLetters).contains(id.utf8.count)
        else { return nil }
        (self.proof, self.claimant, self.token) = (proof, id, token)
    }

    /// The name by which the request of this proof is recognised, if the request was answered; `nil` if the proof has
    /// no name.
    var unverifiedName: RequestName? {
        self.token.uncheckedClaim("jti").map {
            RequestName(
                caller: self.claimant, request: $0, hash: Array(SHA256.hash(data: Array(self.proof.utf8))))
        }
    }

    /// `true` if the proof claims to be for this request to the server of this address. The author of the proof is not
    /// checked.
    func names(_ call: IdentityCall, at issuer: String) -> Bool {
        [
            ("aud", issuer), ("htm", call.method), ("htu", issuer + call.path),
            ("bdh", Base64URL.encode(Array(SHA256.hash(data: call.body)))),
        ].allSatisfy { name, value in self.token.uncheckedClaim(name)?.hasSameBytes(as: value) ?? false }
    }

    /// Verifies the proof of a request to the server of this address.
    ///
    /// Throws `IdentityProblem`: `notProven`, and `clockSkew` if only the time is wrong. Only the holder of the key
    /// learns of the time.
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

import UAF
import UAFRelyingParty
import _Primitives

/// What ``FactorVerifier`` must not be: it ends at the first factor that is wrong or missing, so that the time tells which.
/// It stands beside it so that a test of work or of time is seen to be able to fail.
struct StoppingFactorVerifier {
    let table: AuthenticatorTypeTable
    let isSignature: FactorVerifier.SignatureCheck

    func judge(_ message: [UInt8], matrix: AuthenticatorMatrix, keys: [RegisteredCredential]) throws -> Bool {
        let response = try AuthenticationResponse(parsing: message)
        let hash = FinalChallengeParams.hash(ofEncoded: response.fcParams)
        let assertions = try response.assertions.map { try AuthenticationAssertion(parsing: $0.bytes) }
        let types = assertions.compactMap { self.table.type(of: $0.signedData.aaid) }
        guard matrix.alternatives.contains(where: { Set($0) == Set(types) && $0.count == assertions.count }) else {
            return false
        }
        for assertion in assertions {
            let id = CredentialID(aaid: assertion.signedData.aaid, keyID: assertion.signedData.keyID)
            guard let key = keys.first(where: { $0.id == id }),
                constantTimeEqual(assertion.signedData.finalChallengeHash, hash),
                self.isSignature(
                    try SignatureVerification(
                        publicKey: key.publicKey, format: key.publicKeyFormat, algorithm: key.signatureAlgorithm),
                    assertion.signature, assertion.signedData.signedBytes)
            else { return false }
        }
        return true
    }
}

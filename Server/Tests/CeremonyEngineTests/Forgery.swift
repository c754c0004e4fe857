import UAF
import UAFRelyingParty
import _Primitives

/// Answers that name keys which nobody here holds: well-formed in everything, and signed by nothing.
enum Forgery {
    /// The names of the keys that a request asks for.
    static func keys(_ request: ReturnUAFRequest) throws -> [CredentialID] {
        let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
        return message.policy.accepted.flatMap { $0 }.flatMap { criterion in
            zip(criterion.aaid ?? [], criterion.keyIDs ?? []).map { CredentialID(aaid: $0, keyID: $1) }
        }
    }

    /// An answer to an authentication request in the name of `keys`, each with a signature of zeros.
    static func authentication(
        _ request: ReturnUAFRequest, keys: [CredentialID], algorithm: SignatureAlgorithm = .p256Raw,
        finalChallengeHash: [UInt8]? = nil, challenge: Challenge? = nil
    ) throws -> SendUAFResponse {
        let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
        let params = try Self.params(message.header, challenge ?? message.challenge)
        let hash = finalChallengeHash ?? FinalChallengeParams.hash(ofEncoded: params)
        let assertions = try keys.map { key in
            let data = try SignedData(
                aaid: key.aaid, authenticatorVersion: 1, mode: .userVerified, signatureAlgorithm: algorithm,
                nonce: [UInt8](repeating: 1, count: 16), finalChallengeHash: hash, transactionContentHash: [],
                keyID: key.keyID, signCounter: 9)
            let assertion = AuthenticationAssertion(signedData: data, signature: [UInt8](repeating: 0, count: 64))
            return EncodedAssertion(bytes: try assertion.serialized())
        }
        let response = AuthenticationResponse(header: message.header, fcParams: params, assertions: assertions)
        return SendUAFResponse(uafResponse: String(decoding: response.serialized, as: UTF8.self))
    }

    /// An answer to a registration request with keys of these names, whose attestation is a signature of zeros.
    static func registration(_ request: ReturnUAFRequest, keys: [CredentialID]) throws -> SendUAFResponse {
        let message = try RegistrationRequest(parsing: (request.uafRequest ?? "").utf8)
        let params = try Self.params(message.header, message.challenge)
        let assertions = try keys.map { key in
            let data = try KeyRegistrationData(
                aaid: key.aaid, authenticatorVersion: 1, signatureAlgorithm: .p256Raw, publicKeyFormat: .eccX962Raw,
                finalChallengeHash: FinalChallengeParams.hash(ofEncoded: params), keyID: key.keyID, signCounter: 1,
                registrationCounter: 1, publicKey: try TestPhone().publicKey)
            let assertion = RegistrationAssertion(
                keyRegistrationData: data,
                attestation: Attestation(type: .basicSurrogate, signature: [UInt8](repeating: 0, count: 64)))
            return EncodedAssertion(bytes: try assertion.serialized())
        }
        let response = RegistrationResponse(header: message.header, fcParams: params, assertions: assertions)
        return SendUAFResponse(uafResponse: String(decoding: response.serialized, as: UTF8.self))
    }

    /// A name that no server has ever heard of.
    static func unknownKey(_ aaid: AAID) throws -> CredentialID {
        CredentialID(aaid: aaid, keyID: try KeyID(RandomSource.system.bytes(32)))
    }

    private static func params(_ header: OperationHeader, _ challenge: Challenge) throws -> String {
        let facet = try FacetID(TestPhone.facet)
        return FinalChallengeParams(
            appID: header.appID.isEmpty ? facet.text : header.appID, challenge: challenge, facetID: facet
        ).encoded
    }
}

extension TestPhone {
    /// The name of its key.
    var id: CredentialID { CredentialID(aaid: self.aaid, keyID: self.keyID) }
}

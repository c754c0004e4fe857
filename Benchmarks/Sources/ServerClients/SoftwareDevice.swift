import Crypto
package import UAF
import _Primitives

/// A registered key with everything for its answers. One thread owns the value.
package struct SoftwareDevice: Sendable {
    /// The facet of the terminal phone, which the server trusts without configuration.
    static let facetID = "linux:program:countersign-phone"
    private static let model = AuthenticatorModel(factor: .pin, keyStore: .file)

    package let username: String
    private let key: P256.Signing.PrivateKey
    private let keyID: KeyID
    /// The device's own network address, behind the proxy that the caller plays.
    package let address: String
    /// The counter of the last signature.
    package private(set) var counter: UInt32 = 0

    package init(username: String) throws {
        self.username = username
        self.key = P256.Signing.PrivateKey()
        self.keyID = try KeyID(RandomSource.system.bytes(32))
        self.address = newAddress()
    }

    /// Returns the body that answers a registration request.
    package func registration(for request: RegistrationRequest) throws -> [UInt8] {
        let parameters = try self.parameters(request.header.appID, request.challenge)
        let data = try KeyRegistrationData(
            aaid: Self.model.aaid, authenticatorVersion: AuthenticatorModel.authenticatorVersion,
            signatureAlgorithm: .p256Raw, publicKeyFormat: AuthenticatorModel.publicKeyFormat,
            finalChallengeHash: FinalChallengeParams.hash(ofEncoded: parameters), keyID: self.keyID, signCounter: 0,
            registrationCounter: 1,
            publicKey: try P256Encoding.bytes(of: self.key.publicKey, format: AuthenticatorModel.publicKeyFormat))
        let assertion = RegistrationAssertion(
            keyRegistrationData: data,
            attestation: Attestation(type: .basicSurrogate, signature: try self.signature(over: data.signedBytes)))
        let response = RegistrationResponse(
            header: self.header(of: request.header), fcParams: parameters,
            assertions: [EncodedAssertion(bytes: try assertion.serialized())])
        return SendUAFResponse(
            uafResponse: String(decoding: response.serialized, as: UTF8.self),
            context: ["deviceName": .string("Load generator")]
        ).serialized
    }

    /// Returns the body that answers an authentication request, with the counter raised. A transaction is confirmed.
    package mutating func authentication(for request: AuthenticationRequest) throws -> [UInt8] {
        self.counter += 1
        let parameters = try self.parameters(request.header.appID, request.challenge)
        let transaction = request.transaction.first
        let data = try SignedData(
            aaid: Self.model.aaid, authenticatorVersion: AuthenticatorModel.authenticatorVersion,
            mode: transaction == nil ? .userVerified : .transactionConfirmed, signatureAlgorithm: .p256Raw,
            nonce: RandomSource.system.bytes(8),
            finalChallengeHash: FinalChallengeParams.hash(ofEncoded: parameters),
            transactionContentHash: transaction?.contentHash ?? [], keyID: self.keyID, signCounter: self.counter)
        let assertion = AuthenticationAssertion(signedData: data, signature: try self.signature(over: data.signedBytes))
        let response = AuthenticationResponse(
            header: self.header(of: request.header), fcParams: parameters,
            assertions: [EncodedAssertion(bytes: try assertion.serialized())])
        return SendUAFResponse(uafResponse: String(decoding: response.serialized, as: UTF8.self)).serialized
    }

    private func parameters(_ appID: String, _ challenge: Challenge) throws -> String {
        FinalChallengeParams(
            appID: appID.isEmpty ? Self.facetID : appID, challenge: challenge, facetID: try FacetID(Self.facetID)
        ).encoded
    }

    private func header(of request: OperationHeader) -> OperationHeader {
        var header = request
        if header.appID.isEmpty { header.appID = Self.facetID }
        return header
    }

    private func signature(over bytes: [UInt8]) throws -> [UInt8] {
        Array(try self.key.signature(for: bytes).rawRepresentation)
    }
}

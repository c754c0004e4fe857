import Ceremony
import CountersignTestKit
import Crypto
import Foundation
import Secp256k1TestKeys
import UAF
import _Primitives

/// A phone with one key, made of the message types alone: it can also answer wrongly, on demand.
final class TestPhone: Sendable {
    /// What the phone does wrong.
    enum Fault: Sendable, CaseIterable {
        case signature, otherChallenge, otherFacet, otherHash, noServerData, otherServerData, unknownKey, unknownModel
    }

    /// A key of one of the curves.
    private enum SigningKey {
        case p256(P256.Signing.PrivateKey)
        case secp256k1(Secp256k1TestKey)

        init(for algorithm: SignatureAlgorithm) {
            self = algorithm.keyKind == .secp256k1 ? .secp256k1(Secp256k1TestKey()) : .p256(P256.Signing.PrivateKey())
        }

        var point: [UInt8] {
            switch self {
            case .p256(let key): Array(key.publicKey.x963Representation)
            case .secp256k1(let key): key.point
            }
        }

        func signature(_ bytes: [UInt8], _ algorithm: SignatureAlgorithm) throws -> [UInt8] {
            switch self {
            case .p256(let key): try P256Encoding.bytes(of: key.signature(for: Data(bytes)), algorithm: algorithm)
            case .secp256k1(let key): key.signature(bytes, algorithm)
            }
        }
    }

    static let facet = "test:phone"
    let aaid: AAID
    let keyID: KeyID
    private let key: SigningKey
    private let algorithm: SignatureAlgorithm
    /// What attests its keys; `nil`: they do themselves.
    private let certificates: TestCertificates?
    /// The certificates that it sends.
    private let chain: [[UInt8]]
    /// The pictures that it says it shows.
    private let displays: [DisplayPNGCharacteristics]

    /// A phone of another maker's, which sends `count` certificates, the leaf first.
    init(aaid: AAID, attestedBy certificates: TestCertificates? = nil, sending count: Int = 2) throws {
        self.aaid = aaid
        self.keyID = try KeyID(RandomSource.system.bytes(32))
        self.key = SigningKey(for: .p256Raw)
        self.algorithm = .p256Raw
        self.displays = []
        self.certificates = certificates
        self.chain = Array(certificates?.chain.prefix(count) ?? [])
    }

    init(
        factor: AuthenticatorModel.Factor = .pin, displays: [DisplayPNGCharacteristics] = [],
        algorithm: SignatureAlgorithm = .p256Raw
    ) throws {
        self.key = SigningKey(for: algorithm)
        self.algorithm = algorithm
        self.displays = displays
        self.aaid = AuthenticatorModel(factor: factor, keyStore: .file).aaid
        self.keyID = try KeyID(RandomSource.system.bytes(32))
        self.certificates = nil
        self.chain = []
    }

    var publicKey: [UInt8] { self.key.point }

    /// The token within a link or a QR code.
    static func token(_ code: String) throws -> String { try OutOfBandPayload(scanned: code).redeemData.token }

    private func header(_ header: OperationHeader, _ fault: Fault?) -> OperationHeader {
        var header = header
        switch fault {
        case .noServerData: header.serverData = nil
        case .otherServerData: header.serverData = String((header.serverData ?? "").reversed())
        default: break
        }
        return header
    }

    private func params(_ header: OperationHeader, _ challenge: Challenge, _ fault: Fault?) throws -> String {
        let facet = try FacetID(fault == .otherFacet ? "test:another" : Self.facet)
        return FinalChallengeParams(
            appID: header.appID.isEmpty ? facet.text : header.appID,
            challenge: fault == .otherChallenge ? Challenge(random: .system) : challenge, facetID: facet
        ).encoded
    }

    private func signature(_ bytes: [UInt8], _ fault: Fault?) throws -> [UInt8] {
        let signer = fault == .signature ? SigningKey(for: self.algorithm) : self.key
        return try signer.signature(bytes, self.algorithm)
    }

    private func hash(_ params: String, _ fault: Fault?) -> [UInt8] {
        fault == .otherHash ? [UInt8](repeating: 0, count: 32) : FinalChallengeParams.hash(ofEncoded: params)
    }

    /// The answer to a registration request. `telling` makes extensions that are signed with it, of the final challenge.
    func register(
        _ request: ReturnUAFRequest, name: String = "Alice's phone", fault: Fault? = nil, counter: UInt32 = 1,
        telling: (_ finalChallenge: String) throws -> [AssertionExtension] = { _ in [] }
    ) throws -> SendUAFResponse {
        let message = try RegistrationRequest(parsing: (request.uafRequest ?? "").utf8)
        let params = try self.params(message.header, message.challenge, fault)
        let data = try KeyRegistrationData(
            aaid: fault == .unknownModel ? try AAID("ABCD#0001") : self.aaid, authenticatorVersion: 1,
            signatureAlgorithm: self.algorithm, publicKeyFormat: .eccX962Raw,
            finalChallengeHash: self.hash(params, fault),
            keyID: self.keyID, signCounter: counter, registrationCounter: 1, publicKey: self.publicKey,
            extensions: try telling(params))
        let attestation =
            if let certificates {
                Attestation(
                    type: .basicFull, signature: try certificates.leafKey.sign(data.signedBytes, .p256Raw),
                    certificates: self.chain)
            } else {
                Attestation(type: .basicSurrogate, signature: try self.signature(data.signedBytes, fault))
            }
        let assertion = RegistrationAssertion(keyRegistrationData: data, attestation: attestation)
        let response = RegistrationResponse(
            header: self.header(message.header, fault), fcParams: params,
            assertions: [EncodedAssertion(bytes: try assertion.serialized(), pngCharacteristics: self.displays)])
        return SendUAFResponse(
            uafResponse: String(decoding: response.serialized, as: UTF8.self), context: ["deviceName": .string(name)])
    }

    /// The answer to an authentication request. `content` is what the phone showed, where there is a transaction; `telling`
    /// makes extensions that are signed with it, of the final challenge.
    func authenticate(
        _ request: ReturnUAFRequest, counter: UInt32, content: [UInt8]? = nil, fault: Fault? = nil,
        telling: (_ finalChallenge: String) throws -> [AssertionExtension] = { _ in [] }
    ) throws -> SendUAFResponse {
        let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
        let params = try self.params(message.header, message.challenge, fault)
        let shown = content ?? message.transaction.first?.content
        let data = try SignedData(
            aaid: fault == .unknownModel ? try AAID("ABCD#0001") : self.aaid, authenticatorVersion: 1,
            mode: shown == nil ? .userVerified : .transactionConfirmed, signatureAlgorithm: self.algorithm,
            nonce: RandomSource.system.bytes(16), finalChallengeHash: self.hash(params, fault),
            transactionContentHash: shown.map { Array(SHA256.hash(data: $0)) } ?? [],
            keyID: fault == .unknownKey ? try KeyID(RandomSource.system.bytes(32)) : self.keyID, signCounter: counter,
            extensions: try telling(params))
        let assertion = AuthenticationAssertion(
            signedData: data, signature: try self.signature(data.signedBytes, fault))
        let response = AuthenticationResponse(
            header: self.header(message.header, fault), fcParams: params,
            assertions: [EncodedAssertion(bytes: try assertion.serialized())])
        return SendUAFResponse(uafResponse: String(decoding: response.serialized, as: UTF8.self))
    }

    /// The report of a client that gives up.
    func giveUp(_ request: ReturnUAFRequest, clientErrorCode: Int, asmStatusCode: Int = 3) throws -> SendUAFResponse {
        let message = try UAFRequest(parsing: (request.uafRequest ?? "").utf8)
        let bytes: [UInt8] =
            switch message {
            case .registration(let request):
                RegistrationResponse(header: request.header, fcParams: "", assertions: []).serialized
            default: AuthenticationResponse(header: message.header, fcParams: "", assertions: []).serialized
            }
        return SendUAFResponse(
            uafResponse: String(decoding: bytes, as: UTF8.self),
            context: [
                "clientErrorCode": .integer(Int64(clientErrorCode)), "asmStatusCode": .integer(Int64(asmStatusCode)),
            ])
    }
}

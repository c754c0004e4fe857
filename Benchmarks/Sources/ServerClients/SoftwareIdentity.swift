import Ceremony
import Crypto
import Foundation
import JOSE
import UAF
import _Primitives

/// The published data of a server of personalised identities, as every phone has it.
package struct IdentityServer: Sendable {
    package let issuer: String
    fileprivate let keys: ManagerKeySet

    /// Fetches the keys. The keys are verified with the root that the server announces, since the server is on this
    /// machine.
    package init(_ server: Server) throws {
        self.issuer = "http://localhost:\(server.port)"
        var connection = try server.connect()
        let root = try connection.get("/identity/root").body
        guard case .object(let key) = try JSON(parsing: root) else { throw LoadError("no root key") }
        self.keys = try ManagerKeySet(
            verifying: String(decoding: try connection.get("/identity/keys").body, as: UTF8.self),
            server: self.issuer, roots: JWKSet([try JWK(publicJSON: key)]), at: TimeSource.system.now())
    }

    /// Reads a code, and verifies the code as a phone does.
    package func code(_ text: String) throws -> IdentityCode {
        let code = try ProcessCode(parsing: text, keys: self.keys.signingKeys)
        return IdentityCode(id: code.id, claim: code.claim, secret: code.secret)
    }
}

/// The contents of a code for a phone.
package struct IdentityCode: Sendable {
    package let id: String
    fileprivate let claim: SecretBytes
    fileprivate let secret: SecretBytes
}

/// The part of a phone's factor message that needs no answer of the person. The part is made once for each sign-in, as
/// on a phone, and is measured separately, because no server waits for this work.
package struct PreparedFactors: Sendable {
    fileprivate let encapsulation: SealedMessage.Encapsulation

    package init(to server: IdentityServer) throws {
        self.encapsulation = try SealedMessage.Encapsulation(to: server.keys.sealingKeys[0], for: .factors)
    }
}

/// The factors in a phone's answer: right factors, or two factors with one of another person.
package enum SentFactors: CaseIterable, Sendable {
    case right, wrongPin, otherFinger, otherDevice
}

/// A message with factors that is ready to be sent.
package struct FactorsCall: Sendable {
    fileprivate let request: Request
}

/// A personalised app with everything for its answers. One thread owns the value.
package struct SoftwareIdentity: Sendable {
    private static let device = AuthenticatorModel(factor: .devicePossession, keyStore: .file).aaid
    private static let fingerprint = AuthenticatorModel(factor: .fingerprint, keyStore: .file).aaid

    /// A factor's key, with its name.
    private struct Factor: Sendable {
        let aaid: AAID
        let key = P256.Signing.PrivateKey()
        let keyID: KeyID

        init(_ aaid: AAID) throws {
            self.aaid = aaid
            self.keyID = try KeyID(RandomSource.system.bytes(32))
        }

        /// - Parameter isOwn: `true` if this factor signs; `false` if a foreign key signs.
        func sign(_ bytes: [UInt8], isOwn: Bool = true) throws -> [UInt8] {
            let key = isOwn ? self.key : P256.Signing.PrivateKey()
            return Array(try key.signature(for: bytes).rawRepresentation)
        }
    }

    private let server: IdentityServer
    private let activation: String
    private let signing = P256.Signing.PrivateKey()
    private let possession: Factor
    /// The key of the PIN. A phone derives the key from the PIN each time; this key is random and made once.
    private let pin: Factor
    private let finger: Factor?
    private var counter: UInt32 = 1
    /// The duration of the phone's half of the PIN's key derivation, in milliseconds of the clock. No server waits for
    /// the derivation.
    package let derivationMilliseconds: Double

    /// Personalises an app for a new account, with an operator's code and PIN, and with a finger if `hasFinger` is
    /// `true`.
    package init(
        _ username: String, hasFinger: Bool = false, at identities: IdentityServer, of server: Server,
        operator: inout HTTPConnection, phone: inout HTTPConnection
    ) throws {
        let offer = try server.offerIdentity(to: username, operator: &`operator`)
        let code = try identities.code(offer.code)
        self.server = identities
        self.activation = code.id
        (self.possession, self.pin) = (try Factor(Self.device), try Factor(ServerPinModel.aaid))
        self.finger = try hasFinger ? Factor(Self.fingerprint) : nil
        let path = "/identity/activations/\(code.id)"
        let opened: OpenResponse = try Self.exchange(
            "\(path)/open", OpenRequest(claim: code.claim, security: nil).serialized, on: &phone)
        let clock = ContinuousClock()
        let derived = clock.now
        let key = try PinScheme.pin1.key(
            pin: SecretBytes(utf8: offer.pin), phoneHalf: code.secret, parameters: opened.pin,
            context: PinScheme.Context(server: identities.issuer, activation: code.id, version: 0))
        self.derivationMilliseconds = derived.duration(to: clock.now) / .milliseconds(1)
        let device = try Self.jwk(self.signing.publicKey.rawRepresentation).thumbprint
        let signature = try key.signature(
            for: ProveRequest.Proof.signedBytes(
                activation: code.id, challenge: opened.challenge, device: device))
        let proof = try SealedMessage(
            sealing: ProveRequest.Proof(signature: Array(signature.rawRepresentation)),
            to: identities.keys.sealingKeys[0],
            for: .activationProof(activation: code.id, challenge: opened.challenge))
        let answer: ProveResponse = try Self.exchange(
            "\(path)/prove", ProveRequest(claim: code.claim, device: device, proof: proof).serialized, on: &phone)
        guard case .proven(let proven) = answer else { throw LoadError("the activation's PIN was refused") }
        try self.enrol(proven, on: &phone)
    }

    private static func jwk(_ point: Data) throws -> JWK {
        try JWK(.p256(x: Array(point.prefix(32)), y: Array(point.suffix(32)), d: nil))
    }

    private func enrol(_ proven: ProvenActivation, on phone: inout HTTPConnection) throws {
        let parameters = try self.parameters(proven.appID, try Challenge(proven.challenge))
        let enrolled = [self.possession, self.pin] + (self.finger.map { [$0] } ?? [])
        let assertions = try enrolled.map { factor in
            let isPin = factor.aaid == ServerPinModel.aaid
            let data = try KeyRegistrationData(
                aaid: factor.aaid, authenticatorVersion: AuthenticatorModel.authenticatorVersion,
                signatureAlgorithm: .p256Raw, publicKeyFormat: .eccX962Raw,
                finalChallengeHash: FinalChallengeParams.hash(ofEncoded: parameters), keyID: factor.keyID,
                signCounter: isPin ? 0 : 1, registrationCounter: isPin ? 0 : 1,
                publicKey: Array(factor.key.publicKey.x963Representation))
            let attestation = Attestation(type: .basicSurrogate, signature: try factor.sign(data.signedBytes))
            return EncodedAssertion(
                bytes: try RegistrationAssertion(keyRegistrationData: data, attestation: attestation).serialized())
        }
        let response = RegistrationResponse(
            header: OperationHeader(operation: .registration, appID: proven.appID), fcParams: parameters,
            assertions: assertions)
        let enrolment = EnrollRequest.Enrolment(
            token: proven.token, name: "Load generator",
            signingKey: try Self.jwk(self.signing.publicKey.rawRepresentation),
            encryptionKey: try Self.jwk(P256.KeyAgreement.PrivateKey().publicKey.rawRepresentation),
            response: String(decoding: response.serialized, as: UTF8.self))
        let place = SealedMessage.Place.enrolment(
            activation: proven.activation, token: proven.token.withBytes { Base64URL.encode(Array($0)) })
        let sealed = try SealedMessage(sealing: enrolment, to: self.server.keys.sealingKeys[0], for: place)
        let receipt: ActivationReceipt = try self.exchange(
            "/identity/activations/\(proven.activation)/enroll", EnrollRequest(enrolment: sealed), on: &phone)
        guard receipt.factors.count == enrolled.count else { throw LoadError("enrolled: \(receipt.factors)") }
    }

    // MARK: - A sign-in

    /// Signs in the browser whose page shows the code: starts, prepares, and finishes by device and PIN. The server has
    /// each of the three steps on disk before it answers.
    package mutating func signIn(
        _ code: IdentityCode, by prepared: PreparedFactors, on phone: inout HTTPConnection
    ) throws {
        let call = try self.factors(.right, for: code, by: prepared, on: &phone)
        guard try self.send(call, on: &phone) else { throw LoadError("the factors were refused") }
    }

    /// Starts and prepares a sign-in, and returns the finishing message.
    package mutating func factors(
        _ sent: SentFactors, for code: IdentityCode, by prepared: PreparedFactors, on phone: inout HTTPConnection
    ) throws -> FactorsCall {
        let path = "/identity/sessions/\(code.id)"
        _ = try self.message("\(path)/start", StartRequest(claim: code.claim, security: nil), on: &phone)
        let answer: PrepareResponse = try self.exchange(
            "\(path)/prepare", PrepareRequest(role: nil, answers: [:], security: nil), on: &phone)
        guard case .prepared(let session) = answer else { throw LoadError("not prepared") }
        let challenge = SessionDocument.challenge(of: session.document)
        let parameters = try self.parameters(session.appID, challenge)
        let assertions = try self.signed(sent, parameters)
        let response = AuthenticationResponse(
            header: OperationHeader(operation: .authentication, appID: session.appID), fcParams: parameters,
            assertions: assertions)
        let factors = try SealedMessage(
            sealing: FinishRequest.Factors(response: String(decoding: response.serialized, as: UTF8.self)),
            by: prepared.encapsulation, for: .factors(session: code.id, challenge: challenge.text))
        return FactorsCall(
            request: try self.proven("\(path)/finish", FinishRequest(factors: factors, security: nil)))
    }

    /// Sends factors. Returns `true` if the server accepted the factors.
    package func send(_ call: FactorsCall, on phone: inout HTTPConnection) throws -> Bool {
        let finished = try Self.message(of: try phone.exchange(call.request), to: call.request.path)
        return finished["accepted"] != nil
    }

    private mutating func signed(_ sent: SentFactors, _ parameters: String) throws -> [EncodedAssertion] {
        self.counter += 1
        var second = (factor: self.pin, counter: UInt32(0))
        if sent == .otherFinger {
            guard let finger else { throw LoadError("a phone without a finger") }
            second = (finger, self.counter)
        }
        let isDeviceOwn = sent != .otherDevice
        let isSecondOwn = sent == .right || sent == .otherDevice
        return try [(self.possession, self.counter, isDeviceOwn), (second.factor, second.counter, isSecondOwn)].map {
            factor, counter, isOwn in
            let data = try SignedData(
                aaid: factor.aaid, authenticatorVersion: AuthenticatorModel.authenticatorVersion, mode: .userVerified,
                signatureAlgorithm: .p256Raw, nonce: RandomSource.system.bytes(16),
                finalChallengeHash: FinalChallengeParams.hash(ofEncoded: parameters), keyID: factor.keyID,
                signCounter: counter)
            let signature = try factor.sign(data.signedBytes, isOwn: isOwn)
            return EncodedAssertion(
                bytes: try AuthenticationAssertion(signedData: data, signature: signature).serialized())
        }
    }

    // MARK: - Requests

    private func parameters(_ appID: String, _ challenge: Challenge) throws -> String {
        FinalChallengeParams(appID: appID, challenge: challenge, facetID: try FacetID(SoftwareDevice.facetID)).encoded
    }

    /// Sends a message with the device's proof.
    private func exchange<Answer: IdentityMessage>(
        _ path: String, _ message: some IdentityMessage, on phone: inout HTTPConnection
    ) throws -> Answer { try Answer(json: self.message(path, message, on: &phone)) }

    /// Does the same as ``exchange(_:_:on:)``, for an answer without contents of interest.
    private func message(
        _ path: String, _ message: some IdentityMessage, on phone: inout HTTPConnection
    ) throws -> JSONObject {
        try Self.message(of: try phone.exchange(try self.proven(path, message)), to: path)
    }

    /// Returns a request with the device's proof.
    private func proven(_ path: String, _ message: some IdentityMessage) throws -> Request {
        let body = message.serialized
        let unsigned = try DeviceProof.unsigned(
            DeviceProof.Request(
                audience: self.server.issuer, method: "POST", target: self.server.issuer + path, body: body),
            keyID: self.activation, at: TimeSource.system.now(), random: .system)
        let signature = try self.signing.signature(for: unsigned.signingInput)
        let proof = unsigned.compact(signature: Array(signature.rawRepresentation))
        return Request("POST", path, headers: [forwardedHeader(), "Device-Proof: \(proof)"], body: body)
    }

    /// Sends a message without a device's proof, from before the device exists.
    private static func exchange<Answer: IdentityMessage>(
        _ path: String, _ body: [UInt8], on phone: inout HTTPConnection
    ) throws -> Answer {
        let request = Request("POST", path, headers: [forwardedHeader()], body: body)
        return try Answer(json: self.message(of: try phone.exchange(request), to: path))
    }

    /// Returns the server's message in an answer. Verifying its signature is a phone's work, not the server's.
    private static func message(of answer: HTTPConnection.Response, to path: String) throws -> JSONObject {
        let parts = answer.body.split(separator: UInt8(ascii: "."))
        guard answer.status == 200, parts.count == 3, let payload = Base64URL.decode(utf8: parts[1]),
            case .object(let response) = try JSON(parsing: payload)
        else { throw LoadError("\(path): \(answer.status) \(String(decoding: answer.body, as: UTF8.self))") }
        guard let message = try response.object("body") else {
            throw LoadError("\(path): \(try response.object("error").map { JSON.object($0).text } ?? "no message")")
        }
        return message
    }
}

import Ceremony
import CeremonyEngine
import Crypto
import Foundation
import JOSE
import PersonalInformation
import Settings
import Synchronization
import UAF
import _Primitives

/// A factor that a test signs with: right, or wrong in a way of its own.
struct TestFactor: Sendable {
    let type: AuthenticatorType
    let aaid: AAID
    let keyID: [UInt8]
    var key: P256.Signing.PrivateKey
    var counter: UInt32

    /// - Parameter biometric: What a finger or a face is.
    init(_ type: AuthenticatorType, biometric: AuthenticatorModel.Factor = .fingerprint) {
        self.type = type
        self.aaid =
            switch type {
            case .device: AuthenticatorModel(factor: .devicePossession, keyStore: .file).aaid
            case .biometric: AuthenticatorModel(factor: biometric, keyStore: .file).aaid
            default: ServerPinModel.aaid
            }
        self.keyID = RandomSource.system.bytes(32)
        self.key = P256.Signing.PrivateKey()
        self.counter = type == .pin ? 0 : 1
    }

    func registration(_ params: String) throws -> EncodedAssertion {
        let data = try KeyRegistrationData(
            aaid: self.aaid, authenticatorVersion: 1, signatureAlgorithm: .p256Raw, publicKeyFormat: .eccX962Raw,
            finalChallengeHash: FinalChallengeParams.hash(ofEncoded: params), keyID: try KeyID(self.keyID),
            signCounter: self.counter, registrationCounter: self.type == .pin ? 0 : 1,
            publicKey: Array(self.key.publicKey.x963Representation))
        let attestation = Attestation(type: .basicSurrogate, signature: try self.sign(data.signedBytes))
        return EncodedAssertion(
            bytes: try RegistrationAssertion(keyRegistrationData: data, attestation: attestation).serialized())
    }

    func authentication(_ params: String) throws -> EncodedAssertion {
        let data = try SignedData(
            aaid: self.aaid, authenticatorVersion: 1, mode: .userVerified, signatureAlgorithm: .p256Raw,
            nonce: RandomSource.system.bytes(16), finalChallengeHash: FinalChallengeParams.hash(ofEncoded: params),
            keyID: try KeyID(self.keyID), signCounter: self.counter)
        return EncodedAssertion(
            bytes: try AuthenticationAssertion(signedData: data, signature: try self.sign(data.signedBytes))
                .serialized())
    }

    private func sign(_ bytes: [UInt8]) throws -> [UInt8] {
        try P256Encoding.bytes(of: self.key.signature(for: Data(bytes)), algorithm: .p256Raw)
    }
}

/// A personalised app, made of the messages alone.
final class IdentityPhone: Sendable {
    let server: TestServer
    let signing: P256.Signing.PrivateKey
    let encryption: P256.KeyAgreement.PrivateKey
    let id: String
    private let kept: Mutex<[AuthenticatorType: TestFactor]>
    /// How wrong the phone's clock is.
    let skew: Duration
    /// The app that it has.
    let facet: String

    init(
        _ server: TestServer, id: String, factors: [AuthenticatorType], skew: Duration = .zero,
        facet: String = TestPhone.facet
    ) {
        self.facet = facet
        self.server = server
        self.signing = P256.Signing.PrivateKey()
        self.encryption = P256.KeyAgreement.PrivateKey()
        self.id = id
        self.skew = skew
        self.kept = Mutex(Dictionary(uniqueKeysWithValues: factors.map { ($0, TestFactor($0)) }))
    }

    /// The same app, whose server has started again; or another one with its keys.
    init(_ phone: IdentityPhone, at server: TestServer, facet: String? = nil) {
        self.server = server
        self.signing = phone.signing
        self.encryption = phone.encryption
        self.id = phone.id
        self.skew = phone.skew
        self.facet = facet ?? phone.facet
        self.kept = Mutex(phone.factors)
    }

    var factors: [AuthenticatorType: TestFactor] {
        get { self.kept.withLock { $0 } }
        set { self.kept.withLock { $0 = newValue } }
    }

    static let issuer = "http://localhost:8080"
    static let appID = "\(issuer)/uaf/1.1/facets"

    // MARK: Requests

    /// A request with the device's proof.
    func call(_ path: String, _ message: (any IdentityMessage)? = nil, method: String = "POST", name: String? = nil)
        throws -> IdentityCall
    {
        try self.call(path, body: message?.serialized ?? [], method: method, name: name)
    }

    func call(_ path: String, body: [UInt8], method: String = "POST", name: String? = nil) throws -> IdentityCall {
        let named = name.map { name in
            RandomSource { count in Array((Array(name.utf8) + [UInt8](repeating: 0, count: count)).prefix(count)) }
        }
        let unsigned = try DeviceProof.unsigned(
            DeviceProof.Request(
                audience: Self.issuer, method: method, target: Self.issuer + path, body: body), keyID: self.id,
            at: self.server.clock.now + self.skew, random: named ?? .system)
        let signature = try self.signing.signature(for: Data(unsigned.signingInput))
        return IdentityCall(
            method: method, path: path, body: body,
            proof: unsigned.compact(signature: Array(signature.rawRepresentation)))
    }

    /// What the server's answer to a call says, after its signature was verified.
    func read<Message: IdentityMessage>(_ reply: IdentityReply, to call: IdentityCall, as: Message.Type = Message.self)
        async throws -> Message
    {
        switch try await self.server.content(of: reply, to: call) {
        case .message(let object): return try Message(json: object)
        case .refusal(let problem): throw problem
        }
    }

    // MARK: Steps

    func start(_ session: String, claim: SecretBytes, security: SecurityReport? = nil, version: Int = 1) async throws
        -> RequestDocument
    {
        let call = try self.call(
            "/identity/sessions/\(session)/start",
            StartRequest(version: version, claim: claim, security: security))
        return try await self.read(try await self.server.engine.identities.binding.start(session, call), to: call)
    }

    func start(_ code: ProcessCode) async throws -> RequestDocument {
        try await self.start(code.id, claim: code.claim)
    }

    func prepare(
        _ session: String, role: String? = nil, answers: [PersonalAttribute: AttributeAnswer] = [:],
        security: SecurityReport? = nil
    ) async throws -> PrepareResponse {
        let call = try self.call(
            "/identity/sessions/\(session)/prepare",
            PrepareRequest(role: role, answers: answers, security: security))
        return try await self.read(try await self.server.engine.identities.binding.prepare(session, call), to: call)
    }

    /// Leaves out what a session asks for as often as that can be corrected. Throws where nothing was wrong with that.
    func useUpCorrections(_ session: String) async throws {
        for _ in 0..<self.server.engine.configuration.limits.correctionsPerSession {
            guard case .errors = try await self.prepare(session) else { throw IdentityProblem(.invalidRequest) }
        }
    }

    /// Prepares where everything is right.
    func prepared(_ session: String, role: String? = nil, answers: [PersonalAttribute: AttributeAnswer] = [:])
        async throws -> PreparedSession
    {
        guard case .prepared(let prepared) = try await self.prepare(session, role: role, answers: answers) else {
            throw IdentityProblem(.invalidRequest)
        }
        return prepared
    }

    /// Factors over a document, as they are sealed.
    func response(
        _ prepared: PreparedSession, _ types: [AuthenticatorType], _ adjust: (inout TestFactor) -> Void = { _ in }
    ) throws -> String {
        let params = try FinalChallengeParams(
            appID: prepared.appID, challenge: SessionDocument.challenge(of: prepared.document),
            facetID: FacetID(self.facet)
        ).encoded
        let assertions = try types.map { type in
            var factor = self.factors[type] ?? TestFactor(type)
            if type != .pin { factor.counter += 1 }
            self.factors[type] = factor
            adjust(&factor)
            return try factor.authentication(params)
        }
        let response = AuthenticationResponse(
            header: OperationHeader(operation: .authentication, appID: prepared.appID), fcParams: params,
            assertions: assertions)
        return String(decoding: response.serialized, as: UTF8.self)
    }

    /// The call that sends factors over a document.
    func finishCall(
        _ session: String, _ prepared: PreparedSession, _ types: [AuthenticatorType],
        _ adjust: (inout TestFactor) -> Void = { _ in }, security: SecurityReport? = nil,
        sealedTo key: ManagerKeySet.SealingKey? = nil
    ) async throws -> IdentityCall {
        let response = try self.response(prepared, types, adjust)
        let newest = try await self.server.keySet().sealingKeys[0]
        let sealed = try SealedMessage(
            sealing: FinishRequest.Factors(response: response), to: key ?? newest,
            for: .factors(session: session, challenge: SessionDocument.challenge(of: prepared.document).text))
        return try self.call(
            "/identity/sessions/\(session)/finish", FinishRequest(factors: sealed, security: security))
    }

    func finish(
        _ session: String, _ prepared: PreparedSession, _ types: [AuthenticatorType] = [.device, .pin],
        _ adjust: (inout TestFactor) -> Void = { _ in }
    ) async throws -> FinishResponse {
        let call = try await self.finishCall(session, prepared, types, adjust)
        return try await self.read(try await self.server.engine.identities.judgement.finish(session, call), to: call)
    }

    /// An attempt with a wrong PIN.
    func miss(_ session: String, _ prepared: PreparedSession) async throws -> RefusedAttempt {
        let answer = try await self.finish(session, prepared) { factor in
            if factor.type == .pin { factor.key = P256.Signing.PrivateKey() }
        }
        guard case .lockout(let refused) = answer else { throw IdentityProblem(.serverError) }
        return refused
    }

    /// All of a login's steps.
    func login(_ code: ProcessCode, answers: [PersonalAttribute: AttributeAnswer] = [:]) async throws
        -> AcceptedSession
    {
        _ = try await self.start(code)
        let prepared = try await self.prepared(code.id, answers: answers)
        guard case .accepted(let accepted) = try await self.finish(code.id, prepared) else {
            throw IdentityProblem(.lockedOut)
        }
        return accepted
    }

    /// A session of the app's own, up to the factors.
    func granted(_ purpose: SessionDocument.Purpose, replacing key: KeyID? = nil) async throws -> (
        session: String, prepared: PreparedSession
    ) {
        let offer = try await self.access(AccessRequest(purpose: purpose, replaces: key))
        _ = try await self.start(offer.session, claim: offer.claim)
        let prepared = try await self.prepared(offer.session)
        guard case .accepted = try await self.finish(offer.session, prepared) else {
            throw IdentityProblem(.lockedOut)
        }
        return (offer.session, prepared)
    }

    func prolong(_ session: String) async throws -> SessionDeadlines {
        let call = try self.call("/identity/sessions/\(session)/prolong", EmptyBody())
        return try await self.read(try await self.server.engine.identities.control.prolong(session, call), to: call)
    }

    func access(_ request: AccessRequest) async throws -> SessionOffer {
        let call = try self.call("/identity/api-access", request)
        return try await self.read(try await self.server.engine.identities.appSessions.access(call), to: call)
    }

    /// - Parameter name: What the request is called; without, a name of its own.
    func completeCall(_ session: String, _ completion: Completion, name: String? = nil) async throws -> IdentityCall {
        let sealed = try SealedMessage(
            sealing: completion, to: try await self.server.keySet().sealingKeys[0],
            for: .completion(session: session))
        return try self.call(
            "/identity/api-access/\(session)/complete", CompleteRequest(completion: sealed), name: name)
    }

    func complete(_ session: String, _ completion: Completion) async throws -> CompleteResponse {
        let call = try await self.completeCall(session, completion)
        return try await self.read(
            try await self.server.engine.identities.grantedActions.complete(session, call), to: call)
    }

    /// New factors over a document's challenge.
    func registration(_ factors: [TestFactor], _ challenge: Challenge) throws -> String {
        let params = try FinalChallengeParams(
            appID: Self.appID, challenge: challenge, facetID: FacetID(self.facet)
        ).encoded
        let response = RegistrationResponse(
            header: OperationHeader(operation: .registration, appID: Self.appID), fcParams: params,
            assertions: try factors.map { try $0.registration(params) })
        return String(decoding: response.serialized, as: UTF8.self)
    }
}

/// A message without members.
struct EmptyBody: IdentityMessage {
    init() {}
    init(json object: JSONObject) {}
    var json: JSONObject { [:] }
}

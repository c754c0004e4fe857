public import Ceremony
public import Countersign
import Crypto
import Foundation
import JOSE
public import PersonalInformation
public import UAF
import UAFClient
public import _Primitives

/// An identity server in memory, behind a ``Transport``.
///
/// The server speaks the real messages, signs its answers, and verifies every proof and every factor. A test can make
/// it answer differently.
public actor VirtualIdentityServer: Transport {
    /// A service with its requirements.
    public struct Service: Sendable {
        /// The service's name.
        public var name = "Health Portal"
        /// The service's web origin.
        public var origin = "https://health.example"
        /// The possible roles of a person, with the required factors of each role.
        public var roles: [(id: String, name: String, alternatives: [[String]])] = [
            ("patient", "Patient", [["pin", "device"]])
        ]
        /// The requested attributes.
        public var attributes: [RequestedAttribute] = []
        /// The bounds of the values that a person can type.
        public var rules = PersonalInformationRules(
            birthdate: BirthdateValidator(latest: .init(year: 2027, month: 1, day: 1)!))
        /// The further text that a person agrees to.
        public var text: String?
        /// `true` if the codes are made for links.
        public var isForLinks = false
        /// Creates a service with the defaults.
        public init() {}
    }

    /// The server's record of a device.
    struct Activation {
        var signingKey: JWK
        var name: String
        var keys: [KeyID: (aaid: AAID, key: P256.Signing.PublicKey, counter: UInt32)]
        var pinVersion: UInt32 = 1
        var failures = 0
        var lockedUntil: Timestamp?
        var isDisabled = false
        /// The session whose attempt is counted before its judgement.
        var reservedBy: String?
    }

    struct Pending {
        var claimDigest: [UInt8]
        var pinKey: P256.Signing.PublicKey
        var pin: PinParameters
        var challenge = RandomSource.system.token()
        var token: SecretBytes?
        /// The thumbprint of the key in the proof.
        var device: String?
        var activation = RandomSource.system.identifier()
        var registrationChallenge = Challenge(random: .system)
        var isUsed = false
        var mayMerge = false
        var failures = 0
        var lockedUntil: Timestamp?
    }

    struct Session {
        /// The number of the session, from 1, in the order of beginning.
        let number: Int
        var purpose: SessionDocument.Purpose
        var claimDigest: [UInt8]
        var service: Service
        var owner: String?
        var corrections = 0
        var document: SessionDocument?
        var salts: [PersonalAttribute: SuppliedValueSalt] = [:]
        var role = 0
        var end: IdentityProblem.Code?
        var isAccepted = false
        /// The request of an app that signs itself in.
        var inApp: InAppRequest?
        /// The key of the finger that another finger replaces.
        var replaces: KeyID?
        /// The activation of the invitation that goes into the account.
        var invitation: String?
        /// The question to the PIN service for the present document.
        var blinded: [UInt8]?
        /// The end of the activation's lockout, if this session's own factors caused the lockout.
        var restsUntil: Timestamp?
        var deadlines: SessionDeadlines
    }

    /// The server's identifier: its base address.
    public nonisolated let identifier: String
    /// The root key, which vouches for the server's keys, and its stored form.
    private let root: SigningKey
    let keptRoot: SecretBytes
    private(set) var signing: SigningKey
    private let sealing = P256.KeyAgreement.PrivateKey()
    nonisolated let clock: FakeClock

    /// The service for new sessions.
    public var service = Service()
    /// The alias to sign in place of the alias of a chosen value; `nil` for the shown alias.
    public var signedAlias: String?
    /// `true` if the document tells a person about the replacement of a finger.
    private(set) var tellsReplacements = true
    /// The invited address for codes whose activation may merge. The server shows the address to the person who merges.
    public var invitedAddress = "alice@work.example"
    private var namesKeys = true
    /// The secret of the PIN service; `nil` if the server has no PIN service.
    var pinMaster: SecretBytes?
    var mistakesPinService = false
    /// The number of wrong answers to the attributes that a session survives. The next wrong answer ends the session.
    public var correctionLimit = 3
    /// The number of failed attempts in a row that disables an activation permanently.
    public var permanentAfter = 10
    /// The lockouts after failed attempts, one after the other; the last lockout repeats.
    public var rests: [Duration] = [.seconds(5), .seconds(15), .seconds(60)]
    /// Every request that reached the server.
    public private(set) var requests: [TransportRequest] = []
    /// The person's confirmed answers to the attributes, for each accepted session.
    public private(set) var accepted: [[PersonalAttribute: AttributeAnswer]] = []
    var activations: [String: Activation]
    var pending: [String: Pending] = [:]
    var sessions: [String: Session] = [:]
    private var answers: [String: (request: TransportRequest, response: TransportResponse, moment: Timestamp)] = [:]
    var answersOf: [String: [PersonalAttribute: AttributeAnswer]] = [:]
    /// The state of the interface for services.
    var openID = OpenID()
    private var refusals: [IdentityProblem] = []
    var findings: [[PersonalAttribute: AuthenticationInformationErrorCode]] = []
    private var losses = 0
    private var delays = 0
    private var passing = 0
    private var heldBack: [TransportRequest] = []
    private var delay = Duration.zero
    private var repetitionProblem: IdentityProblem?
    private var isDown = false
    private var versions = 1...1
    /// The purpose that the server names in place of the real purpose of a session; `nil` for the real purpose.
    var mistakenPurpose: SessionDocument.Purpose?
    private var damage: (@Sendable (TransportResponse) -> TransportResponse)?

    /// Creates a server at an address, with a clock that a test moves.
    public init(identifier: String = "https://id.example", clock: FakeClock = FakeClock()) throws {
        try self.init(
            identifier: identifier, clock: clock, root: try SigningKey.make(.es256, random: .system), activations: [:])
    }

    init(identifier: String, clock: FakeClock, root: SecretBytes, activations: [String: Activation]) throws {
        self.identifier = identifier
        self.clock = clock
        self.root = try SigningKey(kept: root, algorithm: .es256, keyID: nil)
        self.keptRoot = root
        self.signing = try Self.newKey()
        self.activations = activations
    }

    private static func newKey() throws -> SigningKey {
        try SigningKey(kept: SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: nil)
    }

    /// The time of the server's clock.
    public nonisolated var now: Timestamp { self.clock.now() }

    /// Lets time pass on the server's clock.
    public nonisolated func advance(by duration: Duration) { self.clock.advance(by: duration) }

    /// The configuration with which an app trusts this server.
    public nonisolated var trusted: IdentityConfiguration.TrustedServer {
        let key = JSON.object(self.root.publicKey?.publicJSON ?? [:]).serialized
        return IdentityConfiguration.TrustedServer(
            idmIdentifier: self.identifier, rootKeys: [String(decoding: key, as: UTF8.self)])
    }

    // MARK: What a test tells it

    /// Changes the service for new sessions.
    public func ask(_ change: @Sendable (inout Service) -> Void) { change(&self.service) }
    /// Refuses the next request with the problem.
    public func refuseNext(_ problem: IdentityProblem) { self.refusals.append(problem) }
    /// Carries out the next requests but loses their answers, each after the delay.
    public func loseAnswers(_ count: Int = 1, after delay: Duration = .zero) {
        self.losses = count
        self.delay = delay
    }
    /// Answers the next requests, before the server refuses, loses or holds back any request.
    public func letPass(_ count: Int) { self.passing = count }
    /// Holds the next requests back, like a slow network: the senders hear nothing until they have given up.
    public func holdBack(_ count: Int) { self.delays = count }
    /// Carries out the requests that were held back, in their order. No sender waits for the answers any more.
    public func deliver() throws {
        defer { self.heldBack = [] }
        for request in self.heldBack { _ = try self.answer(request) }
    }
    /// Refuses the next request that was answered before, with the problem.
    public func refuseRepetition(_ problem: IdentityProblem) { self.repetitionProblem = problem }
    /// Reports these errors for the next attributes, right or wrong.
    public func findNext(_ errors: [PersonalAttribute: AuthenticationInformationErrorCode]) {
        self.findings.append(errors)
    }
    /// Lets the document name another alias than the person was shown for a chosen value.
    public func misname(_ alias: String?) { self.signedAlias = alias }
    /// From now on, does not tell people about the replacement of a finger.
    public func hideReplacements() { self.tellsReplacements = false }
    /// From now on, does not name the key of an activation's finger, like earlier servers.
    public func hideKeys() { self.namesKeys = false }
    /// Sets the number of failed attempts in a row that disables an activation permanently.
    public func allow(attempts: Int) { self.permanentAfter = attempts }
    /// Enables all activations again.
    public func enableAll() {
        for name in self.activations.keys {
            self.activations[name]?.isDisabled = false
            self.activations[name]?.failures = 0
            self.activations[name]?.lockedUntil = nil
        }
    }
    /// Makes the server unreachable, or reachable again.
    public func goDown(_ isDown: Bool) { self.isDown = isDown }
    /// Changes answers on the way.
    public func damage(_ body: (@Sendable (TransportResponse) -> TransportResponse)?) { self.damage = body }
    /// Makes the server announce these protocol versions from now on.
    public func speak(_ versions: ClosedRange<Int>) { self.versions = versions }
    /// Makes the server name another purpose for sessions from now on; `nil` for the real purpose.
    public func mistakePurpose(for purpose: SessionDocument.Purpose?) { self.mistakenPurpose = purpose }
    /// Starts a PIN service for the evaluation of PINs, or replaces the PIN service by a new one.
    public func newPinService() { self.pinMaster = SecretBytes(RandomSource.system.bytes(PinServiceKey.masterBytes)) }
    /// Names another key than the PIN service's key to the next app that is personalised.
    public func mistakePinServiceOnce() { self.mistakesPinService = true }
    /// Makes the server sign with another key from now on.
    public func rotateKeys() throws { self.signing = try Self.newKey() }
    /// Forgets the earlier requests.
    public func forgetRequests() { self.requests = [] }
    /// The activations that are not disabled.
    public var activeActivations: [String] { self.activations.filter { !$0.value.isDisabled }.map(\.key) }
    /// Returns the number of an activation's failed attempts in a row.
    public func failures(of activation: String) -> Int { self.activations[activation]?.failures ?? 0 }
    /// The ends of the finished sessions, as told to later requests, in the order of beginning. Running sessions are
    /// left out.
    public var ends: [IdentityProblem.Code] {
        self.sessions.values.sorted { $0.number < $1.number }.compactMap(\.end)
    }
    /// Returns the key of an activation's finger or face.
    public func finger(of activation: String) -> KeyID? {
        let keys = self.activations[activation]?.keys ?? [:]
        return keys.first { AuthenticatorTypeTable.product.type(of: $0.value.aaid) == .biometric }?.key
    }
    /// Returns the number of an activation's valid PIN.
    public func pinVersion(of activation: String) -> UInt32? { self.activations[activation]?.pinVersion }

    /// Creates the code of an activation with the PIN.
    public func activationCode(pin: String, mayMerge: Bool = false) throws -> String {
        let secret = SecretBytes(RandomSource.system.bytes(32))
        let id = RandomSource.system.identifier()
        let parameters = try PinParameters()
        let key = try parameters.scheme.key(
            pin: SecretBytes(utf8: pin), phoneHalf: secret, parameters: parameters,
            context: PinScheme.Context(server: self.identifier, activation: id, version: 0))
        let digest = ProcessCode.digest(ofClaim: ProcessCode.claim(of: secret))
        self.pending[id] = Pending(claimDigest: digest, pinKey: key.publicKey, pin: parameters, mayMerge: mayMerge)
        return ProcessCode.text(signed: try self.signedCode(.activation, id, digest), secret: secret)
    }

    /// Creates the code of a session for the present service. A real server makes codes only for a login.
    public func authenticationCode(for purpose: SessionDocument.Purpose = .userLogin) throws -> String {
        let secret = SecretBytes(RandomSource.system.bytes(32))
        let digest = ProcessCode.digest(ofClaim: ProcessCode.claim(of: secret))
        let id = self.newSession(purpose, digest)
        return ProcessCode.text(signed: try self.signedCode(.authentication, id, digest), secret: secret)
    }

    func signedCode(_ kind: ProcessCode.Kind, _ id: String, _ digest: [UInt8]) throws -> String {
        try ProcessCode.signed(
            kind: kind, server: self.identifier, id: id, claimDigest: digest,
            expiresAt: self.clock.now() + .seconds(600), by: self.signing)
    }

    func newSession(_ purpose: SessionDocument.Purpose, _ digest: [UInt8]) -> String {
        let id = RandomSource.system.identifier()
        let now = self.clock.now()
        self.sessions[id] = Session(
            number: self.sessions.count + 1, purpose: purpose, claimDigest: digest, service: self.service,
            deadlines: SessionDeadlines(nextRequestUntil: now + .seconds(180), lastRequestBefore: now + .seconds(900)))
        return id
    }

    // MARK: The transport

    /// Carries out a request; see ``Transport``.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        self.requests.append(request)
        guard !self.isDown else { throw TransportError(.unreachable, "down") }
        if request.url.path().hasSuffix("/identity/keys") { return try self.keys() }
        if let answer = try self.answerToService(request) { return answer }
        if self.passing > 0 {
            self.passing -= 1
            return try self.answer(request, isRefusable: false)
        }
        if self.delays > 0 {
            self.delays -= 1
            self.heldBack.append(request)
            throw TransportError(.timedOut, "held back")
        }
        let response = try self.answer(request)
        if self.losses > 0 {
            self.losses -= 1
            self.clock.advance(by: self.delay)
            throw TransportError(.timedOut, "lost")
        }
        return self.damage?(response) ?? response
    }

    private func keys() throws -> TransportResponse {
        let now = self.clock.now()
        let set = ManagerKeySet(
            server: self.identifier, signingKeys: JWKSet([self.signing.publicKey].compactMap(\.self)),
            sealingKeys: [
                ManagerKeySet.SealingKey(
                    id: "seal", publicKey: Array(self.sealing.publicKey.compressedRepresentation),
                    until: now + .seconds(86_400 * 2))
            ], versions: self.versions, issuedAt: now, expiresAt: now + .seconds(86_400 * 30))
        return TransportResponse(
            status: 200, headers: [("Content-Type", "application/jwt")],
            body: Array(try set.signed(by: self.root).utf8))
    }

    private func answer(_ request: TransportRequest, isRefusable: Bool = true) throws -> TransportResponse {
        let proof = request.headers.first { $0.name == "Device-Proof" }?.value
        let name = ManagerResponse.name(ofRequest: proof.map { Array($0.utf8) } ?? request.body)
        // The server repeats an earlier answer if nothing of the request has changed, as long as the request's proof is
        // valid.
        if let proof, let kept = self.answers[proof] {
            if let problem = self.repetitionProblem {
                self.repetitionProblem = nil
                return try self.signed(.refusal(problem), name)
            }
            guard self.clock.now() <= kept.moment + .seconds(60) else {
                return try self.signed(.refusal(IdentityProblem(.clockSkew)), name)
            }
            let isSame = kept.request.body == request.body && kept.request.url == request.url
            return try isSame ? kept.response : self.signed(.refusal(IdentityProblem(.replayRefused)), name)
        }
        let content: ManagerResponse.Content
        do {
            let prover = try self.prover(proof, request)
            if isRefusable, !self.refusals.isEmpty { throw self.refusals.removeFirst() }
            content = .message(try self.handle(request, prover).json)
        } catch let problem as IdentityProblem {
            content = .refusal(problem)
        } catch let error as IdentityMessageError {
            content = .refusal(IdentityProblem(.invalidRequest, reasons: [error.description]))
        }
        let response = try self.signed(content, name)
        if let proof { self.answers[proof] = (request, response, self.clock.now()) }
        return response
    }

    private func signed(_ content: ManagerResponse.Content, _ name: String) throws -> TransportResponse {
        let compact = try ManagerResponse.signed(
            content, server: self.identifier, request: name, at: self.clock.now(), by: self.signing)
        return TransportResponse(
            status: 200, headers: [("Content-Type", "application/jose")], body: Array(compact.utf8))
    }

    /// Returns the activation that has proven itself; `nil` if the request has no proof. An enrolment, and the question
    /// about its PIN, contain the proving key themselves.
    private func prover(_ proof: String?, _ request: TransportRequest) throws -> String? {
        guard let proof else { return nil }
        guard let token = try? UnverifiedJWS(compact: proof), let name = token.header.keyID else {
            throw IdentityProblem(.notProven)
        }
        var key = self.activations[name]?.signingKey
        let path = request.url.path()
        if path.hasSuffix("/enroll") { key = try self.enrolment(request).signingKey }
        if path.contains("/activations/"), path.hasSuffix("/pin-evaluation") {
            key = try EvaluationRequest(parsing: request.body).opening?.signingKey
        }
        guard let key else { throw IdentityProblem(.activationUnknown) }
        do {
            _ = try DeviceProof(
                verifying: proof,
                of: DeviceProof.Request(
                    audience: self.identifier, method: request.method, target: request.url.absoluteString,
                    body: request.body), with: key, at: self.clock.now())
        } catch {
            throw IdentityProblem([.expired, .notYetValid].contains(error.code) ? .clockSkew : .notProven)
        }
        return name
    }

    func open<Message: IdentityMessage>(_ sealed: SealedMessage, for place: SealedMessage.Place) throws -> Message {
        try sealed.open(Message.self, with: self.sealing, for: place)
    }

    private func handle(_ request: TransportRequest, _ prover: String?) throws -> any IdentityMessage {
        let parts = request.url.path().split(separator: "/").map(String.init)
        guard parts.first == "identity", parts.count >= 2 else { throw IdentityProblem(.invalidRequest) }
        if parts[1] == "activations", parts.count == 4 {
            return try self.activate(parts[2], parts[3], request, prover)
        }
        guard let prover, let activation = self.activations[prover] else { throw IdentityProblem(.notProven) }
        if request.method == "DELETE" {
            self.activations[prover] = nil
            return EmptyAnswer()
        }
        guard !activation.isDisabled else { throw IdentityProblem(.activationDisabled) }
        let isReserved = parts.count == 4 && activation.reservedBy == parts[2]
        // A session whose own factors were refused may wait through the lockout.
        let isWaiting =
            parts.count == 4 && parts[3] == "prolong" && self.sessions[parts[2]]?.restsUntil == activation.lockedUntil
        if let until = activation.lockedUntil, self.clock.now() < until, !isReserved, !isWaiting {
            throw IdentityProblem(.lockedOut, lockout: LockoutNotice(lockedUntil: until))
        }
        switch (parts[1], parts.count) {
        case ("activation", 2): return self.record(prover)
        case ("in-app", 2):
            let asked = try InAppRequest(parsing: request.body)
            return self.offer(.serviceLogin, asked)
        case ("api-access", 2):
            let asked = try AccessRequest(parsing: request.body)
            try self.requireProof(of: asked, by: activation.signingKey)
            guard asked.replaces == nil || (asked.purpose == .addFactor && asked.replaces == self.finger(of: prover))
            else { throw IdentityProblem(.invalidRequest) }
            let offer = self.offer(asked.purpose)
            self.sessions[offer.session]?.replaces = asked.replaces
            self.sessions[offer.session]?.invitation = asked.invitation
            return offer
        case ("api-access", 4):
            return try self.complete(parts[2], try CompleteRequest(parsing: request.body), prover)
        case ("sessions", 4): return try self.step(parts[2], parts[3], request.body, prover)
        default: throw IdentityProblem(.invalidRequest)
        }
    }

    private func offer(_ purpose: SessionDocument.Purpose, _ inApp: InAppRequest? = nil) -> SessionOffer {
        let claim = SecretBytes(RandomSource.system.bytes(32))
        let id = self.newSession(purpose, ProcessCode.digest(ofClaim: claim))
        self.sessions[id]?.inApp = inApp
        return SessionOffer(session: id, claim: claim, expiresAt: self.clock.now() + .seconds(300))
    }

    func record(_ activation: String) -> ActivationReceipt {
        let kept = self.activations[activation]
        let types = Set(
            kept?.keys.values.compactMap { AuthenticatorTypeTable.product.type(of: $0.aaid)?.rawValue } ?? [])
        return ActivationReceipt(
            activation: activation, name: kept?.name ?? "", factors: types.sorted(),
            biometricKey: self.namesKeys ? self.finger(of: activation) : nil, pinVersion: kept?.pinVersion,
            createdAt: self.clock.now())
    }

    func noteAccepted(_ session: String) { self.accepted.append(self.answersOf[session] ?? [:]) }
    func keep(_ answers: [PersonalAttribute: AttributeAnswer], of session: String) { self.answersOf[session] = answers }
}

/// An answer without members.
struct EmptyAnswer: IdentityMessage {
    init() {}
    init(json: JSONObject) {}
    var json: JSONObject { [:] }
}

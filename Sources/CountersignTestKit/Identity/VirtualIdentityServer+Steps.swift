import Ceremony
import Countersign
import Crypto
import Foundation
import JOSE
import PersonalInformation
import UAF
import UAFClient
import _Primitives

// MARK: - Activations

extension VirtualIdentityServer {
    func enrolment(_ request: TransportRequest) throws -> EnrollRequest.Enrolment {
        let id = request.url.path().split(separator: "/").map(String.init)[2]
        guard let token = self.pending[id]?.token else { throw IdentityProblem(.activationDataConsumed) }
        return try self.open(
            try EnrollRequest(parsing: request.body).enrolment,
            for: .enrolment(activation: id, token: token.withBytes { Base64URL.encode($0) }))
    }

    func activate(_ id: String, _ step: String, _ request: TransportRequest, _ prover: String?) throws
        -> any IdentityMessage
    {
        guard var pending = self.pending[id] else { throw IdentityProblem(.activationUnknown) }
        guard !pending.isUsed else { throw IdentityProblem(.activationDataConsumed) }
        defer { self.pending[id] = pending }
        func check(_ claim: SecretBytes) throws {
            guard ProcessCode.digest(ofClaim: claim) == pending.claimDigest else { throw IdentityProblem(.notProven) }
            if let until = pending.lockedUntil, self.clock.now() < until {
                throw IdentityProblem(.lockedOut, lockout: LockoutNotice(lockedUntil: until))
            }
        }
        switch step {
        case "open":
            let message = try OpenRequest(parsing: request.body)
            try check(message.claim)
            try self.judge(message.security)
            return OpenResponse(challenge: pending.challenge, pin: pending.pin)
        case "prove":
            let message = try ProveRequest(parsing: request.body)
            try check(message.claim)
            let proof: ProveRequest.Proof = try self.open(
                message.proof, for: .activationProof(activation: id, challenge: pending.challenge))
            let signed = ProveRequest.Proof.signedBytes(
                activation: id, challenge: pending.challenge, device: message.device)
            pending.challenge = RandomSource.system.token()
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: proof.signature),
                pending.pinKey.isValidSignature(signature, for: signed)
            else {
                let until = self.clock.now() + self.rests[min(pending.failures, self.rests.count - 1)]
                pending.failures += 1
                pending.lockedUntil = until
                return ProveResponse.lockout(LockoutNotice(lockedUntil: until), challenge: pending.challenge)
            }
            let token = SecretBytes(RandomSource.system.bytes(32))
            pending.token = token
            pending.device = message.device
            let serviceActivation = self.mistakesPinService ? "another" : pending.activation
            self.mistakesPinService = false
            return ProveResponse.proven(
                ProvenActivation(
                    token: token, until: self.clock.now() + .seconds(600), activation: pending.activation,
                    account: "account-1", challenge: pending.registrationChallenge.text,
                    appID: self.identifier + "/uaf/1.1/facets", username: "account-1", mayMerge: pending.mayMerge,
                    pinServiceKey: try self.pinMaster.map {
                        try PinServiceKey(master: $0, activation: serviceActivation).publicKey
                    }))
        case "pin-evaluation":
            let message = try EvaluationRequest(parsing: request.body)
            guard let opening = message.opening else { throw IdentityProblem(.notProven) }
            try check(opening.claim)
            guard prover == pending.activation, pending.token == opening.token,
                pending.device == opening.signingKey.thumbprint
            else { throw IdentityProblem(.notProven) }
            try self.judge(message.security)
            return try self.evaluation(of: message.blinded, by: pending.activation)
        case "enroll":
            let enrolment = try self.enrolment(request)
            guard prover == pending.activation, pending.device == enrolment.signingKey.thumbprint else {
                throw IdentityProblem(.notProven)
            }
            self.activations[pending.activation] = Activation(
                signingKey: enrolment.signingKey, name: enrolment.name,
                keys: try self.registered(enrolment.response, pending.registrationChallenge))
            pending.isUsed = true
            return self.record(pending.activation)
        default: throw IdentityProblem(.invalidRequest)
        }
    }

    /// Refuses a merge by another device than the device that has proven the PIN.
    func requireProof(of asked: AccessRequest, by key: JWK) throws {
        guard asked.purpose == .merge else { return }
        let proven = self.pending.values.first { $0.activation == asked.invitation }
        guard let proven, asked.token == proven.token, proven.device == key.thumbprint else {
            throw IdentityProblem(.notProven)
        }
    }

    /// Returns the PIN service's answer.
    private func evaluation(of blinded: [UInt8], by activation: String) throws -> EvaluationResponse {
        guard let pinMaster else { throw IdentityProblem(.invalidRequest) }
        let key = try PinServiceKey(master: pinMaster, activation: activation)
        return EvaluationResponse(evaluated: try key.evaluate(blinded))
    }

    /// Returns the keys of a registration with valid attestations.
    func registered(_ message: String, _ challenge: Challenge) throws -> [KeyID: (
        aaid: AAID, key: P256.Signing.PublicKey, counter: UInt32
    )] {
        var keys: [KeyID: (aaid: AAID, key: P256.Signing.PublicKey, counter: UInt32)] = [:]
        do {
            let response = try RegistrationResponse(parsing: message.utf8)
            guard try FinalChallengeParams(encoded: response.fcParams).challenge.matches(challenge) else {
                throw IdentityProblem(.invalidRequest, reasons: ["challenge"])
            }
            for assertion in response.assertions {
                let read = try RegistrationAssertion(parsing: assertion.bytes)
                let data = read.keyRegistrationData
                let key = try P256Encoding.publicKey(data.publicKey, format: data.publicKeyFormat)
                guard
                    key.isValidSignature(
                        try P256Encoding.signature(read.attestation.signature, algorithm: data.signatureAlgorithm),
                        for: data.signedBytes),
                    data.finalChallengeHash == FinalChallengeParams.hash(ofEncoded: response.fcParams)
                else { throw IdentityProblem(.invalidRequest, reasons: ["attestation"]) }
                keys[data.keyID] = (data.aaid, key, 0)
            }
        } catch let error as UAFError {
            throw IdentityProblem(.invalidRequest, reasons: ["\(error)"])
        }
        return keys
    }
}

// MARK: - Sessions

extension VirtualIdentityServer {
    func step(_ id: String, _ step: String, _ body: [UInt8], _ prover: String) throws -> any IdentityMessage {
        guard var session = self.sessions[id] else { throw IdentityProblem(.sessionUnknown) }
        defer { self.sessions[id] = session }
        if let end = session.end { throw IdentityProblem(end) }
        if step == "start" {
            let message = try StartRequest(parsing: body)
            guard ProcessCode.digest(ofClaim: message.claim) == session.claimDigest else {
                throw IdentityProblem(.notProven)
            }
            guard session.owner == nil else { throw IdentityProblem(.sessionConsumed) }
            try self.judge(message.security)
            session.owner = prover
            self.wait(Self.claimed, &session)
            return try self.document(of: session, prover)
        }
        guard session.owner == prover else { throw IdentityProblem(.sessionConsumed) }
        switch step {
        case "prepare": return try self.prepare(id, &session, try PrepareRequest(parsing: body), prover)
        case "pin-evaluation":
            let message = try EvaluationRequest(parsing: body)
            try self.judge(message.security)
            return try self.evaluate(id, &session, message.blinded, prover)
        case "finish": return try self.finish(id, &session, try FinishRequest(parsing: body), prover)
        case "code":
            guard session.isAccepted, session.purpose == .serviceLogin else { throw IdentityProblem(.outOfOrder) }
            session.end = .sessionConsumed
            return CodeResponse(
                code: SecretBytes(utf8: self.newCode(of: session, id, prover)), state: session.inApp?.state,
                issuer: self.identifier)
        case "abort":
            self.activations[prover]?.reservedBy = nil
            session.end = .sessionAborted
            return EmptyAnswer()
        case "prolong": return try self.prolong(&session)
        default: throw IdentityProblem(.invalidRequest)
        }
    }

    /// The time that a session waits for the next step.
    private static let claimed = Duration.seconds(180)
    /// The time that a grant waits for its use.
    private static let granted = Duration.seconds(300)
    /// The time that a code waits for its use.
    private static let code = Duration.seconds(60)

    /// Makes a session wait from now for the given time, but not beyond its last deadline.
    private func wait(_ time: Duration, _ session: inout Session) {
        session.deadlines.nextRequestUntil = min(self.clock.now() + time, session.deadlines.lastRequestBefore)
    }

    /// Moves the session's next deadline, never to an earlier moment and never beyond the session's last deadline, and
    /// returns the deadlines. Throws `sessionExpired`, or `grantExpired` for a grant, after the deadline, and
    /// `outOfOrder` for an accepted service login: its code is for a program, which does not wait for a person.
    private func prolong(_ session: inout Session) throws -> SessionDeadlines {
        let (isCode, former) = (session.purpose == .serviceLogin, session.deadlines.nextRequestUntil)
        guard self.clock.now() < former else {
            throw IdentityProblem(session.isAccepted && !isCode ? .grantExpired : .sessionExpired)
        }
        guard !session.isAccepted || !isCode else { throw IdentityProblem(.outOfOrder) }
        self.wait(session.isAccepted ? Self.granted : Self.claimed, &session)
        session.deadlines.nextRequestUntil = max(former, session.deadlines.nextRequestUntil)
        return session.deadlines
    }

    private func judge(_ report: SecurityReport?) throws {
        guard report?.isRooted != true else { throw IdentityProblem(.securityInsufficient, reasons: ["rooted"]) }
    }

    private func enrolled(_ activation: String) -> Set<AuthenticatorType> {
        Set(
            self.activations[activation]?.keys.values.compactMap { AuthenticatorTypeTable.product.type(of: $0.aaid) }
                ?? [])
    }

    private func document(of session: Session, _ prover: String) throws -> RequestDocument {
        let service = session.service
        return RequestDocument(
            purpose: self.mistakenPurpose ?? session.purpose,
            service: SessionDocument.Service(name: service.name, origin: service.origin),
            roles: service.roles.map {
                RequestDocument.Role(id: $0.id, name: $0.name, alternatives: $0.alternatives, missing: [])
            },
            attributes: RequestedInformation(service.attributes), bounds: ValidatorBounds(service.rules),
            deadlines: session.deadlines, isForLinks: service.isForLinks)
    }

    private func prepare(_ id: String, _ session: inout Session, _ message: PrepareRequest, _ prover: String) throws
        -> PrepareResponse
    {
        try self.judge(message.security)
        let role = session.service.roles.firstIndex { $0.id == message.role }
        guard let role else { throw IdentityProblem(.roleNotSelected) }
        let judged = RequestedInformation(session.service.attributes).judge(message.answers, by: session.service.rules)
        let errors = self.findings.isEmpty ? judged.errors : self.findings.removeFirst()
        guard errors.isEmpty else {
            session.corrections += 1
            guard session.corrections <= self.correctionLimit else {
                session.end = .sessionAborted
                throw IdentityProblem(.correctionLimitExceeded)
            }
            return .errors(errors, deadlines: session.deadlines)
        }
        self.keep(judged.confirmed, of: id)
        session.role = role
        session.salts = [:]
        var sources: [PersonalAttribute: SessionDocument.AttributeSource] = [:]
        for (attribute, answer) in judged.confirmed {
            switch answer {
            case .alias(let alias):
                let request = session.service.attributes.first { $0.attribute == attribute }
                let text = request?.aliases.first { $0.id == alias }?.alias
                sources[attribute] = .alias(id: alias, text: self.signedAlias ?? text ?? "")
            case .value(let text):
                let salt = SuppliedValueSalt(random: .system)
                session.salts[attribute] = salt
                sources[attribute] = .supplied(SuppliedValueDigest(of: text, for: attribute, salt: salt))
            }
        }
        let chosen = session.service.roles[role]
        do {
            session.document = try SessionDocument(
                purpose: session.purpose, server: self.identifier, session: id, activation: prover,
                service: SessionDocument.Service(name: session.service.name, origin: session.service.origin),
                role: SessionDocument.Role(id: chosen.id, name: chosen.name), attributes: sources,
                text: try self.text(of: session),
                expiresAt: self.clock.now() + Self.claimed, random: .system)
        } catch {
            throw IdentityProblem(.serverError, reasons: ["\(error)"])
        }
        self.wait(Self.claimed, &session)
        return .prepared(try self.prepared(session, prover))
    }

    /// Returns the further text that the person agrees to: the server's own text for an operation with the person's
    /// account, otherwise the service's text.
    private func text(of session: Session) throws -> TransactionText? {
        switch session.purpose {
        case .userLogin, .serviceLogin: try session.service.text.map { try TransactionText(normalizing: $0) }
        case .addFactor:
            session.replaces != nil && self.tellsReplacements ? try ReplacementAgreement().text : nil
        case .merge: try MergeAgreement(address: self.invitedAddress, organisation: nil, place: nil).text
        case .changePin, .newActivation, .delete: nil
        }
    }

    private func prepared(_ session: Session, _ prover: String) throws -> PreparedSession {
        guard let document = session.document else { throw IdentityProblem(.outOfOrder) }
        return PreparedSession(
            document: document.bytes, salts: session.salts,
            alternatives: session.service.roles[session.role].alternatives, missing: [],
            appID: self.identifier + "/uaf/1.1/facets", pinVersion: self.activations[prover]?.pinVersion,
            deadlines: session.deadlines)
    }

    /// Counts an attempt before the question to the PIN service, one attempt for each document.
    private func evaluate(_ id: String, _ session: inout Session, _ blinded: [UInt8], _ prover: String) throws
        -> EvaluationResponse
    {
        guard session.document != nil else { throw IdentityProblem(.outOfOrder) }
        if !session.isAccepted, session.blinded != blinded {
            guard session.blinded == nil else { throw IdentityProblem(.pinAlreadyAsked) }
            session.blinded = blinded
            let failures = (self.activations[prover]?.failures ?? 0) + 1
            self.activations[prover]?.failures = failures
            self.activations[prover]?.lockedUntil =
                self.clock.now() + self.rests[min(failures - 1, self.rests.count - 1)]
            self.activations[prover]?.reservedBy = id
        }
        return try self.evaluation(of: blinded, by: prover)
    }

    private func finish(_ id: String, _ session: inout Session, _ message: FinishRequest, _ prover: String) throws
        -> FinishResponse
    {
        defer { self.activations[prover]?.reservedBy = nil }
        try self.judge(message.security)
        guard let document = session.document, !session.isAccepted else { throw IdentityProblem(.outOfOrder) }
        let factors: FinishRequest.Factors = try self.open(
            message.factors, for: .factors(session: id, challenge: document.challenge.text))
        let judged = self.judge(factors.response, document.challenge, prover)
        let matrix = try? AuthenticatorMatrix(names: session.service.roles[session.role].alternatives)
        guard matrix?.alternative(of: judged, by: .product) != nil else {
            // A question to the PIN service is already counted.
            let failures = (self.activations[prover]?.failures ?? 0) + (session.blinded == nil ? 1 : 0)
            session.blinded = nil
            self.activations[prover]?.failures = failures
            guard failures < self.permanentAfter else {
                self.activations[prover]?.isDisabled = true
                session.end = .activationDisabled
                return .lockout(RefusedAttempt(lockout: LockoutNotice(lockedUntil: nil), next: nil))
            }
            let until = self.clock.now() + self.rests[min(failures - 1, self.rests.count - 1)]
            self.activations[prover]?.lockedUntil = until
            session.restsUntil = until
            self.wait(until - self.clock.now() + Self.claimed, &session)
            session.document = try? document.renewed(expiresAt: until + Self.claimed, random: .system)
            return .lockout(
                RefusedAttempt(
                    lockout: LockoutNotice(lockedUntil: until), next: try self.prepared(session, prover)))
        }
        self.activations[prover]?.failures = 0
        self.activations[prover]?.lockedUntil = nil
        session.isAccepted = true
        self.wait(session.purpose == .serviceLogin ? Self.code : Self.granted, &session)
        if [.userLogin, .merge].contains(session.purpose) { session.end = .sessionConsumed }
        for (id, pending) in self.pending where session.purpose == .merge && pending.activation == session.invitation {
            self.pending[id]?.isUsed = true
        }
        self.noteAccepted(id)
        return .accepted(
            AcceptedSession(
                purpose: self.mistakenPurpose ?? session.purpose,
                service: SessionDocument.Service(name: session.service.name, origin: session.service.origin),
                roleName: session.service.roles[session.role].name, finishedAt: self.clock.now(),
                continuesUntil: session.end == nil ? session.deadlines.nextRequestUntil : nil,
                location: session.service.isForLinks ? session.service.origin + "/back" : nil))
    }

    /// Checks every assertion completely.
    private func judge(_ message: String, _ challenge: Challenge, _ prover: String)
        -> [AuthenticatorMatrix.JudgedAssertion]
    {
        guard let response = try? AuthenticationResponse(parsing: message.utf8),
            let parameters = try? FinalChallengeParams(encoded: response.fcParams)
        else { return [] }
        return response.assertions.compactMap { assertion in
            guard let read = try? AuthenticationAssertion(parsing: assertion.bytes) else { return nil }
            let data = read.signedData
            let key = self.activations[prover]?.keys[data.keyID]
            let signature = try? P256Encoding.signature(read.signature, algorithm: data.signatureAlgorithm)
            let isSigned = signature.flatMap { key?.key.isValidSignature($0, for: data.signedBytes) } ?? false
            let isCounted = data.aaid == ServerPinModel.aaid || data.signCounter > key?.counter ?? 0
            if isSigned { self.activations[prover]?.keys[data.keyID]?.counter = data.signCounter }
            return AuthenticatorMatrix.JudgedAssertion(
                aaid: data.aaid,
                isValid: isSigned && isCounted && key?.aaid == data.aaid && parameters.challenge.matches(challenge)
                    && data.finalChallengeHash == FinalChallengeParams.hash(ofEncoded: response.fcParams))
        }
    }

    func complete(_ id: String, _ message: CompleteRequest, _ prover: String) throws -> CompleteResponse {
        guard var session = self.sessions[id], session.owner == prover else { throw IdentityProblem(.sessionUnknown) }
        defer { self.sessions[id] = session }
        guard session.end == nil, session.isAccepted, let challenge = session.document?.challenge else {
            throw IdentityProblem(.grantExpired)
        }
        let completion: Completion = try self.open(message.completion, for: .completion(session: id))
        var code: String?
        switch (completion, session.purpose) {
        case (.addFactor(let response, let replaces), .addFactor):
            let keys = try self.registered(response, challenge)
            guard replaces == nil || replaces == session.replaces else { throw IdentityProblem(.invalidRequest) }
            guard self.finger(of: prover) == replaces else { throw IdentityProblem(.factorAlreadyEnrolled) }
            if let replaces { self.activations[prover]?.keys[replaces] = nil }
            self.activations[prover]?.keys.merge(keys) { $1 }
        case (.changePin(let version, let response), .changePin):
            let new = try self.registered(response, challenge)
            let others = (self.activations[prover]?.keys ?? [:]).filter { $0.value.aaid != ServerPinModel.aaid }
            self.activations[prover]?.keys = others.merging(new) { $1 }
            self.activations[prover]?.pinVersion = version
        case (.newActivation(let new), .newActivation):
            guard case .p256(let x, let y, _) = new.pinKey.material,
                let key = try? P256.Signing.PublicKey(rawRepresentation: x + y)
            else { throw IdentityProblem(.invalidRequest) }
            self.pending[new.activation] = Pending(claimDigest: new.claimDigest, pinKey: key, pin: new.pin)
            code = try self.signedCode(.activation, new.activation, new.claimDigest)
        case (.delete, .delete):
            self.activations[prover] = nil
            session.end = .sessionConsumed
            return CompleteResponse(activation: nil)
        default: throw IdentityProblem(.invalidRequest)
        }
        session.end = .grantExpired
        return CompleteResponse(activation: self.record(prover), code: code)
    }
}

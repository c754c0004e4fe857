import Ceremony
import Crypto
import JOSE
import Records
import Settings
import UAF
import UAFRelyingParty
import _Primitives

/// GrantedActions: a phone does, once, the action that a session has granted: a further factor, another PIN, an activation
/// for another device, or the deletion of the account.
public struct GrantedActions: CeremonyPart {
    let environment: CeremonyEnvironment
    let envelope: IdentityEnvelope
    let steps: IdentitySteps

    /// The minimum number of random bytes in an activation's identifier.
    private static let identifierBytes = 16

    /// A judged payload, before the step that uses the payload.
    private enum Payload: Sendable {
        case factors(VerifiedFactorRegistration, pinVersion: UInt32?, replaces: KeyID? = nil)
        case activation(Completion.NewActivation, key: [UInt8])
        case delete
        /// A registration that was refused.
        case refused

        /// `true` if the payload suits the purpose of the session. A refused registration suits two purposes.
        func fits(_ purpose: IdentityPurpose) -> Bool {
            switch self {
            case .factors(_, let version, _): purpose == (version == nil ? .addFactor : .changePin)
            case .activation: purpose == .newActivation
            case .delete: purpose == .delete
            case .refused: purpose == .addFactor || purpose == .changePin
            }
        }
    }

    /// `POST /identity/api-access/{session}/complete`: judges the payload of the granted action, and does the action. A
    /// new PIN that is refused uses up one of a few tries; a factor that exists already ends the session.
    public func complete(_ session: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call) { proven in
            let message = try CompleteRequest(parsing: proven.body)
            guard let key = try await self.envelope.keys.sealingKey(message.completion.keyID, at: proven.at) else {
                throw IdentityProblem(.invalidRequest)
            }
            let completion = try message.completion.open(
                Completion.self, with: key, for: .completion(session: session))
            do {
                return try await self.steps.answer(session, proven) { turn in
                    try turn.requireBound()
                    // An ended session answers with its ending, whatever the payload is: the session document that the
                    // payload was made over is gone.
                    if let ending = turn.progress.session.state.ending { throw IdentityProblem(ending) }
                    let payload = try self.payload(completion, of: turn)
                    return try self.use(payload, &turn)
                }
            } catch let error as StoreError where error.code == .conflict {
                // The name or the key is taken. Phones make both of random bytes, so the caller is no phone of ours.
                throw IdentityProblem(.invalidRequest)
            }
        }
    }

    /// Judges a payload by checking its signatures. The check runs within the step that uses the payload, because the
    /// challenge belongs to the session.
    private func payload(_ completion: Completion, of turn: IdentityTurn) throws -> Payload {
        let challenge = SessionDocument.challenge(of: turn.progress.document)
        let device = turn.activation.device
        // A registration from an app outside the list is not a refused PIN, and is not counted.
        func registered(_ response: String, _ type: AuthenticatorType) throws -> VerifiedFactorRegistration? {
            do throws(IdentityProblem) {
                return try self.envelope.verifiedRegistration(
                    response, of: device.id, challenge: challenge, accountID: device.accountID, required: [type],
                    at: turn.now)
            } catch {
                guard error.code == .invalidRequest else { throw error }
                return nil
            }
        }
        switch completion {
        case .addFactor(let response, let replaces):
            return try registered(response, .biometric).map { .factors($0, pinVersion: nil, replaces: replaces) }
                ?? .refused
        case .changePin(let version, let response):
            let new = try registered(response, .pin)
            guard let current = turn.activation.pinVersion, version == current &+ 1 else { return .refused }
            return new.map { .factors($0, pinVersion: version) } ?? .refused
        case .newActivation(let activation):
            // The PIN of a code is proved before any phone is known, so no service evaluates the PIN.
            guard let point = activation.pinKey.compressedPoint, activation.pin.scheme == .pin1,
                (Base64URL.decode(activation.activation)?.count ?? 0) >= Self.identifierBytes,
                // No proof could name an identifier with more letters.
                activation.activation.utf8.count <= Limits.Fixed.activationLetters,
                // A letter with another secret would carry an invalid code.
                activation.secretForMail.map({
                    constantTimeEqual(
                        ProcessCode.digest(ofClaim: ProcessCode.claim(of: $0)), activation.claimDigest)
                }) ?? true
            else { throw IdentityProblem(.invalidRequest) }
            return .activation(activation, key: point)
        case .delete: return .delete
        }
    }

    private func use(_ payload: Payload, _ turn: inout IdentityTurn) throws -> CompleteResponse {
        let purpose = turn.progress.session.purpose
        guard payload.fits(purpose) else { throw IdentityProblem(.invalidRequest) }
        switch payload {
        case .refused:
            guard purpose == .changePin else { throw IdentityProblem(.invalidRequest) }
            do { try turn.take(.complete(purpose, .pinRefused)) } catch let problem as IdentityProblem
                where problem.code == .pinRefused
            {
                // The refusal is counted.
                throw KeptRefusal(problem: problem)
            }
            throw IdentityProblem(.pinRefused)
        case .factors(let verified, let version, let replaces):
            let former = try version == nil ? self.replaced(replaces, turn) : turn.credentials.keys(of: .pin)
            let kept = turn.credentials.filter { key in !former.contains { $0.id == key.id } }
            if purpose == .addFactor, !kept.factorTypes.isDisjoint(with: verified.types) {
                try turn.take(.complete(purpose, .factorAlreadyEnrolled))
            }
            try turn.take(.complete(purpose, .valid))
            let new = self.credentials(of: verified, turn.activation.device, at: turn.now)
            turn.change.ceremony.newCredentials = new
            turn.change.withdrawnCredentials = former.map(\.id)
            if let version { turn.activation.pinVersion = version }
            self.note(&turn, detail: purpose.rawValue + (replaces == nil ? "" : " replacing"))
            turn.change.ceremony.notices = [
                NoticeRecord(
                    id: self.newIdentifier(), accountID: turn.activation.device.accountID, kind: .authenticatorAdded,
                    at: turn.now, subject: turn.activation.device.name)
            ]
            return CompleteResponse(activation: turn.activation.receipt(kept + new))
        case .activation(let wanted, let key):
            try turn.take(.complete(purpose, .valid))
            return try self.offer(wanted, key, &turn)
        case .delete:
            try turn.take(.complete(purpose, .valid))
            self.note(&turn, detail: purpose.rawValue)
            turn.change.deletesAccount = true
            return CompleteResponse(activation: nil)
        }
    }

    /// Returns the key that a new factor replaces: the key that the person has agreed to, if the activation still has
    /// the key.
    private func replaced(_ key: KeyID?, _ turn: IdentityTurn) throws(IdentityProblem) -> [CredentialRecord] {
        guard let key else { return [] }
        guard key == turn.progress.replaces else { throw IdentityProblem(.invalidRequest) }
        return turn.credentials.keys(of: .biometric).filter { $0.keyID == key.bytes }
    }

    private func offer(_ wanted: Completion.NewActivation, _ key: [UInt8], _ turn: inout IdentityTurn) throws
        -> CompleteResponse
    {
        let expiresAt = turn.now + self.limits.activationLifetime
        let name = wanted.name.map { DisplayText.name($0, length: self.limits.nameCharacters) }
        let signed = try self.envelope.keys.sign(
            .activation, id: wanted.activation, claimDigest: wanted.claimDigest, expiresAt: expiresAt, at: turn.now)
        var offer = OfferRecord(
            id: wanted.activation, accountID: turn.activation.device.accountID, claimDigest: wanted.claimDigest,
            pinKey: key, pinParameters: String(decoding: JSON.object(wanted.pin.json).serialized, as: UTF8.self),
            name: name.flatMap { $0.isEmpty ? nil : $0 }, challenge: self.random.token(), createdAt: turn.now,
            expiresAt: expiresAt)
        if let secret = wanted.secretForMail, self.configuration.sendsMail {
            offer.letter = ProcessCode.text(signed: signed, secret: secret)
            turn.change.mail = (
                MailRecord(
                    accountID: offer.accountID, subject: .newActivation, about: offer.id, createdAt: turn.now,
                    expiresAt: expiresAt), self.limits.mail.waitingMails
            )
        }
        turn.change.offer = offer
        self.note(&turn, detail: wanted.activation)
        return CompleteResponse(activation: turn.activation.receipt(turn.credentials), code: signed)
    }

    private func note(_ turn: inout IdentityTurn, detail: String) {
        turn.change.ceremony.identityOutcome = turn.outcome(.finished)
        turn.change.ceremony.audit.append(
            AuditEvent(
                .identityCompleted, at: turn.now, accountID: turn.activation.device.accountID,
                ceremonyID: turn.ceremony.id, detail: detail))
    }
}

import Ceremony
import JOSE
import PersonalInformation
import UAF
import UAFClient
import _Primitives

/// The requests of a session, from its claim to the step after the factors.
struct IdentitySessions: Sendable {
    private static let path = "/identity/sessions/"

    let core: IdentityCore

    private var factors: IdentityFactors { IdentityFactors(core: self.core) }

    // MARK: Offers

    /// Asks for a session that signs this app in. Throws the errors of ``ManagerExchange/send(_:to:by:as:)``, and
    /// ``EngineError`` `unknownAccount`.
    func offer(_ request: InAppRequest, at server: String) async throws -> SessionOffer {
        let identity = try self.core.identity(of: server)
        return try await self.core.exchange(with: server).send(
            request, to: "/identity/in-app", by: ManagerExchange.Prover(identity), as: SessionOffer.self
        ).message
    }

    /// Asks for a session that permits an operation on the account or the activation. Throws the errors of
    /// ``offer(_:at:)-1``.
    func offer(_ request: AccessRequest, at server: String) async throws -> SessionOffer {
        let identity = try self.core.identity(of: server)
        return try await self.core.exchange(with: server).send(
            request, to: "/identity/api-access", by: ManagerExchange.Prover(identity), as: SessionOffer.self
        ).message
    }

    // MARK: Steps

    /// Claims a session, and repeats the same request if its answer was lost. Throws the errors of ``offer(_:at:)-1``.
    func start(
        _ session: String, claim: SecretBytes, at server: String, replacing key: KeyID? = nil
    ) async throws -> (ClaimedSession, RequestDocument) {
        let identity = try self.core.identity(of: server)
        let claimed = ClaimedSession(server: server, id: session, activation: identity.activation, replaces: key)
        let sent = SentClaim(session: claimed, claim: claim)
        let settled = try await self.core.claims.settle(where: sent.isSame(as:)) { request, _ in
            try await self.core.exchange(with: server).sendAgain(
                request, as: RequestDocument.self, noting: .sessionClaimed)
        }
        if let settled { return (claimed, settled.answer.message) }
        let document = try await self.send(
            StartRequest(claim: claim, security: try await self.core.securityReport()), claimed, "start",
            as: RequestDocument.self, noting: .sessionClaimed, keeping: self.core.claims.keeper(of: sent)
        ).message
        return (claimed, document)
    }

    /// Sends the person's answers, and repeats the same request if its answer was lost. Throws the errors of
    /// ``ManagerExchange/send(_:to:by:as:)``.
    func prepare(
        _ session: ClaimedSession, _ said: SentAnswers, unanswered: UnansweredRequests<SentAnswers>
    ) async throws -> PrepareResponse {
        // Nothing is sent again for an identity that this device no longer has.
        _ = try self.identity(of: session)
        let settled = try await unanswered.settle(where: said.isSame(as:)) { request, _ in
            try await self.core.exchange(with: session.server).sendAgain(
                request, as: PrepareResponse.self, noting: .answersSent)
        }
        if let settled { return settled.answer.message }
        return try await self.send(
            PrepareRequest(role: said.role, answers: said.answers, security: try await self.core.securityReport()),
            session, "prepare", noting: .answersSent, keeping: unanswered.keeper(of: said)
        ).message
    }

    /// Compares the content to be signed with the content that the person saw and answered.
    ///
    /// Throws ``EngineError`` `malformed` if the content is about something else, and `SessionDocumentError`.
    func check(
        _ prepared: PreparedSession, of session: ClaimedSession, for request: RequestDocument,
        role: (id: String, name: String),
        answers: [PersonalAttribute: AttributeAnswer]
    ) throws -> CheckedSession {
        let document = try SessionDocument(parsing: prepared.document)
        func name(_ text: String) -> String? { try? TransactionText(normalizing: text).text }
        guard document.purpose == request.purpose, document.server.hasSameBytes(as: session.server),
            document.session.hasSameBytes(as: session.id), document.activation.hasSameBytes(as: session.activation),
            document.service.name.hasSameBytes(as: name(request.service.name) ?? ""),
            document.service.origin.hasSameBytes(as: request.service.origin),
            document.role.id.hasSameBytes(as: role.id), document.role.name.hasSameBytes(as: name(role.name) ?? ""),
            document.confirms(answers, salts: prepared.salts),
            // The text must tell the person that a finger is replaced.
            session.replaces == nil || document.text != nil,
            answers.allSatisfy({ attribute, answer in
                guard case .alias(let id) = answer, case .alias(_, let text) = document.attributes[attribute] else {
                    return true
                }
                // The text must be the alias by which the person knew the chosen value, and no other text.
                let asked = request.attributes.attributes.first { $0.attribute == attribute }
                let shown = asked?.aliases.first { $0.id.hasSameBytes(as: id) }
                return text.hasSameBytes(as: shown.flatMap { name($0.alias) } ?? "")
            })
        else { throw EngineError(.malformed, "a document of something else") }
        return CheckedSession(prepared: prepared, document: document)
    }

    /// Compares the content to be signed after a lockout with the earlier content. Throws the errors of
    /// ``check(_:of:for:role:answers:)``.
    func check(_ next: PreparedSession, after earlier: CheckedSession) throws -> CheckedSession {
        let document = try SessionDocument(parsing: next.document)
        guard document.isRenewal(of: earlier.document), next.appID.hasSameBytes(as: earlier.prepared.appID) else {
            throw EngineError(.malformed, "a document of something else")
        }
        return CheckedSession(prepared: next, document: document)
    }

    /// Signs with factors, and returns the server's judgement.
    ///
    /// Throws the errors of ``IdentityFactors/sign(_:of:appID:challenge:pinVersion:_:)`` before anything was sent, and
    /// the errors of ``ManagerExchange/send(_:to:by:as:)``.
    func finish(
        _ session: ClaimedSession, _ checked: CheckedSession, with supplied: [SuppliedFactor],
        _ disclosure: Disclosure.Complete, unanswered: UnansweredRequests<SentFactors>
    ) async throws -> (answer: ManagerExchange.Answered<FinishResponse>, sent: SentFactors) {
        let identity = try self.identity(of: session)
        let security = try await self.core.securityReport()
        let challenge = checked.document.challenge
        let pin = supplied.compactMap { if case .pin(let pin) = $0 { pin } else { nil } }.first
        // The keys stay in exclusive use until the server has judged: a later signature of the same key must not
        // overtake this signature.
        let (answer, sent) = try await self.core.module.withExclusiveUse(of: identity.keys) {
            let response = try await self.factors.sign(
                supplied, of: identity, appID: checked.prepared.appID, challenge: challenge,
                pinVersion: checked.prepared.pinVersion, service: try self.evaluator(session, checked), disclosure)
            let exchange = self.core.exchange(with: session.server)
            let sealed = try SealedMessage(
                sealing: FinishRequest.Factors(response: response), to: try await exchange.sealingKey(),
                for: .factors(session: session.id, challenge: challenge.text))
            let sent = SentFactors(
                checked: checked, pin: checked.document.purpose == .changePin ? pin : nil,
                number: self.core.signatures.next(of: identity.activation))
            let answer = try await exchange.sendToTheEnd(
                FinishRequest(factors: sealed, security: security), to: try Self.path(of: session, "finish"),
                by: ManagerExchange.Prover(identity), as: FinishResponse.self, noting: .factorsSent,
                keeping: unanswered.keeper(of: sent))
            return (answer, sent)
        }
        self.note(answer, to: sent, of: identity)
        return (answer, sent)
    }

    /// Repeats a finish request whose answer was lost, and returns the server's judgement of its factors. `nil` if no
    /// such request exists, if its proof is too old, and if later signatures were sent for another session, because the
    /// server could not judge the earlier signatures after them. Throws the errors of
    /// ``ManagerExchange/send(_:to:by:as:)``.
    func finishAgain(_ session: ClaimedSession, _ unanswered: UnansweredRequests<SentFactors>) async throws -> (
        answer: ManagerExchange.Answered<FinishResponse>, sent: SentFactors
    )? {
        guard !unanswered.isEmpty else { return nil }
        let identity = try self.identity(of: session)
        let settled = try await self.core.module.withExclusiveUse(of: identity.keys) {
            try await unanswered.settle(
                where: { self.core.signatures.isLast($0.number, of: identity.activation) },
                { request, _ in
                    try await self.core.exchange(with: session.server).sendAgainToTheEnd(
                        request, as: FinishResponse.self, noting: .factorsSent)
                })
        }
        guard let (answer, sent) = settled else { return nil }
        self.note(answer, to: sent, of: identity)
        return (answer, sent)
    }

    private func note(
        _ answer: ManagerExchange.Answered<FinishResponse>, to sent: SentFactors, of identity: StoredIdentity
    ) {
        guard case .accepted = answer.message else { return }
        // The authentication is done, whatever the storage reports now.
        _ = try? self.core.register.change(identity) { identity in
            identity.lastUsed = answer.now
            // The server has named the PIN that counts.
            if let version = sent.checked.prepared.pinVersion { try? identity.pin?.settle(on: version) }
        }
    }

    /// Returns the evaluator that asks the server's PIN service. A question counts as an attempt at the server, so it
    /// is not cancelled.
    func evaluator(_ session: ClaimedSession, _ checked: CheckedSession) throws -> PinEvaluator {
        let identity = try self.identity(of: session)
        let path = try Self.path(of: session, "pin-evaluation")
        let exchange = self.core.exchange(with: session.server)
        return PinEvaluator(asked: checked.askedPins) { blinded in
            try await exchange.sendToTheEnd(
                EvaluationRequest(blinded: blinded, security: try await self.core.securityReport()), to: path,
                by: ManagerExchange.Prover(identity),
                as: EvaluationResponse.self, noting: .pinAsked
            ).message.evaluated
        }
    }

    /// Fetches the authorization code of a session that signed this app in. The code can be fetched once, so the
    /// request is not cancelled, and is repeated if its answer was lost. Throws the errors of
    /// ``prepare(_:_:unanswered:)``.
    func code(_ session: ClaimedSession, unanswered: UnansweredRequests<Void>) async throws -> CodeResponse {
        let identity = try self.identity(of: session)
        let exchange = self.core.exchange(with: session.server)
        let settled = try await unanswered.settle(where: { _ in true }) { request, _ in
            try await exchange.sendAgainToTheEnd(request, as: CodeResponse.self)
        }
        if let settled { return settled.answer.message }
        return try await exchange.sendToTheEnd(
            EmptyMessage(), to: try Self.path(of: session, "code"), by: ManagerExchange.Prover(identity),
            as: CodeResponse.self, keeping: unanswered.keeper(of: ())
        ).message
    }

    /// Gives a session up. Throws the errors of ``prepare(_:_:unanswered:)``.
    func abort(_ session: ClaimedSession) async throws {
        _ = try await self.send(EmptyMessage(), session, "abort", as: EmptyMessage.self)
    }

    /// Gives the person more time. Throws the errors of ``prepare(_:_:unanswered:)``.
    func prolong(_ session: ClaimedSession) async throws -> SessionDeadlines {
        try await self.send(EmptyMessage(), session, "prolong").message
    }

    /// Performs the operation that a session has permitted. Once sent, the request is not cancelled. Throws the errors
    /// of ``prepare(_:_:unanswered:)``.
    func complete(
        _ session: ClaimedSession, _ completion: Completion, keeping keep: ManagerExchange.Keeper? = nil
    ) async throws -> CompleteResponse {
        let identity = try self.identity(of: session)
        guard session.id.isPathSegment else { throw EngineError(.malformed, "the name of a session") }
        let exchange = self.core.exchange(with: session.server)
        let sealed = try SealedMessage(
            sealing: completion, to: try await exchange.sealingKey(), for: .completion(session: session.id))
        return try await exchange.sendToTheEnd(
            CompleteRequest(completion: sealed), to: "/identity/api-access/\(session.id)/complete",
            by: ManagerExchange.Prover(identity), as: CompleteResponse.self, keeping: keep
        ).message
    }

    /// Returns the identity that has claimed a session. Throws ``EngineError``: `unknownAccount` if this device no
    /// longer has the identity, and `appRenamed`.
    func identity(of session: ClaimedSession) throws -> StoredIdentity {
        let identity = try self.core.identity(of: session.server)
        guard identity.activation.hasSameBytes(as: session.activation) else {
            throw EngineError(.unknownAccount, "another identity")
        }
        return identity
    }

    private func send<Answer: IdentityMessage>(
        _ message: some IdentityMessage, _ session: ClaimedSession, _ step: String, as: Answer.Type = Answer.self,
        noting event: TraceEvent? = nil, keeping keep: ManagerExchange.Keeper? = nil
    ) async throws -> ManagerExchange.Answered<Answer> {
        let identity = try self.identity(of: session)
        return try await self.core.exchange(with: session.server).send(
            message, to: try Self.path(of: session, step), by: ManagerExchange.Prover(identity), noting: event,
            keeping: keep)
    }

    private static func path(of session: ClaimedSession, _ step: String) throws -> String {
        guard session.id.isPathSegment else { throw EngineError(.malformed, "the name of a session") }
        return Self.path + session.id + "/" + step
    }
}

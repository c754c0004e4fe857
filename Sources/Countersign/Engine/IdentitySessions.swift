import Ceremony
import JOSE
import PersonalInformation
import UAF
import UAFClient
import _Primitives

/// A session that this device has claimed.
struct ClaimedSession: Sendable {
    let server: String
    let id: String
    /// Which identity has claimed it.
    let activation: String
    /// The key of the finger or face that it was begun to replace; `nil` where it was not begun for that.
    var replaces: KeyID?
}

/// What is to be signed, as the phone has checked it.
struct CheckedSession: Sendable {
    let prepared: PreparedSession
    let document: SessionDocument
    /// What the PIN service was asked with this document.
    let askedPins = AskedPins()
}

/// The requests of a session, from its claim to what comes after the factors.
struct IdentitySessions: Sendable {
    private static let path = "/identity/sessions/"

    let core: IdentityCore

    private var factors: IdentityFactors { IdentityFactors(core: self.core) }

    // MARK: Offers

    /// Asks for a session that signs this app in. Throws as ``ManagerExchange/send(_:to:by:as:)`` does, and ``EngineError``
    /// `unknownAccount`.
    func offer(_ request: InAppRequest, at server: String) async throws -> SessionOffer {
        let identity = try self.core.identity(of: server)
        return try await ManagerExchange(self.core, server).send(
            request, to: "/identity/in-app", by: ManagerExchange.Prover(identity), as: SessionOffer.self
        ).message
    }

    /// Asks for a session after which something is done with the account or the activation. Throws as ``offer(_:at:)-1``.
    func offer(_ request: AccessRequest, at server: String) async throws -> SessionOffer {
        let identity = try self.core.identity(of: server)
        return try await ManagerExchange(self.core, server).send(
            request, to: "/identity/api-access", by: ManagerExchange.Prover(identity), as: SessionOffer.self
        ).message
    }

    // MARK: Steps

    /// Claims a session. Throws as ``offer(_:at:)-1``.
    func start(_ session: String, claim: SecretBytes, at server: String, replacing key: KeyID? = nil) async throws -> (
        ClaimedSession, RequestDocument
    ) {
        let identity = try self.core.identity(of: server)
        let claimed = ClaimedSession(server: server, id: session, activation: identity.activation, replaces: key)
        let document = try await self.send(
            StartRequest(claim: claim, security: try await self.core.securityReport()), claimed, "start",
            as: RequestDocument.self, noting: .sessionClaimed
        ).message
        return (claimed, document)
    }

    /// Says what a person said. Throws as ``ManagerExchange/send(_:to:by:as:)`` does.
    func prepare(_ session: ClaimedSession, role: String?, answers: [PersonalAttribute: AttributeAnswer]) async throws
        -> PrepareResponse
    {
        try await self.send(
            PrepareRequest(role: role, answers: answers, security: try await self.core.securityReport()), session,
            "prepare", noting: .answersSent
        ).message
    }

    /// Holds what is to be signed against what was shown and said.
    ///
    /// Throws ``EngineError`` `malformed` where it is about something else, and `SessionDocumentError`.
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
            // That a finger is replaced is said to the person who agrees to it.
            session.replaces == nil || document.text != nil,
            answers.allSatisfy({ attribute, answer in
                guard case .alias(let id) = answer, case .alias(_, let text) = document.attributes[attribute] else {
                    return true
                }
                // The words by which the person knew the value that they chose, and no others.
                let asked = request.attributes.attributes.first { $0.attribute == attribute }
                let shown = asked?.aliases.first { $0.id.hasSameBytes(as: id) }
                return text.hasSameBytes(as: shown.flatMap { name($0.alias) } ?? "")
            })
        else { throw EngineError(.malformed, "a document of something else") }
        return CheckedSession(prepared: prepared, document: document)
    }

    /// Holds what is to be signed after a lockout against what was to be signed before. Throws as
    /// ``check(_:of:for:role:answers:)`` does.
    func check(_ next: PreparedSession, after earlier: CheckedSession) throws -> CheckedSession {
        let document = try SessionDocument(parsing: next.document)
        guard document.isRenewal(of: earlier.document), next.appID.hasSameBytes(as: earlier.prepared.appID) else {
            throw EngineError(.malformed, "a document of something else")
        }
        return CheckedSession(prepared: next, document: document)
    }

    /// Signs with factors and has the server judge them.
    ///
    /// Throws as ``IdentityFactors/sign(_:of:appID:challenge:pinVersion:_:)`` does, and nothing has left; and as
    /// ``ManagerExchange/send(_:to:by:as:)`` does.
    func finish(
        _ session: ClaimedSession, _ checked: CheckedSession, with supplied: [SuppliedFactor],
        _ disclosure: Disclosure.Complete
    ) async throws -> ManagerExchange.Answered<FinishResponse> {
        let identity = try self.identity(of: session)
        let security = try await self.core.securityReport()
        let challenge = checked.document.challenge
        // Until the server has judged: a later signature of the same key must not overtake this one.
        let answer = try await self.core.module.withExclusiveUse(of: identity.keys) {
            let response = try await self.factors.sign(
                supplied, of: identity, appID: checked.prepared.appID, challenge: challenge,
                pinVersion: checked.prepared.pinVersion, service: try self.evaluator(session, checked), disclosure)
            let exchange = ManagerExchange(self.core, session.server)
            let sealed = try SealedMessage(
                sealing: FinishRequest.Factors(response: response), to: try await exchange.sealingKey(),
                for: .factors(session: session.id, challenge: challenge.text))
            return try await exchange.sendToTheEnd(
                FinishRequest(factors: sealed, security: security), to: try Self.path(of: session, "finish"),
                by: ManagerExchange.Prover(identity), as: FinishResponse.self, noting: .factorsSent)
        }
        if case .accepted = answer.message {
            // It is done, whatever the storage says now.
            _ = try? self.core.register.change(identity) { identity in
                identity.lastUsed = answer.now
                // The server has named the PIN that counts.
                if let version = checked.prepared.pinVersion { try? identity.pin?.settle(on: version) }
            }
        }
        return answer
    }

    /// Asks the server's PIN service. What is asked counts as an attempt at the server, so it goes to its end.
    func evaluator(_ session: ClaimedSession, _ checked: CheckedSession) throws -> PinEvaluator {
        let identity = try self.identity(of: session)
        let path = try Self.path(of: session, "pin-evaluation")
        let exchange = ManagerExchange(self.core, session.server)
        return PinEvaluator(asked: checked.askedPins) { blinded in
            try await exchange.sendToTheEnd(
                EvaluationRequest(blinded: blinded, security: try await self.core.securityReport()), to: path,
                by: ManagerExchange.Prover(identity),
                as: EvaluationResponse.self, noting: .pinAsked
            ).message.evaluated
        }
    }

    /// Fetches the authorization code of a session that signed this app in: once, so it goes to its end. Throws as
    /// ``prepare(_:role:answers:)`` does.
    func code(_ session: ClaimedSession) async throws -> CodeResponse {
        try await ManagerExchange(self.core, session.server).sendToTheEnd(
            EmptyMessage(), to: try Self.path(of: session, "code"),
            by: ManagerExchange.Prover(try self.identity(of: session)), as: CodeResponse.self
        ).message
    }

    /// Gives a session up. Throws as ``prepare(_:role:answers:)`` does.
    func abort(_ session: ClaimedSession) async throws {
        _ = try await self.send(EmptyMessage(), session, "abort", as: EmptyMessage.self)
    }

    /// Gives the person more time. Throws as ``prepare(_:role:answers:)`` does.
    func prolong(_ session: ClaimedSession) async throws -> SessionDeadlines {
        try await self.send(EmptyMessage(), session, "prolong").message
    }

    /// Does what a session has permitted. Throws as ``prepare(_:role:answers:)`` does.
    func complete(_ session: ClaimedSession, _ completion: Completion) async throws -> CompleteResponse {
        let identity = try self.identity(of: session)
        guard session.id.isPathSegment else { throw EngineError(.malformed, "the name of a session") }
        let exchange = ManagerExchange(self.core, session.server)
        let sealed = try SealedMessage(
            sealing: completion, to: try await exchange.sealingKey(), for: .completion(session: session.id))
        return try await exchange.sendToTheEnd(
            CompleteRequest(completion: sealed), to: "/identity/api-access/\(session.id)/complete",
            by: ManagerExchange.Prover(identity), as: CompleteResponse.self
        ).message
    }

    /// The identity that has claimed a session. Throws ``EngineError`` `unknownAccount` where it is not on this device any
    /// more.
    func identity(of session: ClaimedSession) throws -> StoredIdentity {
        let identity = try self.core.identity(of: session.server)
        guard identity.activation.hasSameBytes(as: session.activation) else {
            throw EngineError(.unknownAccount, "another identity")
        }
        return identity
    }

    private func send<Answer: IdentityMessage>(
        _ message: some IdentityMessage, _ session: ClaimedSession, _ step: String, as: Answer.Type = Answer.self,
        noting event: TraceEvent? = nil
    ) async throws -> ManagerExchange.Answered<Answer> {
        let identity = try self.identity(of: session)
        return try await ManagerExchange(self.core, session.server).send(
            message, to: try Self.path(of: session, step), by: ManagerExchange.Prover(identity), noting: event)
    }

    private static func path(of session: ClaimedSession, _ step: String) throws -> String {
        guard session.id.isPathSegment else { throw EngineError(.malformed, "the name of a session") }
        return Self.path + session.id + "/" + step
    }
}

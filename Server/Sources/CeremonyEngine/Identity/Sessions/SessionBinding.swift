import Ceremony
import PersonalInformation
import Records
import UAF
import _Primitives

/// The binding of sessions: an activation claims a session, and gives the person's answers.
public struct SessionBinding: CeremonyPart {
    let environment: CeremonyEnvironment
    let envelope: IdentityEnvelope
    let steps: IdentitySteps
    let terms: SessionTermsReader

    // MARK: Start

    /// `POST …/start`: binds the activation, and returns the requirements of the session.
    public func start(_ session: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call, about: session) { proven, record in
            let request = try StartRequest(parsing: proven.body)
            guard request.version == ManagerKeySet.version else {
                throw IdentityProblem(.protocolVersionUnsupported)
            }
            let (terms, purpose) = try self.terms(record)
            let reasons = self.configuration.identities.insufficiencies(of: request.security)
            let bounds = ValidatorBounds(
                self.terms.rules(at: proven.at), of: Set(terms.requested.attributes.map(\.attribute)))
            return try await self.steps.answer(
                session, proven, tokenDigest: ProcessCode.digest(ofClaim: request.claim)
            ) { turn in
                var conditions = IdentityEvent.StartConditions()
                // An activation that begins a session comes with its own session.
                conditions.isGenuine =
                    turn.token != nil
                    && (turn.ceremony.accountID.map { $0.hasSameBytes(as: turn.activation.device.accountID) } ?? true)
                    && (turn.ceremony.deviceID == nil || turn.isBound)
                conditions.isActivationActive = turn.inactivity?.code != .activationDisabled
                conditions.lockout = Lockout(turn.activation.lockout).pending(at: turn.now)
                conditions.isSecure = reasons.isEmpty
                conditions.isMember = terms.isMember
                conditions.isInvited = terms.isInvited
                conditions.hasRole = !terms.roles.isEmpty
                guard terms.isActive else { throw IdentityProblem(.serviceInactive) }
                do { try turn.take(.start(conditions)) } catch let problem as IdentityProblem
                    where problem.code == .securityInsufficient
                {
                    throw IdentityProblem(.securityInsufficient, reasons: reasons)
                }
                turn.ceremony.accountID = turn.activation.device.accountID
                turn.ceremony.deviceID = turn.activation.device.id
                turn.ceremony.channel = turn.token?.channel
                turn.change.ceremony.audit.append(
                    AuditEvent(
                        .identityClaimed, at: turn.now, accountID: turn.ceremony.accountID, ceremonyID: session,
                        detail: turn.activation.device.id))
                return RequestDocument(
                    purpose: purpose, service: terms.service,
                    roles: terms.roles.map { role, factors in
                        let asked = factors.asked(of: turn.credentials)
                        return RequestDocument.Role(
                            id: role.id, name: role.name, alternatives: asked.alternatives, missing: asked.missing)
                    }, attributes: terms.requested, bounds: bounds, deadlines: turn.deadlines,
                    isForLinks: turn.token?.channel.canBeSentOn ?? false)
            }
        }
    }

    /// Returns the terms of the session for an account, before the step that decides.
    private func terms(_ record: IdentityTerms) throws -> (SessionTerms, IdentityPurpose) {
        guard let ceremony = record.ceremony, ceremony.kind == .identity else {
            throw IdentityProblem(.sessionUnknown)
        }
        let purpose = try ceremony.identityProgress(token: nil, limits: self.limits).session.purpose
        return (try self.terms.terms(of: ceremony, by: record, purpose: purpose), purpose)
    }

    // MARK: Prepare

    /// `POST …/prepare`: judges the person's answers, and makes the document for signing.
    public func prepare(_ session: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call, about: session) { proven, record in
            let request = try PrepareRequest(parsing: proven.body)
            let (terms, _) = try self.terms(record)
            let reasons = self.configuration.identities.insufficiencies(of: request.security)
            let judged = terms.requested.judge(request.answers, by: self.terms.rules(at: proven.at))
            return try await self.steps.answer(session, proven) { turn in
                try turn.requireBound()
                guard reasons.isEmpty else { throw IdentityProblem(.securityInsufficient, reasons: reasons) }
                guard terms.isActive else { throw IdentityProblem(.serviceInactive) }
                // A person who was a member when the session began may have left since.
                guard terms.isMember else { throw IdentityProblem(.membershipRequired) }
                guard terms.isInvited else { throw IdentityProblem(.invitationRequired) }
                guard let (role, factors) = terms.role(request.role) else {
                    try turn.take(.prepare(.noRole))
                    throw IdentityProblem(.roleNotSelected)
                }
                guard judged.errors.isEmpty else {
                    try turn.take(.prepare(.errors))
                    return PrepareResponse.errors(judged.errors, deadlines: turn.deadlines)
                }
                try turn.take(.prepare(.complete))
                return PrepareResponse.prepared(
                    try self.prepared(&turn, terms, as: role, by: factors, judged.confirmed))
            }
        }
    }

    /// Records the person's answers, and makes the document.
    private func prepared(
        _ turn: inout IdentityTurn, _ terms: SessionTerms, as role: SessionDocument.Role,
        by factors: AuthenticatorMatrix, _ confirmed: [PersonalAttribute: AttributeAnswer]
    ) throws -> PreparedSession {
        var sources: [PersonalAttribute: SessionDocument.AttributeSource] = [:]
        for (attribute, answer) in confirmed {
            switch answer {
            case .alias(let id):
                sources[attribute] = .alias(id: id, text: terms.aliasText(id, of: attribute) ?? id)
            case .value(let text):
                let salt = SuppliedValueSalt(random: self.random)
                turn.progress.salts[attribute] = salt
                sources[attribute] = .supplied(SuppliedValueDigest(of: text, for: attribute, salt: salt))
            }
        }
        let document = try SessionDocument(
            purpose: turn.progress.session.purpose, server: self.configuration.issuer, session: turn.ceremony.id,
            activation: turn.activation.device.id, service: terms.service, role: role, attributes: sources,
            text: try
                (turn.progress.agreement ?? turn.ceremony.detail.changeText
                ?? turn.progress.replaces.map { _ in try ReplacementAgreement().text.text })
                .map { try TransactionText(normalizing: $0) },
            expiresAt: turn.progress.session.deadline, random: self.random)
        turn.progress.role = role
        turn.progress.factors = factors
        turn.progress.confirmed = confirmed
        turn.progress.required = Set(
            terms.requested.attributes.filter { $0.isRequired && confirmed[$0.attribute] != nil }.map(\.attribute))
        turn.progress.document = document.bytes
        return turn.preparedSession(by: factors, self.configuration)
    }
}

extension IdentityTurn {
    /// Returns the document and the factors for signing now.
    func preparedSession(by factors: AuthenticatorMatrix, _ configuration: CeremonyConfiguration) -> PreparedSession {
        let asked = factors.asked(of: self.credentials)
        return PreparedSession(
            document: self.progress.document, salts: self.progress.salts, alternatives: asked.alternatives,
            missing: asked.missing, appID: configuration.identityAppID, pinVersion: self.activation.pinVersion,
            deadlines: self.deadlines)
    }
}

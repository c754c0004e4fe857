import Ceremony
import Crypto
import PersonalInformation
import Records
import Sealing
import UAF
import UAFRelyingParty
import _Primitives

/// The judgement of a session's factors.
///
/// An attempt is counted in its own step before the verification; a second step writes the result. All faults of the
/// factors lead to the same answer, of one form and size, after the same work.
public struct FactorJudgement: CeremonyPart {
    let environment: CeremonyEnvironment
    let envelope: IdentityEnvelope
    let steps: IdentitySteps
    let merges: AccountMerges

    /// A counted attempt, with the data for its judgement.
    private struct Attempt: Sendable {
        let document: [UInt8]
        let factors: AuthenticatorMatrix
        let credentials: [CredentialRecord]
        let accountID: String
        /// The lockout that the phone is told of if the attempt is wrong.
        let ifRefused: IdentityLockout
        let invitation: ProvenInvitation?
        /// `true` if the PIN service was asked before.
        let isPinAsked: Bool

        /// `true` if the factors satisfy the attempt. After a question to the PIN service the factors must include the
        /// PIN: the phone then knows the result for that PIN, so other sufficient factors must not take the attempt
        /// back.
        func covers(_ factors: VerifiedFactors) -> Bool {
            !self.isPinAsked || factors.factors.contains { $0.type == .pin }
        }
    }

    /// `POST …/finish`: judges the signatures of the factors. Wrong factors are answered with the lockout, and with a
    /// new document if the session outlasts the lockout.
    public func finish(_ session: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call) { proven in
            // An unreadable request is an attempt like any other.
            let request = try? FinishRequest(parsing: proven.body)
            let reasons = self.configuration.identities.insufficiencies(of: request?.security)
            let isReadable = request != nil
            let reserved = try await self.steps.step(session, proven) { turn in
                try turn.requireBound(reservedBy: proven.name.hash)
                guard reasons.isEmpty || !isReadable else {
                    throw IdentityProblem(.securityInsufficient, reasons: reasons)
                }
                return .goesOn(try self.reserve(&turn, proven))
            }
            let attempt: Attempt
            switch reserved {
            case .answered(let answer): return answer
            case .goesOn(let reserved): attempt = reserved
            }
            let found = try await self.judge(request, attempt, session, proven)
            return try await self.settle(session, proven, attempt, found)
        }
    }

    // MARK: Before

    private func reserve(_ turn: inout IdentityTurn, _ call: ProvenCall) throws -> Attempt {
        try turn.requireFactorsWanted()
        guard let factors = turn.progress.factors, let accountID = turn.ceremony.accountID else {
            throw StoreError(.corrupt, "a session that was prepared for nothing")
        }
        switch turn.reserve(call.name.hash) {
        case .pending(let lockout): throw IdentityProblem(lockout)
        case .mayVerify(let ifRefused):
            return Attempt(
                document: turn.progress.document, factors: factors, credentials: turn.credentials,
                accountID: accountID, ifRefused: ifRefused, invitation: turn.progress.invitation,
                isPinAsked: turn.progress.evaluation != nil)
        }
    }

    // MARK: Judging

    /// The finding about an attempt.
    private enum Finding {
        case right(VerifiedFactors)
        case wrong
        /// The factors come from an app outside the list of facets, whatever the factors are, and the PIN service was
        /// not asked before.
        case ofAnotherApp
    }

    private func judge(_ request: FinishRequest?, _ attempt: Attempt, _ session: String, _ call: ProvenCall)
        async throws -> Finding
    {
        let challenge = SessionDocument.challenge(of: attempt.document)
        var response: UnverifiedAuthentication?
        if let request, let key = try await self.envelope.keys.sealingKey(request.factors.keyID, at: call.at) {
            let factors = try? request.factors.open(
                FinishRequest.Factors.self, with: key, for: .factors(session: session, challenge: challenge.text))
            response = factors.flatMap {
                try? UnverifiedAuthentication(
                    parsing: $0.response.utf8, reading: self.relyingParty.lenientReadings)
            }
        }
        let isOfAnotherApp = self.envelope.isRefused(response?.facetID, of: call.activation.device.id, at: call.at)
        let verdict = FactorVerifier(self.relyingParty).judge(
            response,
            expected: ExpectedFactors(
                challenge: challenge, appID: self.configuration.identityAppID, matrix: attempt.factors,
                account: attempt.accountID, deviceRegistration: call.activation.device.id),
            keys: try attempt.credentials.filter(\.isActive).map { try RegisteredCredential($0) })
        // The refusal comes after the same work, so that the time reveals nothing about the factors. A phone that has
        // asked the PIN service knows the result for the PIN: only the PIN takes back such an attempt.
        if isOfAnotherApp, !attempt.isPinAsked { return .ofAnotherApp }
        switch verdict {
        case .accepted(let factors): return .right(factors)
        case .refused: return .wrong
        }
    }

    // MARK: After

    private func settle(
        _ session: String, _ call: ProvenCall, _ attempt: Attempt, _ found: Finding
    ) async throws -> [UInt8] {
        if case .ofAnotherApp = found { return try await self.takeBack(session, call) }
        guard case .right(let verified) = found, attempt.covers(verified) else {
            return try await self.refuse(session, call, attempt)
        }
        do {
            return try await self.accept(session, call, attempt, verified)
        } catch let error as StoreError where error.code == .conflict {
            // A counter has advanced since the keys were read.
            return try await self.refuse(session, call, attempt)
        } catch let error as StoreError where [.forbidden, .notFound, .outdated].contains(error.code) {
            // The factors were right, but the account, the service or an answer is gone, locked or outdated. The
            // attempt was not wrong.
            return try await self.steps.answer(session, call) { turn in
                _ = turn.settle(call.name.hash, isRight: true)
                guard turn.isActive else { throw KeptRefusal(problem: IdentityProblem(.activationDisabled)) }
                // The session cannot be prepared again. Repeating the same factors would each time take back counted
                // attempts of other sessions.
                let effects = (try? turn.take(.expire)) ?? []
                throw EndedSession(
                    problem: IdentityProblem(error.code == .outdated ? .answersOutdated : .serviceInactive),
                    effects: effects)
            }
        }
    }

    /// Takes back an attempt from an app that the operator has not listed, because a setting must not lock a person
    /// out. The answer reveals nothing about the factors.
    private func takeBack(_ session: String, _ call: ProvenCall) async throws -> [UInt8] {
        try await self.steps.answer(session, call) { turn in
            guard turn.isBound, turn.withdraw(call.name.hash) else { throw IdentityProblem(.outOfOrder) }
            throw KeptRefusal(problem: IdentityProblem(.untrustedFacetId))
        }
    }

    private func refuse(_ session: String, _ call: ProvenCall, _ attempt: Attempt) async throws -> [UInt8] {
        try await self.steps.answer(session, call) { turn in
            guard turn.isBound, turn.settle(call.name.hash, isRight: false) else {
                throw IdentityProblem(.outOfOrder)
            }
            turn.change.ceremony.audit.append(
                AuditEvent(
                    .identityAttemptRefused, at: turn.now, accountID: attempt.accountID, ceremonyID: session,
                    detail: turn.activation.device.id))
            do {
                try turn.take(.finish(.refused(attempt.ifRefused)))
            } catch let ended as EndedSession {
                turn.note(ended)
                return FinishResponse.lockout(RefusedAttempt(lockout: LockoutNotice(attempt.ifRefused), next: nil))
            } catch let problem as IdentityProblem {
                // The session ended while its factors were judged. The factors were wrong all the same.
                if attempt.ifRefused.isPermanent { turn.disableActivation() }
                throw KeptRefusal(problem: problem)
            }
            // After a lockout longer than the session, there is no session to come back to.
            guard let until = attempt.ifRefused.lockedUntil, until < turn.progress.session.deadline else {
                return FinishResponse.lockout(RefusedAttempt(lockout: LockoutNotice(attempt.ifRefused), next: nil))
            }
            turn.progress.document = try SessionDocument(parsing: turn.progress.document)
                .renewed(expiresAt: turn.progress.session.deadline, random: self.random).bytes
            turn.progress.evaluation = nil
            return FinishResponse.lockout(
                RefusedAttempt(
                    lockout: LockoutNotice(attempt.ifRefused),
                    next: turn.preparedSession(by: attempt.factors, self.configuration)))
        }
    }

    private func accept(
        _ session: String, _ call: ProvenCall, _ attempt: Attempt, _ verified: VerifiedFactors
    ) async throws -> [UInt8] {
        guard let invitation = attempt.invitation else {
            return try await self.accept(session, call, attempt, verified, merge: nil)
        }
        let merge = self.merges.plan(invitation, into: attempt.accountID, at: call.at)
        do {
            let answer = try await self.accept(session, call, attempt, verified, merge: merge)
            // Wakes the page that shows the invitation's code.
            self.steps.hub.wake(.ceremony(invitation.id))
            return answer
        } catch is InviteRefusal {
            // The failed step has left nothing behind. The factors were right, and there is nothing left to merge.
            return try await self.accept(session, call, attempt, verified, merge: nil)
        }
    }

    private func accept(
        _ session: String, _ call: ProvenCall, _ attempt: Attempt, _ verified: VerifiedFactors, merge: InviteMerge?
    ) async throws -> [UInt8] {
        let continuation = self.random.token()
        return try await self.steps.answer(session, call) { turn in
            guard turn.settle(call.name.hash, isRight: true) else { throw IdentityProblem(.outOfOrder) }
            do {
                try turn.requireBound()
                try turn.take(.finish(.accepted))
            } catch let problem as IdentityProblem {
                // The attempt was right, whatever became of the session meanwhile. So the attempt does not count.
                throw KeptRefusal(problem: problem)
            }
            turn.activation.lastUsedAt = turn.now
            try self.write(&turn, attempt, verified)
            try turn.take(.conclude(isProvisional: merge != nil))
            turn.change.merge = merge
            var location: String?
            if turn.progress.session.purpose == .userLogin, turn.ceremony.channel?.canBeSentOn == true,
                turn.ceremony.browserDigest != nil
            {
                turn.ceremony.continuationDigest = Sealing.digest(ofSecret: continuation)
                location = "\(self.configuration.issuer)/sign-in/continue?code=\(continuation)"
            }
            return FinishResponse.accepted(try turn.accepted(location: location))
        }
    }

    /// Writes the results of a success: counters, values, choices, and the person's consent.
    private func write(_ turn: inout IdentityTurn, _ attempt: Attempt, _ verified: VerifiedFactors) throws {
        let assurance = verified.assurance
        turn.ceremony.methods = assurance.methods
        turn.ceremony.assurance = assurance.level.rawValue
        turn.ceremony.authenticators = verified.factors.map(\.signature.id.aaid.text)
        let hash = Array(SHA256.hash(data: attempt.document))
        turn.ceremony.contentHash = hash
        let judged = verified.factors.compactMap { factor in
            attempt.credentials.first {
                $0.keyID == factor.signature.id.keyID.bytes && $0.aaid == factor.signature.id.aaid.text
            }.map { (factor: factor, key: $0) }
        }
        let signed = judged.map { (id: $0.key.id, counter: $0.factor.signature.newSignCounter) }
        turn.change.ceremony.advances = signed.map { CounterAdvance(credentialID: $0.id, counter: $0.counter) }
        // A granted action has its result when the action is done.
        if !turn.progress.session.purpose.isGranted, var outcome = turn.outcome(.finished) {
            var selection: [PersonalAttribute: String] = [:]
            for attribute in PersonalAttribute.allCases {
                switch turn.progress.confirmed[attribute] {
                case .alias(let id)?: selection[attribute] = id
                case .value(let text)?:
                    let id = self.newIdentifier()
                    selection[attribute] = id
                    outcome.supplied.append(
                        PersonalValueRecord(
                            id: id, attribute: attribute, alias: attribute.rawValue, value: text, isPrimary: true,
                            source: .person, createdAt: turn.now))
                case nil: break
                }
            }
            if outcome.service != nil { outcome.selection = selection }
            outcome.required = turn.progress.required
            turn.change.ceremony.identityOutcome = outcome
        }
        turn.change.consent = KeptConsent(
            IdentityConsentRecord(
                session: turn.ceremony.id, accountID: attempt.accountID, service: turn.ceremony.detail.client,
                at: turn.now, document: attempt.document, finalChallenge: verified.finalChallenge,
                factors: judged.map { factor, key in
                    IdentityConsentRecord.Factor(
                        type: factor.type.rawValue, key: key.id,
                        signature: factor.assertion.map { .init(of: key, assertion: $0) })
                }), limits: self.limits)
        // The trail has the document and the keys that signed, and nothing of the factors themselves.
        turn.change.ceremony.audit.append(
            AuditEvent(
                .identityFinished, at: turn.now, accountID: attempt.accountID, ceremonyID: turn.ceremony.id,
                detail: "document=\(Base64URL.encode(hash)) keys=\(signed.map(\.id).joined(separator: ","))"))
        // The account has the values from now on.
        turn.progress.confirmed = turn.progress.confirmed.filter { entry in
            if case .alias = entry.value { return true }
            return false
        }
        turn.progress.salts = [:]
    }
}

extension IdentityTurn {
    /// Returns the phone's answer for a session whose factors were accepted.
    fileprivate func accepted(location: String?) throws -> AcceptedSession {
        let parties = try SessionDocument.parties(ofKept: self.progress.document)
        let continues: Timestamp? =
            switch self.progress.session.state {
            case .codeIssued where self.progress.session.purpose == .serviceLogin: self.progress.session.deadline
            case .granted: self.progress.session.deadline
            default: nil
            }
        return AcceptedSession(
            purpose: self.progress.session.purpose, service: parties.service, roleName: parties.role.name,
            finishedAt: self.now, continuesUntil: continues, location: location)
    }
}

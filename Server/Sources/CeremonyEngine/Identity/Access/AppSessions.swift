import Ceremony
import Records
import Settings
import UAF
import _Primitives

/// Sessions that an app begins itself, to sign its own person in or to act on the person's account.
public struct AppSessions: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & IdentityStore & ServiceStore
    let envelope: IdentityEnvelope
    let services: (any InAppServices)?
    let merges: AccountMerges
    let budgets: Budgets

    // MARK: In-app

    /// `POST /identity/in-app`: begins a session that signs the app's person in at a service.
    public func inApp(_ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call) { proven in
            if let given = try await self.answerGiven(to: proven) { return given }
            let message = try InAppRequest(parsing: proven.body)
            try Self.check(message.version)
            let wish = InAppWish(
                redirectURI: message.redirectURI, scope: message.scope, state: message.state, nonce: message.nonce,
                codeChallenge: message.codeChallenge)
            let profile = try await self.store.serviceProfile(message.clientID)
            guard let profile, let services = self.services else { throw IdentityProblem(.invalidRequest) }
            guard profile.isActive else { throw IdentityProblem(.serviceInactive) }
            try proven.activation.requireReady(at: proven.at)
            let service = try await services.service(
                message.clientID, wish: wish, accountID: proven.activation.device.accountID)
            var progress = try self.opened(
                .inApp(
                    isAllowed: profile.allowsInApp, isRedirectExact: service != nil,
                    hasPKCE: Base64URL.decode(message.codeChallenge)?.count == 32), at: proven.at)
            // The refusal comes before any signature, because the session could not yield a code.
            guard service?.needsConsent != true else { throw IdentityProblem(.consentRequired) }
            progress.inApp = wish
            return try await self.begin(
                proven, progress,
                CeremonyDetail(service: service?.name, origin: service?.origin, client: message.clientID))
        }
    }

    // MARK: Its own account

    /// `POST /identity/api-access`: begins a session for an action on the person's own account.
    public func access(_ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call) { proven in
            if let given = try await self.answerGiven(to: proven) { return given }
            let message = try AccessRequest(parsing: proven.body)
            try Self.check(message.version)
            try proven.activation.requireReady(at: proven.at)
            var progress = try self.opened(
                .apiAccess(message.purpose, isActivationActive: proven.activation.isActive, isProven: true),
                at: proven.at)
            if message.purpose == .merge {
                let invitation = try await self.invitation(message, proven)
                progress.invitation = invitation
                progress.agreement = try await self.merges.agreement(to: invitation.id).text.text
            } else if message.token != nil || message.invitation != nil {
                throw IdentityProblem(.invalidRequest)
            }
            if let key = message.replaces {
                guard message.purpose == .addFactor, try await self.isFinger(key, of: proven.activation) else {
                    throw IdentityProblem(.invalidRequest)
                }
                progress.replaces = key
            }
            return try await self.begin(
                proven, progress,
                CeremonyDetail(service: self.configuration.serviceName, origin: self.configuration.issuer))
        }
    }

    /// Returns the invitation if the asking device itself has proved the invitation's PIN.
    private func invitation(_ message: AccessRequest, _ call: ProvenCall) async throws -> ProvenInvitation {
        guard let id = message.invitation, let token = message.token else { throw IdentityProblem(.invalidRequest) }
        guard let offer = try await self.store.offer(id: id) else {
            throw IdentityProblem(try await self.merges.wasMerged(id) ? .activationDataConsumed : .notProven)
        }
        guard let until = offer.tokenUntil, call.at < until, let device = call.activation.deviceThumbprint,
            offer.hasEarned(token, for: device), let tokenDigest = offer.tokenDigest
        else { throw IdentityProblem(.notProven) }
        try offer.checkOffered(at: call.at)
        // A person must not dissolve an account that an operator has locked.
        guard try await self.store.isUnlocked(offer.accountID) else { throw IdentityProblem(.activationDisabled) }
        guard !offer.accountID.hasSameBytes(as: call.activation.device.accountID),
            try await self.merges.isMergeable(offer, at: call.at)
        else { throw IdentityProblem(.mergeConflict) }
        return ProvenInvitation(id: id, tokenDigest: tokenDigest)
    }

    /// `true` if the key is the activation's key of a finger or face.
    private func isFinger(_ key: KeyID, of activation: ActivationRecord) async throws -> Bool {
        try await self.store.credentials(of: activation).keys(of: .biometric).contains { $0.keyID == key.bytes }
    }

    // MARK: -

    private static func check(_ version: Int) throws(IdentityProblem) {
        guard version == ManagerKeySet.version else { throw IdentityProblem(.protocolVersionUnsupported) }
    }

    private func opened(_ opening: IdentitySession.Opening, at now: Timestamp) throws -> IdentityProgress {
        switch IdentitySession.open(opening, at: now, limits: self.limits) {
        case .session(let session): return IdentityProgress(session: session)
        case .refused(let refusal): throw IdentityProblem(refusal)
        case .pretended: throw IdentityProblem(.invalidRequest)
        }
    }

    /// Returns the answer to an earlier request; `nil` for a new request.
    ///
    /// The look-up comes before any judgement or budget. A phone that has lost its answer begins no new session, and
    /// may have used up the budget with the lost session.
    private func answerGiven(to call: ProvenCall) async throws -> [UInt8]? {
        switch try await self.store.answer(to: call.name) {
        case .again(let given)?: return given
        case .replayed?: throw IdentityProblem(.replayRefused)
        case .decided?, .missing?, nil: return nil
        }
    }

    private func begin(_ call: ProvenCall, _ progress: IdentityProgress, _ detail: CeremonyDetail) async throws
        -> [UInt8]
    {
        // Each session is a row, a token, an answer and an entry of the trail. The limit equals the number of codes for
        // a network's pages.
        let budgeted = "activation \(call.activation.device.id)"
        if let shortage = self.budgets.codes.spend(budgeted, at: call.at) {
            throw IdentityProblem(.tooManyRequests, retryAfter: shortage.retryAfterSeconds)
        }
        let claim = SecretBytes(self.random.bytes(ProcessCode.secretBytes))
        let session = progress.session
        var ceremony = CeremonyRecord(
            id: self.newIdentifier(), kind: .identity, accountID: call.activation.device.accountID,
            createdAt: call.at, expiresAt: session.deadline, detail: detail)
        ceremony.deviceID = call.activation.device.id
        ceremony.progress = progress.stored
        let offer = SessionOffer(session: ceremony.id, claim: claim, expiresAt: session.deadline)
        let answer = try self.envelope.keys.sign(.message(offer.json), to: call.request, at: call.at)
        let step = try await self.store.begin(
            ceremony,
            token: DispatchTokenRecord(
                digest: ProcessCode.digest(ofClaim: claim), channel: .device, expiresAt: session.deadline),
            request: call.name, answer: call.answered(answer),
            audit: AuditEvent(
                .identityBegun, at: call.at, accountID: ceremony.accountID, ceremonyID: ceremony.id,
                detail: session.purpose.rawValue))
        switch step {
        case .decided: return answer
        case .again(let given):
            // The same request came twice at once, and has begun one session.
            self.budgets.codes.refund(budgeted)
            return given
        case .replayed: throw IdentityProblem(.replayRefused)
        case .missing: throw IdentityProblem(.activationUnknown)
        }
    }
}

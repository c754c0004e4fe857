import Ceremony
import PersonalInformation
import Store
import UAF
import _Primitives

/// How far an identity session is, beside what every ceremony has on record: the document in ``CeremonyRecord/progress``.
struct IdentityProgress: Sendable, Equatable {
    /// The machine.
    var session: IdentitySession
    /// As what the person comes, once that is fixed.
    var role: SessionDocument.Role?
    /// What has to sign.
    var factors: AuthenticatorMatrix?
    /// What the person has confirmed. Values that were typed stand here until the account has them, or nobody.
    var confirmed: [PersonalAttribute: AttributeAnswer] = [:]
    /// The keys of the digests of what was typed.
    var salts: [PersonalAttribute: SuppliedValueSalt] = [:]
    /// What is to be signed, or was.
    var document: [UInt8] = []
    /// With a session that signs its own app in.
    var inApp: InAppWish?
    /// With a merge: the invitation whose PIN was proven.
    var invitation: ProvenInvitation?
    /// With a merge: whose invitation it is and to what, as the person is shown it and signs it.
    var agreement: String?
    /// With a factor that takes the place of another: the key of that one.
    var replaces: KeyID?
    /// What the PIN service was asked with the present document: the name of the attempt that it is.
    var evaluation: [UInt8]?
    /// With a session that signs its own app in: which request has taken the code.
    var taking: Taking?
    /// Without which values of a person's nothing has come of the session: those that the service had to have when the
    /// document was made.
    var required: Set<PersonalAttribute> = []
    /// How often it was asked about a new PIN.
    var newPinEvaluations = 0
    /// By which requests it was asked.
    var asked = AskedRequests()

    /// The request that an authorization code is made for.
    struct Taking: Sendable, Equatable {
        /// SHA-256 of the request.
        let request: [UInt8]
        /// When the factors were accepted.
        let authenticatedAt: Timestamp
    }

    init(session: IdentitySession) { self.session = session }

    /// Forgets what nobody is to have who reads the row after the end.
    mutating func forget() {
        self.confirmed = [:]
        self.salts = [:]
        self.document = []
        self.agreement = nil
        self.evaluation = nil
        self.asked = AskedRequests()
    }
}

extension CeremonyRecord {
    /// How far the session is. Nothing is written before somebody claims a login: then it waits as long as the code that was
    /// shown.
    ///
    /// - Parameter isActive: Whether the activation that it is bound to may do anything: then something else has ended it.
    ///
    /// Throws ``StoreError/Code/corrupt``.
    func identityProgress(token: DispatchTokenRecord?, isActive: Bool = true, limits: Limits) throws
        -> IdentityProgress
    {
        let hardEnd = self.createdAt + limits.ceremonyLifetime + limits.claimedLifetime
        if let bytes = self.progress {
            var progress = try IdentityProgress(stored: bytes)
            // A browser has the code of a login, or had it: the session is over for its phone.
            // What ended it otherwise was that its activation was disabled.
            if self.phase == .ended, progress.session.state.ending == nil {
                progress.session = IdentitySession(
                    purpose: progress.session.purpose,
                    state: self.outcome == .succeeded ? .done : .failed(.activationDisabled),
                    deadline: progress.session.deadline, hardEnd: progress.session.hardEnd)
            }
            return progress
        }
        let state: IdentityState =
            switch (self.phase, self.outcome) {
            case (.ended, .expired?): .expired
            // Its page has another one.
            case (.ended, .cancelled?) where self.reference == nil: .superseded
            case (.ended, .cancelled?), (.ended, .denied?): .aborted
            case (.ended, .succeeded?): .done
            // A bound session that failed without a word did so because its activation was disabled, or because another
            // browser than its own would have continued it.
            case (.ended, _): .failed(self.deviceID == nil || isActive ? .sessionAborted : .activationDisabled)
            case (.created, _), (.claimed, _), (.answering, _): .created
            }
        return IdentityProgress(
            session: IdentitySession(
                purpose: .userLogin, state: state, deadline: min(token?.expiresAt ?? self.expiresAt, self.expiresAt),
                hardEnd: hardEnd))
    }

    /// What the account's history has of a session that has come to something; `nil` for one that nobody had claimed.
    func outcome(
        _ outcome: IdentityHistoryRecord.Outcome, _ progress: IdentityProgress, at now: Timestamp, limits: Limits
    ) -> IdentityOutcomeChange? {
        guard let account = self.accountID else { return nil }
        return IdentityOutcomeChange(
            accountID: account, service: self.detail.client, at: now,
            history: IdentityHistoryRecord(
                purpose: progress.session.purpose.rawValue, service: self.detail.client, role: progress.role?.id,
                outcome: outcome, at: now), limits: limits)
    }

    /// The same of a session that something else ends: the clock, a browser, the end of its activation. `nil` also for one
    /// that has come to what it was for, of which the history has that.
    func outcomeOfEnd(_ outcome: IdentityHistoryRecord.Outcome, at now: Timestamp, limits: Limits)
        -> IdentityOutcomeChange?
    {
        // A document that somebody has spoilt must not be what keeps the session from ending.
        guard self.kind == .identity, self.phase != .ended, let bytes = self.progress,
            let progress = try? IdentityProgress(stored: bytes)
        else { return nil }
        switch progress.session.state {
        case .created, .codeIssued, .done, .aborted, .expired, .superseded, .failed: return nil
        case .started, .correcting, .prepared, .lockedTemporarily, .authenticated, .granted:
            return self.outcome(outcome, progress, at: now, limits: limits)
        }
    }

    /// What the history has of sessions that end together.
    static func ending(_ outcome: IdentityHistoryRecord.Outcome, at now: Timestamp, limits: Limits) -> SessionEnding {
        { $0.outcomeOfEnd(outcome, at: now, limits: limits) }
    }

    /// As what the person has come to which service; `nil` for what is no session of a service, and before that is fixed.
    ///
    /// Throws ``StoreError/Code/corrupt``.
    func roleAtService() throws -> RoleAtService? {
        guard self.kind == .identity, let bytes = self.progress, let service = self.detail.client else { return nil }
        return try IdentityProgress(stored: bytes).role.map { RoleAtService(service: service, role: $0.id) }
    }

    /// Puts on record how far the session is, and what pages, browsers and the clock see of it.
    mutating func keep(_ progress: IdentityProgress, at now: Timestamp, limits: Limits) throws {
        var progress = progress
        let session = progress.session
        let stage = session.stage(isContinued: self.browserDigest != nil && self.channel?.isLink == true)
        if case .ended = stage { progress.forget() }
        let bytes = progress.stored
        guard bytes != self.progress else { return }
        self.progress = bytes
        // What has ended for pages and browsers has ended.
        guard self.phase != .ended else { return }
        self.changedAt = now
        self.expiresAt = session.deadline
        switch stage {
        case .created: self.phase = .created
        case .claimed: self.phase = .claimed
        case .answering:
            self.phase = .answering
            if session.purpose == .userLogin { self.expiresAt = now + limits.continuationLifetime }
        case .ended(let outcome):
            self.phase = .ended
            self.outcome = outcome
        }
    }
}

extension IdentitySession {
    /// The session as pages, browsers and the clock see it.
    ///
    /// - Parameter isContinued: Whether the browser that began has to continue before a login is one.
    fileprivate func stage(isContinued: Bool) -> CeremonyStage {
        switch self.state {
        case .created: .created
        case .started, .correcting, .prepared, .lockedTemporarily, .authenticated: .claimed
        case .codeIssued where self.purpose == .userLogin && !isContinued: .ended(.succeeded)
        case .codeIssued, .granted: .answering
        case .done: .ended(.succeeded)
        case .aborted: .ended(.denied)
        case .expired: .ended(.expired)
        case .superseded: .ended(.cancelled)
        case .failed: .ended(.failed)
        }
    }
}

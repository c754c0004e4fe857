import Ceremony
import PersonalInformation
import Records
import Settings
import UAF
import _Primitives

/// The progress of an identity session, beside the common record of every ceremony: the document in
/// ``CeremonyRecord/progress``.
struct IdentityProgress: Sendable, Equatable {
    /// The state machine.
    var session: IdentitySession
    /// The role of the person at the service, once the role is fixed.
    var role: SessionDocument.Role?
    /// The factors that must sign.
    var factors: AuthenticatorMatrix?
    /// The person's confirmed answers. Typed values stay here until the account has them, or until they are discarded.
    var confirmed: [PersonalAttribute: AttributeAnswer] = [:]
    /// The keys of the digests of typed values.
    var salts: [PersonalAttribute: SuppliedValueSalt] = [:]
    /// The document for signing, or the signed document.
    var document: [UInt8] = []
    /// The app's own request, in a session that signs the app's person in.
    var inApp: InAppWish?
    /// The invitation whose PIN was proved, in a session for a merge.
    var invitation: ProvenInvitation?
    /// The text that the person sees and signs in a session for a merge: the invitation's address and its purpose.
    var agreement: String?
    /// The key that a new factor replaces.
    var replaces: KeyID?
    /// The name of the attempt for the question to the PIN service with the present document.
    var evaluation: [UInt8]?
    /// The request that has taken the code, in a session that signs the app's person in.
    var taking: Taking?
    /// The attributes without which the session fails: the service required them when the document was made.
    var required: Set<PersonalAttribute> = []
    /// The number of questions to the PIN service about a new PIN.
    var newPinEvaluations = 0
    /// The requests that have asked the PIN service.
    var asked = AskedRequests()

    /// The request for which an authorization code is made.
    struct Taking: Sendable, Equatable {
        /// SHA-256 of the request.
        let request: [UInt8]
        /// The time when the factors were accepted.
        let authenticatedAt: Timestamp
    }

    init(session: IdentitySession) { self.session = session }

    /// Erases the data that no reader of the row should have after the end.
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
    /// Returns the progress of the session. No progress is stored before a phone claims a login; until then the session
    /// lasts as long as the displayed code.
    ///
    /// - Parameter isActive: `true` if the activation bound to the session may act; then another cause has ended the
    ///   session.
    ///
    /// Throws ``StoreError/Code/corrupt``.
    func identityProgress(token: DispatchTokenRecord?, isActive: Bool = true, limits: Limits) throws
        -> IdentityProgress
    {
        let hardEnd = self.createdAt + limits.ceremonyLifetime + limits.claimedLifetime
        if let bytes = self.progress {
            var progress = try IdentityProgress(stored: bytes)
            // A browser has, or had, the code of a login: the session is over for its phone. Otherwise a disabled
            // activation has ended the session.
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
            // The page has a newer session.
            case (.ended, .cancelled?) where self.reference == nil: .superseded
            case (.ended, .cancelled?), (.ended, .denied?): .aborted
            case (.ended, .succeeded?): .done
            // A bound session without a recorded reason failed because its activation was disabled, or because another
            // browser tried to continue the session.
            case (.ended, _): .failed(self.deviceID == nil || isActive ? .sessionAborted : .activationDisabled)
            case (.created, _), (.claimed, _), (.answering, _): .created
            }
        return IdentityProgress(
            session: IdentitySession(
                purpose: .userLogin, state: state, deadline: min(token?.expiresAt ?? self.expiresAt, self.expiresAt),
                hardEnd: hardEnd))
    }

    /// Returns the history's entry for a session with a result; `nil` for a session that no phone had claimed.
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

    /// Returns the history's entry for a session that ends from outside: by the clock, a browser, or the end of its
    /// activation. `nil` also for a session that has reached its purpose, because the history already has the session's
    /// result.
    func outcomeOfEnd(_ outcome: IdentityHistoryRecord.Outcome, at now: Timestamp, limits: Limits)
        -> IdentityOutcomeChange?
    {
        // A damaged document must not keep the session from ending.
        guard self.kind == .identity, self.phase != .ended, let bytes = self.progress,
            let progress = try? IdentityProgress(stored: bytes)
        else { return nil }
        switch progress.session.state {
        case .created, .codeIssued, .done, .aborted, .expired, .superseded, .failed: return nil
        case .started, .correcting, .prepared, .lockedTemporarily, .authenticated, .granted:
            return self.outcome(outcome, progress, at: now, limits: limits)
        }
    }

    /// Returns the role of the person at a service; `nil` for a ceremony without a service, and before the role is
    /// fixed.
    ///
    /// Throws ``StoreError/Code/corrupt``.
    func roleAtService() throws -> RoleAtService? {
        guard self.kind == .identity, let bytes = self.progress, let service = self.detail.client else { return nil }
        return try IdentityProgress(stored: bytes).role.map { RoleAtService(service: service, role: $0.id) }
    }

    /// Records the session's progress, and the state that pages, browsers and the clock see.
    mutating func keep(_ progress: IdentityProgress, at now: Timestamp, limits: Limits) throws {
        var progress = progress
        let session = progress.session
        let stage = session.stage(isContinued: self.browserDigest != nil && self.channel?.canBeSentOn == true)
        if case .ended = stage { progress.forget() }
        let bytes = progress.stored
        guard bytes != self.progress else { return }
        self.progress = bytes
        // An end that pages and browsers have seen is final.
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
    /// Returns the session's stage for pages, browsers and the clock.
    ///
    /// - Parameter isContinued: `true` if the browser that began the login must continue before the login is complete.
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

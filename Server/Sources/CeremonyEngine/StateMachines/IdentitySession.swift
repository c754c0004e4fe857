import Ceremony
package import Store
package import _Primitives

/// An identity session: a pure machine of state, event and time. Whatever it needs to know of accounts, keys and
/// signatures stands in the events.
package struct IdentitySession: Equatable, Sendable {
    /// How a session comes into being, with what has to be so.
    package enum Opening: Hashable, Sendable {
        /// A relying party shows a code.
        case login(isServiceActive: Bool, isOriginAllowed: Bool)
        /// An app signs itself in.
        case inApp(isAllowed: Bool, isRedirectExact: Bool, hasPKCE: Bool)
        /// An app wants something done with its own account.
        case apiAccess(IdentityPurpose, isActivationActive: Bool, isProven: Bool)
        /// A relying party has a person asked. It learns nothing of whether there is such a person.
        case push(mayPush: Bool, isReachable: Bool)
    }

    /// What came of an opening.
    package enum Opened: Equatable, Sendable {
        case session(IdentitySession)
        /// There is none, and the answer is as if there were.
        case pretended
        case refused(IdentityRefusal)
    }

    /// What it is for.
    package let purpose: IdentityPurpose
    /// How far it is.
    package private(set) var state: IdentityState
    /// When the present state is over.
    package private(set) var deadline: Timestamp
    /// After which nothing prolongs it.
    package let hardEnd: Timestamp

    /// A session as it is on record.
    package init(purpose: IdentityPurpose, state: IdentityState, deadline: Timestamp, hardEnd: Timestamp) {
        self.purpose = purpose
        self.state = state
        self.deadline = deadline
        self.hardEnd = hardEnd
    }

    package static func open(_ opening: Opening, at now: Timestamp, limits: Limits) -> Opened {
        func created(_ purpose: IdentityPurpose, _ lifetime: Duration) -> Opened {
            .session(
                Self(
                    purpose: purpose, state: .created, deadline: now + lifetime,
                    hardEnd: now + limits.ceremonyLifetime))
        }
        switch opening {
        case .login(isServiceActive: false, _): return .refused(.serviceInactive)
        case .login(_, isOriginAllowed: false): return .refused(.originRefused)
        case .login: return created(.userLogin, limits.dispatchLifetime)
        case .inApp(let isAllowed, let isRedirectExact, let hasPKCE):
            guard isAllowed, isRedirectExact, hasPKCE else { return .refused(.invalidRequest) }
            return created(.serviceLogin, limits.inAppLifetime)
        case .apiAccess(_, _, isProven: false): return .refused(.notProven)
        case .apiAccess(_, isActivationActive: false, _): return .refused(.activationDisabled)
        case .apiAccess(.userLogin, _, _), .apiAccess(.serviceLogin, _, _): return .refused(.invalidRequest)
        case .apiAccess(let purpose, _, _): return created(purpose, limits.inAppLifetime)
        case .push(mayPush: false, _): return .refused(.invalidRequest)
        case .push(_, let isReachable): return isReachable ? created(.userLogin, limits.pushLifetime) : .pretended
        }
    }

    /// Lets the session judge an event, and takes over what it decides.
    ///
    /// What comes after the time of the present state is refused as after the end, whether or not the end has been
    /// written yet.
    package mutating func handle(_ event: IdentityEvent, at now: Timestamp, limits: Limits) -> IdentityVerdict {
        // A reply that was lost is given again even after an end.
        if case .again(let isIdentical) = event { return isIdentical ? .answerAgain : .refuse(.replayRefused) }
        if let ending = self.state.ending { return .refuse(ending) }
        switch event {
        case .expire: return self.end(.expired)
        case .withdrawActivation: return self.end(.failed(.activationDisabled))
        case .abort(let isEntitled): return isEntitled ? self.end(.aborted) : .refuse(.notProven)
        case .supersede:
            // Only what waits for a browser can be begun anew by it.
            return self.purpose == .userLogin ? self.end(.superseded) : .refuse(.outOfOrder)
        default: break
        }
        guard now < self.deadline else { return .refuse(self.isGranted ? .grantExpired : .sessionExpired) }
        if case .rest(let lockout) = event { return self.fail(.lockedOut(until: lockout.lockedUntil)) }
        if case .prolong(let isEntitled) = event { return self.prolong(isEntitled, at: now, limits: limits) }
        if case .start = event, self.state != .created { return .refuse(.sessionConsumed) }
        switch self.state {
        case .created: return self.created(event, at: now, limits: limits)
        case .started: return self.started(event, failures: 0, at: now, limits: limits)
        case .correcting(let failures): return self.started(event, failures: failures, at: now, limits: limits)
        case .prepared: return self.prepared(event, at: now, limits: limits)
        case .lockedTemporarily(let until): return self.locked(event, until: until, at: now, limits: limits)
        case .authenticated: return self.authenticated(event, at: now, limits: limits)
        case .codeIssued: return self.codeIssued(event)
        case .granted(let refusedPins): return self.granted(event, refusedPins: refusedPins, limits: limits)
        case .done, .aborted, .expired, .superseded, .failed: return .refuse(.outOfOrder)
        }
    }
}

// MARK: - The states

extension IdentitySession {
    private var isGranted: Bool {
        if case .granted = self.state { return true }
        return false
    }

    private mutating func enter(_ state: IdentityState, until deadline: Timestamp) {
        self.state = state
        self.deadline = min(deadline, self.hardEnd)
    }

    private mutating func end(_ state: IdentityState) -> IdentityVerdict {
        self.state = state
        return .proceed([.dropSupplied, .tellBrowser])
    }

    private mutating func fail(_ reason: IdentityRefusal, _ further: IdentityEffect...) -> IdentityVerdict {
        self.state = .failed(reason)
        return .end(reason, Set(further).union([.dropSupplied, .tellBrowser]))
    }

    private mutating func prolong(_ isEntitled: Bool, at now: Timestamp, limits: Limits) -> IdentityVerdict {
        let lifetime: Duration
        switch self.state {
        case .started, .correcting, .prepared, .lockedTemporarily: lifetime = limits.claimedLifetime
        // A person chooses a PIN, or has a finger enrolled.
        case .granted: lifetime = limits.grantLifetime
        // Nobody is bound yet, or what waits is to be taken by a program, at once.
        case .created, .authenticated, .codeIssued, .done, .aborted, .expired, .superseded, .failed:
            return .refuse(.outOfOrder)
        }
        guard isEntitled else { return .refuse(.notProven) }
        self.deadline = max(self.deadline, min(now + lifetime, self.hardEnd))
        return .proceed([])
    }

    private mutating func created(_ event: IdentityEvent, at now: Timestamp, limits: Limits) -> IdentityVerdict {
        guard case .start(let conditions) = event else { return .refuse(.outOfOrder) }
        // Whoever is refused here is not bound: the code is still there for somebody else.
        guard conditions.isProven else { return .refuse(.notProven) }
        guard conditions.isGenuine else { return .refuse(.invalidRequest) }
        guard conditions.isActivationActive else { return .refuse(.activationDisabled) }
        if let lockout = conditions.lockout { return .refuse(.lockedOut(until: lockout.lockedUntil)) }
        guard conditions.isSecure else { return .refuse(.securityInsufficient) }
        guard conditions.isMember else { return .refuse(.membershipRequired) }
        guard conditions.isInvited else { return .refuse(.invitationRequired) }
        guard conditions.hasRole else { return .refuse(.noRole) }
        self.enter(.started, until: now + limits.claimedLifetime)
        return .proceed([.bindActivation, .tellBrowser])
    }

    private mutating func started(_ event: IdentityEvent, failures: Int, at now: Timestamp, limits: Limits)
        -> IdentityVerdict
    {
        switch event {
        case .prepare(.noRole): return .refuse(.roleNotSelected)
        case .prepare(.errors):
            guard failures < limits.correctionsPerSession else { return self.fail(.correctionLimitExceeded) }
            // The same clock goes on.
            self.state = .correcting(failures: failures + 1)
            return .proceed([])
        case .prepare(.complete):
            self.enter(.prepared, until: now + limits.claimedLifetime)
            return .proceed([.fixAnswers, .renewChallenge])
        default: return .refuse(.outOfOrder)
        }
    }

    private mutating func prepared(_ event: IdentityEvent, at now: Timestamp, limits: Limits) -> IdentityVerdict {
        switch event {
        case .finish(.accepted):
            self.enter(.authenticated, until: now + limits.outcomeLifetime)
            return .proceed([.writeSuccess])
        case .finish(.refused(let lockout)):
            guard let until = lockout.lockedUntil else {
                return self.fail(.lockedOut(until: nil), .disableActivation)
            }
            // A lock that outlasts the session ends it by its time: the person begins anew.
            self.enter(.lockedTemporarily(until: until), until: until + limits.claimedLifetime)
            return .proceed([.renewChallenge])
        default: return .refuse(.outOfOrder)
        }
    }

    private mutating func locked(_ event: IdentityEvent, until: Timestamp, at now: Timestamp, limits: Limits)
        -> IdentityVerdict
    {
        switch event {
        case .finish:
            guard now >= until else { return self.fail(.lockedOut(until: until)) }
            return self.prepared(event, at: now, limits: limits)
        default: return .refuse(.outOfOrder)
        }
    }

    private mutating func authenticated(_ event: IdentityEvent, at now: Timestamp, limits: Limits) -> IdentityVerdict {
        switch event {
        case .conclude(let isProvisional):
            switch self.purpose {
            case .userLogin, .serviceLogin:
                self.enter(.codeIssued, until: now + limits.authorizationCodeLifetime)
                return .proceed([.issueCode, .tellBrowser])
            case .addFactor, .changePin, .newActivation, .delete:
                self.enter(.granted(refusedPins: 0), until: now + limits.grantLifetime)
                return .proceed([.issueGrant])
            case .merge:
                guard isProvisional else { return self.fail(.mergeConflict) }
                self.state = .done
                return .proceed([.merge])
            }
        default: return .refuse(.outOfOrder)
        }
    }

    private mutating func codeIssued(_ event: IdentityEvent) -> IdentityVerdict {
        switch event {
        case .takeCode(isEntitled: true):
            self.state = .done
            return .proceed([])
        case .takeCode(isEntitled: false): return .refuse(.notProven)
        default: return .refuse(.outOfOrder)
        }
    }

    private mutating func granted(_ event: IdentityEvent, refusedPins: Int, limits: Limits) -> IdentityVerdict {
        switch event {
        case .complete(self.purpose, .valid):
            self.state = .done
            return .proceed([.apply])
        case .complete(self.purpose, .pinRefused):
            guard refusedPins + 1 < limits.pinsPerGrant else { return self.fail(.pinRefused) }
            self.state = .granted(refusedPins: refusedPins + 1)
            return .refuse(.pinRefused)
        case .complete(self.purpose, .factorAlreadyEnrolled): return self.fail(.factorAlreadyEnrolled)
        case .complete: return .refuse(.invalidRequest)
        default: return .refuse(.outOfOrder)
        }
    }
}

import Ceremony
package import Settings
package import _Primitives

/// An identity session: a pure state machine of state, event and time. The events contain all facts about accounts,
/// keys and signatures.
package struct IdentitySession: Equatable, Sendable {
    /// The ways to open a session, with their conditions.
    package enum Opening: Hashable, Sendable {
        /// A relying party shows a code.
        case login(isServiceActive: Bool, isOriginAllowed: Bool)
        /// An app signs its own person in at its service.
        case inApp(isAllowed: Bool, isRedirectExact: Bool, hasPKCE: Bool)
        /// An app wants to act on its person's account.
        case apiAccess(IdentityPurpose, isActivationActive: Bool, isProven: Bool)
        /// A relying party wants a person asked. The relying party does not learn of the person's existence.
        case push(mayPush: Bool, isReachable: Bool)
    }

    /// The result of an opening.
    package enum Opened: Equatable, Sendable {
        case session(IdentitySession)
        /// There is no session, and the answer pretends otherwise.
        case pretended
        case refused(IdentityRefusal)
    }

    /// The purpose of the session.
    package let purpose: IdentityPurpose
    /// The state of the session.
    package private(set) var state: IdentityState
    /// The end of the present state.
    package private(set) var deadline: Timestamp
    /// The latest possible end, which no request can extend.
    package let hardEnd: Timestamp

    /// Creates a session from its record.
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

    /// Lets the session judge an event, and applies the decision.
    ///
    /// An event after the end of the present state is refused like an event after the session's end, even if the end is
    /// not yet written. Only an event that ends the session still happens then.
    package mutating func handle(_ event: IdentityEvent, at now: Timestamp, limits: Limits) -> IdentityVerdict {
        // A lost reply is repeated even after an end.
        if case .again(let isIdentical) = event { return isIdentical ? .answerAgain : .refuse(.replayRefused) }
        if let ending = self.state.ending { return .refuse(ending) }
        switch event {
        case .expire: return self.end(.expired)
        case .withdrawActivation: return self.end(.failed(.activationDisabled))
        case .abort(let isEntitled): return isEntitled ? self.end(.aborted) : .refuse(.notProven)
        case .supersede:
            // A browser can begin again only a session that waits for a browser.
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
        // A person chooses a PIN, or enrols a finger.
        case .granted: lifetime = limits.grantLifetime
        // No activation is bound yet, or a program must take the result at once.
        case .created, .authenticated, .codeIssued, .done, .aborted, .expired, .superseded, .failed:
            return .refuse(.outOfOrder)
        }
        guard isEntitled else { return .refuse(.notProven) }
        self.deadline = max(self.deadline, min(now + lifetime, self.hardEnd))
        return .proceed([])
    }

    private mutating func created(_ event: IdentityEvent, at now: Timestamp, limits: Limits) -> IdentityVerdict {
        guard case .start(let conditions) = event else { return .refuse(.outOfOrder) }
        // A refused activation is not bound. The code remains for another activation.
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
            // If the lockout outlasts the session, the session ends by its time, and the person begins again.
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

import Ceremony
import CeremonyEngine
import Foundation
import Records
import Settings
import Testing
import _Primitives

/// What the table of identity sessions says of one state and one event.
private enum Expectation {
    /// It goes on to a state, and this is to be done.
    case moves(IdentityState, Set<IdentityEffect>)
    /// It is refused, and nothing changes.
    case refused(IdentityRefusal)
    /// It is refused, and the session has ended by it.
    case ends(IdentityRefusal, Set<IdentityEffect>)
    /// It is refused, and one more refusal is counted.
    case counts(IdentityRefusal, IdentityState)
}

@Suite("Sessions of identities: every state and every event")
struct IdentitySessionTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let limits = Limits()
    private static let lock = IdentityLockout(lockedUntil: now + .seconds(5))
    private static let forEver = IdentityLockout(lockedUntil: nil)
    private static let over: Set<IdentityEffect> = [.dropSupplied, .tellBrowser]

    /// Every state, by the word that the table has for it.
    private static let states: [String: IdentityState] = [
        "created": .created, "started": .started, "corrected once": .correcting(failures: 1),
        "corrected to the limit": .correcting(failures: limits.correctionsPerSession), "prepared": .prepared,
        "locked": .lockedTemporarily(until: now + .seconds(1)), "locked no more": .lockedTemporarily(until: now),
        "authenticated": .authenticated, "code issued": .codeIssued, "granted": .granted(refusedPins: 0),
        "granted, last PIN": .granted(refusedPins: limits.pinsPerGrant - 1), "done": .done, "aborted": .aborted,
        "expired": .expired, "superseded": .superseded, "failed": .failed(.correctionLimitExceeded),
        "failed by a lock": .failed(.lockedOut(until: now)),
    ]
    private static let ends: [String: IdentityRefusal] = [
        "done": .sessionConsumed, "aborted": .sessionAborted, "expired": .sessionExpired,
        "superseded": .sessionSuperseded, "failed": .correctionLimitExceeded,
        "failed by a lock": .lockedOut(until: now),
    ]

    /// Every event, by the word that the table has for it. `purpose` is what the session is for.
    private static func events(_ purpose: IdentityPurpose) -> [String: IdentityEvent] {
        func start(_ change: (inout IdentityEvent.StartConditions) -> Void) -> IdentityEvent {
            var conditions = IdentityEvent.StartConditions()
            change(&conditions)
            return .start(conditions)
        }
        var events: [String: IdentityEvent] = [
            "start": start { _ in }, "start without proof": start { $0.isProven = false },
            "start with a forgery": start { $0.isGenuine = false },
            "start disabled": start { $0.isActivationActive = false },
            "start locked": start { $0.lockout = self.lock },
            "start locked for ever": start { $0.lockout = self.forEver },
            "start insecure": start { $0.isSecure = false }, "start by no member": start { $0.isMember = false },
            "start uninvited": start { $0.isInvited = false }, "start without a role": start { $0.hasRole = false },
            "prepare without a role": .prepare(.noRole), "prepare with errors": .prepare(.errors),
            "prepare": .prepare(.complete), "finish": .finish(.accepted),
            "finish wrongly": .finish(.refused(self.lock)),
            "finish wrongly for the last time": .finish(.refused(self.forEver)),
            "conclude": .conclude(isProvisional: true),
            "conclude without an invitation": .conclude(isProvisional: false),
            "take the code": .takeCode(isEntitled: true), "take another's code": .takeCode(isEntitled: false),
            "complete": .complete(purpose, .valid), "complete with a refused PIN": .complete(purpose, .pinRefused),
            "complete with a known factor": .complete(purpose, .factorAlreadyEnrolled),
            "abort": .abort(isEntitled: true), "abort another's": .abort(isEntitled: false),
            "prolong": .prolong(isEntitled: true), "prolong another's": .prolong(isEntitled: false), "expire": .expire,
            "supersede": .supersede, "withdraw": .withdrawActivation, "rest": .rest(self.lock),
            "again": .again(isIdentical: true),
            "again with other bytes": .again(isIdentical: false),
        ]
        for other in IdentityPurpose.allCases where other != purpose {
            for use in [IdentityEvent.GrantUse.valid, .pinRefused, .factorAlreadyEnrolled] {
                events["complete as \(other) \(use)"] = .complete(other, use)
            }
        }
        return events
    }

    /// The table, row by row. What is in none is refused: in an end by what ended it, elsewhere as out of order.
    private static func expectation(_ purpose: IdentityPurpose, _ state: String, _ event: String) -> Expectation {
        let isEnd = self.ends[state] != nil
        switch (state, event) {
        // 25
        case (_, "again with other bytes"): return .refused(.replayRefused)
        case _ where isEnd: return .refused(self.ends[state] ?? .outOfOrder)
        // 5
        case ("created", "start"): return .moves(.started, [.bindActivation, .tellBrowser])
        case ("created", "start without proof"): return .refused(.notProven)
        case ("created", "start with a forgery"): return .refused(.invalidRequest)
        case ("created", "start disabled"): return .refused(.activationDisabled)
        case ("created", "start locked"): return .refused(.lockedOut(until: self.lock.lockedUntil))
        case ("created", "start locked for ever"): return .refused(.lockedOut(until: nil))
        case ("created", "start insecure"): return .refused(.securityInsufficient)
        case ("created", "start by no member"): return .refused(.membershipRequired)
        case ("created", "start uninvited"): return .refused(.invitationRequired)
        case ("created", "start without a role"): return .refused(.noRole)
        case (_, _) where event.hasPrefix("start"): return .refused(.sessionConsumed)
        // 7 to 9
        case ("started", "prepare"), ("corrected once", "prepare"), ("corrected to the limit", "prepare"):
            return .moves(.prepared, [.fixAnswers, .renewChallenge])
        case ("started", "prepare with errors"): return .moves(.correcting(failures: 1), [])
        case ("corrected once", "prepare with errors"): return .moves(.correcting(failures: 2), [])
        case ("corrected to the limit", "prepare with errors"): return .ends(.correctionLimitExceeded, self.over)
        case ("started", "prepare without a role"), ("corrected once", "prepare without a role"),
            ("corrected to the limit", "prepare without a role"):
            return .refused(.roleNotSelected)
        // 10 to 12, and 14
        case ("prepared", "finish"), ("locked no more", "finish"): return .moves(.authenticated, [.writeSuccess])
        case ("prepared", "finish wrongly"), ("locked no more", "finish wrongly"):
            return .moves(.lockedTemporarily(until: self.now + .seconds(5)), [.renewChallenge])
        case ("prepared", "finish wrongly for the last time"), ("locked no more", "finish wrongly for the last time"):
            return .ends(.lockedOut(until: nil), self.over.union([.disableActivation]))
        // 13
        case ("locked", "finish"), ("locked", "finish wrongly"), ("locked", "finish wrongly for the last time"):
            return .ends(.lockedOut(until: self.now + .seconds(1)), self.over)
        // 15, 16, 18, 20
        case ("authenticated", "conclude"), ("authenticated", "conclude without an invitation"):
            switch purpose {
            case .userLogin, .serviceLogin: return .moves(.codeIssued, [.issueCode, .tellBrowser])
            case .addFactor, .changePin, .newActivation, .delete:
                return .moves(.granted(refusedPins: 0), [.issueGrant])
            case .merge: return event == "conclude" ? .moves(.done, [.merge]) : .ends(.mergeConflict, self.over)
            }
        // 17
        case ("code issued", "take the code"): return .moves(.done, [])
        case ("code issued", "take another's code"): return .refused(.notProven)
        // 19
        case ("granted", "complete"), ("granted, last PIN", "complete"): return .moves(.done, [.apply])
        case ("granted", "complete with a refused PIN"): return .counts(.pinRefused, .granted(refusedPins: 1))
        case ("granted, last PIN", "complete with a refused PIN"): return .ends(.pinRefused, self.over)
        case ("granted", "complete with a known factor"), ("granted, last PIN", "complete with a known factor"):
            return .ends(.factorAlreadyEnrolled, self.over)
        case ("granted", _) where event.hasPrefix("complete as"),
            ("granted, last PIN", _) where event.hasPrefix("complete as"):
            return .refused(.invalidRequest)
        // 21, 22, 24
        case (_, "abort"): return .moves(.aborted, self.over)
        case (_, "abort another's"): return .refused(.notProven)
        case (_, "expire"): return .moves(.expired, self.over)
        case (_, "withdraw"): return .moves(.failed(.activationDisabled), self.over)
        // Pending, of §2.2: what comes during a lockout ends the process.
        case (_, "rest"): return .ends(.lockedOut(until: self.lock.lockedUntil), self.over)
        case (_, "supersede") where purpose == .userLogin: return .moves(.superseded, self.over)
        // 23, but for what waits for no person: a code that nobody has claimed, and one that a program takes at once
        case ("started", "prolong"), ("prepared", "prolong"): return .moves(self.states[state] ?? .done, [])
        case ("corrected once", "prolong"), ("corrected to the limit", "prolong"), ("locked", "prolong"),
            ("locked no more", "prolong"), ("granted", "prolong"), ("granted, last PIN", "prolong"):
            return .moves(self.states[state] ?? .done, [])
        case ("started", "prolong another's"), ("prepared", "prolong another's"),
            ("corrected once", "prolong another's"),
            ("corrected to the limit", "prolong another's"), ("locked", "prolong another's"),
            ("locked no more", "prolong another's"), ("granted", "prolong another's"),
            ("granted, last PIN", "prolong another's"):
            return .refused(.notProven)
        default: return .refused(.outOfOrder)
        }
    }

    private static func session(_ purpose: IdentityPurpose, _ state: IdentityState) -> IdentitySession {
        IdentitySession(
            purpose: purpose, state: state, deadline: self.now + .seconds(60), hardEnd: self.now + .seconds(600))
    }

    @Test(
        "Every pair does what the table says, or is refused with its error and changes nothing",
        arguments: IdentityPurpose.allCases)
    func everyPair(purpose: IdentityPurpose) throws {
        for (stateName, state) in Self.states {
            for (eventName, event) in Self.events(purpose) {
                let before = Self.session(purpose, state)
                var session = before
                let verdict = session.handle(event, at: Self.now, limits: Self.limits)
                let place: Comment = "\(purpose): \(stateName), \(eventName)"
                if eventName == "again" {
                    #expect(verdict == .answerAgain && session == before, place)
                    continue
                }
                switch Self.expectation(purpose, stateName, eventName) {
                case .moves(let next, let effects):
                    #expect(verdict == .proceed(effects) && session.state == next, place)
                case .refused(let refusal): #expect(verdict == .refuse(refusal) && session == before, place)
                case .ends(let refusal, let effects):
                    #expect(verdict == .end(refusal, effects) && session.state == .failed(refusal), place)
                case .counts(let refusal, let next):
                    #expect(verdict == .refuse(refusal) && session.state == next, place)
                }
            }
        }
    }

    @Test("The conditions of a start are told in their order, and the proof comes first")
    func orderOfConditions() {
        var conditions = IdentityEvent.StartConditions()
        conditions.hasRole = false
        let steps: [(IdentityRefusal, (inout IdentityEvent.StartConditions) -> Void)] = [
            (.noRole, { _ in }), (.invitationRequired, { $0.isInvited = false }),
            (.membershipRequired, { $0.isMember = false }), (.securityInsufficient, { $0.isSecure = false }),
            (.lockedOut(until: nil), { $0.lockout = Self.forEver }),
            (.activationDisabled, { $0.isActivationActive = false }), (.invalidRequest, { $0.isGenuine = false }),
            (.notProven, { $0.isProven = false }),
        ]
        for (refusal, change) in steps {
            change(&conditions)
            var session = Self.session(.userLogin, .created)
            #expect(session.handle(.start(conditions), at: Self.now, limits: Self.limits) == .refuse(refusal))
        }
    }

    @Test("After the time of its state a session refuses everything but its ends", arguments: IdentityPurpose.allCases)
    func afterTheDeadline(purpose: IdentityPurpose) {
        let later = Self.now + .seconds(60)
        for (name, state) in Self.states where Self.ends[name] == nil {
            for (eventName, event) in Self.events(purpose) {
                let before = Self.session(purpose, state)
                var session = before
                let verdict = session.handle(event, at: later, limits: Self.limits)
                switch eventName {
                case "expire", "abort", "withdraw": #expect(session.state.ending != nil, "\(name), \(eventName)")
                case "supersede", "abort another's", "again", "again with other bytes": break
                default:
                    let refusal: IdentityRefusal = name.hasPrefix("granted") ? .grantExpired : .sessionExpired
                    #expect(verdict == .refuse(refusal) && session == before, "\(name), \(eventName)")
                }
            }
        }
    }

    @Test("Each state has its time, and none outlasts the session")
    func deadlines() throws {
        let limits = Self.limits
        guard
            case .session(var session) = IdentitySession.open(
                .login(isServiceActive: true, isOriginAllowed: true), at: Self.now, limits: limits)
        else {
            Issue.record("no session")
            return
        }
        #expect(session.deadline == Self.now + limits.dispatchLifetime)
        #expect(session.hardEnd == Self.now + limits.ceremonyLifetime)
        var now = Self.now + .seconds(30)
        _ = session.handle(.start(.init()), at: now, limits: limits)
        #expect(session.deadline == now + limits.claimedLifetime)
        // A correction does not give more time; a question does, up to the hard end.
        let before = session.deadline
        _ = session.handle(.prepare(.errors), at: now + .seconds(10), limits: limits)
        #expect(session.deadline == before)
        while session.deadline < session.hardEnd {
            now = session.deadline - .seconds(1)
            #expect(session.handle(.prolong(isEntitled: true), at: now, limits: limits) == .proceed([]))
            #expect(session.deadline == min(now + limits.claimedLifetime, session.hardEnd))
        }
        now = session.hardEnd - .seconds(1)
        #expect(session.handle(.prolong(isEntitled: true), at: now, limits: limits) == .proceed([]))
        #expect(session.deadline == session.hardEnd)
        _ = session.handle(.prepare(.complete), at: now, limits: limits)
        #expect(session.state == .prepared && session.deadline == session.hardEnd)
        // A lock that outlasts the session ends it by its time.
        let long = IdentityLockout(lockedUntil: now + .seconds(3600))
        _ = session.handle(.finish(.refused(long)), at: now, limits: limits)
        #expect(session.deadline == session.hardEnd)
        #expect(session.handle(.finish(.accepted), at: session.hardEnd, limits: limits) == .refuse(.sessionExpired))
    }

    @Test("A grant is prolonged by its own time, up to the hard end, and counts what it has counted")
    func grantedDeadline() {
        var session = Self.session(.changePin, .granted(refusedPins: 1))
        #expect(session.handle(.prolong(isEntitled: true), at: Self.now, limits: Self.limits) == .proceed([]))
        #expect(session.deadline == Self.now + Self.limits.grantLifetime)
        let late = Self.now + .seconds(299)
        #expect(session.handle(.prolong(isEntitled: true), at: late, limits: Self.limits) == .proceed([]))
        #expect(session.deadline == late + Self.limits.grantLifetime && session.deadline < session.hardEnd)
        let later = Self.now + .seconds(598)
        #expect(session.handle(.prolong(isEntitled: true), at: later, limits: Self.limits) == .proceed([]))
        #expect(session.deadline == session.hardEnd && session.state == .granted(refusedPins: 1))
        let end = session.hardEnd
        #expect(
            session.handle(.prolong(isEntitled: true), at: end, limits: Self.limits) == .refuse(.grantExpired))
    }

    @Test("A lock gives time to try again after its end")
    func lockedDeadline() {
        var session = Self.session(.userLogin, .prepared)
        _ = session.handle(.finish(.refused(Self.lock)), at: Self.now, limits: Self.limits)
        #expect(session.deadline == Self.now + .seconds(5) + Self.limits.claimedLifetime)
        // To prolong never takes time away.
        #expect(session.handle(.prolong(isEntitled: true), at: Self.now, limits: Self.limits) == .proceed([]))
        #expect(session.deadline == Self.now + .seconds(5) + Self.limits.claimedLifetime)
        #expect(
            session.handle(.finish(.accepted), at: Self.now + .seconds(5), limits: Self.limits)
                == .proceed([.writeSuccess]))
    }

    @Test("A session is opened where it may be, for as long as its kind lasts, and by push nobody learns who is there")
    func openings() {
        func open(_ opening: IdentitySession.Opening) -> IdentitySession.Opened {
            IdentitySession.open(opening, at: Self.now, limits: Self.limits)
        }
        #expect(open(.login(isServiceActive: false, isOriginAllowed: true)) == .refused(.serviceInactive))
        #expect(open(.login(isServiceActive: true, isOriginAllowed: false)) == .refused(.originRefused))
        for conditions in [(false, true, true), (true, false, true), (true, true, false)] {
            let opening = IdentitySession.Opening.inApp(
                isAllowed: conditions.0, isRedirectExact: conditions.1, hasPKCE: conditions.2)
            #expect(open(opening) == .refused(.invalidRequest))
        }
        #expect(open(.apiAccess(.delete, isActivationActive: false, isProven: true)) == .refused(.activationDisabled))
        #expect(open(.apiAccess(.delete, isActivationActive: true, isProven: false)) == .refused(.notProven))
        #expect(open(.push(mayPush: false, isReachable: true)) == .refused(.invalidRequest))
        #expect(open(.push(mayPush: true, isReachable: false)) == .pretended)
        var opened: [(IdentitySession.Opening, IdentityPurpose, Duration)] = [
            (.login(isServiceActive: true, isOriginAllowed: true), .userLogin, .seconds(60)),
            (.inApp(isAllowed: true, isRedirectExact: true, hasPKCE: true), .serviceLogin, .seconds(300)),
            (.push(mayPush: true, isReachable: true), .userLogin, .seconds(180)),
        ]
        for purpose in IdentityPurpose.allCases {
            let opening = IdentitySession.Opening.apiAccess(purpose, isActivationActive: true, isProven: true)
            guard purpose != .userLogin, purpose != .serviceLogin else {
                #expect(open(opening) == .refused(.invalidRequest))
                continue
            }
            opened.append((opening, purpose, .seconds(300)))
        }
        for (opening, purpose, lifetime) in opened {
            #expect(
                open(opening)
                    == .session(
                        IdentitySession(
                            purpose: purpose, state: .created, deadline: Self.now + lifetime,
                            hardEnd: Self.now + .seconds(900))))
        }
    }

    @Test("Of any run of events, only one with accepted factors comes to what it was for, and an end stays one")
    func randomRuns() throws {
        var random = SystemRandomNumberGenerator()
        var successes = 0
        // `make soak` draws more.
        let draws = ProcessInfo.processInfo.environment["COUNTERSIGN_LONG_DRAWS"] == nil ? 800 : 3000
        for _ in 0..<draws {
            let purpose = IdentityPurpose.allCases.randomElement(using: &random) ?? .delete
            let events = Array(Self.events(purpose).values)
            var session = Self.session(purpose, .created)
            var (accepted, errors, now) = (0, 0, Self.now)
            var ended: IdentityState?
            for _ in 0..<40 {
                let likely: [IdentityEvent] = [
                    .start(.init()), .prepare(.complete), .finish(.accepted), .conclude(isProvisional: true),
                    .takeCode(isEntitled: true), .complete(purpose, .valid),
                ]
                let event =
                    Bool.random(using: &random)
                    ? likely.randomElement(using: &random) ?? .expire : events.randomElement(using: &random) ?? .expire
                now = now + .milliseconds(Int.random(in: 0...3000, using: &random))
                let before = session
                let verdict = session.handle(event, at: now, limits: Self.limits)
                switch verdict {
                case .proceed(let effects):
                    if effects.contains(.writeSuccess) { accepted += 1 }
                    if event == .prepare(.errors) { errors += 1 }
                    let needsFactors: Set<IdentityEffect> = [.issueCode, .issueGrant, .apply, .merge]
                    #expect(effects.isDisjoint(with: needsFactors) || accepted == 1)
                case .refuse(.pinRefused): break
                case .refuse, .answerAgain: #expect(session == before)
                case .end: #expect(session.state.ending != nil)
                }
                if let ended { #expect(session.state == ended) }
                if session.state.ending != nil { ended = session.state }
                #expect(session.deadline <= session.hardEnd && session.hardEnd == Self.now + .seconds(600))
            }
            #expect(accepted <= 1 && errors <= Self.limits.correctionsPerSession)
            if session.state == .done {
                successes += 1
                #expect(accepted == 1)
            }
        }
        #expect(successes > 20)
    }
}

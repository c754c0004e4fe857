package import Ceremony
package import _Primitives

/// What an identity session is for, which decides what comes after the factors were accepted.
package typealias IdentityPurpose = SessionDocument.Purpose

extension IdentityPurpose {
    /// Whether accepted factors earn a grant, which something else has to use before anything has come of the session.
    package var isGranted: Bool {
        switch self {
        case .addFactor, .changePin, .newActivation, .delete: true
        case .userLogin, .serviceLogin, .merge: false
        }
    }
}

/// How far an identity session is.
package enum IdentityState: Hashable, Sendable {
    /// A code, a link, a push or an app's call is there, and nobody is bound. Next: `started`, an end.
    case created
    /// An activation has the request. Next: `correcting`, `prepared`, an end.
    case started
    /// The person's answers were wrong, so often. Next: `correcting`, `prepared`, an end.
    case correcting(failures: Int)
    /// Answers are fixed and a challenge is out. Next: `authenticated`, `lockedTemporarily`, an end.
    case prepared
    /// A factor was refused. Next: `authenticated`, `lockedTemporarily`, an end.
    case lockedTemporarily(until: Timestamp)
    /// The factors were accepted. Next: `codeIssued`, `granted`, `done`, an end.
    case authenticated
    /// An authorization code waits to be taken. Next: `done`, an end.
    case codeIssued
    /// What was asked for may be done, once. Next: `done`, an end.
    case granted(refusedPins: Int)
    /// Nothing more happens; it came to what it was for.
    case done
    /// Nothing more happens; somebody gave it up.
    case aborted
    /// Nothing more happens; its time is over.
    case expired
    /// Nothing more happens; another session of the same browser took its place.
    case superseded
    /// Nothing more happens, for this reason.
    case failed(IdentityRefusal)

    /// What everything that still comes is refused with; `nil` where the session goes on.
    package var ending: IdentityRefusal? {
        switch self {
        case .created, .started, .correcting, .prepared, .lockedTemporarily, .authenticated, .codeIssued, .granted: nil
        case .done: .sessionConsumed
        case .aborted: .sessionAborted
        case .expired: .sessionExpired
        case .superseded: .sessionSuperseded
        case .failed(let reason): reason
        }
    }
}

/// Why an event does not fit a state.
package enum IdentityRefusal: Hashable, Sendable {
    case serviceInactive
    case originRefused
    case invalidRequest
    case activationDisabled
    /// The caller has not proved to hold the key, or the cookie, that the event needs. It counts for no lockout.
    case notProven
    case sessionExpired
    case sessionConsumed
    case sessionAborted
    case sessionSuperseded
    /// A lockout of the activation runs until then; `nil` for one that never ends.
    case lockedOut(until: Timestamp?)
    case securityInsufficient
    case membershipRequired
    case invitationRequired
    case noRole
    case roleNotSelected
    case correctionLimitExceeded
    case grantExpired
    case pinRefused
    case factorAlreadyEnrolled
    case mergeConflict
    /// The identifier of a request that was answered, with other bytes.
    case replayRefused
    /// The event belongs to another state.
    case outOfOrder
}

/// What can happen to an identity session. Conditions that need a store or a signature are judged before, and stand in
/// the event.
package enum IdentityEvent: Hashable, Sendable {
    /// An activation claims the session.
    case start(StartConditions)
    /// The person's answers come.
    case prepare(PreparedAnswers)
    /// Signatures of factors come, and were all looked at.
    case finish(FinishedFactors)
    /// What the session is for is begun, right after the factors were accepted. It needs a provisional account to merge.
    case conclude(isProvisional: Bool)
    /// The code is fetched: by the activation that signed, or by the browser that waits.
    case takeCode(isEntitled: Bool)
    /// What was granted is to be done.
    case complete(IdentityPurpose, GrantUse)
    /// Somebody gives it up: the activation that is bound, or the browser.
    case abort(isEntitled: Bool)
    /// The activation that is bound needs more time.
    case prolong(isEntitled: Bool)
    /// The time is over.
    case expire
    /// Another session of the same browser takes its place.
    case supersede
    /// The activation was locked, revoked or deleted elsewhere.
    case withdrawActivation
    /// Something comes from the activation that is bound while it rests because of another session's factors.
    case rest(LockoutInformation)
    /// A request comes again with the identifier of one that was answered.
    case again(isIdentical: Bool)

    /// What has to be so for an activation to claim a session, in the order in which it is told.
    package struct StartConditions: Hashable, Sendable {
        /// The caller signed with the activation's key.
        package var isProven = true
        /// What was scanned is the manager's, and of this session.
        package var isGenuine = true
        package var isActivationActive = true
        /// The lockout that runs, if one does.
        package var lockout: LockoutInformation?
        /// The device is as sound as the server wants it.
        package var isSecure = true
        package var isMember = true
        package var isInvited = true
        /// The person has at least one role at the service.
        package var hasRole = true

        package init() {}
    }

    /// What came of the person's answers.
    package enum PreparedAnswers: Hashable, Sendable {
        /// No role, or one that was not offered.
        case noRole
        /// One attribute or more is wrong.
        case errors
        case complete
    }

    /// What came of the factors, after an attempt was reserved.
    package enum FinishedFactors: Hashable, Sendable {
        /// One whole alternative, every signature valid over the challenge.
        case accepted
        /// Anything else. The lockout is the one that was reserved.
        case refused(LockoutInformation)
    }

    /// What came of the payload that uses a grant.
    package enum GrantUse: Hashable, Sendable {
        case valid
        case pinRefused
        case factorAlreadyEnrolled
    }
}

/// What goes with an event beside the new state, by the words of the table that the tests hold the machine to.
///
/// The engine reads ``IdentityEffect/disableActivation`` alone. Of the others the new state and what the session is for
/// tell as much: they are done in the step of the store that writes the state, and whoever waits for the session is woken
/// by every step.
package enum IdentityEffect: Hashable, Sendable, CaseIterable {
    /// Bind the activation, and send the signed request.
    case bindActivation
    /// Tell the relying party's page: it hides its code, or shows a new one.
    case tellBrowser
    /// Keep role, chosen aliases and supplied values.
    case fixAnswers
    /// Make a document with a fresh nonce; signatures of the one before count no more.
    case renewChallenge
    /// Counters, selection, supplied values, consent: what only a success writes.
    case writeSuccess
    /// Forget supplied values that no account has.
    case dropSupplied
    /// Disable the activation, and end what else it has under way.
    case disableActivation
    case issueCode
    case issueGrant
    /// Do what was granted.
    case apply
    case merge
}

/// What a session answers to an event.
package enum IdentityVerdict: Hashable, Sendable {
    /// It went on, and this is to be done.
    case proceed(Set<IdentityEffect>)
    /// It did not happen; nothing changed.
    case refuse(IdentityRefusal)
    /// It did not happen, and the session has ended because of it.
    case end(IdentityRefusal, Set<IdentityEffect>)
    /// The answer that was given before is given again.
    case answerAgain
}

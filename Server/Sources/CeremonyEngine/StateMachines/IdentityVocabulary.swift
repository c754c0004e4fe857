package import Ceremony
package import _Primitives

/// The purpose of an identity session. The purpose decides the course after the factors were accepted.
package typealias IdentityPurpose = SessionDocument.Purpose

extension IdentityPurpose {
    /// `true` if accepted factors earn a grant. The session has a result only after another request has used the grant.
    package var isGranted: Bool {
        switch self {
        case .addFactor, .changePin, .newActivation, .delete: true
        case .userLogin, .serviceLogin, .merge: false
        }
    }
}

/// The state of an identity session.
package enum IdentityState: Hashable, Sendable {
    /// A code, a link, a push or an app's call exists, and no activation is bound. Next: `started`, an end.
    case created
    /// An activation has the request. Next: `correcting`, `prepared`, an end.
    case started
    /// The person's answers were wrong, `failures` times. Next: `correcting`, `prepared`, an end.
    case correcting(failures: Int)
    /// Answers are fixed and a challenge is out. Next: `authenticated`, `lockedTemporarily`, an end.
    case prepared
    /// A factor was refused. Next: `authenticated`, `lockedTemporarily`, an end.
    case lockedTemporarily(until: Timestamp)
    /// The factors were accepted. Next: `codeIssued`, `granted`, `done`, an end.
    case authenticated
    /// An authorization code waits for its collection. Next: `done`, an end.
    case codeIssued
    /// The requested action may be done, once. Next: `done`, an end.
    case granted(refusedPins: Int)
    /// The session has ended, and has reached its purpose.
    case done
    /// The session has ended, because a party aborted the session.
    case aborted
    /// The session has ended, because its time is over.
    case expired
    /// The session has ended, because another session of the same browser took its place.
    case superseded
    /// The session has ended, for this reason.
    case failed(IdentityRefusal)

    /// The refusal of every later event; `nil` if the session goes on.
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

/// The reason why an event does not fit a state.
package enum IdentityRefusal: Hashable, Sendable {
    case serviceInactive
    case originRefused
    case invalidRequest
    case activationDisabled
    /// The caller has not proved to hold the key, or the cookie, that the event needs. The refusal counts for no
    /// lockout.
    case notProven
    case sessionExpired
    case sessionConsumed
    case sessionAborted
    case sessionSuperseded
    /// A lockout of the activation runs until this time; `nil` for a permanent lockout.
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
    /// A request with the identifier of an answered request, but with other bytes.
    case replayRefused
    /// The event belongs to another state.
    case outOfOrder
}

/// An event of an identity session. Conditions that need a store or a signature are judged before, and are part of the
/// event.
package enum IdentityEvent: Hashable, Sendable {
    /// An activation claims the session.
    case start(StartConditions)
    /// The person's answers come.
    case prepare(PreparedAnswers)
    /// Signatures of factors come, and all were examined.
    case finish(FinishedFactors)
    /// The session's purpose begins, right after the factors were accepted. A merge needs a provisional account.
    case conclude(isProvisional: Bool)
    /// The activation that signed, or the waiting browser, fetches the code.
    case takeCode(isEntitled: Bool)
    /// The granted action is to be done.
    case complete(IdentityPurpose, GrantUse)
    /// The bound activation or the browser aborts the session.
    case abort(isEntitled: Bool)
    /// The bound activation needs more time.
    case prolong(isEntitled: Bool)
    /// The time is over.
    case expire
    /// Another session of the same browser takes its place.
    case supersede
    /// The activation was locked, revoked or deleted elsewhere.
    case withdrawActivation
    /// A request comes from the bound activation during a lockout that another session's factors have caused.
    case rest(IdentityLockout)
    /// A request comes with the identifier of an answered request.
    case again(isIdentical: Bool)

    /// The conditions for an activation to claim a session, in the order of their refusals.
    package struct StartConditions: Hashable, Sendable {
        /// The caller signed with the activation's key.
        package var isProven = true
        /// The scanned code comes from this server, and belongs to this session.
        package var isGenuine = true
        package var isActivationActive = true
        /// The running lockout; `nil` if there is none.
        package var lockout: IdentityLockout?
        /// The device is secure enough for the server.
        package var isSecure = true
        package var isMember = true
        package var isInvited = true
        /// The person has at least one role at the service.
        package var hasRole = true

        package init() {}
    }

    /// The result of judging the person's answers.
    package enum PreparedAnswers: Hashable, Sendable {
        /// No role, or a role that was not offered.
        case noRole
        /// At least one attribute is wrong.
        case errors
        case complete
    }

    /// The result of judging the factors, after an attempt was reserved.
    package enum FinishedFactors: Hashable, Sendable {
        /// One whole alternative, with every signature valid over the challenge.
        case accepted
        /// Any other result, with the lockout that was reserved.
        case refused(IdentityLockout)
    }

    /// The result of judging the payload that uses a grant.
    package enum GrantUse: Hashable, Sendable {
        case valid
        case pinRefused
        case factorAlreadyEnrolled
    }
}

/// The effects of an event beside the new state, in the words of the table that the tests compare with the machine.
///
/// The engine reads ``IdentityEffect/disableActivation`` alone. The new state and the session's purpose imply all other
/// effects. The store's step that writes the state also carries out these effects, and every step wakes the watchers of
/// the session.
package enum IdentityEffect: Hashable, Sendable, CaseIterable {
    /// Bind the activation, and send the signed request.
    case bindActivation
    /// Tell the relying party's page, which hides its code or shows a new code.
    case tellBrowser
    /// Keep role, chosen aliases and supplied values.
    case fixAnswers
    /// Make a document with a fresh nonce. Signatures of the earlier document no longer count.
    case renewChallenge
    /// Write the results of a success: counters, selection, supplied values, consent.
    case writeSuccess
    /// Erase supplied values that no account has.
    case dropSupplied
    /// Disable the activation, and end its other sessions.
    case disableActivation
    case issueCode
    case issueGrant
    /// Do the granted action.
    case apply
    case merge
}

/// A session's reply to an event.
package enum IdentityVerdict: Hashable, Sendable {
    /// The event happened, with these effects.
    case proceed(Set<IdentityEffect>)
    /// The event did not happen, and nothing changed except the number of refused PINs of a grant.
    case refuse(IdentityRefusal)
    /// The event did not happen, and the session has ended because of the event.
    case end(IdentityRefusal, Set<IdentityEffect>)
    /// The earlier answer is repeated.
    case answerAgain
}

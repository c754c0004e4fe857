package import Records
import _Primitives

/// The key of a grant, beside the key that a request has shown.
package enum ShownKey: Sendable, Equatable, CaseIterable {
    /// The grant is bound to no key, or the request has shown the grant's key.
    case right
    /// The request has shown no key.
    case missing
    /// The request has shown another key.
    case other

    /// Compares the key of a grant with the key that a request has shown.
    package init(of grant: String?, shown: String?) {
        guard let grant else {
            self = .right
            return
        }
        self = shown.map { $0.hasSameBytes(as: grant) ? .right : .other } ?? .missing
    }
}

/// The reason why a person may not get or use tokens at a client now.
package enum StandingRefusal: Error, Equatable {
    /// The client needs the person's consent, and the grant has none.
    case notAgreed
    /// The grant is bound to a key, and the request has not shown this key.
    case key(ShownKey)
    /// The account is locked, deleted or unknown.
    case locked
    /// The client does not take the person in the role of the sign-in.
    case notTaken
    /// The person has still to agree to these terms.
    case terms(Terms)
}

/// The facts that decide if a person may get or use tokens at a client now. A fact that a request need not know keeps
/// its default, which refuses nothing.
///
/// A grant whose session has ended, or whose consent was withdrawn, is not in the store, and has no facts.
package struct StandingFacts: Sendable, Equatable {
    /// `true` if the account is locked, deleted or unknown.
    package var isLocked = false
    /// `true` if the client takes the person in the role of the sign-in.
    package var isTaken = true
    /// `true` if the client needs no consent, or the grant has one.
    package var isAgreed = true
    /// The key of the grant, beside the key that the request has shown.
    package var key = ShownKey.right
    /// The terms that the person has still to agree to.
    package var missingTerms: Terms?

    /// Creates facts that refuse nothing.
    package init() {}

    /// The first reason against the person; `nil` for none.
    ///
    /// A caller without the right client or key learns nothing about the person's account.
    package var refusal: StandingRefusal? {
        if !self.isAgreed { return .notAgreed }
        if self.key != .right { return .key(self.key) }
        if self.isLocked { return .locked }
        if !self.isTaken { return .notTaken }
        return self.missingTerms.map(StandingRefusal.terms)
    }
}

/// A grant whose person may get tokens now. Every function that makes a token of a grant takes this value, and only
/// ``StandingFacts/admit(_:missing:)`` makes the value: no path to a token goes around the rule.
package struct AdmittedGrant: Sendable {
    /// The grant of the client.
    package let grant: GrantRecord
    /// The authentication of the person.
    package let authentication: AuthenticationRecord

    fileprivate init(_ standing: StandingGrant) {
        self.grant = standing.grant
        self.authentication = standing.authentication
    }
}

extension StandingFacts {
    /// Admits a grant for which tokens are to be made.
    ///
    /// - Parameters:
    ///   - standing: The grant, with the lock of its account.
    ///   - terms: The terms that the person has still to agree to; `nil` if the operator or the client needs none.
    package func admit(_ standing: StandingGrant, missing terms: Terms?) throws(StandingRefusal) -> AdmittedGrant {
        var facts = self
        facts.isLocked = facts.isLocked || standing.isAccountLocked
        facts.missingTerms = terms
        if let refusal = facts.refusal { throw refusal }
        return AdmittedGrant(standing)
    }
}

extension GrantRecord {
    /// `true` if the client needs no consent, or the grant has one. A client that the operator has made a third party's
    /// can have older grants for which no person was asked.
    func isAgreed(for client: ClientRecord) -> Bool { client.settings.party == .first || self.consent != nil }
}

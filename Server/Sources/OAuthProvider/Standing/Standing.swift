package import OAuth
package import Records

/// Answers if a person may get or use tokens here now. Every path to a token asks this part.
package struct Standing: Sendable {
    private let store: any TermsStore
    private let people: any PersonDirectory
    /// The operator's terms in force; `nil` for none.
    let terms: Terms?

    /// Creates the part over a store and a directory.
    init(store: any TermsStore, people: any PersonDirectory, terms: Terms?) {
        self.store = store
        self.people = people
        self.terms = terms
    }

    // MARK: A person who signs in

    /// Returns the person of an account; `nil` if the account is locked, deleted or unknown.
    ///
    /// Cost: one query.
    package func person(ofAccount account: String) async throws -> Person? {
        try await self.people.person(account: account)
    }

    /// Returns `true` if a client takes an account in a role, or in none.
    ///
    /// Cost: up to two queries.
    func takes(_ account: String, in role: RoleAtService?, at client: String) async throws -> Bool {
        try await self.people.takes(account, in: role, at: client)
    }

    /// Returns the reason against a person who signs in to a client; `nil` for none. Terms do not count here: the page
    /// of the sign-in asks about them.
    ///
    /// Cost: up to three queries.
    func refusal(ofAccount account: String, in role: RoleAtService?, at client: String) async throws
        -> StandingRefusal?
    {
        var facts = StandingFacts()
        facts.isLocked = try await self.person(ofAccount: account) == nil
        if !facts.isLocked { facts.isTaken = try await self.takes(account, in: role, at: client) }
        return facts.refusal
    }

    /// Returns the reason against a person who signs in where no page can ask about terms; `nil` for none.
    ///
    /// Cost: as ``refusal(ofAccount:in:at:)``, and as ``missingTerms(ofAccount:)``.
    func refusalWithoutPage(ofAccount account: String, in role: RoleAtService?, at client: String) async throws
        -> StandingRefusal?
    {
        if let refusal = try await self.refusal(ofAccount: account, in: role, at: client) { return refusal }
        return try await self.missingTerms(ofAccount: account).map(StandingRefusal.terms)
    }

    // MARK: A grant

    /// Reads the facts about the person of a grant at the grant's client: the consent, the lock, and the role of the
    /// sign-in.
    ///
    /// Cost: nothing, as the lock was read with the grant; two queries if the person came in a role.
    package func facts(of standing: StandingGrant, at client: ClientRecord) async throws -> StandingFacts {
        var facts = StandingFacts()
        facts.isAgreed = standing.grant.isAgreed(for: client)
        facts.isLocked = standing.isAccountLocked
        let authentication = standing.authentication
        if !facts.isLocked, authentication.role != nil {
            facts.isTaken = try await self.takes(
                authentication.account, in: authentication.role, at: standing.grant.client)
        }
        return facts
    }

    /// Admits a grant for which its client is to get tokens.
    ///
    /// Throws `OAuthError` `invalid_grant`. Cost: as ``facts(of:at:)``, and as ``missingTerms(ofAccount:)``.
    func admit(_ standing: StandingGrant, for client: ClientRecord) async throws -> AdmittedGrant {
        let facts = try await self.facts(of: standing, at: client)
        if let refusal = facts.refusal { throw refusal.error }
        let terms = try await self.missingTerms(ofAccount: standing.authentication.account)
        do { return try facts.admit(standing, missing: terms) } catch { throw error.error }
    }

    // MARK: Terms

    /// Returns the missing terms as ``missingTerms(ofAccount:)`` does, if the client's people have to agree to the
    /// terms.
    package func missingTerms(ofAccount account: String, at client: ClientRecord) async throws -> Terms? {
        guard client.settings.signInService?.enforcesTerms ?? true else { return nil }
        return try await self.missingTerms(ofAccount: account)
    }

    /// Returns the terms that the person of an account has still to agree to; `nil` for none.
    ///
    /// Cost: nothing if the operator has no terms; else a query.
    func missingTerms(ofAccount account: String) async throws -> Terms? {
        guard let terms = self.terms, try await !self.store.hasAgreed(account: account, version: terms.version) else {
            return nil
        }
        return terms
    }

    /// Refuses a person who has still to agree to the terms.
    ///
    /// Throws `OAuthError` `invalid_grant`. Cost: as ``missingTerms(ofAccount:)``.
    func requireTerms(ofAccount account: String) async throws {
        if let terms = try await self.missingTerms(ofAccount: account) { throw StandingRefusal.terms(terms).error }
    }
}

extension StandingRefusal {
    /// The answer to a client whose person has a grant: `invalid_grant`.
    package var error: OAuthError {
        switch self {
        case .locked, .notTaken:
            OAuthError(
                .invalidGrant, "What was granted is not valid any more.",
                detail: "the account is locked, or the service does not take the person any more")
        case .terms(let terms):
            OAuthError(
                .invalidGrant, "The person has to agree to something first: sign in again in a browser.",
                detail: "nobody has agreed to --terms-version \(terms.version) for the account")
        case .notAgreed:
            OAuthError(.invalidGrant, "What was granted is not valid any more.", detail: "nobody has agreed to it")
        case .key(let key):
            OAuthError(
                .invalidGrant, "What was granted is not valid any more.",
                detail: key == .missing ? "no proof of its key" : "another key")
        }
    }
}

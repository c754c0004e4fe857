import OAuth
import Records

extension OpenIDProvider {
    /// The answer to a request without a page if the person has to agree to the terms first.
    static let nobodyAgreedToTerms = OAuthError(.interactionRequired, "The person has to agree to the terms first.")

    /// Returns the missing terms as ``missingTerms(ofAccount:)`` does, if the client's people have to agree to the
    /// terms.
    func missingTerms(ofAccount account: String, at client: ClientRecord) async throws -> Terms? {
        guard client.settings.signInService?.enforcesTerms ?? true else { return nil }
        return try await self.missingTerms(ofAccount: account)
    }

    /// Returns the terms that the person of an account has still to agree to; `nil` for none.
    ///
    /// Cost: nothing if the operator has no terms; else a query.
    func missingTerms(ofAccount account: String) async throws -> Terms? {
        guard let terms = self.configuration.terms,
            try await !self.store.hasAgreed(account: account, version: terms.version)
        else { return nil }
        return terms
    }

    /// Prevents any issue for a person who has still to agree to the terms.
    ///
    /// Throws `OAuthError` `invalid_grant`. Cost: as ``missingTerms(ofAccount:)``.
    func requireTerms(ofAccount account: String) async throws {
        guard let terms = try await self.missingTerms(ofAccount: account) else { return }
        throw OAuthError(
            .invalidGrant, "The person has to agree to something first: sign in again in a browser.",
            detail: "nobody has agreed to --terms-version \(terms.version) for the account")
    }
}

extension AuditEvent.Kind {
    /// A person agreed to the operator's terms; the detail is the version of the terms, the address is the browser's.
    static let termsAgreed = Self(rawValue: "terms-agreed")
}

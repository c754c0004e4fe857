import OAuth
import Store

extension OpenIDProvider {
    /// What a request without a page is told where the person has to agree first.
    static let nobodyAgreedToTerms = OAuthError(.interactionRequired, "The person has to agree to the terms first.")

    /// As ``missingTerms(ofAccount:)``, where the client's people have to agree to them.
    func missingTerms(ofAccount account: String, at client: ClientRecord) async throws -> Terms? {
        guard client.settings.signInService?.enforcesTerms ?? true else { return nil }
        return try await self.missingTerms(ofAccount: account)
    }

    /// The terms that the person of an account has still to agree to; `nil` for none.
    ///
    /// Cost: nothing where the operator has none; else a query.
    func missingTerms(ofAccount account: String) async throws -> Terms? {
        guard let terms = self.configuration.terms,
            try await !self.store.hasAgreed(account: account, version: terms.version)
        else { return nil }
        return terms
    }

    /// Sees to it that nothing is issued for whoever has still to agree.
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
    /// A person has agreed to the operator's terms; the detail is their version, the address the browser's.
    static let termsAgreed = Self(rawValue: "terms-agreed")
}

import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// What a request asks a person to agree to in detail; `nil` for nothing. One object at a time: what several mean
    /// together would be for the person to guess.
    ///
    /// Throws `OAuthError` `invalid_authorization_details`.
    func details(_ parameters: Parameters, of client: ClientRecord, setting: inout String?) throws
        -> AuthorizationDetails?
    {
        guard let text = parameters["authorization_details"] else { return nil }
        let types = self.configuration.detailTypes.map(\.type).filter {
            client.settings.profile.detailTypes.containsBytes(of: $0.name)
        }
        if types.isEmpty { setting = "--authorization-details-type" }
        let details = try AuthorizationDetails(text, types: types, limits: Self.detailLimits)
        _ = try self.shownText(of: details)
        return details
    }

    /// Details that were checked when they came, as they are kept.
    func details(kept text: String) throws -> AuthorizationDetails {
        do {
            return try AuthorizationDetails(
                text, types: self.configuration.detailTypes.map(\.type), limits: Self.detailLimits)
        } catch {
            throw StoreError(.corrupt, "authorization details")
        }
    }

    /// What a person is shown of details, and signs. Throws `OAuthError` `invalid_authorization_details`.
    func shownText(of details: AuthorizationDetails) throws -> String {
        guard let object = details.objects.first, let name = details.types.first,
            let type = self.configuration.detailTypes.first(where: { $0.type.name.hasSameBytes(as: name) })
        else { throw OAuthError(.invalidAuthorizationDetails, "The authorization_details cannot be shown here.") }
        do { return try type.text(object) } catch {
            throw OAuthError(
                .invalidAuthorizationDetails, "The authorization_details have a member that is not right.",
                detail: "\(error)")
        }
    }

    /// The part of granted details that a token request asks for: all of them, where it asks for none (section 6).
    ///
    /// Throws `OAuthError` `invalid_authorization_details` for what was not granted.
    func details(_ parameters: Parameters, within granted: String?) throws -> AuthorizationDetails? {
        let granted = try granted.map { try self.details(kept: $0) }
        guard let text = parameters["authorization_details"] else { return granted }
        let asked = try AuthorizationDetails(
            text, types: self.configuration.detailTypes.map(\.type), limits: Self.detailLimits)
        guard let granted, asked.areContained(in: granted) else {
            throw OAuthError(.invalidAuthorizationDetails, "The authorization_details are wider than what was granted.")
        }
        return asked
    }

    /// They are sealed, and go into access tokens.
    private static let detailLimits = AuthorizationDetails.Limits(
        bytes: Limits.Fixed.authorizationDetailsBytes, count: 1)
}

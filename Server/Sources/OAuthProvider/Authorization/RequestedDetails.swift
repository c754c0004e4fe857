import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// Checks what a client wants a person to agree to in detail, if anything. One object at a time: what several mean
    /// together would be for the person to guess.
    ///
    /// Throws `OAuthError` `invalid_authorization_details`. `setting` is set to the setting of the client that it does not fit.
    func checkDetails(_ text: String?, of client: ClientRecord, setting: inout String?) throws {
        guard let text else { return }
        if self.types(of: client).isEmpty { setting = "--authorization-details-type" }
        try self.checkDetails(text, of: client)
        guard !self.methods(of: client, for: text).isEmpty else {
            setting = "--sign-in-method"
            throw OAuthError(
                .invalidAuthorizationDetails, "In no way in which people sign in to this client can they agree to it.")
        }
    }

    /// The same where a person is asked on the phone without a page.
    func checkDetails(_ text: String?, of client: ClientRecord) throws {
        guard let text else { return }
        _ = try self.shownText(of: self.details(text, ofTypes: self.types(of: client)))
    }

    /// The ways in which people may sign in to a client, the first of them first: those alone in which they can agree to
    /// details, where there are some.
    func methods(of client: ClientRecord, for details: String?) -> [String] {
        guard details != nil else { return client.settings.signInMethods }
        let signing = self.methods.filter(\.signsTexts).map(\.name)
        return client.settings.signInMethods.filter(signing.containsBytes)
    }

    /// The ways in which the person of a request may sign in. A request of the app sign-in service names the one.
    func methods(of client: ClientRecord, for wishes: AuthorizationWishes) -> [String] {
        guard let service = wishes.service else { return client.settings.signInMethods }
        return [SignInServiceWishes.method(ofType: service.type, among: client.settings.signInMethods)]
            .compactMap(\.self)
    }

    /// What a person is asked to agree to, as they are shown it; `nil` for nothing.
    func agreement(to details: String?) throws -> String? {
        try details.map { try self.shownText(of: self.details(kept: $0)) }
    }

    /// Whether a person has agreed to the details of a request, if it has any: they have signed what they were shown.
    func isAgreed(to details: String?, by outcome: AuthenticationOutcome) throws -> Bool {
        guard let text = try self.agreement(to: details) else { return true }
        return outcome.signedText.map { constantTimeEqual($0, Sealing.digest(ofSecret: text)) } ?? false
    }

    /// The part of a grant's details that a token request asks for: all of them, where it asks for none (section 6). What the
    /// operator has taken from the client since is left out.
    ///
    /// Throws `OAuthError` `invalid_authorization_details` for what was not granted.
    func details(_ parameters: Parameters, within grant: GrantRecord, of client: ClientRecord) throws
        -> AuthorizationDetails?
    {
        try self.details(parameters, within: grant.details, of: client)
    }

    /// The same of details as they are kept.
    func details(_ parameters: Parameters, within kept: String?, of client: ClientRecord) throws
        -> AuthorizationDetails?
    {
        var granted = try kept.map { try self.details(kept: $0) }
        let types = self.types(of: client).map(\.name)
        if let names = granted?.types, !names.allSatisfy(types.containsBytes) { granted = nil }
        guard let text = parameters["authorization_details"] else { return granted }
        let asked = try self.details(text, ofTypes: self.configuration.detailTypes.map(\.type))
        guard let granted, asked.areContained(in: granted) else {
            throw OAuthError(.invalidAuthorizationDetails, "The authorization_details are wider than what was granted.")
        }
        return asked
    }

    /// Refuses details where nobody can be asked about them. Throws `OAuthError` `invalid_authorization_details`.
    func refuseDetails(in parameters: Parameters) throws {
        guard parameters["authorization_details"] == nil else {
            throw OAuthError(.invalidAuthorizationDetails, "Nobody can be asked here about authorization_details.")
        }
    }

    /// The types that a client may ask for.
    private func types(of client: ClientRecord) -> [AuthorizationDetailsType] {
        self.configuration.detailTypes.map(\.type).filter {
            client.settings.profile.detailTypes.containsBytes(of: $0.name)
        }
    }

    /// Details that were checked when they came, as they are kept.
    private func details(kept text: String) throws -> AuthorizationDetails {
        do {
            return try self.details(text, ofTypes: self.configuration.detailTypes.map(\.type))
        } catch {
            throw StoreError(.corrupt, "authorization details")
        }
    }

    /// Details in their one spelling. Throws `OAuthError` `invalid_authorization_details`.
    private func details(_ text: String, ofTypes types: [AuthorizationDetailsType]) throws -> AuthorizationDetails {
        let raw = try AuthorizationDetails(text, types: types, limits: Self.detailLimits)
        let objects = try zip(raw.types, raw.objects).map { name, object -> JSONObject in
            guard let type = self.configuration.detailTypes.first(where: { $0.type.name.hasSameBytes(as: name) }) else {
                return object
            }
            do { return try type.spelling(object) } catch { throw Self.wrongMember(error) }
        }
        return try AuthorizationDetails(
            json: .array(objects.map(JSON.object)), types: types, limits: Self.detailLimits)
    }

    private static func wrongMember(_ error: any Error) -> OAuthError {
        OAuthError(
            .invalidAuthorizationDetails, "The authorization_details have a member that is not right.",
            detail: "\(error)")
    }

    /// What a person is shown of details, and signs. Throws `OAuthError` `invalid_authorization_details`.
    private func shownText(of details: AuthorizationDetails) throws -> String {
        guard let object = details.objects.first, let name = details.types.first,
            let type = self.configuration.detailTypes.first(where: { $0.type.name.hasSameBytes(as: name) })
        else { throw OAuthError(.invalidAuthorizationDetails, "The authorization_details cannot be shown here.") }
        do { return try type.text(object) } catch { throw Self.wrongMember(error) }
    }

    /// They are sealed, and go into access tokens.
    private static let detailLimits = AuthorizationDetails.Limits(
        bytes: Limits.Fixed.authorizationDetailsBytes, count: 1)
}

import OAuth
import Records
import Sealing
import Settings
import _Primitives

/// The details that people can be asked about (RFC 9396).
struct RequestedDetails: Sendable {
    /// The types of details.
    let known: [DetailType]
    let signInMethods: [any SignInMethod]

    /// Checks the details that a client wants a person to agree to, if any. A request has one object: several objects
    /// together could have a meaning that the person would have to guess.
    ///
    /// Throws `OAuthError` `invalid_authorization_details`. Sets `setting` to the client's setting that the request
    /// does not fit.
    func check(_ text: String?, of client: ClientRecord, setting: inout String?) throws {
        guard let text else { return }
        if self.types(of: client).isEmpty { setting = "--authorization-details-type" }
        try self.check(text, of: client)
        guard !self.methods(of: client, for: text).isEmpty else {
            setting = "--sign-in-method"
            throw OAuthError(
                .invalidAuthorizationDetails, "In no way in which people sign in to this client can they agree to it.")
        }
    }

    /// Checks the details for a person who is asked on the phone without a page.
    func check(_ text: String?, of client: ClientRecord) throws {
        guard let text else { return }
        _ = try self.shownText(of: self.details(text, ofTypes: self.types(of: client)))
    }

    /// Returns the ways for people to sign in to a client, in the client's order. With details, only ways that let a
    /// person sign the details remain.
    func methods(of client: ClientRecord, for details: String?) -> [String] {
        guard details != nil else { return client.settings.signInMethods }
        let signing = self.signInMethods.filter(\.signsTexts).map(\.name)
        return client.settings.signInMethods.filter(signing.containsBytes)
    }

    /// Returns the ways for the person of a request to sign in. A request of the app sign-in service names its only
    /// way.
    func methods(of client: ClientRecord, for wishes: AuthorizationWishes) -> [String] {
        guard let service = wishes.service else { return client.settings.signInMethods }
        return [SignInServiceWishes.method(ofType: service.type, among: client.settings.signInMethods)]
            .compactMap(\.self)
    }

    /// Returns the text of details that a person is asked to agree to; `nil` for no details.
    func agreement(to details: String?) throws -> String? {
        try details.map { try self.shownText(of: self.details(kept: $0)) }
    }

    /// `true` if the person has signed the text of the request's details, or the request has none.
    func isAgreed(to details: String?, by outcome: AuthenticationOutcome) throws -> Bool {
        guard let text = try self.agreement(to: details) else { return true }
        return outcome.signedText.map { constantTimeEqual($0, Sealing.digest(ofSecret: text)) } ?? false
    }

    /// Returns the part of a grant's details that a token request asks for: all details if the request asks for none
    /// (section 6). If the operator has since taken one of the types from the client, none are left.
    ///
    /// Throws `OAuthError` `invalid_authorization_details` for details that were not granted.
    func granted(_ parameters: Parameters, within grant: GrantRecord, of client: ClientRecord) throws
        -> AuthorizationDetails?
    {
        try self.granted(parameters, within: grant.details, of: client)
    }

    /// Does the same for details as they are kept.
    func granted(_ parameters: Parameters, within kept: String?, of client: ClientRecord) throws
        -> AuthorizationDetails?
    {
        var granted = try kept.map { try self.details(kept: $0) }
        let types = self.types(of: client).map(\.name)
        if let names = granted?.types, !names.allSatisfy(types.containsBytes) { granted = nil }
        guard let text = parameters["authorization_details"] else { return granted }
        let asked = try self.details(text, ofTypes: self.known.map(\.type))
        guard let granted, asked.areContained(in: granted) else {
            throw OAuthError(.invalidAuthorizationDetails, "The authorization_details are wider than what was granted.")
        }
        return asked
    }

    /// Refuses details in a request that cannot ask a person. Throws `OAuthError` `invalid_authorization_details`.
    func refuse(in parameters: Parameters) throws {
        guard parameters["authorization_details"] == nil else {
            throw OAuthError(.invalidAuthorizationDetails, "Nobody can be asked here about authorization_details.")
        }
    }

    /// Returns the types that a client may use.
    private func types(of client: ClientRecord) -> [AuthorizationDetailsType] {
        self.known.map(\.type).filter {
            client.settings.profile.detailTypes.containsBytes(of: $0.name)
        }
    }

    /// Reads stored details, which were checked when they came.
    private func details(kept text: String) throws -> AuthorizationDetails {
        do {
            return try self.details(text, ofTypes: self.known.map(\.type))
        } catch {
            throw StoreError(.corrupt, "authorization details")
        }
    }

    /// Returns details in their canonical spelling. Throws `OAuthError` `invalid_authorization_details`.
    private func details(_ text: String, ofTypes types: [AuthorizationDetailsType]) throws -> AuthorizationDetails {
        let raw = try AuthorizationDetails(text, types: types, limits: Self.detailLimits)
        let objects = try zip(raw.types, raw.objects).map { name, object -> JSONObject in
            guard let type = self.known.first(where: { $0.type.name.hasSameBytes(as: name) }) else {
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

    /// Returns the text that a person reads and signs. Throws `OAuthError` `invalid_authorization_details`.
    private func shownText(of details: AuthorizationDetails) throws -> String {
        guard let object = details.objects.first, let name = details.types.first,
            let type = self.known.first(where: { $0.type.name.hasSameBytes(as: name) })
        else { throw OAuthError(.invalidAuthorizationDetails, "The authorization_details cannot be shown here.") }
        do { return try type.text(object) } catch { throw Self.wrongMember(error) }
    }

    /// Details are sealed, and go into access tokens.
    private static let detailLimits = AuthorizationDetails.Limits(
        bytes: Limits.Fixed.authorizationDetailsBytes, count: 1)
}

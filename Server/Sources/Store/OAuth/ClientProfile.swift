/// What an operator asks of a client's requests, beyond what every client is held to.
public struct ClientProfile: Sendable, Equatable {
    /// The rules that all of its requests follow.
    public enum Security: String, Sendable, CaseIterable {
        /// Those of every client (RFC 9700).
        case usual
        /// Those of the FAPI 2.0 Security Profile.
        case fapi2
    }

    /// The rules.
    public var security: Security
    /// Whether it signs its authorization requests (`require_signed_request_object`, RFC 9101, section 10.5).
    public var requiresSignedRequests: Bool
    /// Where the scripts of an app in the browser come from: pages of these origins, and of no others, may read what the
    /// client is answered.
    public var origins: [String]
    /// The types of authorization details that it may ask for (`authorization_details_types`, RFC 9396, section 10).
    public var detailTypes: [String]
    /// Whether its app may sign people in without a browser (OAuth 2.0 for First-Party Applications).
    public var signsInDirectly: Bool
    /// `true` if the client pushes its authorization requests (`require_pushed_authorization_requests`, RFC 9126, section 6).
    public var requiresPushedRequests = false
    /// The `max_age` of requests that have none (`default_max_age`, OpenID Connect Dynamic Client Registration 1.0, section 2);
    /// `nil` for no such age.
    public var defaultMaximumAge: Duration?

    /// A profile; by default that of a client of which nothing is asked.
    public init(
        security: Security = .usual, requiresSignedRequests: Bool = false, origins: [String] = [],
        detailTypes: [String] = [], signsInDirectly: Bool = false
    ) {
        self.signsInDirectly = signsInDirectly
        self.detailTypes = detailTypes
        self.security = security
        self.requiresSignedRequests = requiresSignedRequests
        self.origins = origins
    }
}

/// What an operator changes of a client's profile; what is `nil` stays as it is.
public struct ClientProfileChange: Sendable, Equatable {
    /// The rules.
    public var security: ClientProfile.Security?
    /// Whether it signs its authorization requests.
    public var requiresSignedRequests: Bool?
    /// Where the scripts of an app in the browser come from; all of them.
    public var origins: [String]?
    /// The types of authorization details that it may ask for; all of them.
    public var detailTypes: [String]?
    /// Whether its app may sign people in without a browser.
    public var signsInDirectly: Bool?
    /// Whether the client pushes its authorization requests.
    public var requiresPushedRequests: Bool?
    /// The `max_age` of requests that have none; a negative one for no such age.
    public var defaultMaximumAge: Duration?

    /// These changes and no others.
    public init(
        security: ClientProfile.Security? = nil, requiresSignedRequests: Bool? = nil, origins: [String]? = nil,
        detailTypes: [String]? = nil, signsInDirectly: Bool? = nil
    ) {
        self.signsInDirectly = signsInDirectly
        self.detailTypes = detailTypes
        self.security = security
        self.requiresSignedRequests = requiresSignedRequests
        self.origins = origins
    }

    /// The profile after the change.
    public func applied(to profile: ClientProfile) -> ClientProfile {
        var applied = ClientProfile(
            security: self.security ?? profile.security,
            requiresSignedRequests: self.requiresSignedRequests ?? profile.requiresSignedRequests,
            origins: self.origins ?? profile.origins, detailTypes: self.detailTypes ?? profile.detailTypes,
            signsInDirectly: self.signsInDirectly ?? profile.signsInDirectly)
        applied.requiresPushedRequests = self.requiresPushedRequests ?? profile.requiresPushedRequests
        applied.defaultMaximumAge =
            self.defaultMaximumAge.map { $0 < .zero ? nil : $0 } ?? profile.defaultMaximumAge
        return applied
    }
}

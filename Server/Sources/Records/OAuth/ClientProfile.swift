/// The operator's demands on a client's requests, beyond the rules for every client.
public struct ClientProfile: Sendable, Equatable {
    /// The rules that all requests of the client follow.
    public enum Security: String, Sendable, CaseIterable {
        /// The rules of every client (RFC 9700).
        case usual
        /// The rules of the FAPI 2.0 Security Profile.
        case fapi2
    }

    /// The rules.
    public var security: Security
    /// `true` if the client signs its authorization requests (`require_signed_request_object`, RFC 9101, section 10.5).
    public var requiresSignedRequests: Bool
    /// The origins of the scripts of an app in the browser. Only pages of these origins may read the answers to the
    /// client.
    public var origins: [String]
    /// The types of authorization details that the client may request (`authorization_details_types`, RFC 9396, section
    /// 10).
    public var detailTypes: [String]
    /// `true` if the client's app may sign people in without a browser (OAuth 2.0 for First-Party Applications).
    public var signsInDirectly: Bool
    /// `true` if the client pushes its authorization requests (`require_pushed_authorization_requests`, RFC 9126,
    /// section 6).
    public var requiresPushedRequests = false
    /// The `max_age` of requests without the parameter (`default_max_age`, OpenID Connect Dynamic Client Registration
    /// 1.0, section 2); `nil` for no such age.
    public var defaultMaximumAge: Duration?
    /// `true` if the client shows the number that a person has to type on the phone: each request without a browser has a
    /// number in the client's answer, and so has each transaction that is dispatched to a device.
    public var matchesNumbers = false

    /// Makes a profile; by default the profile of a client without special demands.
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

/// An operator's changes to a client's profile. A property that is `nil` stays as it is.
public struct ClientProfileChange: Sendable, Equatable {
    /// The new rules.
    public var security: ClientProfile.Security?
    /// `true` if the client is to sign its authorization requests.
    public var requiresSignedRequests: Bool?
    /// All origins of the scripts of an app in the browser.
    public var origins: [String]?
    /// All types of authorization details that the client may request.
    public var detailTypes: [String]?
    /// `true` if the client's app may sign people in without a browser.
    public var signsInDirectly: Bool?
    /// `true` if the client is to push its authorization requests.
    public var requiresPushedRequests: Bool?
    /// The `max_age` of requests without the parameter; a negative age for no such age.
    public var defaultMaximumAge: Duration?
    /// `true` if the client is to show numbers.
    public var matchesNumbers: Bool?

    /// Makes a change with these values and no others.
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

    /// Returns the profile after the change.
    public func applied(to profile: ClientProfile) -> ClientProfile {
        var applied = ClientProfile(
            security: self.security ?? profile.security,
            requiresSignedRequests: self.requiresSignedRequests ?? profile.requiresSignedRequests,
            origins: self.origins ?? profile.origins, detailTypes: self.detailTypes ?? profile.detailTypes,
            signsInDirectly: self.signsInDirectly ?? profile.signsInDirectly)
        applied.requiresPushedRequests = self.requiresPushedRequests ?? profile.requiresPushedRequests
        applied.matchesNumbers = self.matchesNumbers ?? profile.matchesNumbers
        applied.defaultMaximumAge =
            self.defaultMaximumAge.map { $0 < .zero ? nil : $0 } ?? profile.defaultMaximumAge
        return applied
    }
}

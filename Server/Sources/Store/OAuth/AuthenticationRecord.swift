public import _Primitives

/// As what somebody has come to a service of personalised identities: with the factors that this role asks for, and what
/// they have confirmed for this service.
public struct RoleAtService: Sendable, Equatable {
    /// The service, by its client's identifier.
    public let service: String
    /// The role, by its identifier at the service.
    public let role: String

    /// A role at a service.
    public init(service: String, role: String) {
        self.service = service
        self.role = role
    }
}

/// An authentication: who proved who they are, when, how and from where, whatever the method was.
///
/// It is written once and never changes. Sessions and grants stand on it: what deletes it ends all of them.
public struct AuthenticationRecord: Sendable, Equatable {
    /// 128 random bits as base64url.
    public let id: String
    /// What a sign-in by a password is called: it stands on a row of its own until it is completed.
    public static let passwordMethod = "password"

    /// Who it was.
    public let account: String
    /// The sign-in method, by the name that it has in the provider's list.
    public let method: String
    /// When.
    public let at: Timestamp
    /// The level (`acr`).
    public let acr: String
    /// The methods of RFC 8176 (`amr`).
    public let amr: [String]
    /// The browser and its system in words, as the person saw them. Sealed at rest.
    public let browser: String?
    /// The browser's network address. Sealed at rest.
    public let address: String?
    /// The device that the person authenticated with: what stands on the authentication ends with it.
    public let device: String?
    /// The service of personalised identities that it was for, and the role; `nil` for every other. Such a service takes no
    /// authentication that was not for it.
    public let role: RoleAtService?

    /// A record of these values.
    public init(
        id: String, account: String, method: String, at: Timestamp, acr: String, amr: [String],
        browser: String? = nil, address: String? = nil, device: String? = nil, role: RoleAtService? = nil
    ) {
        self.role = role
        self.id = id
        self.account = account
        self.method = method
        self.at = at
        self.acr = acr
        self.amr = amr
        self.browser = browser
        self.address = address
        self.device = device
    }
}

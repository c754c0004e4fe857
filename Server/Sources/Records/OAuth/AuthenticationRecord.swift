public import _Primitives

/// The role in which a person has signed in to a service of personalised identities: with the factors that the role
/// requires, and with the confirmed values for this service.
public struct RoleAtService: Sendable, Equatable {
    /// The service, by its client's identifier.
    public let service: String
    /// The role, by its identifier at the service.
    public let role: String

    /// Makes a role at a service.
    public init(service: String, role: String) {
        self.service = service
        self.role = role
    }
}

/// An authentication: the proof of a person's identity, with time, method and place, whatever the method was.
///
/// An authentication is written once and never changes. Sessions and grants depend on it: deleting an authentication
/// ends all of them.
public struct AuthenticationRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public let id: String
    /// The method name of a sign-in by the person's phone.
    public static let phoneMethod = "phone"
    /// The method name of a sign-in by the person's phone after the person was named at the page (decision 126).
    public static let askedPhoneMethod = "asked-phone"
    /// The method name of a sign-in by a password.
    public static let passwordMethod = "password"

    /// The account that authenticated.
    public let account: String
    /// The sign-in method, by the name that it has in the provider's list.
    public let method: String
    /// The moment of the authentication.
    public let at: Timestamp
    /// The level (`acr`).
    public let acr: String
    /// The methods of RFC 8176 (`amr`).
    public let amr: [String]
    /// The browser and its system in words, as the person saw them. Sealed at rest.
    public let browser: String?
    /// The browser's network address. Sealed at rest.
    public let address: String?
    /// The device that the person authenticated with. Sessions and grants of the authentication end with the device.
    public let device: String?
    /// The role at the service of personalised identities for which the authentication was made; `nil` for every other
    /// authentication. Such a service takes no authentication made for another purpose.
    public let role: RoleAtService?

    /// Makes a record of these values.
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

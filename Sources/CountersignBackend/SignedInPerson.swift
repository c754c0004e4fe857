public import PersonalInformation
public import _Primitives

/// Who has signed in, as one service knows the person.
public struct SignedInPerson: Sendable, CustomStringConvertible, CustomReflectable {
    /// The name that the server has for the person at this service alone (`sub`): the same at each sign-in and with each
    /// device, and another one at every other service.
    public let mappingID: String
    /// The roles that the person chose to come in, by the server's identifiers for them (`roles`).
    public let roles: [String]
    /// The attributes that the person confirmed, in their one spelling.
    public let attributes: [PersonalAttribute: String]
    /// When the person authenticated (`auth_time`).
    public let authenticatedAt: Timestamp?
    /// What assurance was reached (`acr`).
    public let assurance: String?
    /// What was used (`amr`, RFC 8176).
    public let methods: [String]

    /// - Parameters:
    ///   - identity: The claims of a verified ID token.
    ///   - profile: The claims of userinfo, about the same person.
    init(identity: JSONObject, profile: JSONObject, subject: String) throws(JSONError) {
        self.mappingID = subject
        let names = try profile.strings("roles")
        let others = try identity.strings("roles")
        self.roles = names ?? others ?? []
        let seconds = try identity.integer("auth_time", as: Int64.self)
        self.authenticatedAt = seconds.map { Timestamp(seconds: $0) }
        self.assurance = try identity.string("acr")
        self.methods = try identity.strings("amr") ?? []
        var attributes: [PersonalAttribute: String] = [:]
        for attribute in PersonalAttribute.allCases {
            let inProfile = try attribute.text(in: profile)
            let inToken = try attribute.text(in: identity)
            attributes[attribute] = inProfile ?? inToken
        }
        self.attributes = attributes
    }

    /// The roles alone: what a person told a service is no matter of a log.
    public var description: String { "SignedInPerson(roles: \(self.roles))" }
    public var customMirror: Mirror { Mirror(self, children: ["roles": self.roles]) }
}

extension PersonalAttribute {
    /// The claim that the attribute travels in (OpenID Connect Core 1.0, section 5.1; OpenID Connect for Identity
    /// Assurance for the nationality and the place of birth).
    public var claimName: String {
        switch self {
        case .username: "preferred_username"
        case .nickname: "nickname"
        case .givenName: "given_name"
        case .familyName: "family_name"
        case .birthdate: "birthdate"
        case .address: "address"
        case .nationality: "nationality"
        case .placeOfBirth: "place_of_birth"
        case .gender: "gender"
        case .salutation: "salutation"
        case .email: "email"
        case .phoneNumber: "phone_number"
        }
    }

    /// The value among claims: a text or, of an address, the whole of it in one text (section 5.1.1).
    fileprivate func text(in claims: JSONObject) throws(JSONError) -> String? {
        guard self == .address, case .object(let address)? = claims[self.claimName] else {
            return try claims.string(self.claimName)
        }
        return try address.string("formatted")
    }
}

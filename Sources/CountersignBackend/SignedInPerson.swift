public import PersonalInformation
public import _Primitives

/// The person who has signed in, with the data for one service.
public struct SignedInPerson: Sendable, CustomStringConvertible, CustomReflectable {
    /// The server's name for the person at this service (`sub`). The name is the same at each sign-in and with each
    /// device. Other services get other names, except services of the same sector (OpenID Connect Core 1.0, section
    /// 8.1).
    public let mappingID: String
    /// The roles of the person in this sign-in, by the server's identifiers (`roles`); empty if the server names none.
    public let roles: [String]
    /// The attributes that the person confirmed, in their single spelling; an address as the lines of a letter.
    public let attributes: [PersonalAttribute: String]
    /// The moment of the person's authentication (`auth_time`).
    public let authenticatedAt: Timestamp?
    /// The assurance of the authentication (`acr`).
    public let assurance: String?
    /// The methods of the authentication (`amr`, RFC 8176).
    public let methods: [String]

    /// Reads the person from claims.
    ///
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

    /// The roles alone, because a person's data for a service do not belong in a log.
    public var description: String { "SignedInPerson(roles: \(self.roles))" }
    public var customMirror: Mirror { Mirror(self, children: ["roles": self.roles]) }
}

public import PersonalInformation
public import _Primitives

/// Who has signed in, as one service knows the person.
public struct SignedInPerson: Sendable, CustomStringConvertible, CustomReflectable {
    /// The name that the server has for the person at this service alone (`sub`): the same at each sign-in and with each
    /// device, and another one at every other service.
    public let mappingID: String
    /// The roles that the person chose to come in, by the server's identifiers for them (`roles`).
    public let roles: [String]
    /// The attributes that the person confirmed, in their one spelling; an address as the lines of a letter.
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

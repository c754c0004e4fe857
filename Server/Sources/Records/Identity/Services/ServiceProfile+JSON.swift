import PersonalInformation
import Settings
import UAF
public import _Primitives

/// A profile as a document. The store keeps the document, and operators write and read it.
///
///     {"roles":[{"id":"customer","name":"Customer","factors":[["pin","device"],["biometric","device"]],"default":true}],
///      "attributes":{"givenName":"required","email":"optional"},"loginDomains":["*.bank.example"],
///      "organisation":"…","requiresInvitation":false,"newcomers":false,"inApp":true,"push":false,"defaultRoles":true,
///      "active":true}
extension ServiceProfile {
    private static let names: Set<ExactText> = [
        "roles", "attributes", "loginDomains", "organisation", "requiresInvitation", "newcomers", "inApp", "push",
        "defaultRoles", "active",
    ]
    private static let roleNames: Set<ExactText> = ["id", "name", "factors", "default"]

    /// The document of the profile, with all optional members except an organisation that is not set.
    public var json: JSONObject {
        var members: [(name: String, value: JSON)] = [
            ("roles", .array(self.roles.map { .object($0.json) })),
            (
                "attributes",
                .object(
                    JSONObject(
                        self.requestedAttributes.map { ($0.attribute.rawValue, .string($0.requirement.rawValue)) }))
            ),
            ("loginDomains", .array(self.loginDomains.map { .string($0.description) })),
        ]
        if let organisation = self.membershipOrganisation { members.append(("organisation", .string(organisation))) }
        members += [
            ("requiresInvitation", .bool(self.requiresInvitation)), ("newcomers", .bool(self.takesNewcomers)),
            ("inApp", .bool(self.allowsInApp)), ("push", .bool(self.allowsPush)),
            ("defaultRoles", .bool(self.usesDefaultRoles)),
            ("active", .bool(self.isActive)),
        ]
        return JSONObject(members)
    }

    /// Reads a document strictly: an unknown member is refused, so that a misspelt member is found.
    ///
    /// A role without a name is shown by its identifier. A single role is the default role unless it says otherwise.
    /// Throws ``ServiceProfileError``, whose reason says what to do.
    public init(_ json: JSONObject) throws(ServiceProfileError) {
        try Self.refuseOthers(in: json, than: Self.names, of: "a profile")
        do {
            guard let roles = try json.array("roles") else {
                throw ServiceProfileError(.noRole, "a profile has roles: [{\"id\": …, \"factors\": [[…]]}]")
            }
            try self.init(
                roles: try roles.map { try ServiceRole($0, isAlone: roles.count == 1) },
                attributes: try Self.attributes(json.object("attributes")),
                loginDomains: try (json.strings("loginDomains") ?? []).map { try LoginDomain($0) })
            self.membershipOrganisation = try json.string("organisation")
            self.requiresInvitation = try json.bool("requiresInvitation") ?? false
            self.takesNewcomers = try json.bool("newcomers") ?? false
            self.allowsInApp = try json.bool("inApp") ?? false
            self.allowsPush = try json.bool("push") ?? false
            self.usesDefaultRoles = try json.bool("defaultRoles") ?? true
            self.isActive = try json.bool("active") ?? true
            if self.takesNewcomers, let obstacle = self.obstacleOfNewcomers {
                throw ServiceProfileError(.invalidNewcomers, "newcomers could not come in: \(obstacle)")
            }
        } catch let error as ServiceProfileError {
            throw error
        } catch let error as JSONError {
            throw ServiceProfileError(.malformed, error.reason)
        } catch {
            throw ServiceProfileError(.malformed, "not a profile")
        }
    }

    /// Reads a kept profile. Throws ``StoreError/Code/corrupt``.
    public init(kept text: String) throws {
        guard case .object(let json)? = try? JSON(parsing: Array(text.utf8)), let profile = try? Self(json) else {
            throw StoreError(.corrupt, "the profile of a service")
        }
        self = profile
    }

    private static func attributes(_ json: JSONObject?) throws -> [PersonalAttribute: Requirement] {
        var attributes: [PersonalAttribute: Requirement] = [:]
        for (name, value) in json?.members ?? [] {
            guard let attribute = PersonalAttribute(exactly: name) else {
                let known = PersonalAttribute.allCases.map(\.rawValue).joined(separator: ", ")
                throw ServiceProfileError(.unknownAttribute, "there is no attribute of that name; there are \(known)")
            }
            guard case .string(let word) = value, let requirement = Requirement(exactly: word) else {
                throw ServiceProfileError(.malformed, "\(attribute.rawValue) is \"required\" or \"optional\"")
            }
            attributes[attribute] = requirement
        }
        return attributes
    }

    fileprivate static func refuseOthers(
        in json: JSONObject, than names: Set<ExactText>, of whose: String
    ) throws(ServiceProfileError) {
        for (name, _) in json.members where !names.contains(ExactText(name)) {
            let known = names.sorted().map(\.text).joined(separator: ", ")
            throw ServiceProfileError(.malformed, "\(whose) has no such member; it has \(known)")
        }
    }

    fileprivate static func roleMembers(_ json: JSONObject) throws(ServiceProfileError) {
        try self.refuseOthers(in: json, than: self.roleNames, of: "a role")
    }
}

extension ServiceRole {
    fileprivate var json: JSONObject {
        [
            "id": .string(self.id), "name": .string(self.name),
            "factors": .array(self.factors.names.map { .array($0.map(JSON.string)) }), "default": .bool(self.isDefault),
        ]
    }

    fileprivate init(_ json: JSON, isAlone: Bool) throws {
        guard case .object(let role) = json else {
            throw ServiceProfileError(.malformed, "a role is {\"id\": …, \"name\": …, \"factors\": [[…]]}")
        }
        try ServiceProfile.roleMembers(role)
        let id = try role.requiredString("id")
        guard Self.isIdentifier(id) else {
            throw ServiceProfileError(
                .invalidRole, "a role's id is 1 to \(Limits.Fixed.roleLetters) letters, digits, hyphens and underscores"
            )
        }
        try self.init(
            id: id, name: try role.string("name") ?? id, factors: try Self.factors(role, of: id),
            isDefault: try role.bool("default") ?? isAlone)
    }

    private static func factors(_ role: JSONObject, of id: String) throws -> AuthenticatorMatrix {
        guard let alternatives = try role.array("factors") else {
            throw ServiceProfileError(
                .invalidFactors, "role \(id) has factors: alternatives such as [[\"pin\", \"device\"]]")
        }
        let types = try alternatives.map { alternative in
            guard case .array(let words) = alternative else {
                throw ServiceProfileError(
                    .invalidFactors,
                    "each alternative of role \(id) is a list of its own, such as [\"pin\", \"device\"]")
            }
            return try words.map { word in
                guard case .string(let name) = word, let type = AuthenticatorType(exactly: name) else {
                    let known = AuthenticatorType.allCases.filter { !$0.isReserved }.map(\.rawValue)
                    throw ServiceProfileError(
                        .invalidFactors,
                        "role \(id) asks for a factor that there is not; there are \(known.joined(separator: ", "))")
                }
                return type
            }
        }
        do { return try AuthenticatorMatrix(types) } catch {
            throw ServiceProfileError(.invalidFactors, "role \(id): \(error.advice)")
        }
    }
}

extension AuthenticatorMatrixError {
    /// Advice to the operator about the error.
    fileprivate var advice: String {
        switch self.code {
        case .empty: "name at least one alternative, and in each at least one factor"
        case .tooMany: "there are at most \(AuthenticatorMatrix.maximumAlternatives) alternatives"
        case .repeated: "an alternative is there twice, or a factor twice in one; say each once"
        case .silentAlone: "the device alone signs without its person; add pin or biometric to it"
        default: "no device can meet any of the alternatives; add one of device, pin and biometric"
        }
    }
}

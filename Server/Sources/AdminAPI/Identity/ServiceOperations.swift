import Accounts
import Endpoints
import HTTPTypes
import OAuth
import Records
import UAF
import _Primitives

/// The operations for the services of personalised identities, and for the roles of people at a service.
struct ServiceOperations: Sendable {
    let identities: IdentityDirectory

    private static let path = "/clients/{id}/service"
    private static let memberPath = Self.path + "/accounts/{username}"
    private static let rolePath = Self.memberPath + "/roles/{role}"
    private static let notFound = [(status: 404, meaning: "There is no such client, or it is no service.")]
    private static let noRole = [(status: 404, meaning: "There is no such account, service or role.")]

    private static let role: [AdminOperation.Field] = [
        .required("id", "Letters, digits, hyphens and underscores."),
        .optional("name", "What people see. Default: its id."),
        // A list of lists. The other fields have no such kind.
        .required(
            "factors", .lists,
            "Alternatives, preferred ones first: each a list of device, pin and biometric that are asked for together."),
        .optional(
            "default", .boolean,
            "Whether people of whom nobody has said otherwise have it. Default: true for a role that is alone."),
    ]

    private static let others: [AdminOperation.Field] = [
        .optional("attributes", .object, "What it wants to know of people: names, each required or optional."),
        .optional(
            "loginDomains", .strings,
            "Where its pages may be that people sign in from: hosts, *. before one for every host below it. None: everywhere."
        ),
        .optional("organisation", "The organisation whose members alone may come, by its id."),
        .optional("requiresInvitation", .boolean, "Whether only those may come who were invited or given a role."),
        .optional(
            "newcomers", .boolean,
            "Whether whoever has no identity can have an invitation to it mailed to their address. Default: false."),
        .optional("inApp", .boolean, "Whether its app may sign its own person in."),
        .optional("push", .boolean, "Whether it may have people's devices asked."),
        .optional(
            "defaultRoles", .boolean,
            "Whether people of whom nobody has said otherwise have the default roles. Default: true."),
        .optional("active", .boolean, "Whether anybody can sign in to it. Default: true."),
    ]

    private static let profile: [AdminOperation.Field] =
        [.required("roles", .objects(Self.role), "As what people can come, in the order in which they are offered it.")]
        + Self.others

    private static let service: [AdminOperation.Field] =
        [.required("clientId", "The client, which is the service.")] + Self.profile

    /// The answer after an operator has written a profile.
    private static let written: [AdminOperation.Field] =
        Self.service + [.optional("warnings", .strings, "In what roles are weaker than they look.")]

    private static let standing: [AdminOperation.Field] = [
        .required("roles", .strings, "The roles that the person has."),
        .required("known", .boolean, "Whether somebody has said so; else they are the default ones."),
        .required(
            "member", .boolean,
            "Whether the person is a member of the organisation whose members alone may come, if there is one."),
    ]

    private static let entry: [AdminOperation.Field] = [
        .required("username", "What operators call the account."), .required("accountId", "Its identifier."),
        .required("roles", .strings, "The roles that the person has; none for somebody who has lost the last."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: "/services", id: "listServices",
                summary: "List the services of personalised identities.",
                answer: [.required("services", .objects(Self.service), "By their clients' identifiers.")],
                handler: self.list),
            AdminOperation(
                method: .get, path: Self.path, id: "showService",
                summary: "Show what makes a client a service of personalised identities.", answer: Self.service,
                refusals: Self.notFound, handler: self.show),
            AdminOperation(
                method: .put, path: Self.path, id: "setService",
                summary:
                    "Make a client a service of personalised identities, or give one another profile. A role that is gone is nobody's any more.",
                body: Self.profile, answer: Self.written, refusals: Self.notFound, handler: self.set),
            AdminOperation(
                method: .patch, path: Self.path, id: "changeService",
                summary: "Change a service; what is missing stays as it is. An empty organisation is none.",
                body: [.optional("roles", .objects(Self.role), "All of its roles.")] + Self.others,
                answer: Self.written, refusals: Self.notFound, handler: self.change),
            AdminOperation(
                method: .delete, path: Self.path, id: "removeService",
                summary: "Make a client no service any more, with everything that was said of people there.",
                status: .noContent, refusals: Self.notFound, handler: self.remove),
            AdminOperation(
                method: .get, path: Self.path + "/accounts", id: "listRoles",
                summary: "List the people of whom it is said which roles they have at a service.",
                query: [.optional("after", "The accountId that the page before ended with.")],
                answer: [.required("accounts", .objects(Self.entry), "A page of them.")],
                refusals: [(400, "The query is not encoded.")] + Self.notFound, handler: self.entries),
            AdminOperation(
                method: .get, path: Self.memberPath, id: "showRoles",
                summary: "Show which roles a person has at a service.", answer: Self.standing, refusals: Self.noRole,
                handler: self.standing),
            AdminOperation(
                method: .delete, path: Self.memberPath, id: "resetRoles",
                summary: "Forget what was said of a person at a service: from then on it has the default roles.",
                status: .noContent, refusals: Self.noRole, handler: self.reset),
            AdminOperation(
                method: .put, path: Self.rolePath, id: "assignRole",
                summary: "Give a person a role at a service, beside those that they have.", answer: Self.standing,
                refusals: Self.noRole, handler: self.assign),
            AdminOperation(
                method: .delete, path: Self.rolePath, id: "revokeRole",
                summary: "Take a role at a service from a person; whoever loses the last has none.",
                answer: Self.standing, refusals: Self.noRole, handler: self.revoke),
        ]
    }

    private static func json(_ client: String, _ profile: ServiceProfile) -> JSONObject {
        JSONObject([(name: "clientId", value: .string(client))] + profile.json.members)
    }

    private static func written(_ client: String, _ profile: ServiceProfile) -> JSONObject {
        var object = self.json(client, profile)
        if !profile.warnings.isEmpty { object["warnings"] = .array(profile.warnings.map(JSON.string)) }
        return object
    }

    private static func json(_ standing: ServiceStanding) -> JSONObject {
        [
            "roles": .array(standing.roles.map { .string($0.id) }), "known": .bool(standing.isKnown),
            "member": .bool(standing.isMember),
        ]
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        let services = try await self.identities.services()
        return ["services": .array(services.map { .object(Self.json($0.id, $0.profile)) })]
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(call.client, try await self.identities.service(call.client))
    }

    @Sendable private func set(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.written(call.client, try await self.identities.setService(call.client, to: call.body, by: call.actor))
    }

    @Sendable private func change(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.written(call.client, try await self.identities.changeService(call.client, by: call.body, by: call.actor))
    }

    @Sendable private func remove(_ call: AdminOperation.Call) async throws -> JSONObject {
        try await self.identities.removeService(call.client, by: call.actor)
        return [:]
    }

    @Sendable private func entries(_ call: AdminOperation.Call) async throws -> JSONObject {
        let entries = try await self.identities.roleEntries(
            service: call.client, after: try call.parameter("after"))
        return [
            "accounts": .array(
                entries.map { account, roles in
                    .object([
                        "username": .string(account.reference.text), "accountId": .string(account.id),
                        "roles": .array(roles.map(JSON.string)),
                    ])
                })
        ]
    }

    @Sendable private func standing(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(try await self.identities.standing(call.account, service: call.client))
    }

    @Sendable private func assign(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(
            try await self.identities.assign(call.role, to: call.account, service: call.client, by: call.actor))
    }

    @Sendable private func revoke(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(
            try await self.identities.revoke(call.role, from: call.account, service: call.client, by: call.actor))
    }

    @Sendable private func reset(_ call: AdminOperation.Call) async throws -> JSONObject {
        _ = try await self.identities.resetRoles(of: call.account, service: call.client, by: call.actor)
        return [:]
    }
}

extension AdminOperation.Call {
    /// The client in the path.
    fileprivate var client: String { self.parameters["id"] ?? "" }
    /// The role in the path.
    fileprivate var role: String { self.parameters["role"] ?? "" }
    /// The user name in the path.
    var account: String { self.parameters["username"] ?? "" }

    /// Returns a parameter of the query. Throws a 400 ``Problem`` if the query is not encoded.
    func parameter(_ name: String) throws -> String? {
        guard let query = try? Parameters(parsing: self.query ?? "") else {
            throw Problem(.badRequest, "invalid-request", "The query is not encoded.")
        }
        return query[name]
    }
}

extension ServiceProfile {
    /// Warnings about alternatives whose factors are all of one category.
    ///
    /// Two factors of different categories (NIST SP 800-63B, section 2) are more than twice one factor: an attacker who
    /// has found out a PIN, or copied a finger, still has no phone.
    fileprivate var warnings: [String] {
        self.roles.flatMap { role in
            role.factors.alternatives.filter { Set($0.map(\.category)).count == 1 }.map { alternative in
                let names = alternative.map(\.rawValue)
                let stronger = JSON.array((names + [AuthenticatorType.device.rawValue]).map(JSON.string)).text
                return "Role \(role.id): \(names.joined(separator: "+")) is one category of factors. Ask for the "
                    + "device beside it: \(stronger)"
            }
        }
    }
}

extension AuthenticatorType {
    /// The category of a factor: a thing that a person has, a fact that a person knows, or a feature of the person.
    fileprivate enum Category { case possession, knowledge, inherence }

    fileprivate var category: Category {
        switch self {
        case .device, .otp, .yubikey: .possession
        case .pin: .knowledge
        case .biometric: .inherence
        }
    }
}

import Accounts
import Endpoints
import HTTPTypes
import Records
import _Primitives

/// The operations for organisations and their members, and for the further addresses of people.
struct OrganisationOperations: Sendable {
    let identities: IdentityDirectory

    private static let path = "/organisations"
    private static let emailPath = "/accounts/{username}/emails"
    private static let notFound = [(status: 404, meaning: "There is no such organisation.")]
    private static let noMember = [(status: 404, meaning: "There is no such account, organisation or membership.")]
    private static let noEmail = [(status: 404, meaning: "There is no such account, or it has no such address.")]

    private static let organisation: [AdminOperation.Field] = [
        .required("id", "The organisation."), .required("name", "What operators call it."),
        .required("createdAt", "RFC 3339."),
    ]

    private static let member: [AdminOperation.Field] = [
        .required("username", "What operators call the account."), .required("accountId", "Its identifier."),
    ]

    private static let email: [AdminOperation.Field] = [
        .required("id", "The address, as an identifier."), .required("email", "The address."),
        .required("verified", .boolean, "Whether somebody has seen to it that it is the person's."),
        .required("createdAt", "RFC 3339."),
    ]

    var operations: [AdminOperation] { self.organisations + self.emails }

    private var organisations: [AdminOperation] {
        [
            AdminOperation(
                method: .post, path: Self.path, id: "addOrganisation", summary: "Add an organisation.",
                body: [.required("name", "What operators call it; unique.")], answer: Self.organisation,
                status: .created, refusals: [(409, "The name is taken, or there are as many as there can be.")],
                handler: self.add),
            AdminOperation(
                method: .get, path: Self.path, id: "listOrganisations", summary: "List the organisations.",
                answer: [.required("organisations", .objects(Self.organisation), "By their names.")],
                handler: self.list),
            AdminOperation(
                method: .get, path: Self.path + "/{id}", id: "showOrganisation", summary: "Show an organisation.",
                answer: Self.organisation, refusals: Self.notFound, handler: self.show),
            AdminOperation(
                method: .patch, path: Self.path + "/{id}", id: "renameOrganisation",
                summary: "Call an organisation otherwise.", body: [.required("name", "Its other name.")],
                answer: Self.organisation, refusals: Self.notFound + [(409, "The name is taken.")],
                handler: self.rename),
            AdminOperation(
                method: .delete, path: Self.path + "/{id}", id: "removeOrganisation",
                summary: "Delete an organisation with its memberships; open invitations to it are taken back.",
                status: .noContent,
                refusals: Self.notFound + [(409, "A service keeps itself to it.")], handler: self.remove),
            AdminOperation(
                method: .get, path: Self.path + "/{id}/members", id: "listMembers",
                summary: "List an organisation's members.",
                query: [.optional("after", "The accountId that the page before ended with.")],
                answer: [.required("members", .objects(Self.member), "A page of them.")],
                refusals: [(400, "The query is not encoded.")] + Self.notFound, handler: self.members),
            AdminOperation(
                method: .put, path: Self.path + "/{id}/members/{username}", id: "addMember",
                summary: "Make a person a member of an organisation.", status: .noContent, refusals: Self.noMember,
                handler: self.addMember),
            AdminOperation(
                method: .delete, path: Self.path + "/{id}/members/{username}", id: "removeMember",
                summary: "End a person's membership.", status: .noContent, refusals: Self.noMember,
                handler: self.removeMember),
        ]
    }

    private var emails: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: Self.emailPath, id: "listEmails",
                summary: "List the e-mail addresses that a person has beside the first one.",
                answer: [.required("emails", .objects(Self.email), "The oldest first.")],
                refusals: [(404, "There is no such account.")], handler: self.listEmails),
            AdminOperation(
                method: .post, path: Self.emailPath, id: "addEmail",
                summary: "Add an e-mail address to a person beside the first one.",
                body: [
                    .required("email", "The address."),
                    .optional("verified", .boolean, "Whether you vouch that it is the person's. Default: false."),
                ], answer: Self.email, status: .created,
                refusals: [
                    (404, "There is no such account."), (409, "The account has it, or as many as it can have."),
                ], handler: self.addEmail),
            AdminOperation(
                method: .get, path: Self.emailPath + "/{id}", id: "showEmail", summary: "Show such an address.",
                answer: Self.email, refusals: Self.noEmail, handler: self.showEmail),
            AdminOperation(
                method: .patch, path: Self.emailPath + "/{id}", id: "changeEmail",
                summary: "Say whether such an address is the person's.",
                body: [.required("verified", .boolean, "Whether you vouch for it.")], status: .noContent,
                refusals: Self.noEmail, handler: self.changeEmail),
            AdminOperation(
                method: .delete, path: Self.emailPath + "/{id}", id: "removeEmail",
                summary: "Delete such an address.", status: .noContent, refusals: Self.noEmail,
                handler: self.removeEmail),
        ]
    }

    private static func json(_ organisation: OrganisationRecord) -> JSONObject {
        [
            "id": .string(organisation.id), "name": .string(organisation.name),
            "createdAt": .string(organisation.createdAt.description),
        ]
    }

    private static func json(_ email: AdditionalEmail) -> JSONObject {
        [
            "id": .string(email.id), "email": .string(email.address), "verified": .bool(email.isVerified),
            "createdAt": .string(email.createdAt.description),
        ]
    }

    @Sendable private func add(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(try await self.identities.addOrganisation(call.body.requiredString("name"), by: call.actor))
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        ["organisations": .array(try await self.identities.organisations().map { .object(Self.json($0)) })]
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(try await self.identities.organisation(call.id))
    }

    @Sendable private func rename(_ call: AdminOperation.Call) async throws -> JSONObject {
        let name = try call.body.requiredString("name")
        return Self.json(try await self.identities.renameOrganisation(call.id, to: name, by: call.actor))
    }

    @Sendable private func remove(_ call: AdminOperation.Call) async throws -> JSONObject {
        try await self.identities.removeOrganisation(call.id, by: call.actor)
        return [:]
    }

    @Sendable private func members(_ call: AdminOperation.Call) async throws -> JSONObject {
        let members = try await self.identities.members(call.id, after: try call.parameter("after"))
        return [
            "members": .array(
                members.map {
                    .object(["username": .string($0.reference.text), "accountId": .string($0.id)])
                })
        ]
    }

    @Sendable private func addMember(_ call: AdminOperation.Call) async throws -> JSONObject {
        try await self.identities.addMember(call.account, to: call.id, by: call.actor)
        return [:]
    }

    @Sendable private func removeMember(_ call: AdminOperation.Call) async throws -> JSONObject {
        try await self.identities.removeMember(call.account, of: call.id, by: call.actor)
        return [:]
    }

    @Sendable private func listEmails(_ call: AdminOperation.Call) async throws -> JSONObject {
        ["emails": .array(try await self.identities.emails(call.account).map { .object(Self.json($0)) })]
    }

    @Sendable private func showEmail(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(try await self.identities.email(call.id, of: call.account))
    }

    @Sendable private func addEmail(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(
            try await self.identities.addEmail(
                call.body.requiredString("email"), isVerified: call.body.bool("verified") ?? false, to: call.account,
                by: call.actor))
    }

    @Sendable private func changeEmail(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard let isVerified = try call.body.bool("verified") else { throw JSONError(.missing, "verified") }
        try await self.identities.setEmailVerified(isVerified, call.id, of: call.account, by: call.actor)
        return [:]
    }

    @Sendable private func removeEmail(_ call: AdminOperation.Call) async throws -> JSONObject {
        try await self.identities.removeEmail(call.id, of: call.account, by: call.actor)
        return [:]
    }
}

extension AdminOperation.Call {
    /// The identifier in the path.
    var id: String { self.parameters["id"] ?? "" }
}

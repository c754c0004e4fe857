import Accounts
import Endpoints
import HTTPTypes
import Records
import _Primitives

/// The operations for invitations to organisations and services.
struct InviteOperations: Sendable {
    let identities: IdentityDirectory
    let issuer: String

    private static let path = "/invites"
    private static let notFound = [(status: 404, meaning: "There is no such invitation.")]

    private static let target: [AdminOperation.Field] = [
        .optional("organisation", "The organisation that the person becomes a member of, by its id."),
        .optional("service", "The client at which the person gets a role."),
        .optional("role", "The role there, by its id."),
    ]

    private static let invite: [AdminOperation.Field] =
        [
            .required("id", "The invitation."), .required("email", "Who is invited."),
            .required(
                "state", .choice(["open", "accepted", "revoked", "expired"]), "What became of it."),
            .required("createdAt", "RFC 3339."), .required("expiresAt", "Until when it can be accepted, RFC 3339."),
            .optional(
                "provisionalAccount",
                "What operators call the account that was made for it, where nobody had the address. It is the person's with its first activation."
            ),
            .optional("acceptedBy", "The account that accepted it, by its identifier."),
        ] + Self.target

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .post, path: Self.path, id: "createInvite",
                summary: "Invite somebody to an organisation, to a service, or to both.",
                body: [
                    .required("email", "Who is invited."),
                    .optional("lifetimeSeconds", .integer, "How long it can be accepted. Default: the server's own."),
                    .optional(
                        "mail", .boolean,
                        "Whether the address is sent the link. Default: wherever the server sends mail."),
                ] + Self.target,
                answer: Self.invite + [
                    .required("link", "A secret: whoever has it can accept in the person's place."),
                    .required("mailed", .boolean, "Whether a letter with the link is on its way."),
                ], status: .created,
                refusals: [
                    (404, "There is no such organisation, service or role."),
                    (409, "As many invitations are open as can be."),
                ], handler: self.create),
            AdminOperation(
                method: .get, path: Self.path, id: "listInvites", summary: "List invitations.",
                query: [
                    .optional("email", "Those of one address."),
                    .optional("before", "The id that the page before ended with."),
                ], answer: [.required("invites", .objects(Self.invite), "A page, the newest first.")],
                refusals: [(400, "The query is not encoded.")], handler: self.list),
            AdminOperation(
                method: .get, path: Self.path + "/{id}", id: "showInvite",
                summary: "Show what became of an invitation.",
                answer: Self.invite, refusals: Self.notFound, handler: self.show),
            AdminOperation(
                method: .patch, path: Self.path + "/{id}", id: "prolongInvite",
                summary: "Have an open invitation be accepted for longer. Whom it is for, and to what, stays.",
                body: [.required("lifetimeSeconds", .integer, "How long it can be accepted from now on.")],
                answer: Self.invite,
                refusals: Self.notFound + [(409, "It is not open any more, or can be accepted for longer already.")],
                handler: self.prolong),
            AdminOperation(
                method: .delete, path: Self.path + "/{id}", id: "revokeInvite",
                summary: "Take an open invitation back, with the account that was made for it.", status: .noContent,
                refusals: Self.notFound + [(409, "It is not open any more.")], handler: self.revoke),
        ]
    }

    private func json(_ invite: InviteRecord) -> JSONObject {
        let isExpired = invite.state == .open && !self.identities.isOpen(invite)
        var object: JSONObject = [
            "id": .string(invite.id), "email": .string(invite.email),
            "state": .string(isExpired ? "expired" : invite.state.rawValue),
            "createdAt": .string(invite.createdAt.description), "expiresAt": .string(invite.expiresAt.description),
        ]
        object["organisation"] = invite.organisation.map(JSON.string)
        object["service"] = (invite.place?.service).map(JSON.string)
        object["role"] = (invite.place?.role).map(JSON.string)
        if invite.state == .open, !isExpired {
            object["provisionalAccount"] = invite.provisionalAccountID.map {
                .string(AccountRecord.referencePrefix + $0)
            }
        }
        object["acceptedBy"] = invite.acceptedBy.map(JSON.string)
        return object
    }

    @Sendable private func create(_ call: AdminOperation.Call) async throws -> JSONObject {
        let invitation = IdentityDirectory.Invitation(
            email: try call.body.requiredString("email"), organisation: try call.body.string("organisation"),
            service: try call.body.string("service"), role: try call.body.string("role"),
            lifetime: try call.body.integer("lifetimeSeconds", as: Int32.self).map { .seconds(Int64($0)) },
            isMailed: try call.body.bool("mail"))
        let made = try await self.identities.invite(invitation, by: call.actor)
        var object = self.json(made.record)
        object["link"] = .string("\(self.issuer)\(MailedLinkPaths.invitation)?link=\(made.link)")
        object["mailed"] = .bool(made.isMailed)
        return object
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        let invites = try await self.identities.invites(
            email: try call.parameter("email"), before: try call.parameter("before"))
        return ["invites": .array(invites.map { .object(self.json($0)) })]
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        self.json(try await self.identities.invite(call.id))
    }

    @Sendable private func prolong(_ call: AdminOperation.Call) async throws -> JSONObject {
        let seconds = try call.body.requiredInteger("lifetimeSeconds", as: Int32.self)
        return self.json(
            try await self.identities.prolongInvite(call.id, for: .seconds(Int64(seconds)), by: call.actor))
    }

    @Sendable private func revoke(_ call: AdminOperation.Call) async throws -> JSONObject {
        try await self.identities.revokeInvite(call.id, by: call.actor)
        return [:]
    }
}

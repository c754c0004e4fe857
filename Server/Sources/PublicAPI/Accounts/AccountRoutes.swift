import Accounts
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuthProvider
import Records
import _Primitives

/// The routes by which a person's own phone reads the account and ends parts of the account's access.
///
/// The routes cover notices, browsers that are signed in, the lasting grants of services, and the other providers that
/// sign the person in (threat model, Staying signed in unseen).
///
/// A device may ask by itself for notices, and for questions that wait for the person: reading these ends nothing. For
/// every other route the phone proves itself by the token of an authentication in the app. So no route here can take an
/// account's only way in.
struct AccountRoutes: Sendable {
    let directory: AccountDirectory
    let provider: OpenIDProvider
    let grants: AccountGrants
    let upstream: UpstreamProviders
    let backchannel: BackchannelSignIns
    let enrolments: Enrolments
    let deviceLimits: DeviceLimits
    let authorization: DeviceAuthorization

    private static let notices = "/account/v1/notices"
    private static let questions = "/account/v1/questions"
    private static let enrolments = "/account/v1/enrolments"

    /// The endpoints for a person's own phone.
    var endpoints: [Endpoint] { self.readings + self.sessionEndpoints + self.grantEndpoints + self.linkEndpoints }

    /// The endpoints that a device may call by itself.
    private var readings: [Endpoint] {
        [
            Endpoint(
                method: .get, path: Self.notices, id: "notices", summary: "What happened to the account.",
                effect: .none,
                caller: .device,
                answers: [
                    .init(
                        status: 200, meaning: "Notices.", type: "application/json",
                        members: [
                            .required("username", "Whose."),
                            .required("notices", .objects([.required("id", "The notice.")]), "The newest first."),
                        ])
                ], refusing: [(403, "The account is locked."), Endpoint.tooMany], handler: self.notices),
            Endpoint(
                method: .get, path: Self.questions, id: "questions",
                summary: "What services want the person asked without a browser (CIBA).", effect: .none,
                caller: .device,
                answers: [
                    .init(
                        status: 200, meaning: "Questions.", type: "application/json",
                        members: [
                            .required("username", "Whose."),
                            .required(
                                "questions",
                                .objects([
                                    .required("id", "The question."), .required("service", "Who asks."),
                                    .required("link", "What the app on this phone opens."),
                                    .required("expiresAt", "When it ends, RFC 3339."),
                                    .optional("origin", "Where the service is."),
                                ]), "What waits."),
                        ])
                ], refusing: [(403, "The account is locked."), Endpoint.tooMany], handler: self.questions),
            Endpoint(
                method: .delete, path: "\(Self.enrolments)/{id}", id: "declineEnrolment",
                summary: "Decline a device that a service or another device wants added.", effect: .takesAway,
                caller: .deviceByProof,
                answers: [.init(status: 204, meaning: "The device is not added.")],
                refusing: [
                    (403, "The account is locked, or another device approved this device a short time ago."),
                    (404, "There is no such enrolment."),
                    (409, "The enrolment has ended."), Endpoint.tooMany,
                ], handler: self.declineEnrolment),
        ]
    }

    private var sessionEndpoints: [Endpoint] {
        [
            Endpoint(
                method: .get, path: "/account/v1/sessions", id: "sessions", summary: "Where the person is signed in.",
                effect: .none,
                caller: .token,
                answers: [
                    .init(
                        status: 200, meaning: "Sessions.", type: "application/json",
                        members: [.required("sessions", .objects([.required("id", "The session.")]), "All of them.")])
                ], refusing: [(403, "The account is locked.")], handler: self.sessions),
            Endpoint(
                method: .delete, path: "/account/v1/sessions", id: "endAccountSessions",
                summary: "Sign every browser out, and end what services have that lasts, device secrets and consents.",
                effect: .takesAway,
                caller: .token, answers: [.init(status: 204, meaning: "All of them have ended.")],
                refusing: [(403, "The account is locked.")], handler: self.endSessions),
            Endpoint(
                method: .delete, path: "/account/v1/sessions/{id}", id: "endSession", summary: "Sign a browser out.",
                effect: .takesAway,
                caller: .token, answers: [.init(status: 204, meaning: "It is signed out.")],
                refusing: [(403, "The account is locked."), (404, "There is no such session.")],
                handler: self.endSession),
        ]
    }

    private var grantEndpoints: [Endpoint] {
        [
            Endpoint(
                method: .get, path: "/account/v1/consents", id: "consents", summary: "What services may have.",
                effect: .none,
                caller: .token,
                answers: [
                    .init(
                        status: 200, meaning: "Consents.", type: "application/json",
                        members: [
                            .required("username", "Whose."),
                            .required("consents", .objects([.required("id", "The consent.")]), "The last one first."),
                        ])
                ], refusing: [(403, "The account is locked.")], handler: self.consents),
            Endpoint(
                method: .delete, path: "/account/v1/consents/{id}", id: "endConsent", summary: "Take a consent back.",
                effect: .takesAway,
                caller: .token, answers: [.init(status: 204, meaning: "It is taken back.")],
                refusing: [(403, "The account is locked."), (404, "There is no such consent.")],
                handler: self.endConsent),
            Endpoint(
                method: .get, path: "/account/v1/grants", id: "grants",
                summary: "What services have that goes on without a browser.", effect: .none, caller: .token,
                answers: [
                    .init(
                        status: 200, meaning: "Grants.", type: "application/json",
                        members: [
                            .required("username", "Whose."),
                            .required("grants", .objects([.required("id", "The grant.")]), "The newest first."),
                        ])
                ], refusing: [(403, "The account is locked.")], handler: self.lastingGrants),
            Endpoint(
                method: .delete, path: "/account/v1/grants", id: "endGrants",
                summary: "Take back what a service has, or what all have.", effect: .takesAway, caller: .token,
                query: [.optional("client", "The service; without it all of them.")],
                answers: [.init(status: 204, meaning: "They have nothing any more.")],
                refusing: [(400, "The query names something else."), (403, "The account is locked.")],
                handler: self.endGrants),
            Endpoint(
                method: .delete, path: "/account/v1/grants/{id}", id: "endGrant",
                summary: "Take back one of the things that services have.", effect: .takesAway, caller: .token,
                answers: [.init(status: 204, meaning: "It has ended.")],
                refusing: [(403, "The account is locked."), (404, "There is no such grant.")], handler: self.endGrant),
        ]
    }

    private var linkEndpoints: [Endpoint] {
        [
            Endpoint(
                method: .get, path: "/account/v1/links", id: "links",
                summary: "The other providers that sign the person in.", effect: .none, caller: .token,
                answers: [
                    .init(
                        status: 200, meaning: "Connections.", type: "application/json",
                        members: [
                            .required("username", "Whose."),
                            .required(
                                "links",
                                .objects([
                                    .required("id", "The connection."),
                                    .required("provider", "The provider, by its name."),
                                    .required("title", "What people call it."), .required("connectedAt", "RFC 3339."),
                                ]), "The oldest first."),
                        ])
                ], refusing: [(403, "The account is locked.")], handler: self.links),
            Endpoint(
                method: .delete, path: "/account/v1/links/{id}", id: "endLink",
                summary: "End such a connection; what the person has signed in to by it ends.", effect: .takesAway,
                caller: .token,
                answers: [.init(status: 204, meaning: "It has ended.")],
                refusing: [
                    (403, "The account is locked, or another device approved this device a short time ago."),
                    (404, "There is no such connection."),
                ],
                handler: self.endLink),
        ]
    }

    @Sendable private func notices(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.caller(of: request, at: Self.notices, context).account
        let notices = try await self.directory.notices(accountID: account.id)
        return .json([
            "username": .string(account.reference.text),
            "notices": .array(
                notices.map { notice in
                    .object([
                        "id": .string(notice.id), "kind": .string(notice.kind.name),
                        "at": .string(notice.at.description), "subject": .string(notice.subject),
                    ])
                }),
        ])
    }

    /// Returns the questions of services to a person without a browser.
    ///
    /// Each question comes with a link for the app on this phone. Another phone gets another link.
    @Sendable private func questions(_ request: Request, _ context: ServerContext) async throws -> Response {
        let (device, account) = try await self.authorization.caller(of: request, at: Self.questions, context)
        let questions = try await self.backchannel.waiting(for: device)
        return .json([
            "username": .string(account.reference.text),
            "questions": .array(
                questions.map { question in
                    var object: JSONObject = [
                        "id": .string(question.id), "service": .string(question.service),
                        "link": .string(question.link), "expiresAt": .string(question.expiresAt.description),
                    ]
                    object["origin"] = question.origin.map(JSON.string)
                    return .object(object)
                }),
        ])
    }

    /// Ends an enrolment that a service has asked for, by a device of the person.
    @Sendable private func declineEnrolment(_ request: Request, _ context: ServerContext) async throws -> Response {
        let id = try context.pathParameter("id")
        let device = try await self.authorization.provenDevice(of: request, at: "\(Self.enrolments)/\(id)", context)
        try await self.enrolments.decline(id: id, by: device)
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }

    @Sendable private func sessions(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        let sessions = try await self.provider.sessions.running(ofAccount: account.id)
        return .json([
            "username": .string(account.reference.text), "sessions": .array(sessions.map { .object($0.json) }),
        ])
    }

    @Sendable private func endSession(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        guard try await self.provider.sessions.end(try context.pathParameter("id"), ofAccount: account.id) else {
            throw Problem(.notFound, Problem.Name.notFound, "The account has no such session.")
        }
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }

    /// Ends every session, and everything that outlasts a session.
    @Sendable private func endSessions(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        _ = try await self.provider.sessions.endAll(ofAccount: account.id)
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }

    @Sendable private func consents(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        let given = try await self.provider.authorizations.consents.given(byAccount: account.id)
        return .json([
            "username": .string(account.reference.text), "consents": .array(given.map { .object($0.json) }),
        ])
    }

    @Sendable private func endConsent(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        guard
            try await self.provider.authorizations.consents.end(try context.pathParameter("id"), ofAccount: account.id)
        else {
            throw Problem(.notFound, Problem.Name.notFound, "The account has no such consent.")
        }
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }

    @Sendable private func links(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        let links = try await self.upstream.links(ofAccount: account.id)
        let providers = try await self.upstream.all()
        return .json([
            "username": .string(account.reference.text),
            "links": .array(
                links.map { link in
                    let name = link.identity.provider
                    let title = providers.first { $0.name.hasSameBytes(as: name) }?.title ?? name
                    return .object([
                        "id": .string(link.id), "provider": .string(name), "title": .string(title),
                        "connectedAt": .string(link.createdAt.description),
                    ])
                }),
        ])
    }

    /// Ends a connection with another provider.
    ///
    /// From then on the provider signs nobody in to the account, and the sessions from the provider's sign-ins end.
    @Sendable private func endLink(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        try await self.deviceLimits.check(try self.authorization.holder(of: request))
        guard try await self.upstream.removeLink(try context.pathParameter("id"), ofAccount: account.id) else {
            throw Problem(.notFound, Problem.Name.notFound, "The account has no such connection.")
        }
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }

    @Sendable private func lastingGrants(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        let grants = try await self.grants.lasting(ofAccount: account.id)
        return .json([
            "username": .string(account.reference.text), "grants": .array(grants.map { .object($0.json) }),
        ])
    }

    @Sendable private func endGrant(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        let id = try context.pathParameter("id")
        guard try await self.grants.end(.grant(id), ofAccount: account.id) > 0 else {
            throw Problem(.notFound, Problem.Name.notFound, "The account has no such grant.")
        }
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }

    /// Ends all grants of a service, or of all services. The answer does not tell the caller if there were no grants.
    @Sendable private func endGrants(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        _ = try await self.grants.end(try GrantSelection(query: request.uri.query), ofAccount: account.id)
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }
}

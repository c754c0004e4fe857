import Accounts
import CeremonyEngine
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
    let authorization: DeviceAuthorization

    private static let notices = "/account/v1/notices"
    private static let questions = "/account/v1/questions"

    func mount(on router: ServerRouter) {
        router.endpoint(RouterPath(Self.notices), [.get: self.notices])
        router.endpoint(RouterPath(Self.questions), [.get: self.questions])
        router.endpoint("/account/v1/sessions", [.get: self.sessions, .delete: self.endSessions])
        router.endpoint("/account/v1/sessions/{id}", [.delete: self.endSession])
        router.endpoint("/account/v1/consents", [.get: self.consents])
        router.endpoint("/account/v1/consents/{id}", [.delete: self.endConsent])
        router.endpoint("/account/v1/grants", [.get: self.lastingGrants, .delete: self.endGrants])
        router.endpoint("/account/v1/grants/{id}", [.delete: self.endGrant])
        router.endpoint("/account/v1/links", [.get: self.links])
        router.endpoint("/account/v1/links/{id}", [.delete: self.endLink])
    }

    @Sendable private func notices(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(ofDeviceIn: request, at: Self.notices, context)
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
    /// Each question comes with a link for the app on this phone. If another phone asks, the server makes another link,
    /// and the first link dies.
    @Sendable private func questions(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(ofDeviceIn: request, at: Self.questions, context)
        let questions = try await self.backchannel.waiting(accountID: account.id)
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

    @Sendable private func sessions(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        let sessions = try await self.provider.sessions(ofAccount: account.id)
        return .json([
            "username": .string(account.reference.text), "sessions": .array(sessions.map { .object($0.json) }),
        ])
    }

    @Sendable private func endSession(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        guard try await self.provider.endSession(try context.pathParameter("id"), ofAccount: account.id) else {
            throw Problem(.notFound, Problem.Name.notFound, "The account has no such session.")
        }
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }

    /// Ends every session, and everything that outlasts a session.
    @Sendable private func endSessions(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        _ = try await self.provider.endSessions(ofAccount: account.id)
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }

    @Sendable private func consents(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        let given = try await self.provider.consents.given(byAccount: account.id)
        return .json([
            "username": .string(account.reference.text), "consents": .array(given.map { .object($0.json) }),
        ])
    }

    @Sendable private func endConsent(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        guard try await self.provider.consents.end(try context.pathParameter("id"), ofAccount: account.id) else {
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

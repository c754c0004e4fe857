import Accounts
import HTTPTypes
import Hummingbird
import OAuthProvider
import Store
import _Primitives

/// What a person's own phone sees of the account, and ends: notices, and browsers that are signed in (threat model,
/// Staying signed in unseen).
///
/// The phone proves itself by the token of an authentication in the app.
struct AccountRoutes: Sendable {
    let directory: AccountDirectory
    let provider: OpenIDProvider
    let authorization: DeviceAuthorization

    func mount(on router: ServerRouter) {
        router.endpoint("/account/v1/notices", [.get: self.notices])
        router.endpoint("/account/v1/sessions", [.get: self.sessions])
        router.endpoint("/account/v1/sessions/{id}", [.delete: self.endSession])
        router.endpoint("/account/v1/consents", [.get: self.consents])
        router.endpoint("/account/v1/consents/{id}", [.delete: self.endConsent])
    }

    @Sendable private func notices(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        let notices = try await self.directory.notices(accountID: account.id)
        return .json([
            "username": .string(account.username.text),
            "notices": .array(
                notices.map { notice in
                    .object([
                        "id": .string(notice.id), "kind": .string(notice.kind.name),
                        "at": .string(notice.at.description), "subject": .string(notice.subject),
                    ])
                }),
        ])
    }

    @Sendable private func sessions(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        let sessions = try await self.provider.sessions(ofAccount: account.id)
        return .json([
            "username": .string(account.username.text), "sessions": .array(sessions.map { .object(Self.json($0)) }),
        ])
    }

    @Sendable private func endSession(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        guard try await self.provider.endSession(try context.pathParameter("id"), ofAccount: account.id) else {
            throw Problem(.notFound, Problem.Name.notFound, "The account has no such session.")
        }
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }

    @Sendable private func consents(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        let given = try await self.provider.consents.given(byAccount: account.id)
        return .json([
            "username": .string(account.username.text), "consents": .array(given.map { .object($0.json) }),
        ])
    }

    @Sendable private func endConsent(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        guard try await self.provider.consents.end(try context.pathParameter("id"), ofAccount: account.id) else {
            throw Problem(.notFound, Problem.Name.notFound, "The account has no such consent.")
        }
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }

    private static func json(_ session: AccountSession) -> JSONObject {
        var object: JSONObject = [
            "id": .string(session.id),
            "services": .array(
                session.services.map { .object(["name": .string($0.name), "origin": .string($0.origin)]) }),
            "authenticatedAt": .string(session.authenticatedAt.description),
            "usedAt": .string(session.usedAt.description), "expiresAt": .string(session.expiresAt.description),
        ]
        object["browser"] = session.browser.map(JSON.string)
        object["address"] = session.address.map(JSON.string)
        return object
    }
}

extension GivenConsent {
    /// As phones and operators see it.
    var json: JSONObject {
        [
            "id": .string(self.id), "clientId": .string(self.client), "name": .string(self.clientName),
            "items": .array(self.items.map { .string($0.rawValue) }), "grantedAt": .string(self.grantedAt.description),
        ]
    }
}

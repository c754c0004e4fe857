import Accounts
import CeremonyEngine
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
    let backchannel: BackchannelSignIns
    let authorization: DeviceAuthorization

    func mount(on router: ServerRouter) {
        router.endpoint("/account/v1/notices", [.get: self.notices])
        router.endpoint("/account/v1/questions", [.get: self.questions])
        router.endpoint("/account/v1/sessions", [.get: self.sessions])
        router.endpoint("/account/v1/sessions/{id}", [.delete: self.endSession])
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

    /// What services want the person asked, without a browser. Each comes with a link for the app on this phone: who else
    /// asks gets another, and this one dies.
    @Sendable private func questions(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.account(of: request)
        let questions = try await self.backchannel.waiting(accountID: account.id)
        return .json([
            "username": .string(account.username.text),
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

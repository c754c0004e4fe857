import Accounts
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import _Primitives

/// Mounts the admin API on the public listener behind tokens, or on the local socket behind the socket's file mode.
struct AdminRoutes: Sendable {
    let operations: [AdminOperation]
    let guarding: AdminAPI.Guard
    let bodyLimit: Int

    func mount(on router: ServerRouter) {
        router.mount(
            self.operations.map { operation in
                ServerRouter.Route(method: operation.method, path: AdminOperation.prefix + operation.path) {
                    try await self.answer(operation, $0, $1)
                }
            })
        let description = AdminDocument(server: router.path, operations: self.operations)
        let document = LaterDocument { description.json }
        router.endpoint(
            RouterPath(AdminOperation.prefix + "/openapi.json"), get: .reads, [.get: { _, _ in .json(document.json) }])
    }

    private func answer(_ operation: AdminOperation, _ request: Request, _ context: ServerContext) async throws
        -> Response
    {
        let actor = operation.isOpen ? "anybody" : try await self.authorizedActor(of: request)
        // The parameters by their names in the path, which are our own words.
        var parameters: [String: String] = [:]  // check: unicode-words
        for name in operation.parameterNames { parameters[name] = try context.pathParameter(name) }
        var body: JSONObject = [:]
        // The body may be absent if no member is required.
        if operation.body.contains(where: \.isRequired)
            || !operation.body.isEmpty && request.headers[.contentType] != nil
        {
            body = try await request.jsonObject(limit: self.bodyLimit)
            guard body.unknownMember(among: operation.body) == nil else {
                throw JSONError(.wrongType, "an unknown member")
            }
        }
        let call = AdminOperation.Call(
            parameters: parameters, query: request.uri.query, body: body, actor: actor, source: context.source)
        let answer: JSONObject
        do { answer = try await operation.handler(call) } catch let error where Self.isNotFound(error) {
            // The operation's own refusal names the missing thing.
            guard let meaning = operation.refusals.first(where: { $0.status == 404 })?.meaning else { throw error }
            throw Problem(.notFound, Problem.Name.notFound, meaning)
        }
        guard operation.status != .noContent else { return Response(status: .noContent) }
        return .json(answer, status: operation.status)
    }

    /// Returns `true` if an operation did not find its object, and the error has no words of its own.
    private static func isNotFound(_ error: any Error) -> Bool {
        if let error = error as? AccountError { return error.code == .notFound && error.reason.isEmpty }
        return (error as? CeremonyError)?.code == .notFound
    }

    /// Returns the caller, for the audit trail. Throws a 401 ``Problem``.
    private func authorizedActor(of request: Request) async throws -> String {
        guard case .token(let administrator) = self.guarding else { return "socket" }
        let refusal = Problem(
            .unauthorized, "unauthorized", "An administrator's token is needed.",
            headers: [.wwwAuthenticate: "Bearer"])
        guard let header = request.headers[.authorization], header.asciiLowercased.hasBytes(atStart: "bearer ") else {
            throw refusal
        }
        guard let actor = try await administrator(String(header.dropFirst(7))) else { throw refusal }
        return actor
    }
}

import Accounts
import CeremonyEngine
import HTTPTypes
import Hummingbird
import _Primitives

/// Mounts the admin API, on the public listener behind tokens, or on the local socket, whose file mode guards it.
struct AdminRoutes: Sendable {
    /// Who may call.
    enum Guard: Sendable {
        /// Whoever has a token: gives the administrator's id, or `nil` where the token is not an administrator's.
        case token(@Sendable (String) async throws -> String?)
        /// Whoever can open the socket.
        case socket
    }

    let operations: [AdminOperation]
    let guarding: Guard
    let bodyLimit: Int

    func mount(on router: ServerRouter) {
        var paths: [(path: String, handlers: [HTTPRequest.Method: ServerRouter.Handler])] = []
        for operation in self.operations {
            let handler: ServerRouter.Handler = { request, context in
                try await self.answer(operation, request, context)
            }
            if let index = paths.firstIndex(where: { $0.path == operation.path }) {
                paths[index].handlers[operation.method] = handler
            } else {
                paths.append((operation.path, [operation.method: handler]))
            }
        }
        for (path, handlers) in paths { router.endpoint(RouterPath(AdminOperation.prefix + path), handlers) }
        let document = AdminDocument(server: router.path, operations: self.operations).json
        router.endpoint(
            RouterPath(AdminOperation.prefix + "/openapi.json"), get: .reads, [.get: { _, _ in .json(document) }])
    }

    private func answer(_ operation: AdminOperation, _ request: Request, _ context: ServerContext) async throws
        -> Response
    {
        let actor = operation.isOpen ? "anybody" : try await self.authorizedActor(of: request)
        // By our own words, the names that stand in the path.
        var parameters: [String: String] = [:]
        for name in operation.parameterNames { parameters[name] = try context.pathParameter(name) }
        var body: JSONObject = [:]
        // Where nothing has to be said, there may be no body at all.
        if operation.body.contains(where: \.isRequired)
            || !operation.body.isEmpty && request.headers[.contentType] != nil
        {
            body = try await request.jsonObject(limit: self.bodyLimit)
            for member in body.members where !operation.body.contains(where: { $0.name.hasSameBytes(as: member.name) })
            {
                throw JSONError(.wrongType, "an unknown member")
            }
        }
        let call = AdminOperation.Call(
            parameters: parameters, query: request.uri.query, body: body, actor: actor, source: context.source)
        let answer: JSONObject
        do { answer = try await operation.handler(call) } catch let error where Self.isNotFound(error) {
            // The operation knows what it looked for.
            guard let meaning = operation.refusals.first(where: { $0.status == 404 })?.meaning else { throw error }
            throw Problem(.notFound, Problem.Name.notFound, meaning)
        }
        guard operation.status != .noContent else { return Response(status: .noContent) }
        return .json(answer, status: operation.status)
    }

    /// Whether an operation has not found what it was asked about, and does not say itself what of it.
    private static func isNotFound(_ error: any Error) -> Bool {
        if let error = error as? AccountError { return error.code == .notFound && error.reason.isEmpty }
        return (error as? CeremonyError)?.code == .notFound
    }

    /// Who asks, for the audit trail. Throws a 401 ``Problem``.
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

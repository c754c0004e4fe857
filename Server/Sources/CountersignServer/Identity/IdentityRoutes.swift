import Ceremony
import CeremonyEngine
import HTTPTypes
import Hummingbird
import NIOCore
import Settings
import _Primitives

/// Personalised identities over HTTP: JSON in, signed answers out.
///
/// Each decision of the server is a signed answer of status 200. A request without a proof gets 401. A network that
/// sends such requests too often, and a device that proves too many requests, get 429. A request that is no phone's
/// request at all gets a problem document.
struct IdentityRoutes: Sendable {
    let identities: Identities
    let limits: Limits
    let trace: TraceRecorder?

    /// A function that answers a call.
    private typealias Answering = @Sendable (IdentityCall) async throws -> IdentityReply
    /// A function that answers a call about the object in the address.
    private typealias AnsweringAbout = @Sendable (_ id: String, IdentityCall) async throws -> IdentityReply

    func mount(on router: ServerRouter) {
        let identities = self.identities
        // The first request for the keys makes the server make the keys.
        router.endpoint("/identity/keys", [.get: self.keys])
        router.endpoint(
            "/identity/activation",
            [
                .get: self.answer(at: "/identity/activation", identities.activations.record),
                .delete: self.answer(at: "/identity/activation", identities.activations.remove),
            ])
        router.endpoint(
            "/identity/in-app", [.post: self.answer(at: "/identity/in-app", identities.begins.inApp)])
        router.endpoint(
            "/identity/api-access", [.post: self.answer(at: "/identity/api-access", identities.begins.access)])
        self.mount(
            "/identity/activations",
            [
                ("open", identities.openings.open, .activationDescribed),
                ("prove", identities.openings.prove, .activationProofJudged),
                ("pin-evaluation", identities.pinEvaluations.ofActivation, .pinEvaluated),
                ("enroll", identities.enrolments.enroll, .activationEnrolled),
            ], on: router)
        self.mount(
            "/identity/sessions",
            [
                ("start", identities.starts.start, .sessionDescribed),
                ("prepare", identities.starts.prepare, .answersJudged),
                ("pin-evaluation", identities.pinEvaluations.ofSession, .pinEvaluated),
                ("finish", identities.finishes.finish, .factorsJudged), ("code", identities.ends.code, nil),
                ("abort", identities.ends.abort, nil), ("prolong", identities.ends.prolong, nil),
            ], on: router)
        self.mount("/identity/api-access", [("complete", identities.completions.complete, nil)], on: router)
    }

    /// Mounts the steps of an object below a path, each with the event of its answer in a recorded run.
    private func mount(
        _ path: String, _ steps: [(name: String, answering: AnsweringAbout, event: TraceEvent?)],
        on router: ServerRouter
    ) {
        for step in steps {
            router.endpoint(
                RouterPath("\(path)/{id}/\(step.name)"),
                [
                    .post: { request, context in
                        let id = try context.pathParameter("id")
                        return try await self.reply(
                            request, context, at: "\(path)/\(id)/\(step.name)", recording: step.event
                        ) { try await step.answering(id, $0) }
                    }
                ])
        }
    }

    private func answer(at path: String, _ answering: @escaping Answering) -> ServerRouter.Handler {
        { request, context in try await self.reply(request, context, at: path, answering) }
    }

    /// - Parameters:
    ///   - path: The path below the issuer, as the phone has proved the path.
    ///   - event: The event of the answer in a recorded run. A refusal records no event.
    private func reply(
        _ request: Request, _ context: ServerContext, at path: String, recording event: TraceEvent? = nil,
        _ answering: Answering
    ) async throws -> Response {
        let body = try await request.body(
            of: [.json], limit: self.limits.bodyBytes, orNone: request.method != .post)
        let reply = try await answering(
            IdentityCall(
                method: request.method.rawValue, path: path, body: Array(body.readableBytesView),
                proof: DeviceProofField.name.flatMap { request.headers[$0] }, source: context.source))
        if let refusal = reply.refusal {
            context.notes.note(RequestRefusal(code: refusal, reason: "A phone's request was refused."))
        } else if let event {
            self.trace?.record(event, in: request.trace, context)
        }
        var headers: HTTPFields = [.contentType: "application/jose", .cacheControl: "no-store"]
        let status: HTTPResponse.Status
        switch reply.status {
        case .answered: status = .ok
        case .notProven:
            status = .unauthorized
            headers[.wwwAuthenticate] = DeviceProofField.text
        case .tooMany(let seconds):
            status = .tooManyRequests
            headers[.retryAfter] = String(seconds)
        }
        return Response(
            status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: reply.body)))
    }

    @Sendable private func keys(_ request: Request, _ context: ServerContext) async throws -> Response {
        let keySet = try await self.identities.keys.keySet()
        return Response(
            status: .ok, headers: [.contentType: "application/jwt", .cacheControl: "no-cache"],
            body: .init(byteBuffer: ByteBuffer(string: keySet)))
    }
}

import Ceremony
import Crypto
import HTTPTypes
import Hummingbird
import OAuthProvider
import _Primitives

extension Request {
    private static let traceparent = HTTPField.Name("traceparent")

    /// The run that this request belongs to and the event that it was sent because of (W3C Trace Context), or a run of
    /// its own.
    var trace: TraceContext {
        Self.traceparent.flatMap { self.headers[$0] }.flatMap(TraceContext.init(header:)) ?? TraceContext()
    }
}

extension TraceContext {
    /// The run of a sign-in at a browser, which no header of a browser's names: all nodes make it of the sign-in's
    /// reference, which nobody finds out from it.
    init(ofSignIn reference: String) {
        self.init(trace: TraceID(hash: SHA256.hash(data: Array("run of sign-in \(reference)".utf8))))
    }
}

extension PendingAuthorization {
    /// The run that a browser's sign-in belongs to: an app makes its own of the challenge that binds its code, and so what
    /// the browser does is of the app's run; of any other service's sign-in it is made of the reference.
    func run(_ reference: String) -> TraceContext {
        guard self.isApp, let challenge = self.codeChallenge else { return TraceContext(ofSignIn: reference) }
        return TraceContext(trace: TraceID(hash: challenge))
    }

    /// What the answer with the code is: an app gets it on the person's device, a service by the browser.
    var codeArrow: TraceEvent { self.isApp ? .codeHandedOver : .authorizationCodeSent }
}

extension OpenIDProvider {
    /// The run of a sign-in at that browser, where runs are recorded.
    func run(ofSignIn reference: String, _ browser: BrowserSecret?) async throws -> TraceContext {
        guard let browser, let pending = try await self.pending(request: reference, browser: browser) else {
            return TraceContext(ofSignIn: reference)
        }
        return pending.run(reference)
    }
}

extension TraceRecorder {
    /// Writes an event, which the answer to the request is to name.
    func record(_ event: TraceEvent, in run: TraceContext, _ context: ServerContext) {
        context.notes.note(TraceContext(trace: run.trace, cause: self.record(event, in: run)))
    }
}

/// Where runs are recorded: names in each answer the event that was recorded for it, so that what the caller records next
/// is known to come after it. An answer's `traceresponse` has the form of a request's `traceparent`.
struct TraceResponseMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    private static let traceresponse = HTTPField.Name("traceresponse")

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        if let name = Self.traceresponse, let recorded = context.notes.recorded {
            response.headers[name] = recorded.header()
        }
        return response
    }
}

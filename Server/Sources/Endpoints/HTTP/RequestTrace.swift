package import Ceremony
import Crypto
import HTTPTypes
package import Hummingbird
package import OAuthProvider
import _Primitives

extension Request {
    private static let traceparent = HTTPField.Name("traceparent")

    /// The run that this request belongs to, and the event that caused the request (W3C Trace Context). A request
    /// without a run starts a run of its own.
    package var trace: TraceContext {
        Self.traceparent.flatMap { self.headers[$0] }.flatMap(TraceContext.init(header:)) ?? TraceContext()
    }
}

extension TraceContext {
    /// Creates the run of a sign-in at a browser.
    ///
    /// No header of a browser names the run: all nodes derive the run from the sign-in's reference. Nobody can find the
    /// reference from the run.
    package init(ofSignIn reference: String) {
        self.init(trace: TraceID(hash: SHA256.hash(data: Array("run of sign-in \(reference)".utf8))))
    }
}

extension PendingAuthorization {
    /// Returns the run of a browser's sign-in.
    ///
    /// An app derives its run from the challenge that binds its code, and so the browser's steps belong to the app's
    /// run. The run of any other service's sign-in derives from the reference.
    package func run(_ reference: String) -> TraceContext {
        guard self.isApp, let challenge = self.codeChallenge else { return TraceContext(ofSignIn: reference) }
        return TraceContext(trace: TraceID(hash: challenge))
    }

    /// The event of the answer with the code: an app gets the code on the person's device, a service gets the code by
    /// the browser.
    package var codeArrow: TraceEvent { self.isApp ? .codeHandedOver : .authorizationCodeSent }
}

extension OpenIDProvider {
    /// Returns the run of a sign-in at the given browser, for a server that records runs.
    package func run(ofSignIn reference: String, _ browser: BrowserSecret?) async throws -> TraceContext {
        guard let browser, let pending = try await self.authorizations.pending(request: reference, browser: browser)
        else {
            return TraceContext(ofSignIn: reference)
        }
        return pending.run(reference)
    }
}

extension TraceRecorder {
    /// Writes an event, and notes the event for the answer to the request.
    package func record(_ event: TraceEvent, in run: TraceContext, _ context: ServerContext) {
        context.notes.note(TraceContext(trace: run.trace, cause: self.record(event, in: run)))
    }
}

/// Adds to each answer the last event that the server recorded for the request, on a server that records runs.
///
/// So the caller's next event is known to come after the server's event. An answer's `traceresponse` has the form of a
/// request's `traceparent`.
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

import Ceremony
import Hummingbird
package import OAuthProvider
import Synchronization
package import UAF
import _Primitives

/// The reason why a request was refused, for the operator. The request's line in the log has the reason.
package struct RequestRefusal: Sendable, Equatable {
    /// The code of the answer: a problem's name, an error of RFC 6749, a UAF status code.
    package let code: String
    /// The reason in words, without any content of the request.
    let reason: String?
    /// The client in whose name the request came, if the client exists.
    let client: String?
    /// The setting by which an operator changes the outcome; `nil` for no setting.
    let setting: String?
    /// The account that the refusal is about, by its identifier; `nil` for no account.
    let account: String?

    package init(code: String, reason: String?, client: String? = nil, setting: String? = nil, account: String? = nil) {
        self.code = code
        self.reason = reason
        self.client = client
        self.setting = setting
        self.account = account
    }

    package init(_ refusal: ProviderRefusal) {
        self.init(code: refusal.code, reason: refusal.reason, client: refusal.client, setting: refusal.setting)
    }
}

/// The facts that a request's handlers find out for the request's line in the log, and for the answer's header.
package final class RequestNotes: Sendable {
    private struct State {
        var client: String?
        var service: String?
        var script: String?
        var refusal: RequestRefusal?
        var recorded: TraceContext?
    }

    private let state = Mutex(State())

    /// Notes that the request comes from this client, or from a person whom the client sent.
    package func note(client: String) { self.state.withLock { $0.client = client } }

    /// Notes the service in the request's address. Nobody has checked yet if the service exists.
    package func note(service: String?) { self.state.withLock { $0.service = service } }

    /// Notes the client in a form that a page's script has sent. Nobody has checked yet if the client exists.
    package func note(script: String?) { self.state.withLock { $0.script = script } }

    /// The client in a script's form.
    package var script: String? { self.state.withLock { $0.script } }

    /// The service in the request's address.
    package var service: String? { self.state.withLock { $0.service } }

    /// Notes that the request is refused. The first reason stays, because the first reason knows most.
    package func note(_ refusal: RequestRefusal) {
        self.state.withLock { state in if state.refusal == nil { state.refusal = refusal } }
    }

    /// Notes the UAF message that answers the request, if the message refuses the request.
    ///
    /// A refusing message has the HTTP status 200, and only the message's code tells of the refusal. The log has the
    /// code, and the reason that nobody else is told.
    package func note(_ statusCode: UAFStatusCode, _ reason: String?) {
        guard statusCode.rawValue >= UAFStatusCode.badRequest.rawValue else { return }
        self.note(RequestRefusal(code: String(statusCode.rawValue), reason: reason))
    }

    /// Notes an event of a run that the server recorded for the request.
    func note(_ recorded: TraceContext) { self.state.withLock { $0.recorded = recorded } }

    /// The last event that the server recorded for the request.
    var recorded: TraceContext? { self.state.withLock { $0.recorded } }

    /// The refusal. If the refusal names no client, the noted client takes its place.
    package var refusal: RequestRefusal? {
        self.state.withLock { state in
            state.refusal.map {
                RequestRefusal(
                    code: $0.code, reason: $0.reason, client: $0.client ?? state.client, setting: $0.setting,
                    account: $0.account)
            }
        }
    }
}

import Ceremony
import Hummingbird
import OAuthProvider
import Synchronization
import UAF
import _Primitives

/// Why a request was refused, for the operator: the request's line in the log has it.
struct RequestRefusal: Sendable, Equatable {
    /// What the answer says it is: a problem's name, an error of RFC 6749, a UAF status code.
    let code: String
    /// In words, without anything that came with the request.
    let reason: String?
    /// The client in whose name it was asked, where there is such a client.
    let client: String?
    /// The setting by which an operator changes it, if there is one.
    let setting: String?
    /// The account that it is about, by its identifier, where there is such a one.
    let account: String?

    init(code: String, reason: String?, client: String? = nil, setting: String? = nil, account: String? = nil) {
        self.code = code
        self.reason = reason
        self.client = client
        self.setting = setting
        self.account = account
    }

    init(_ refusal: ProviderRefusal) {
        self.init(code: refusal.code, reason: refusal.reason, client: refusal.client, setting: refusal.setting)
    }
}

/// What is found out on a request's way that belongs into its one line in the log, and into its answer's header.
final class RequestNotes: Sendable {
    private struct State {
        var client: String?
        var service: String?
        var script: String?
        var refusal: RequestRefusal?
        var recorded: TraceContext?
    }

    private let state = Mutex(State())

    /// The request is one of this client's, or of somebody whom it sent.
    func note(client: String) { self.state.withLock { $0.client = client } }

    /// The request's address names this service. Nobody has looked yet whether there is such a one.
    func note(service: String?) { self.state.withLock { $0.service = service } }

    /// The form that a page's script has sent names this client. Nobody has looked yet whether there is such a one.
    func note(script: String?) { self.state.withLock { $0.script = script } }

    /// The client that a script's form names.
    var script: String? { self.state.withLock { $0.script } }

    /// The service that the request's address names.
    var service: String? { self.state.withLock { $0.service } }

    /// The request is refused. The first reason stays: it is the one that knows most.
    func note(_ refusal: RequestRefusal) {
        self.state.withLock { state in if state.refusal == nil { state.refusal = refusal } }
    }

    /// The request is answered by a UAF message. One that refuses is 200 to HTTP all the same, and only its code says so:
    /// the log has that code, and the reason that nobody else is told.
    func note(_ statusCode: UAFStatusCode, _ reason: String?) {
        guard statusCode.rawValue >= UAFStatusCode.badRequest.rawValue else { return }
        self.note(RequestRefusal(code: String(statusCode.rawValue), reason: reason))
    }

    /// An event of a run was recorded for the request.
    func note(_ recorded: TraceContext) { self.state.withLock { $0.recorded = recorded } }

    /// The last event that was recorded for the request.
    var recorded: TraceContext? { self.state.withLock { $0.recorded } }

    /// The refusal, with the client that was noted where it names none.
    var refusal: RequestRefusal? {
        self.state.withLock { state in
            state.refusal.map {
                RequestRefusal(
                    code: $0.code, reason: $0.reason, client: $0.client ?? state.client, setting: $0.setting,
                    account: $0.account)
            }
        }
    }
}

import Ceremony
import Records
import Synchronization
import _Primitives

/// A request of a phone, as received.
public struct IdentityCall: Sendable {
    /// The HTTP method.
    public var method: String
    /// The path below the issuer, which is the path that the phone's proof covers.
    public var path: String
    /// The body; empty if there is none.
    public var body: [UInt8]
    /// The value of the field `Device-Proof`.
    public var proof: String?
    /// The network of the caller, which is counted; `nil` counts nothing.
    public var source: String?

    /// Creates a request.
    public init(method: String = "POST", path: String, body: [UInt8], proof: String?, source: String? = nil) {
        self.method = method
        self.path = path
        self.body = body
        self.proof = proof
        self.source = source
    }
}

/// The answer to a phone: the text of a signed answer. A repeated request gets the same text if a step has kept the
/// answer; a refusal that changed nothing is signed anew.
public struct IdentityReply: Sendable, Equatable {
    /// The way in which an answer goes out over HTTP. All decisions of the server share a single status, so that an
    /// observer of the status alone cannot tell refusals apart.
    public enum Status: Sendable, Equatable {
        /// The request was answered.
        case answered
        /// The request has no valid proof.
        case notProven
        /// The caller's network has sent too many requests without proof, or the device has sent too many requests. The
        /// value is the number of seconds until the next attempt.
        case tooMany(retryAfter: Int)
    }

    /// The compact JWS.
    public let body: [UInt8]
    /// The status over HTTP.
    public let status: Status
    /// The code of a refusal, for the log; `nil` without a refusal, and for a repeated answer.
    public let refusal: String?
}

/// A request that an activation has proved to be its own.
struct ProvenCall: Sendable {
    /// The activation of the request, in its state before the step.
    let activation: ActivationRecord
    /// The name by which a repetition is recognised.
    let name: RequestName
    /// The request's name in the answer.
    let request: String
    /// The time until which the answer is kept. Later the proof is refused for its age.
    let keptUntil: Timestamp
    /// The time of arrival.
    let at: Timestamp
    /// The body of the request.
    let body: [UInt8]
    /// The refusal that a step has kept as its answer.
    let keptRefusal = NotedRefusal()
}

/// The code of a refusal that a step has kept as its answer, for the log. A step can be judged several times, and the
/// last judgement counts.
final class NotedRefusal: Sendable {
    private let noted = Mutex<IdentityProblem.Code?>(nil)

    /// The code; `nil` if no step has kept a refusal.
    var code: IdentityProblem.Code? { self.noted.withLock { $0 } }

    /// Notes the content of a step's answer.
    func note(_ content: ManagerResponse.Content) {
        let code: IdentityProblem.Code? = if case .refusal(let problem) = content { problem.code } else { nil }
        self.noted.withLock { $0 = code }
    }
}

extension ProvenCall {
    /// Returns an answer to this request, for keeping.
    func answered(_ answer: [UInt8]) -> GivenAnswer {
        GivenAnswer(
            caller: self.name.caller, request: self.name.request, requestHash: self.name.hash, answer: answer,
            keptUntil: self.keptUntil)
    }
}

/// A message without members: the request was carried out.
struct NothingMore: IdentityMessage {
    init() {}
    init(json object: JSONObject) {}
    var json: JSONObject { [:] }
}

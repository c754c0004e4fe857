import Ceremony
import Store
import _Primitives

/// A request of a phone, as it came.
public struct IdentityCall: Sendable {
    /// The method of HTTP.
    public var method: String
    /// The path below the issuer: that is what the phone has proved.
    public var path: String
    /// The body; empty where there is none.
    public var body: [UInt8]
    /// The value of the field `Device-Proof`.
    public var proof: String?
    /// Who is counted (a network); nothing is without one.
    public var source: String?

    /// Describes a request.
    public init(method: String = "POST", path: String, body: [UInt8], proof: String?, source: String? = nil) {
        self.method = method
        self.path = path
        self.body = body
        self.proof = proof
        self.source = source
    }
}

/// What a phone is answered: the text of a signed answer, which is the same for whoever asks again.
public struct IdentityReply: Sendable, Equatable {
    /// How an answer goes out over HTTP. What the server has decided is one status whatever it is, so that nobody who only
    /// sees that can tell one refusal from another.
    public enum Status: Sendable, Equatable {
        /// It was answered.
        case answered
        /// The caller has proved nothing.
        case notProven
        /// The caller's network has proved nothing too often, or the device has asked too often; seconds until it may come
        /// again.
        case tooMany(retryAfter: Int)
    }

    /// The compact JWS.
    public let body: [UInt8]
    /// How it goes out.
    public let status: Status
    /// What was refused, for the log; `nil` for what was not, and for what was answered before.
    public let refusal: String?
}

/// A request that an activation has proved to be its own.
struct ProvenCall: Sendable {
    /// Whose request it is, as it was before the step.
    let activation: StoredActivation
    /// By what it is known again.
    let name: RequestName
    /// What the answer names it by.
    let request: String
    /// Until when its answer is kept: later its proof is refused for its age.
    let keptUntil: Timestamp
    /// When it came.
    let at: Timestamp
    /// Its body.
    let body: [UInt8]
}

extension ProvenCall {
    /// An answer to this request, to be kept.
    func answered(_ answer: [UInt8]) -> GivenAnswer {
        GivenAnswer(
            caller: self.name.caller, request: self.name.request, requestHash: self.name.hash, answer: answer,
            keptUntil: self.keptUntil)
    }
}

/// A message without members: that what was asked for is done.
struct NothingMore: IdentityMessage {
    init() {}
    init(json object: JSONObject) {}
    var json: JSONObject { [:] }
}

import Ceremony
import Records
import Settings
import _Primitives

/// The requests of a session that asked the PIN service. Each request may come again while its proof is valid.
///
/// A counted question has no recorded answer to repeat: the evaluation is made again, with the same result. So the step
/// that counts the request also records the request. If an attacker replays the request later, with any later document
/// of the session, the person loses no second attempt.
struct AskedRequests: Sendable, Equatable {
    private var requests: [AskedRequest] = []

    private struct AskedRequest: Sendable, Equatable {
        /// The request's name, as in ``RequestName``.
        var request: String
        var hash: [UInt8]
        /// The name of the attempt that the question belongs to.
        var question: [UInt8]
        /// `true` if the request came more than once, so that an earlier arrival may have been answered.
        var isRepeated = false
        var keptUntil: Timestamp
    }

    init() {}

    /// `true` if there are no requests.
    var isEmpty: Bool { self.requests.isEmpty }

    /// Returns `true` if the request is recorded, and so was counted already. Throws `IdentityProblem` `replayRefused`
    /// if another request has the same name.
    mutating func takeAgain(_ call: ProvenCall) throws(IdentityProblem) -> Bool {
        self.requests.removeAll { $0.keptUntil <= call.at }
        guard let index = self.requests.firstIndex(where: { $0.request.hasSameBytes(as: call.name.request) }) else {
            return false
        }
        guard self.requests[index].hash == call.name.hash else { throw IdentityProblem(.replayRefused) }
        self.requests[index].isRepeated = true
        return true
    }

    /// Records a request. Throws `IdentityProblem` `tooManyRequests` if the question has the maximum number of
    /// requests.
    mutating func add(_ call: ProvenCall, question: [UInt8]) throws(IdentityProblem) {
        let same = self.requests.filter { $0.question == question }
        guard same.count < Limits.Evaluations.requestsPerQuestion else {
            let rest = (same.map(\.keptUntil).min() ?? call.at) - call.at
            throw IdentityProblem(.tooManyRequests, retryAfter: Int(rest.components.seconds) + 1)
        }
        self.requests.append(
            AskedRequest(
                request: call.name.request, hash: call.name.hash, question: question, keptUntil: call.keptUntil))
    }

    /// Removes a request that in the end asked nothing.
    ///
    /// Returns `false`, and changes nothing, if the question may have been answered to another request, or to an
    /// earlier arrival of this request.
    mutating func remove(_ call: ProvenCall, question: [UInt8]) -> Bool {
        let same = self.requests.filter { $0.question == question }
        guard same.count == 1, let only = same.first, only.hash == call.name.hash, !only.isRepeated else {
            return false
        }
        self.requests.removeAll { $0 == only }
        return true
    }
}

extension AskedRequests {
    /// The stored form.
    var json: JSON {
        .array(
            self.requests.map { asked in
                var object: JSONObject = [
                    "request": .string(asked.request), "hash": .string(Base64URL.encode(asked.hash)),
                    "question": .string(Base64URL.encode(asked.question)),
                    "keptUntil": .integer(asked.keptUntil.milliseconds),
                ]
                if asked.isRepeated { object["isRepeated"] = .bool(true) }
                return .object(object)
            })
    }

    /// Reads the form that ``json`` writes.
    init(json values: [JSON]) throws(JSONError) {
        for value in values {
            guard case .object(let object) = value, let hash = Base64URL.decode(try object.requiredString("hash")),
                let question = Base64URL.decode(try object.requiredString("question"))
            else { throw JSONError(.wrongType, "asked") }
            self.requests.append(
                AskedRequest(
                    request: try object.requiredString("request"), hash: hash, question: question,
                    isRepeated: try object.bool("isRepeated") ?? false,
                    keptUntil: Timestamp(milliseconds: try object.requiredInteger("keptUntil"))))
        }
    }
}

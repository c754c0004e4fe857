import Ceremony
import Store
import _Primitives

/// The requests of a session by which the PIN service was asked, each of which may come again while its proof is good.
///
/// A question that was counted has no answer on record that could be given again: an evaluation is made anew, and is the same.
/// So the request is written down in the step that counts it. Whoever has recorded it and sends it later, with whatever
/// document the session has by then, costs nobody a second attempt.
struct AskedRequests: Sendable, Equatable {
    private var requests: [AskedRequest] = []

    private struct AskedRequest: Sendable, Equatable {
        /// As in ``RequestName``.
        var request: String
        var hash: [UInt8]
        /// What was asked: the name of the attempt.
        var question: [UInt8]
        /// Whether it came more than once, so that the first is not the only one that may have been answered.
        var isRepeated = false
        var keptUntil: Timestamp
    }

    init() {}

    /// Whether there is none.
    var isEmpty: Bool { self.requests.isEmpty }

    /// Whether a request is one of these: then it was counted. Throws `IdentityProblem` `replayRefused` where another one has
    /// its name.
    mutating func takeAgain(_ call: ProvenCall) throws(IdentityProblem) -> Bool {
        self.requests.removeAll { $0.keptUntil <= call.at }
        guard let index = self.requests.firstIndex(where: { $0.request.hasSameBytes(as: call.name.request) }) else {
            return false
        }
        guard self.requests[index].hash == call.name.hash else { throw IdentityProblem(.replayRefused) }
        self.requests[index].isRepeated = true
        return true
    }

    /// Writes a request down. Throws `IdentityProblem` `tooManyRequests` where the question was asked by as many already.
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

    /// Takes a request out again by which nothing was asked after all; `false`, and nothing changes, where the question may
    /// have been answered to another one, or to this one when it came before.
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
    /// As it is kept.
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

    /// Reads what ``json`` writes.
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

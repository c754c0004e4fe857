import Foundation
import GRDB
import Store
import _Primitives

/// What was found of a request that was answered before.
enum AnsweredBefore: Sendable {
    /// This one: the answer that was given.
    case same([UInt8])
    /// Another one of the same name.
    case other

    /// As a step's outcome.
    func step<Result: Sendable>() -> IdentityStep<Result> {
        switch self {
        case .same(let answer): .again(answer)
        case .other: .replayed
        }
    }
}

extension RequestName {
    /// How its row is called. No caller has a space in it, so that no two requests share a row, and those of a caller lie
    /// together.
    fileprivate var row: String { "\(self.caller) \(self.request)" }
}

extension GivenAnswer {
    fileprivate var name: RequestName {
        RequestName(caller: self.caller, request: self.request, hash: self.requestHash)
    }
}

extension Database {
    /// Whether a request was answered: one look-up by its name, and of what is found both the hash and the answer are looked
    /// at, whether or not the hash is this request's.
    func answer(to request: RequestName, _ sealing: Sealing) throws -> AnsweredBefore? {
        try self.row("SELECT request_hash, answer FROM identity_answer WHERE id = ?", [request.row]).map { row in
            let answer = try sealing.open(try row.bytes("answer"), purpose: .identityAnswer, row: request.row)
            return constantTimeEqual(try row.bytes("request_hash"), request.hash) ? .same(answer) : .other
        }
    }

    /// Keeps an answer. `session` is what it belongs to, by whose end it is not needed any more.
    func insert(_ answer: GivenAnswer, session: String?, _ sealing: Sealing) throws {
        let row = answer.name.row
        try self.run(
            "INSERT INTO identity_answer (id, session, request_hash, answer, kept_until) VALUES (?, ?, ?, ?, ?)",
            [
                row, session, answer.requestHash.blob,
                try sealing.seal(answer.answer, purpose: .identityAnswer, row: row).blob, answer.keptUntil.milliseconds,
            ])
    }

    /// Deletes the answers that a caller was given, all of them or those of one session.
    func deleteAnswers(of caller: String, session: String? = nil) throws {
        // What begins with the caller and a space: "!" is the character after it.
        try self.run(
            """
            DELETE FROM identity_answer WHERE id > ?1 || ' ' AND id < ?1 || '!'
            \(session == nil ? "" : "AND session = ?2")
            """, session.map { [caller, $0] } ?? [caller])
    }

    /// Deletes what the activations of an account, and the offers of new ones, were answered.
    func deleteAnswers(ofAccount id: String) throws {
        let callers = try String.fetchAll(
            self.cachedStatement(
                sql: """
                    SELECT id FROM device WHERE account_id = ?1
                    UNION ALL SELECT '\(GivenAnswer.offerPrefix)' || id FROM pending_activation WHERE account_id = ?1
                    """), arguments: [id])
        for caller in callers { try self.deleteAnswers(of: caller) }
    }
}

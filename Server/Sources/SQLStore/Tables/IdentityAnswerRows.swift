import Records
import Sealing
import _Primitives

/// The rows of answers that are kept for repeated requests.
struct IdentityAnswerRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns the result for a request that was answered before; `nil` if the request is new. The request is looked up
    /// once by its name. The function reads the hash and the answer in every case, whether or not the hash is the hash
    /// of this request.
    func answer(to request: RequestName, _ sealing: Sealing) throws -> AnsweredBefore? {
        try self.db.row("SELECT request_hash, answer FROM identity_answer WHERE id = ?", [request.row]).map { row in
            let answer = try sealing.open(try row.bytes("answer"), purpose: .identityAnswer, row: request.row)
            return AnsweredBefore(request, answeredHash: try row.bytes("request_hash"), answer: answer)
        }
    }

    /// Returns the outcome for a request that was answered before; `nil` if the request is new, and for no request.
    func outcome<Result: Sendable>(
        answeredTo request: RequestName?, _ sealing: Sealing
    ) throws -> IdentityStep<Result>? {
        try request.flatMap { try self.answer(to: $0, sealing) }?.step()
    }

    /// Does a step, unless the request was answered before. A step without a request is always done.
    func unlessAnswered<Result: Sendable>(
        _ request: RequestName?, _ sealing: Sealing, step: () throws -> IdentityStep<Result>
    ) throws -> IdentityStep<Result> {
        try self.outcome(answeredTo: request, sealing) ?? step()
    }

    /// Keeps an answer. `session` is the session of the answer: after the session's end the answer is not needed any
    /// more.
    func insert(_ answer: GivenAnswer, session: String?, _ sealing: Sealing) throws {
        let row = answer.name.row
        try self.db.run(
            "INSERT INTO identity_answer (id, session, request_hash, answer, kept_until) VALUES (?, ?, ?, ?, ?)",
            [
                row, session, answer.requestHash,
                try sealing.seal(answer.answer, purpose: .identityAnswer, row: row), answer.keptUntil.milliseconds,
            ])
    }

    /// Deletes all answers that a caller was given.
    ///
    /// The range contains every identifier that begins with the caller and a space: "!" is the character after the
    /// space.
    func deleteAnswers(of caller: String) throws {
        try self.db.run("DELETE FROM identity_answer WHERE id > ?1 || ' ' AND id < ?1 || '!'", [caller])
    }

    /// Deletes the answers that a caller was given in a session.
    func deleteAnswers(of caller: String, session: String) throws {
        try self.db.run(
            "DELETE FROM identity_answer WHERE id > ?1 || ' ' AND id < ?1 || '!' AND session = ?2", [caller, session])
    }

    /// Deletes the answers given to an account's activations and to the account's offers of new activations.
    func deleteAnswers(ofAccount id: String) throws {
        let callers = try self.db.texts(
            .composed(
                """
                SELECT id FROM device WHERE account_id = ?1
                UNION ALL SELECT '\(GivenAnswer.offerPrefix)' || id FROM pending_activation WHERE account_id = ?1
                """), [id])
        for caller in callers { try self.deleteAnswers(of: caller) }
    }
}

extension RequestName {
    /// The identifier of the request's row. No caller contains a space, so two requests never share a row, and the rows
    /// of a caller lie together.
    var row: String { "\(self.caller) \(self.request)" }
}

extension GivenAnswer {
    var name: RequestName {
        RequestName(caller: self.caller, request: self.request, hash: self.requestHash)
    }
}

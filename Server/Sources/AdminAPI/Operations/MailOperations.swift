package import Accounts
import Endpoints
import HTTPTypes
import Hummingbird
import Logging
import Records
import Synchronization
package import _Primitives

/// The operations that tell and try if mail leaves. The running server itself tries, because another process may have
/// rights that the server lacks.
struct MailOperations: Sendable {
    /// The test of mail; `nil` if the server sends no mail.
    let test: MailTest?
    let outbox: any OutboxStore
    let last: LastMail
    let logger: Logger
    let time: TimeSource

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: "/mail", id: "showMail", summary: "Whether this server sends mail, and what waits.",
                answer: [
                    .required("sendsMail", .boolean, "Whether the server has a mail command."),
                    .required("waiting", .integer, "Letters that wait to be sent."),
                    .optional("oldestSeconds", .integer, "How long the oldest of them has waited."),
                    .optional(
                        "failure",
                        .members([
                            .required("at", "RFC 3339."), .required("reason", "Why the letter was not taken."),
                            .optional("said", "What the mail command said, without anything of the letter."),
                        ]), "The last letter that was not taken, where none was taken since."),
                ], handler: self.show),
            AdminOperation(
                method: .post, path: "/mail/test", id: "testMail",
                summary: "Hand one letter that says nothing to the mail command, and tell what the command says.",
                body: [.required("address", "Whom the letter goes to.")],
                answer: [
                    .required("taken", .boolean, "Whether the command has taken the letter."),
                    .optional("reason", "Why not, where it has not."),
                    .optional("said", "What the command has said, without anything of the letter."),
                ],
                refusals: [
                    (400, "It is no e-mail address."), (409, "The server sends no mail: it has no mail command."),
                ], handler: self.send),
        ]
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        let waiting = try await self.outbox.waitingMessages(to: .mailbox)
        var answer: JSONObject = [
            "sendsMail": .bool(self.test != nil), "waiting": .integer(Int64(waiting.count)),
        ]
        answer["oldestSeconds"] = waiting.oldest.map { .integer((self.time.now() - $0).components.seconds) }
        if let failure = self.last.failure {
            var object: JSONObject = ["at": .string(failure.at.description), "reason": .string(failure.trouble.reason)]
            if !failure.trouble.said.isEmpty { object["said"] = .string(failure.trouble.said) }
            answer["failure"] = .object(object)
        }
        return answer
    }

    @Sendable private func send(_ call: AdminOperation.Call) async throws -> JSONObject {
        let address = try call.body.requiredString("address")
        guard let test else {
            throw Problem(
                .conflict, "no-mail-command", "The server sends no mail: --mail-command and --mail-from make it do so.")
        }
        var answer: JSONObject = [:]
        do {
            let said = try await test.send(to: address)
            answer["taken"] = .bool(true)
            self.last.noteTaken()
            if !said.isEmpty { answer["said"] = .string(said) }
        } catch let failure as MailFailure {
            answer["taken"] = .bool(false)
            answer["reason"] = .string(failure.reason)
            if !failure.said.isEmpty { answer["said"] = .string(failure.said) }
        }
        var metadata: Logger.Metadata = ["operator": "\(call.actor)", "taken": "\(answer["taken"] == .bool(true))"]
        for name in ["reason", "said"] { metadata[name] = try answer.string(name).map { "\($0)" } }
        self.logger.notice("A letter was sent as a test", metadata: metadata)
        return answer
    }
}

/// The last letter that the mail command did not take; `nil` once the command has taken a later letter.
package final class LastMail: Sendable {
    private let state = Mutex<(trouble: MailTrouble, at: Timestamp)?>(nil)

    /// Creates the record of a server that has sent no letter.
    package init() {}

    var failure: (trouble: MailTrouble, at: Timestamp)? { self.state.withLock { $0 } }

    package func note(_ trouble: MailTrouble, at moment: Timestamp) {
        guard trouble.result != .delivered else { return }
        self.state.withLock { $0 = (trouble, moment) }
    }

    package func noteTaken() { self.state.withLock { $0 = nil } }
}

import ArgumentParser
import Ceremony
import Countersign
import Foundation
import _Primitives

/// `countersign-phone inbox`: shows the questions that services ask the person without a browser, and answers a
/// question.
struct InboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inbox", abstract: "Show what services ask an account's person, and answer it.",
        discussion: """
            A call centre, or a counter, has nothing that you could scan: the phone fetches what it asks, and proves by \
            itself which phone it is. Only where the server does not know the phone's own keys, you authenticate first. The \
            only question is then asked here, or the one that --question names; without a terminal it is answered by \
            --approve or --deny. A single line of --pin-stdin is for whatever asks for it; of two, the second is for the \
            answer.
            """)

    @Argument(help: "The account's name.")
    var username: String

    @Option(name: .long, help: "The question to answer, as it is listed here.")
    var question: String?

    @OptionGroup var answers: AnswerOptions
    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json)
        try await report.running { try await self.run(on: try PhoneDevice(self.phone), report) }
    }

    /// Does the same on a phone that is switched on.
    func run(on device: PhoneDevice, _ report: Report) async throws {
        var own = ScriptedAnswers(self.answers)
        let script = own.dividedAfterOwnRequest()
        let person = OwnPerson(username: self.username, answers: self.answers, phone: self.phone, script: own)
        let (client, questions) = try await person.asking(on: device, report) { client, provider in
            let operation = client.operations.waitingQuestions.username(self.username)
            return try await (provider.map(operation.authorizationProvider) ?? operation).execute()
        }
        for question in questions { Self.show(question, report) }
        if let chosen = try self.chosen(of: questions, report) {
            let run = OutOfBandRun(
                code: "", deviceName: nil, answers: self.answers, phone: self.phone)
            return try await run.answer(chosen.payload, by: client, with: script, report)
        }
        report.say([
            "event": .string("finished"), "outcome": .outcome(.listed), "account": .string(self.username),
        ]) { terminal in
            terminal.print(
                questions.isEmpty
                    ? "Nobody asks you anything."
                    : "Answer one with `countersign-phone inbox NAME --question QUESTION`.")
        }
    }

    /// Returns the question to be answered; `nil` if no question waits, or nobody can answer.
    private func chosen(of questions: [ServiceQuestion], _ report: Report) throws -> ServiceQuestion? {
        if let wanted = self.question {
            guard let found = questions.first(where: { $0.id.hasSameBytes(as: wanted) }) else {
                throw Refusal.notFound("no-such-question", "Nobody asks that, or not any more.")
            }
            return found
        }
        let isAnswered = report.terminal.isInteractive || self.answers.approve || self.answers.deny
        return isAnswered && questions.count == 1 ? questions[0] : nil
    }

    private static func show(_ question: ServiceQuestion, _ report: Report) {
        let until = Timestamp(milliseconds: Int64((question.expiresAt.timeIntervalSince1970 * 1000).rounded()))
        var members: JSONObject = [
            "event": .string("question"), "id": .string(question.id), "service": .string(question.service),
            "expiresAt": .string(until.description),
        ]
        members.set("origin", question.origin)
        report.say(members) { terminal in
            terminal.print("\(question.service) asks you something.")
            var rows = [(name: "  Question", value: question.id)]
            if let origin = question.origin { rows.append(("  From", origin)) }
            terminal.list(rows)
        }
    }
}

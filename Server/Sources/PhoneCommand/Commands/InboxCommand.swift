import ArgumentParser
import Ceremony
import Countersign
import Foundation
import Synchronization
import _Primitives

/// `countersign-phone inbox`: shows the operations that wait for this phone, and answers an operation.
struct InboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inbox", abstract: "Show what services ask, and answer it.",
        discussion: """
            A call centre, or a counter, has nothing that you could scan: the phone fetches what it asks, and proves by \
            itself which phone it is. Only where the server does not know the phone's own keys, you authenticate first, \
            for an account that you name. Without a name everything is listed that waits for this phone, at all servers. \
            The only question is then asked here, or the one that --question names; without a terminal it is answered by \
            --approve, --deny or --not-me. A single line of --pin-stdin is for whatever asks for it; of two, the second is \
            for the answer. With --watch each question is shown as it comes, and as it goes, until you stop the program.
            """)

    @Argument(help: "The account's name; without a name all accounts.")
    var username: String?

    @Option(name: .long, help: "The question to answer, as it is listed here.")
    var question: String?

    @Flag(name: .long, help: "Go on, and show what comes and what goes.")
    var watch = false

    @OptionGroup var answers: AnswerOptions
    @OptionGroup var phone: PhoneOptions

    func validate() throws {
        guard self.watch, self.question != nil || self.answers.isDecided else { return }
        throw ValidationError("--watch shows questions, and answers none")
    }

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running { try await self.run(on: try PhoneDevice(self.phone), report) }
    }

    /// Does the same on a phone that is switched on.
    func run(on device: PhoneDevice, _ report: Report) async throws {
        if self.watch { return try await self.watch(on: device, report) }
        var own = ScriptedAnswers(self.answers)
        let script = own.dividedAfterOwnRequest()
        let questions = try await self.waiting(on: device, own, report)
        for question in questions { question.show(report) }
        if let chosen = try self.chosen(of: questions, report) {
            let run = OutOfBandRun(
                code: "", deviceName: nil, answers: self.answers, phone: self.phone)
            let client = try await device.client(ServerAddress(chosen.account.server.baseURL))
            return try await run.answer(chosen.payload, by: client, with: script, report)
        }
        var members: JSONObject = ["event": .string("finished"), "outcome": .outcome(.listed)]
        members.set("account", self.username)
        report.say(members) { terminal in
            terminal.print(
                questions.isEmpty
                    ? "Nobody asks you anything."
                    : "Answer one with `countersign-phone inbox NAME --question QUESTION`.")
        }
    }

    /// Returns the questions that wait. A named account whose server does not know the phone's keys is authenticated
    /// first. Without a name, servers that cannot be asked are reported.
    private func waiting(on device: PhoneDevice, _ own: ScriptedAnswers, _ report: Report) async throws
        -> [InboxQuestion]
    {
        guard let username = self.username else {
            let pending: PendingOutOfBandOperationsResult = try await device.client(nil).operations
                .pendingOutOfBandOperations.execute()
            for failure in pending.errors { failure.show(report) }
            return pending.operations.map(InboxQuestion.init)
        }
        let person = OwnPerson(username: username, answers: self.answers, phone: self.phone, script: own)
        return try await person.asking(on: device, report) { client, provider -> [InboxQuestion] in
            if let provider {
                let questions: [ServiceQuestion] = try await client.operations.waitingQuestions.username(username)
                    .authorizationProvider(provider).execute()
                let account = RegisteredAccount(
                    username: username, server: .init(baseURL: client.configuration.baseURL))
                return questions.map { InboxQuestion($0, of: account) }
            }
            let pending: PendingOutOfBandOperationsResult = try await client.operations.pendingOutOfBandOperations
                .username(username).execute()
            if let failure = pending.errors.first { throw failure.error }
            return pending.operations.map(InboxQuestion.init)
        }.answer
    }

    /// Shows what comes and what goes, until the task is cancelled or no account is left to watch.
    private func watch(on device: PhoneDevice, _ report: Report) async throws {
        let shown = InboxChanges(report)
        let client = try await device.client(nil)
        var operation = client.operations.pendingOutOfBandOperationsWatch.onChange { shown.take($0) }
        if let username = self.username {
            // A name that no account has is refused.
            _ = try await OwnPerson(username: username, answers: self.answers, phone: self.phone).client(on: device)
            operation = operation.username(username)
        }
        try await operation.execute()
    }

    /// Returns the question to be answered; `nil` if no question waits, or nobody can answer.
    private func chosen(of questions: [InboxQuestion], _ report: Report) throws -> InboxQuestion? {
        if let wanted = self.question {
            guard let found = questions.first(where: { $0.id.hasSameBytes(as: wanted) }) else {
                throw Refusal.notFound("no-such-question", "Nobody asks that, or not any more.")
            }
            return found
        }
        let isAnswered = report.terminal.isInteractive || self.answers.isDecided
        return isAnswered && questions.count == 1 ? questions[0] : nil
    }
}

/// A question as the inbox shows the question.
private struct InboxQuestion: Sendable {
    let id: String
    let account: RegisteredAccount
    let service: String
    let origin: String?
    let payload: OutOfBandPayload
    let expiresAt: Date

    init(_ operation: PendingOutOfBandOperation) {
        self.id = operation.id
        self.account = operation.account
        self.service = operation.service
        self.origin = operation.origin
        self.payload = operation.payload
        self.expiresAt = operation.expiresAt
    }

    init(_ question: ServiceQuestion, of account: RegisteredAccount) {
        self.id = question.id
        self.account = account
        self.service = question.service
        self.origin = question.origin
        self.payload = question.payload
        self.expiresAt = question.expiresAt
    }

    func show(_ report: Report) {
        let until = Timestamp(milliseconds: Int64((self.expiresAt.timeIntervalSince1970 * 1000).rounded()))
        var members: JSONObject = [
            "event": .string("question"), "id": .string(self.id), "account": .string(self.account.username),
            "service": .string(self.service), "expiresAt": .string(until.description),
        ]
        members.set("origin", self.origin)
        report.say(members) { terminal in
            terminal.print("\(self.service) asks you something.")
            var rows = [(name: "  Question", value: self.id), ("  Account", DisplayText.line(self.account.username))]
            if let origin = self.origin { rows.append(("  From", origin)) }
            terminal.list(rows)
        }
    }
}

extension PendingOutOfBandOperationsResult.Failure {
    /// Says that the server of an account could not be asked.
    fileprivate func show(_ report: Report) {
        let refusal = report.refusal(self.error)
        report.say([
            "event": .string("unanswered"), "account": .string(self.account.username),
            "reason": .string(refusal.reason), "message": .string(refusal.sentence),
        ]) { $0.failure("\(DisplayText.line(self.account.username)): \(refusal.sentence)") }
    }
}

/// The questions that a watching inbox has shown. Each question is shown once as it comes, and once as it goes.
private final class InboxChanges: Sendable {
    private struct State {
        var questions: [InboxQuestion] = []
        var errors: [PendingOutOfBandOperationsResult.Failure] = []
    }

    private let report: Report
    private let state = Mutex(State())

    init(_ report: Report) { self.report = report }

    func take(_ result: PendingOutOfBandOperationsResult) {
        let present = result.operations.map(InboxQuestion.init)
        let before = self.state.withLock { state in
            defer { state = State(questions: present, errors: result.errors) }
            return state
        }
        for question in before.questions where !present.contains(where: { $0.id.hasSameBytes(as: question.id) }) {
            self.report.say(["event": .string("gone"), "id": .string(question.id)]) { terminal in
                terminal.print("\(question.service) no longer asks (\(question.id)).")
            }
        }
        for question in present where !before.questions.contains(where: { $0.id.hasSameBytes(as: question.id) }) {
            question.show(self.report)
        }
        for failure in result.errors where !before.errors.contains(failure) { failure.show(self.report) }
    }
}

import ArgumentParser
import Ceremony
import Countersign
import Foundation
import Synchronization
import Testing
import UAF

@testable import PhoneCommand

@Suite("Threat model, Signing what nobody has seen: what a script of the terminal phone agrees to")
struct PersonTests {
    private static let payment = Data("Payment\nAmount: EUR 12.50\nTo: Jo\nAccount: 7".utf8)
    private let account: RegisteredAccount

    init() throws {
        let server = RegisteredAccount.Server(baseURL: try #require(URL(string: "https://id.example.com")))
        self.account = RegisteredAccount(username: "alice", server: server)
    }

    private func person(_ arguments: [String]) throws -> PhoneHolder {
        PhoneHolder(report: Report(isJSON: true), script: ScriptedAnswers(try AnswerOptions.parse(arguments)))
    }

    private func requester(_ arguments: [String]) async throws -> (answer: String?, reason: String?) {
        let answers = Mutex<[String]>([])
        let person = try self.person(arguments)
        await person.verifyRequester(
            RequesterVerificationContext(
                account: self.account, requester: Countersign.Requester(service: "Bank", isNewBrowser: true)),
            RequesterVerificationHandler(
                approve: { answers.withLock { $0.append("approved") } },
                cancel: { answers.withLock { $0.append("denied") } },
                deny: { statement in
                    answers.withLock { $0.append(statement.isNotMe ? "not me" : "denied") }
                }))
        return (answers.withLock { $0 }.joined(), await person.gaveUp?.reason)
    }

    @Test(
        "A browser that is new to the account wants a yes of its own, whatever else a script says",
        arguments: [
            (["--approve"], "denied", "new-browser"), ([], "denied", "new-browser"),
            (["--pin", "258036"], "denied", "new-browser"), (["--approve", "--new-browser"], "approved", nil),
            (["--deny", "--new-browser"], "denied", nil), (["--deny"], "denied", nil),
            (["--not-me", "--new-browser"], "not me", nil),
        ])
    func newBrowser(arguments: [String], answer: String, reason: String?) async throws {
        let found = try await self.requester(arguments)
        #expect(found.answer == answer && found.reason == reason)
    }

    private func confirm(_ arguments: [String], _ type: TransactionContentType = .textPlain) async throws -> (
        answer: String, reason: String?, person: PhoneHolder
    ) {
        let answers = Mutex<[String]>([])
        let person = try self.person(arguments)
        await person.confirmTransaction(
            TransactionConfirmationContext(
                account: self.account, transactionConfirmationData: Self.payment,
                transactionConfirmationContentType: type),
            TransactionConfirmationHandler(
                approve: { answers.withLock { $0.append("approved") } },
                cancel: { answers.withLock { $0.append("denied") } },
                deny: { statement in
                    answers.withLock { $0.append(statement.isNotMe ? "not me" : "denied") }
                }))
        return (answers.withLock { $0 }.joined(), await person.gaveUp?.reason, person)
    }

    @Test("What is to be signed is shown by the confirmer, and agreed to there")
    func transaction() async throws {
        let approved = try await self.confirm(["--approve"])
        #expect(approved.answer == "approved" && approved.reason == nil)
        #expect(await approved.person.hasSeenTransaction)
        #expect(try await self.confirm(["--deny"]).answer == "denied")
        #expect(try await self.confirm(["--not-me"]).answer == "not me")
        #expect(try await self.confirm([]).answer == "denied", "a script without an answer says no")
        let other = try await self.confirm(["--approve", "--account", "bob"])
        #expect(other.answer == "denied" && other.reason == "no-such-account")
        #expect(try await self.confirm(["--approve", "--account", "alice"]).answer == "approved")
    }

    @Test("A picture, which a terminal cannot draw, is not agreed to")
    func picture() async throws {
        let found = try await self.confirm(["--approve"], .imagePNG)
        #expect(found.answer == "denied" && found.reason == "picture")
    }

    @Test("What the phone advises is what the SDK's recovery says", arguments: OperationError.Recovery.allCases)
    func advice(recovery: OperationError.Recovery) {
        let sentence = Refusal(OperationError(.networkError, recovery: recovery, "cut")).sentence
        #expect(sentence.hasPrefix("The server does not answer (cut). ") && sentence.hasSuffix("."))
        let others = OperationError.Recovery.allCases.filter { $0 != recovery }
        #expect(!others.contains { Refusal(OperationError(.networkError, recovery: $0, "cut")).sentence == sentence })
    }

    @Test("A lost answer is not told as something to try again")
    func lost() {
        let lost = Refusal(OperationError(.networkError, recovery: .checkOutcome, "cut"))
        #expect(lost.sentence.contains("look where you started") && !lost.sentence.contains("Try again"))
        let payload = Refusal(OutOfBandPayloadError(.unsupportedVersion, ""))
        #expect(payload.reason == "unsupported-version" && payload.sentence.contains("needs an update"))
    }
}

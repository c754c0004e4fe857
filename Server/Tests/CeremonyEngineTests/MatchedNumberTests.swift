import Accounts
import Ceremony
import CeremonyEngine
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("Operations parity 91 and decision 120 (NIST SP 800-63B-4, 3.1.3): who approves has seen where it began")
struct MatchedNumberTests {
    /// A server with alice, whom a client asks without a browser.
    private final class Scene: Sendable {
        let server: TestServer
        let account: AccountRecord
        let phone: TestPhone

        init() async throws {
            self.server = try TestServer()
            (self.account, self.phone) = try await self.server.enrol()
        }

        /// Has the client ask, and the phone take the question up. `nil` if the phone finds no question.
        func asked(_ reference: String, number: String? = "004711", message: String? = nil) async throws
            -> ReturnUAFRequest?
        {
            try await self.server.engine.backchannel.ask(
                BackchannelQuestion(
                    reference: reference, accountID: self.account.id, hint: "alice", message: message, number: number,
                    end: self.server.clock.now + .seconds(60)), client: self.server.bank)
            guard
                let question = try await self.server.engine.backchannel.waiting(
                    for: self.server.device(of: self.account)
                ).first
            else { return nil }
            return try await self.server.engine.redemptions.redeem(
                token: try TestPhone.token(question.link), operation: .authentication)
        }

        /// Judges an answer with extensions of the final challenge.
        func judge(
            _ request: ReturnUAFRequest, counter: UInt32, _ telling: (String) throws -> [AssertionExtension]
        ) async throws -> ServerResponse {
            try await self.server.engine.authenticationAnswers.judge(
                try self.phone.authenticate(request, counter: counter, telling: telling)
            ).response
        }

        func judge(_ request: ReturnUAFRequest, counter: UInt32, typing number: String) async throws -> ServerResponse {
            try await self.judge(request, counter: counter) {
                [NumberAnswer.assertionExtension(number: number, finalChallenge: $0)]
            }
        }

        func state(_ reference: String) async throws -> BackchannelState {
            try await self.server.engine.backchannel.state(reference: reference, client: "bank")
        }

        func events(_ kind: String) async throws -> [AuditEvent] {
            try await self.server.database.auditEntries(after: 0, limit: 10_000).map(\.event).filter {
                $0.kind.rawValue == kind
            }
        }
    }

    @Test("The phone is told how many digits to ask for, and the right number is taken")
    func right() async throws {
        let scene = try await Scene()
        let request = try #require(try await scene.asked("1"))
        #expect(request.numberLength == 6)
        let sent = String(decoding: request.serialized, as: UTF8.self)
        #expect(!sent.contains("004711"), "the phone is not told the number")
        let response = try await scene.judge(request, counter: 2, typing: "004711")
        #expect(response.statusCode == .ok && !response.isNumberWrong)
        guard case .answered = try await scene.state("1") else {
            Issue.record("not answered")
            return
        }
        #expect(try await scene.events("wrong-number").isEmpty)
    }

    @Test("A request without a number needs none, and takes none amiss")
    func none() async throws {
        let scene = try await Scene()
        let request = try #require(try await scene.asked("1", number: nil, message: "Call 1"))
        #expect(request.numberLength == nil)
        #expect(try await scene.judge(request, counter: 2, typing: "1").statusCode == .ok)
    }

    /// An answer that does not have the right number.
    enum Fault: CaseIterable {
        case wrong, missing, otherChallenge, short, twice

        func telling(_ challenge: String) -> [AssertionExtension] {
            let right = NumberAnswer.assertionExtension(number: "004711", finalChallenge: challenge)
            switch self {
            case .wrong: return [NumberAnswer.assertionExtension(number: "004712", finalChallenge: challenge)]
            case .missing: return []
            case .otherChallenge:
                return [NumberAnswer.assertionExtension(number: "004711", finalChallenge: challenge + "A")]
            case .short:
                return [AssertionExtension(id: right.id, data: Array(right.data.dropLast()), isCritical: false)]
            case .twice: return [right, right]
            }
        }
    }

    @Test("Any other answer is refused, and ends the operation", arguments: Fault.allCases)
    func refused(fault: Fault) async throws {
        let scene = try await Scene()
        let request = try #require(try await scene.asked("1"))
        let response = try await scene.judge(request, counter: 2, fault.telling)
        #expect(response.statusCode == .unacceptableContent)
        let isGuess = fault == .wrong || fault == .otherChallenge
        #expect(response.isNumberWrong == isGuess)
        #expect(try await scene.state("1") == .denied)
        #expect(try await scene.events("wrong-number").count == (isGuess ? 1 : 0))
        let again = try await scene.judge(request, counter: 3, typing: "004711")
        #expect(again.statusCode == .invalidRequest, "the operation has ended")
        #expect(try await scene.state("1") == .denied)
    }

    @Test("Five wrong numbers in an hour rest what is asked of the person; a right one between forgets none")
    func rests() async throws {
        let scene = try await Scene()
        var counter: UInt32 = 1
        func answer(_ reference: String, _ number: String) async throws -> ServerResponse? {
            counter += 1
            scene.server.clock.advance(.seconds(10))
            guard let request = try await scene.asked(reference) else { return nil }
            return try await scene.judge(request, counter: counter, typing: number)
        }
        for number in 1...4 { #expect(try await answer("\(number)", "00000\(number)")?.isNumberWrong == true) }
        #expect(try await answer("right", "004711")?.statusCode == .ok)
        #expect(try await scene.events("asking-rested").isEmpty)
        #expect(try await answer("5", "000005")?.isNumberWrong == true)
        let rested = try #require(try await scene.events("asking-rested").first)
        #expect(rested.accountID == scene.account.id && rested.actor == "bank")
        #expect(try await answer("6", "004711") == nil, "the phone finds no question")
        scene.server.clock.advance(Limits.Fixed.wrongNumberMemory)
        #expect(try await answer("7", "004711")?.statusCode == .ok, "after an hour")
        #expect(try await scene.events("wrong-number").count == 5)
    }

    @Test("However many requests wait at once, five guesses in an hour are judged, and no more")
    func guesses() async throws {
        let scene = try await Scene()
        var requests: [ReturnUAFRequest] = []
        for number in 0..<8 {
            scene.server.clock.advance(.seconds(6))
            requests.append(try #require(try await scene.asked("\(number)", number: "00000\(number)")))
        }
        var counter: UInt32 = 1
        for request in requests.dropLast() {
            counter += 1
            #expect(try await scene.judge(request, counter: counter, typing: "999999").isNumberWrong)
        }
        // The last number is right, and is not judged any more. The answer does not say so.
        let last = try await scene.judge(try #require(requests.last), counter: counter + 1, typing: "000007")
        #expect(last.statusCode == .unacceptableContent && last.isNumberWrong)
        #expect(try await scene.state("7") == .denied)
    }

    @Test("Only a key that verifies its person types a number: a stranger's signature costs no attempt")
    func strangers() async throws {
        let scene = try await Scene()
        for number in 0..<6 {
            scene.server.clock.advance(.seconds(10))
            let request = try #require(try await scene.asked("\(number)"))
            let answer = try await scene.server.engine.authenticationAnswers.judge(
                try scene.phone.authenticate(request, counter: 2, fault: .signature) {
                    [NumberAnswer.assertionExtension(number: "1", finalChallenge: $0)]
                })
            #expect(answer.response.statusCode == .unacceptableContent && !answer.response.isNumberWrong)
        }
        #expect(try await scene.asked("last") != nil)
        #expect(try await scene.events("wrong-number").isEmpty)
    }
}

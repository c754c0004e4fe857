import Accounts
import CountersignServer
import CountersignTestKit
import Endpoints
import Records
import SQLStore
import Testing
import _Primitives

@Suite("What services ask, fetched by a phone that proves by itself which one it is (decisions 39 and 68)")
struct TerminalInboxTests {
    private static let pin = "604817"

    @Test("inbox lists what is asked without anybody's doing, and the answer alone takes the PIN")
    func deviceProvesItself() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            try await fixture.enrolForOperations(pin: Self.pin)
            let centre = try await CallCentre(fixture.server, fixture.client)
            let nothing = try await fixture.inbox("alice")
            #expect(nothing.refusal == nil && nothing.lines.count == 1)
            #expect(try nothing.line("finished").string("outcome") == "listed")

            let request = try await centre.begin()
            let listed = try await fixture.inbox("alice")
            #expect(listed.refusal == nil && listed.lines.count == 2)
            let question = try listed.line("question")
            #expect(try question.string("service") == "Call Centre")
            #expect(try question.string("origin") == "https://calls.example")
            #expect(try await centre.error(request) == "authorization_pending")

            let approved = try await fixture.inbox("alice", "--approve", "--pin", Self.pin)
            #expect(try approved.line("finished").string("outcome") == "approved")
            #expect(try await centre.pollInTime(request)["id_token"] != nil)
            #expect(try await fixture.inbox("alice").lines.count == 1)
            let late = try await fixture.inbox(
                "alice", "--question", try question.requiredString("id"), "--approve", "--pin", Self.pin)
            #expect(late.reason == "no-such-question")
        }
    }

    @Test("operations parity 68: inbox without a name lists what waits for all accounts")
    func allAccounts() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.inbox().lines.count == 1, "a phone without accounts")
            try await fixture.enrolForOperations(pin: Self.pin)
            let centre = try await CallCentre(fixture.server, fixture.client)
            let request = try await centre.begin()
            let listed = try await fixture.inbox()
            #expect(listed.refusal == nil && listed.lines.count == 2)
            #expect(try listed.line("question").string("account") == "alice")
            let approved = try await fixture.inbox("--approve", "--pin", Self.pin)
            #expect(try approved.line("finished").string("outcome") == "approved")
            #expect(try await centre.pollInTime(request)["id_token"] != nil)
        }
    }

    @Test(
        "operations parity 68: inbox --watch shows a question as it comes, and ends when its device is gone",
        .timeLimit(.minutes(10)))
    func watches() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            try await fixture.enrolForOperations(pin: Self.pin)
            let centre = try await CallCentre(fixture.server, fixture.client)
            async let watched = fixture.inbox("--watch")
            let channels = fixture.server.assembly.channels
            while !channels.metrics.contains("\ncountersign_device_streams_open 1\n") { await Task.yield() }
            _ = try await centre.begin()
            let directory = fixture.server.assembly.directory
            let account = try await directory.account(written: "alice")
            for device in try await fixture.server.database.devices(accountID: account.id) {
                try await directory.deleteDevice(id: device.id, by: "test")
            }
            let outcome = try await watched
            #expect(outcome.refusal == nil)
            #expect(try outcome.lines.map { try $0.requiredString("event") }.last == "unanswered")
            #expect(try outcome.line("unanswered").string("account") == "alice")
        }
    }

    @Test("inbox --not-me: the client reads a denial, the phone a notice, and the client's questions rest")
    func notMe() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            try await fixture.enrolForOperations(pin: Self.pin)
            let centre = try await CallCentre(fixture.server, fixture.client)
            let request = try await centre.begin()
            let denied = try await fixture.inbox("alice", "--not-me")
            #expect(denied.reason == "denied")
            #expect(try await centre.error(request) == "access_denied")
            let account = try await fixture.server.assembly.directory.account(written: "alice")
            let notices = try await fixture.server.assembly.directory.notices(accountID: account.id)
            #expect(notices.map(\.kind).first == .requestDisowned)
            #expect(notices.first?.subject == "Call Centre")
            _ = try await centre.begin()
            #expect(try await fixture.inbox("alice").lines.count == 1, "nobody asks")
            fixture.server.clock.advance(by: .seconds(3600))
            _ = try await centre.begin()
            #expect(try await fixture.inbox("alice").lines.count == 2)
        }
    }

    @Test("inbox asks for the number that the client shows: --number answers it, and a wrong one approves nothing")
    func number() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            try await fixture.enrolForOperations(pin: Self.pin)
            let centre = try await CallCentre(fixture.server, fixture.client, matchesNumbers: true)
            let first = try await centre.ask().object
            #expect(try await fixture.inbox("alice", "--approve", "--pin", Self.pin).refusal != nil, "no number")
            #expect(try await centre.error(try first.requiredString("auth_req_id")) == "access_denied")
            let second = try await centre.ask().object
            let number = try second.requiredString("number")
            let other = number == "123456" ? "654321" : "123456"
            let wrong = try await fixture.inbox("alice", "--approve", "--number", other, "--pin", Self.pin)
            #expect(wrong.reason == "wrong-number")
            let third = try await centre.ask().object
            let right = try await fixture.inbox(
                "alice", "--approve", "--number", try third.requiredString("number"), "--pin", Self.pin)
            #expect(try right.line("finished").string("outcome") == "approved")
            #expect(try await centre.pollInTime(try third.requiredString("auth_req_id"))["id_token"] != nil)
        }
    }

    @Test("a phone that was taken away is told nothing, and an account that is not on it is asked of nobody")
    func refused() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            try await fixture.enrolForOperations(pin: Self.pin)
            _ = try await CallCentre(fixture.server, fixture.client).begin()
            let before = fixture.answers.count
            #expect(try await fixture.inbox("bob").reason == "no-such-account")
            #expect(fixture.answers.count == before, "nobody is asked")
            let directory = fixture.server.assembly.directory
            let account = try await directory.account(written: "alice")
            for device in try await fixture.server.database.devices(accountID: account.id) {
                try await directory.deleteDevice(id: device.id, by: "test")
            }
            let gone = try await fixture.inbox("alice")
            #expect(gone.refusal != nil && gone.lines.isEmpty)
        }
    }
}

import Accounts
import Ceremony
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import Records
import SQLStore
import Synchronization
import Testing
import _Primitives

@Suite("Operations parity 99: countersign-phone device approve shows a code, asks for the number, and asks for the PIN")
struct TerminalApprovalTests {
    private static let pin = "604817"

    /// Has the terminal phone approve a new phone. `typing` makes what the person types of the new phone's number.
    private static func approve(
        _ fixture: TerminalPhoneFixture, _ arguments: [String], typing: @escaping @Sendable (String) -> String = { $0 }
    ) async throws -> (outcome: TerminalPhoneFixture.Outcome, link: String) {
        let shown = Mutex("")
        async let running = fixture.approve(arguments) { typing(shown.withLock { $0 }) }
        await fixture.server.clock.untilSleeping()
        let found = try #require(fixture.answers.text.firstMatch(of: /"link":"([^"]+)"/))
        let link = String(found.1)
        var configuration = ClientConfiguration(baseURL: try #require(URL(string: "http://localhost:8080")))
        configuration.facetID = "linux:program:countersign-phone"
        let phone = try await VirtualPhone(
            configuration: configuration, transport: RouterTransport(client: fixture.client),
            clock: fixture.server.clock)
        let result = try await phone.enroll(try OutOfBandPayload(link: link), deviceName: "New phone")
        let number = try #require(result.confirmation?.number)
        shown.withLock { $0 = number }
        fixture.server.clock.advance(by: .seconds(2))
        return (try await running, link)
    }

    private static func devices(_ fixture: TerminalPhoneFixture) async throws -> [DeviceRecord] {
        let account = try await fixture.server.assembly.directory.account(written: "alice")
        return try await fixture.server.database.devices(accountID: account.id)
    }

    @Test("The lines are the code, the new phone, the text, and the end; the phone is the person's, with its limit")
    func approves() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            try await fixture.enrolForOperations(pin: Self.pin)
            let (outcome, link) = try await Self.approve(
                fixture, ["--approve", "--pin", Self.pin, "--number", "-"])
            #expect(outcome.refusal == nil)
            #expect(try outcome.line("code").string("link") == link)
            #expect(try outcome.line("new-device").string("name") == "New phone")
            #expect(try outcome.line("new-device").string("network") == "local")
            #expect(try outcome.line("finished").string("outcome") == "added")
            let added = try #require(try await Self.devices(fixture).first { $0.name == "New phone" })
            #expect(added.isActive && added.standing.limitedUntil != nil)
        }
    }

    @Test("A wrong number, and --deny, add nothing")
    func refuses() async throws {
        for (arguments, reason) in [
            (["--approve", "--pin", Self.pin, "--number", "-"], "wrong-number"),
            (["--deny", "--pin", Self.pin, "--number", "-"], "denied"),
        ] {
            try await TerminalPhoneFixture.run { fixture async throws in
                try await fixture.enrolForOperations(pin: Self.pin)
                let (outcome, _) = try await Self.approve(fixture, arguments) { $0 == "000000" ? "000001" : "000000" }
                #expect(outcome.reason == reason)
                #expect(try await Self.devices(fixture).map(\.name) == ["Terminal"])
            }
        }
    }
}

import Accounts
import Ceremony
import CeremonyEngine
import Foundation
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("Decision 115: the stream of a device wakes by topic, and ends with its time and its device")
struct DeviceStreamTests {
    /// Alice's phone, which has told its keys, at a server whose random numbers are always the same.
    private struct Stage {
        let server: TestServer
        let device = TestDevice()
        let phone: TestPhone
        let account: AccountRecord

        init(number: UInt64 = 300_000, _ adjust: (inout CeremonyConfiguration) -> Void = { _ in }) async throws {
            // A random number is drawn from eight bytes; tokens and identifiers have more.
            let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
            let random = RandomSource { $0 == 8 ? bytes : RandomSource.system.bytes($0) }
            self.server = try TestServer(random: random, adjust)
            self.phone = try TestPhone()
            self.account = try await self.server.directory.create(username: "alice", displayName: nil, by: "test")
            let engine = self.server.engine
            let link = try await engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
            let request = try await engine.redemptions.redeem(
                token: try TestPhone.token(link.link), operation: .registration)
            let device = self.device
            let answer = try await engine.registrationAnswers.judge(
                try self.phone.register(request) { [try device.announcement($0)] })
            _ = try await engine.enrolments.confirmEnrolment(
                id: link.id, number: try #require(answer.confirmation?.number), by: "test")
        }

        func prover() async throws -> DeviceProofs.Prover {
            try await self.server.engine.deviceProofs.prover(of: try self.device.call(at: self.server.clock.now))
        }

        func events() async throws -> CeremonyEvents<DeviceStreamState>.Iterator {
            try await self.server.engine.deviceOperations.events(for: try await self.prover()).makeAsyncIterator()
        }

        /// Has alice asked without a browser.
        func ask(_ reference: String) async throws {
            try await self.server.engine.backchannel.ask(
                BackchannelQuestion(
                    reference: reference, accountID: self.account.id, hint: "alice", message: nil,
                    end: self.server.clock.now + .seconds(300)), client: self.server.bank)
        }
    }

    /// The operations of a state; `nil` for the end.
    private static func operations(_ state: DeviceStreamState?) -> [PendingOperation]? {
        guard case .operations(let operations)? = state else { return nil }
        return operations
    }

    @Test("A device is named by its identifier or by its key, and by nothing else")
    func names() async throws {
        let stage = try await Stage()
        let prover = try await stage.prover()
        #expect(prover.isNamed(prover.device.deviceID) && prover.isNamed(prover.keyName))
        for name in ["", prover.device.accountID, prover.keyName + "A", String(prover.device.deviceID.dropLast())] {
            #expect(!prover.isNamed(name))
        }
    }

    @Test("A question wakes the stream as it comes, as a device takes it, and as its time is over")
    func wakes() async throws {
        let stage = try await Stage()
        var events = try await stage.events()
        #expect(Self.operations(try await events.next())?.isEmpty == true)
        try await stage.ask("first")
        let one = try #require(Self.operations(try await events.next()))
        #expect(one.map(\.service) == ["Demo Bank"] && one[0].kind == .authentication && one[0].dispatcher == nil)
        try await stage.ask("second")
        let two = try #require(Self.operations(try await events.next()))
        #expect(two.count == 2 && two[1] == one[0], "the newest first, and the same payload again")
        let token = try OutOfBandPayload(json: two[0].payload).redeemData.token
        _ = try await stage.server.engine.redemptions.redeem(token: token, operation: .authentication)
        #expect(Self.operations(try await events.next()) == one)
        stage.server.clock.advance(.seconds(300))
        #expect(Self.operations(try await events.next())?.isEmpty == true)
    }

    @Test("A question of another person wakes nobody")
    func foreign() async throws {
        let stage = try await Stage()
        var events = try await stage.events()
        _ = try await events.next()
        let other = try await stage.server.directory.create(username: "bob", displayName: nil, by: "test")
        try await stage.server.engine.backchannel.ask(
            BackchannelQuestion(
                reference: "r", accountID: other.id, hint: "bob", message: nil,
                end: stage.server.clock.now + .seconds(300)), client: stage.server.bank)
        #expect(try await events.next(patience: .seconds(1)) == .quiet)
    }

    @Test(
        "A stream lasts for an hour and a random part of ten minutes",
        arguments: [(0, 3600), (300_000, 3900), (599_999, 4199)] as [(UInt64, Int)])
    func lifetime(milliseconds: UInt64, seconds: Int) async throws {
        let stage = try await Stage(number: milliseconds)
        var events = try await stage.events()
        #expect(try await events.next() == .operations([]))
        stage.server.clock.advance(.seconds(seconds - 1))
        #expect(try await events.next(patience: .seconds(1)) == .quiet)
        stage.server.clock.advance(.seconds(1) + .milliseconds(999))
        #expect(try await events.next(patience: .seconds(60)) == nil)
    }

    @Test("A device that gets other keys, and a device that was removed, hears that its stream has ended")
    func ends() async throws {
        let stage = try await Stage()
        var events = try await stage.events()
        _ = try await events.next()
        let engine = stage.server.engine
        let request = try await engine.requests.authentication(username: "alice", source: "a")
        let other = TestDevice()
        _ = try await engine.authenticationAnswers.judge(
            try stage.phone.authenticate(request, counter: 2) { [try other.announcement($0)] })
        #expect(try await events.next() == .ended)
        #expect(try await events.next() == nil)
    }

    @Test("A stream that begins after a time without streams hears of its end, too")
    func endsLater() async throws {
        let stage = try await Stage()
        do {
            var former = try await stage.events()
            #expect(try await former.next() == .operations([]))
        }
        _ = try await stage.server.directory.create(username: "bob", displayName: nil, by: "test")
        stage.server.clock.advance(.seconds(60))
        var events = try await stage.events()
        #expect(try await events.next() == .operations([]))
        let engine = stage.server.engine
        let request = try await engine.requests.authentication(username: "alice", source: "a")
        let other = TestDevice()
        _ = try await engine.authenticationAnswers.judge(
            try stage.phone.authenticate(request, counter: 2) { [try other.announcement($0)] })
        #expect(try await events.next() == .ended)
    }

    @Test("A list has at most so many operations, the newest of them")
    func bounded() async throws {
        let stage = try await Stage { $0.limits.operationsPerDevice = 2 }
        for reference in ["a", "b", "c"] { try await stage.ask(reference) }
        let pending = try await stage.server.engine.deviceOperations.pending(for: try await stage.prover())
        #expect(pending.count == 2)
        stage.server.clock.advance(.seconds(1))
        try await stage.ask("d")
        let later = try await stage.server.engine.deviceOperations.pending(for: try await stage.prover())
        #expect(later.last == pending.first)
    }
}

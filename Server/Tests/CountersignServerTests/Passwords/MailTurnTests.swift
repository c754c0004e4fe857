import Accounts
import CountersignServer
import CountersignTestKit
import Endpoints
import FreshStores
import Logging
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("Whose letters come first, and how fast (decision 44)", .timeLimit(.minutes(10)))
struct MailTurnTests {
    /// Leaves letters for strangers, which go to alice here.
    private static func leave(_ count: Int, _ place: PasswordPlace, most: Int) async throws {
        let (store, now) = (place.server.database, place.server.clock.timeSource.now())
        let account = try #require(try await store.account(username: "alice")?.id)
        for number in 0..<count {
            let letter = MailRecord(
                accountID: account, subject: .passwordChanged, turn: .stranger, createdAt: now,
                expiresAt: now + .seconds(600))
            _ = try await store.countAttempt(.mail(account: account), leaving: (letter, most)) { _ in
                (AttemptCount(count: number, at: now - .seconds(90_000)), nil)
            }
        }
    }

    /// There is no second look within a test.
    private static var limits: Limits {
        var limits = Limits()
        limits.mail.mailInterval = .seconds(60 * 60)
        return limits
    }

    @Test("the letter of a person who waits passes 146 of strangers, and all go without a look in between")
    func passes() async throws {
        try await PasswordPlace.run(limits: Self.limits) { place in
            try await place.enter()
            try await Self.leave(146, place, most: 999)
            _ = try await place.askForReset()
            let outbox = OutboxService(place.server.assembly, logger: Logger(label: "test"))
            let running = Task { try await outbox.run() }
            while place.server.mail.messages.count < 147, !Task.isCancelled { await Task.yield() }
            running.cancel()
            try await running.value
            let messages = place.server.mail.messages
            #expect(messages.count == 147)
            let reset = messages.firstIndex { CaughtMail.text(of: $0).contains("/account/reset?link=") }
            // Those beside it are sent at the same time.
            #expect(try #require(reset) < Limits().mail.mailsAtOnce)
        }
    }

    @Test(
        "of the letters that are sent at once strangers' are a share, and their places are free again once those are sent"
    )
    func share() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            try await Self.leave(5, place, most: 999)
            var entry = try place.server.outbox(.mailbox).entry
            entry.prepare = {}
            let outbox = Outbox(entry, store: place.server.database, time: place.server.clock.timeSource)
            func turns() async throws -> [MailRecord.Turn] {
                try await outbox.takeDue().map { try MailDelivery($0).turn }
            }
            var taken = try await outbox.takeDue()
            #expect(taken.count == Limits().mail.anonymousMailsAtOnce)
            #expect(try taken.allSatisfy { try MailDelivery($0).turn == .stranger })
            #expect(try await turns().isEmpty)
            _ = try await place.askForReset()
            _ = try await PasswordResets(place.server.assembly.passwords).sendLinks()
            #expect(try await turns() == [.awaited], "there is a place for who waits")
            #expect(try await outbox.deliver(taken.removeFirst()) == .delivered)
            #expect(try await turns() == [.stranger], "one has become free")
        }
    }

    @Test("a failed look for letters that were not kept stops no letter, and is logged")
    func failedPreparation() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            try await Self.leave(1, place, most: 1)
            place.server.hooks.failNext(.droppedMails, with: StoreError(.unavailable, "as the test wants it"))
            let lines = LoggedLines()
            #expect(try await place.server.sendMail(logger: lines.logger) == [.delivered])
            #expect(lines.all.filter { $0.hasPrefix("Dropped letters are not counted yet") }.count == 1)
        }
    }

    @Test("a letter that is not kept because too many wait is told to the operator and counted")
    func dropped() async throws {
        try await PasswordPlace.run(limits: Self.limits) { place in
            try await place.enter()
            try await Self.leave(5, place, most: 2)
            let lines = LoggedLines()
            let outbox = OutboxService(place.server.assembly, logger: lines.logger)
            let running = Task { try await outbox.run() }
            while place.server.mail.messages.count < 2, !Task.isCancelled { await Task.yield() }
            running.cancel()
            try await running.value
            let told = lines.all.filter { $0.hasPrefix("Letters were not kept, because too many wait") }
            #expect(told.count == 1 && told.allSatisfy { $0.contains("password-changed") && $0.contains("3") })
            let numbers = place.server.assembly.configuration.metrics.registry.text
            #expect(numbers.contains("countersign_outbox_messages_total{channel=\"mailbox\",result=\"dropped\"} 3"))
            #expect(numbers.contains("countersign_outbox_messages_total{channel=\"mailbox\",result=\"delivered\"} 2"))
        }
    }
}

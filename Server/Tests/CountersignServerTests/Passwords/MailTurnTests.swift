import Accounts
import CountersignServer
import CountersignTestKit
import Endpoints
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
            let deliverer = try #require(place.server.mailDeliverer)
            let running = Task { try await deliverer.run() }
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
            let deliveries = try #require(place.server.mailDeliverer).deliveries
            var taken = try await deliveries.takeDue()
            #expect(taken.count == Limits().mail.anonymousMailsAtOnce && taken.allSatisfy { $0.turn == .stranger })
            #expect(try await deliveries.takeDue().isEmpty)
            _ = try await place.askForReset()
            _ = try await PasswordResets(place.server.assembly.passwords).sendLinks()
            #expect(try await deliveries.takeDue().map(\.turn) == [.awaited], "there is a place for who waits")
            #expect(try await deliveries.deliver(taken.removeFirst()) == .sent)
            #expect(try await deliveries.takeDue().map(\.turn) == [.stranger], "one has become free")
        }
    }

    @Test("a letter that is not kept because too many wait is told to the operator and counted")
    func dropped() async throws {
        try await PasswordPlace.run(limits: Self.limits) { place in
            try await place.enter()
            try await Self.leave(5, place, most: 2)
            let lines = LoggedLines()
            let deliverer = try #require(MailDeliverer(place.server.assembly, logger: lines.logger))
            let running = Task { try await deliverer.run() }
            while place.server.mail.messages.count < 2, !Task.isCancelled { await Task.yield() }
            running.cancel()
            try await running.value
            let told = lines.all.filter { $0.hasPrefix("Letters were not kept, because too many wait") }
            #expect(told.count == 1 && told.allSatisfy { $0.contains("password-changed") && $0.contains("3") })
            let numbers = place.server.assembly.configuration.metrics.registry.text
            #expect(numbers.contains("countersign_mails_total{result=\"dropped\"} 3"))
            #expect(numbers.contains("countersign_mails_total{result=\"sent\"} 2"))
        }
    }
}

public import Records
import _Primitives

/// The rules for every ``OutboxStore`` about messages to devices, and about channels beside each other. The rules about
/// clients stand in ``LogoutConformance``, and the rules about letters in ``MailConformance``.
public enum OutboxConformance {
    /// The store protocols that the rules use.
    public typealias Subject = AccountStore & AuditStore & CeremonyStore & MailStore & OutboxStore & PasswordStore

    private static let lease = Timestamp.start + .seconds(15)
    private static let content: [UInt8] = Array("the token".utf8)

    private static func dispatch(_ id: String, by dispatcher: String, _ store: any Subject) async throws {
        try await store.createCeremony(
            sampleCeremony(id, account: "account-alice"), tokens: [],
            message: DeviceMessageRecord(dispatcher: dispatcher, target: "target-\(id)", content: Self.content),
            audit: nil)
    }

    private static func take(
        _ channel: OutboxChannel = .device, _ store: any Subject, at moment: Timestamp = .start, share: Int = 9,
        underWay: [ExactText: Int] = [:]
    ) async throws -> [OutboxMessage] {
        try await store.takeMessages(
            to: channel, at: moment, lease: moment + .seconds(15),
            shares: OutboxShares(most: 9, share: share, underWay: underWay))
    }

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<any Subject>] = [
        ConformanceCheck("the step that creates a ceremony leaves the dispatcher's message, once, as it was given") {
            store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            try await Self.dispatch("one", by: "courier", store)
            try await store.createCeremony(sampleCeremony("ceremony-two"), tokens: [], audit: nil)
            let waiting = WaitingMessages(count: 1, oldest: .start)
            try expect(try await store.waitingMessages(to: .device) == waiting, "one waits")
            let count = try await winners(16) { _ in try await !Self.take(.device, store).isEmpty }
            try expect(count == 1, "one of 16 has the message, not \(count)")
            try expect(try await store.waitingMessages(to: .device) == waiting, "also while it is under way")
            let again = try await Self.take(.device, store, at: Self.lease)
            let delivery = try again.map { try DeviceDelivery($0) }
            try expect(
                delivery.map(\.message)
                    == [DeviceMessageRecord(dispatcher: "courier", target: "target-one", content: Self.content)],
                "as it was given")
            try expect(delivery.map(\.ceremonyID) == ["one"], "of its ceremony")
            try expect(delivery.map(\.expiresAt) == [.start + .seconds(60)], "as long as its token")
            try expect(again.map(\.attempt) == [2], "the second time")
            try await store.postponeMessage(again[0], until: Self.lease + .seconds(2))
            try expect(try await Self.take(.device, store, at: Self.lease + .seconds(1)).isEmpty, "it waits")
            let last = try await Self.take(.device, store, at: Self.lease + .seconds(2))
            try await store.removeMessage(last[0], audit: sampleAudit("undelivered"))
            try expect(try await store.waitingMessages(to: .device).count == 0, "gone")
        },
        ConformanceCheck("a ceremony that is refused leaves no message") { store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            let (one, two) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
            try await store.createCeremony(
                sampleCeremony("one", reference: "r", browser: one), tokens: [], audit: nil)
            try await expectError(StoreError(.conflict, "")) {
                try await store.createCeremony(
                    sampleCeremony("two", reference: "r", browser: two), tokens: [],
                    message: DeviceMessageRecord(dispatcher: "courier", target: "t", content: Self.content), audit: nil)
            }
            try expect(try await store.waitingMessages(to: .device).count == 0, "none")
        },
        ConformanceCheck("a change of a ceremony leaves its messages, and nothing for an account that is gone") {
            store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            let token = sampleToken(7)
            func change(_ id: String) async throws {
                _ = try await store.change(.id(id)) { _ in
                    var change = CeremonyChange()
                    change.addedTokens = [token]
                    change.messages = ["phone", "tablet"].map {
                        DeviceMessageRecord(dispatcher: "courier", target: $0, content: Self.content)
                    }
                    return change
                }
            }
            try await store.createCeremony(
                sampleCeremony("gone", account: "account-nobody"), tokens: [], audit: nil)
            try await expectError(StoreError(.notFound, "")) { try await change("gone") }
            try expect(try await store.ceremony(ofToken: token.digest) == nil, "no token")
            try expect(try await store.waitingMessages(to: .device).count == 0, "no message")
            try await store.createCeremony(sampleCeremony("one", account: "account-alice"), tokens: [], audit: nil)
            try await change("one")
            let delivery = try await Self.take(.device, store).map { try DeviceDelivery($0) }
            try expect(delivery.map(\.message.target) == ["phone", "tablet"], "one for each device")
            try expect(delivery.map(\.message.content) == [Self.content, Self.content], "as they were given")
            try expect(delivery.map(\.ceremonyID) == ["one", "one"], "of the ceremony")
            try expect(try await store.ceremony(ofToken: token.digest)?.ceremony.id == "one", "the token, too")
        },
        ConformanceCheck("a dispatch to a device for an account that is gone is refused, and leaves nothing") { store in
            try await expectError(StoreError(.notFound, "")) { try await Self.dispatch("one", by: "courier", store) }
            try expect(try await store.ceremony(.id("one")) == nil, "no ceremony")
            try expect(try await store.waitingMessages(to: .device).count == 0, "no message")
        },
        ConformanceCheck("clients take turns at a dispatcher, and a later client does not pass all waiting messages") {
            store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            func leave(_ client: String, _ numbers: ClosedRange<Int>) async throws {
                for number in numbers {
                    let id = "\(client)-\(number)"
                    try await store.createCeremony(
                        CeremonyRecord(
                            id: id, kind: .authentication, clientID: client, accountID: "account-alice",
                            createdAt: .start, expiresAt: .start + .seconds(60), detail: CeremonyDetail()),
                        tokens: [],
                        message: DeviceMessageRecord(dispatcher: "courier", target: id, content: Self.content),
                        audit: nil)
                }
            }
            func next(_ count: Int) async throws -> [String?] {
                let shares = OutboxShares(most: count, share: count)
                return try await store.takeMessages(to: .device, at: .start, lease: Self.lease, shares: shares)
                    .map(\.matter)
            }
            try await leave("a", 1...6)
            try await leave("b", 1...1)
            try expect(try await next(3) == ["a-1", "b-1", "a-2"], "b has its turn")
            try await leave("c", 1...4)
            try await leave("b", 2...2)
            try expect(try await next(3) == ["a-3", "c-1", "b-2"], "a goes on beside c and b")
            try expect(try await next(9) == ["a-4", "c-2", "a-5", "c-3", "a-6", "c-4"], "by turns")
        },
        ConformanceCheck("expired messages to devices are deleted with the ceremonies that have ended as long ago") {
            store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            try await Self.dispatch("one", by: "courier", store)
            for (seconds, count) in [(60, 1), (61, 0)] {
                _ = try await store.deleteStale(
                    endedBefore: .start + .seconds(seconds), deregisteredBefore: .start, now: .start, limit: 9)
                try expect(try await store.waitingMessages(to: .device).count == count, "\(seconds) s")
            }
        },
        ConformanceCheck("a message to a device goes with the account of its ceremony") { store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            try await Self.dispatch("one", by: "courier", store)
            _ = try await store.deleteAccount(id: "account-alice", audit: sampleAudit())
            try expect(try await store.waitingMessages(to: .device).count == 0, "gone")
        },
        ConformanceCheck("a dispatcher whose share is under way holds up no other dispatcher, and no other channel") {
            store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            for number in 1...3 { try await Self.dispatch("slow-\(number)", by: "slow", store) }
            try await Self.dispatch("quick", by: "quick", store)
            let letter = MailRecord(
                accountID: "account-alice", subject: .passwordChanged, createdAt: .start,
                expiresAt: .start + .seconds(60))
            _ = try await store.countAttempt(.mail(account: "account-alice"), leaving: (letter, 9)) { _ in
                (AttemptCount(count: 1, at: .start), nil)
            }
            let first = try await Self.take(.device, store, share: 2, underWay: ["slow": 2])
            try expect(first.map(\.lane) == ["quick"], "the other one's: \(first)")
            let second = try await Self.take(.device, store, share: 2)
            try expect(second.map(\.matter) == ["slow-1", "slow-2"], "the oldest two: \(second)")
            try expect(try await Self.take(.client, store).isEmpty, "nothing for clients")
            let letters = try await Self.take(.mailbox, store)
            try expect(letters.map(\.subject) == ["password-changed"], "the letter: \(letters)")
            for channel in [OutboxChannel.device: 4, .client: 0, .mailbox: 1] {
                try expect(try await store.waitingMessages(to: channel.key).count == channel.value, "\(channel)")
            }
        },
    ]
}

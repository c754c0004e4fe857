public import Records
import Settings
import _Primitives

/// The rules for every store of messages to people's devices.
public enum PushCountConformance {
    /// The stores of the checks.
    public typealias Subject = AccountStore & AuditStore & CeremonyStore & PushCountStore

    /// Three messages of a requester and four of all in ten minutes, and five and six a day.
    private static let bounds: Limits.Push = {
        var bounds = Limits().push
        (bounds.pushesPerRequester, bounds.pushesPerRequesterDay) = (3, 5)
        (bounds.pushesPerPerson, bounds.pushesPerPersonDay) = (4, 6)
        return bounds
    }()

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<any Subject>] = [
        ConformanceCheck("a requester's messages to a person count for ten minutes and for a day") { store in
            try await Self.fill(store)
            let (period, day) = (Limits.Fixed.pushPeriod, Limits.Fixed.pushDay)
            try expect(try await Self.push(store, 1, at: .start) == nil, "the first")
            for id in 2...3 { try expect(try await Self.push(store, id, at: .start + .seconds(1)) == nil, "\(id)") }
            try expect(try await Self.push(store, 4, at: .start + .seconds(1)) == .requester, "no fourth")
            try expect(
                try await Self.push(store, 4, at: .start + period - .milliseconds(1)) == .requester, "until then")
            try expect(try await Self.push(store, 4, at: .start + period) == nil, "one is old")
            let later = Timestamp.start + period + period
            try expect(try await Self.push(store, 5, at: later) == nil, "the fifth")
            try expect(try await Self.push(store, 6, at: later) == .requesterDay, "no sixth in a day")
            let last = Timestamp.start + day - .milliseconds(1)
            try expect(try await Self.push(store, 6, at: last) == .requesterDay, "until then")
            try expect(try await Self.push(store, 6, at: .start + day) == nil, "a day later")
        },
        ConformanceCheck("messages of all requesters count for the person, and for no other person") { store in
            try await Self.fill(store)
            for id in 1...3 { try expect(try await Self.push(store, id, at: .start) == nil, "the bank's \(id)") }
            try expect(try await Self.push(store, 4, at: .start) == .requester, "the bank has no more")
            try expect(try await Self.push(store, 4, "shop", at: .start) == nil, "the shop has")
            try expect(try await Self.push(store, 5, "shop", at: .start) == .person, "the person's is used up")
            try expect(try await Self.push(store, 5, account: "account-bob", at: .start) == nil, "another person's not")
            let (second, third) = (
                Timestamp.start + Limits.Fixed.pushPeriod, Timestamp.start + Limits.Fixed.pushPeriod * 2
            )
            try expect(try await Self.push(store, 6, "shop", at: second) == nil, "the fifth of all")
            try expect(try await Self.push(store, 7, "club", at: second) == nil, "the sixth of all")
            try expect(try await Self.push(store, 8, "club", at: third) == .personDay, "no seventh in a day")
        },
        ConformanceCheck("of fifty messages at once three count, and one event is left") { store in
            try await Self.fill(store)
            let counted = try await withThrowingTaskGroup(of: Bool.self) { group in
                for id in 0..<50 { group.addTask { try await Self.push(store, id, at: .start) == nil } }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            try expect(counted == 3, "three, and not \(counted)")
            try expect(try await Self.events(store) == ["bank requester"], "one event")
        },
        ConformanceCheck("each budget leaves one event within its time, of the first refused message") { store in
            try await Self.fill(store)
            for id in 1...3 { _ = try await Self.push(store, id, at: .start) }
            try expect(try await Self.events(store).isEmpty, "no event before a message is refused")
            for second in 0..<3 { _ = try await Self.push(store, 4, at: .start + .seconds(second)) }
            try expect(try await Self.events(store) == ["bank requester"], "the first one")
            for id in 4...5 { _ = try await Self.push(store, id, "shop", at: .start) }
            try expect(try await Self.events(store) == ["bank requester", "shop person"], "the person's own")
            try await Self.forgive(store, "account-alice")
            for id in 6...9 { _ = try await Self.push(store, id, at: .start + .seconds(5)) }
            try expect(try await Self.events(store).count == 2, "no event within ten minutes, also after a success")
            let later = Timestamp.start + .seconds(5) + Limits.Fixed.pushPeriod
            for id in 10...12 { _ = try await Self.push(store, id, at: later) }
            try expect(
                try await Self.events(store) == ["bank requester", "shop person", "bank requester-day"],
                "a budget of a day has its own event")
        },
        ConformanceCheck("a change that forgives forgets the messages to the person, and to nobody else") { store in
            try await Self.fill(store)
            for account in ["account-alice", "account-bob"] {
                for id in 1...3 { _ = try await Self.push(store, id, account: account, at: .start) }
            }
            try await Self.forgive(store, "account-alice")
            for id in 11...13 { try expect(try await Self.push(store, id, at: .start) == nil, "anew") }
            try expect(try await Self.push(store, 14, at: .start) == .requester, "and then no more")
            try expect(
                try await Self.push(store, 14, account: "account-bob", at: .start) == .requester,
                "the other person's still count")
        },
        ConformanceCheck("an account that does not exist is not found, and old messages are deleted, the oldest first")
        {
            store in
            try await expectError(StoreError(.notFound, "")) {
                _ = try await Self.push(store, 1, account: "account-alice", at: .start)
            }
            try await Self.fill(store)
            for id in 1...4 { _ = try await Self.push(store, id, at: .start + .seconds(id)) }
            try expect(try await store.deletePushCounts(before: .start + .seconds(1), limit: 9) == 0, "none is older")
            try expect(try await store.deletePushCounts(before: .start + .seconds(3), limit: 1) == 1, "one at a time")
            try expect(try await store.deletePushCounts(before: .start + .seconds(3), limit: 9) == 1, "the second")
            try expect(
                try await store.deletePushCounts(before: .start + .seconds(5), limit: 9) == 2,
                "the last message, and the note of the budget")
        },
    ]

    private static func fill(_ store: any Subject) async throws {
        for name in ["alice", "bob"] { try await store.createAccount(sampleAccount(name), audit: sampleAudit()) }
    }

    private static func push(
        _ store: any Subject, _ id: Int, _ requester: String = "bank", account: String = "account-alice",
        at moment: Timestamp
    ) async throws -> PushBudget? {
        try await store.countPush(
            PushCount(id: "\(account) \(id)", accountID: account, requester: requester, ceremonyID: "c", at: moment),
            bounds: Self.bounds)
    }

    /// Makes a change of a ceremony that forgives the messages to a person.
    private static func forgive(_ store: any Subject, _ account: String) async throws {
        try await store.createCeremony(sampleCeremony("success", account: account), tokens: [], audit: nil)
        _ = try await store.change(.id("success")) { _ in
            var change = CeremonyChange()
            change.forgivenPushes = account
            return change
        }
    }

    /// The clients and the budgets of the events.
    private static func events(_ store: any Subject) async throws -> [String] {
        try await store.auditEntries(after: 0, limit: 1000).map(\.event).filter { $0.kind == .pushBudgetUsedUp }.map {
            "\($0.actor ?? "") \($0.detail ?? "")"
        }
    }
}

public import Records
import Settings
import _Primitives

/// The rules for every store of requesters that rest.
public enum AskingRestConformance {
    /// The stores of the checks.
    public typealias Subject = AccountStore & CeremonyStore & AskingRestStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<any Subject>] = [
        ConformanceCheck("a rest begins with the change that asks for it, ends by itself, and is longer the next time")
        {
            store in
            try await Self.fill(store)
            try expect(try await !Self.isRested(store, at: .start), "nobody rests at first")
            try await Self.rest(store, at: .start)
            let end = Timestamp.start + Limits.Fixed.firstAskingRest
            try expect(try await Self.isRested(store, at: .start), "from the moment on")
            try expect(try await Self.isRested(store, at: end - .milliseconds(1)), "until its end")
            try expect(try await !Self.isRested(store, at: end), "and no longer")
            try await Self.rest(store, at: end)
            let later = end + Limits.Fixed.firstAskingRest * 2
            try expect(try await Self.isRested(store, at: later - .milliseconds(1)), "twice as long")
            try expect(try await !Self.isRested(store, at: later), "and no longer")
        },
        ConformanceCheck("a rest is one client's for one person") { store in
            try await Self.fill(store)
            try await Self.rest(store, at: .start)
            for (account, requester) in [("account-alice", "other"), ("account-bob", "client")] {
                try expect(
                    try await !store.isAskingRested(accountID: account, requester: requester, at: .start),
                    "\(account) and \(requester) do not rest")
            }
        },
        ConformanceCheck("a client that rests is not found among the questions that wait for the person") { store in
            try await Self.fill(store)
            try await store.createCeremony(
                sampleCeremony("question", reference: "reference", account: "account-alice"), tokens: [], audit: nil)
            func waiting(_ moment: Timestamp) async throws -> [String] {
                try await store.waitingOperations(
                    accountID: "account-alice", deviceID: "device", at: moment, limit: 9
                ).map(\.id)
            }
            try expect(try await waiting(.start) == ["question"], "before")
            try await Self.rest(store, at: .start)
            try expect(try await waiting(.start).isEmpty, "while it rests")
        },
        ConformanceCheck("rests that ended long ago are deleted, the oldest first, and then a rest is short again") {
            store in
            try await Self.fill(store)
            try await Self.rest(store, at: .start)
            try await Self.rest(store, "account-bob", at: .start + .seconds(1))
            let end = Timestamp.start + Limits.Fixed.firstAskingRest
            try expect(
                try await store.deleteRests(endedBefore: end, attemptsBefore: .start, limit: 9) == 0,
                "none ended before")
            try expect(
                try await store.deleteRests(endedBefore: end + .seconds(9), attemptsBefore: .start, limit: 1) == 1,
                "one at a time")
            try expect(try await Self.isRested(store, "account-bob", at: end), "the newer one is left")
            try expect(
                try await store.deleteRests(endedBefore: end + .seconds(9), attemptsBefore: .start, limit: 9) == 1,
                "then the other")
            try await Self.rest(store, at: end)
            try expect(
                try await !Self.isRested(store, at: end + Limits.Fixed.firstAskingRest), "as long as the first")
        },
        ConformanceCheck("of any number of attempts at numbers five count in an hour, and a right one is given back") {
            store in
            try await Self.fill(store)
            func attempt(_ id: Int, _ moment: Timestamp, _ account: String = "account-alice") async throws -> Int? {
                try await store.countNumberAttempt(NumberAttempt(id: "\(id)", accountID: account, at: moment))
            }
            for number in 1...4 {
                try expect(try await attempt(number, .start + .seconds(number)) == number, "attempt \(number)")
            }
            try expect(try await !Self.isRested(store, at: .start + .seconds(5)), "one is left")
            try expect(try await attempt(5, .start + .seconds(5)) == 5, "the last one")
            try expect(try await attempt(6, .start + .seconds(6)) == nil, "and no other")
            try expect(try await attempt(7, .start + .seconds(6), "account-bob") == 1, "another person's count alone")
            try expect(try await Self.isRested(store, at: .start + .seconds(6)), "nobody asks the person")
            try await store.createCeremony(sampleCeremony("c", account: "account-alice"), tokens: [], audit: nil)
            _ = try await store.change(.id("c")) { _ in
                var change = CeremonyChange()
                change.returnedNumberAttempt = "5"
                return change
            }
            try expect(try await !Self.isRested(store, at: .start + .seconds(6)), "a right number gives back")
            try expect(try await attempt(8, .start + .seconds(7)) == 5, "but not the wrong ones")
            let hour = Limits.Fixed.wrongNumberMemory
            try expect(try await attempt(9, .start + hour) == nil, "the first still counts")
            try expect(try await attempt(9, .start + hour + .seconds(1)) == 5, "until it is an hour old")
            let deleted = try await store.deleteRests(
                endedBefore: .start, attemptsBefore: .start + .seconds(4), limit: 9)
            try expect(deleted == 3, "old attempts are deleted")
        },
        ConformanceCheck("of fifty attempts at numbers at once five count") { store in
            try await Self.fill(store)
            let counted = try await withThrowingTaskGroup(of: Int?.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        try await store.countNumberAttempt(
                            NumberAttempt(id: "\(number)", accountID: "account-alice", at: .start))
                    }
                }
                return try await group.reduce(into: []) { $0 += $1.map { [$0] } ?? [] }
            }
            try expect(counted.sorted() == [1, 2, 3, 4, 5], "five, each with its number")
        },
    ]

    private static func fill(_ store: any Subject) async throws {
        for name in ["alice", "bob"] { try await store.createAccount(sampleAccount(name), audit: sampleAudit()) }
    }

    /// Lets the client of a ceremony rest.
    private static func rest(_ store: any Subject, _ account: String = "account-alice", at moment: Timestamp)
        async throws
    {
        let id = "denied \(account) \(moment.milliseconds)"
        try await store.createCeremony(sampleCeremony(id, account: account), tokens: [], audit: nil)
        _ = try await store.change(.id(id)) { _ in
            var change = CeremonyChange()
            change.rest = (accountID: account, requester: "client", at: moment)
            return change
        }
    }

    private static func isRested(_ store: any Subject, _ account: String = "account-alice", at moment: Timestamp)
        async throws -> Bool
    {
        try await store.isAskingRested(accountID: account, requester: "client", at: moment)
    }
}

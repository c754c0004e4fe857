import Records
import Synchronization
import _Primitives

/// The rules for every store of password attempts, and of the browsers and networks that an account knows.
enum KnownBrowserChecks {
    typealias Subject = PasswordConformance.Subject

    static let all: [ConformanceCheck<any Subject>] =
        [
            ConformanceCheck("an attempt is reserved by one step, of many at once as often as the rule allows") {
                store in
                try await Self.begin(store)
                for holder in [Self.holder, .unknownName(5)] {
                    let count = try await winners(32) { _ in
                        let decision = try await store.reserveAttempt(holder, browser: nil, since: 0) { history in
                            history.inAll < 10 ? Self.inARow(history, holder) : .spent
                        }
                        return decision != .spent
                    }
                    try expect(count == 10, "ten of 32, not \(count)")
                    try expect(
                        try await Self.history(store, holder)
                            == AttemptHistory(inARow: AttemptCount(count: 10, at: .start), inAll: 10),
                        "in a row, and in all")
                }
            },
            ConformanceCheck("attempts count by their days, and those of old days are forgotten") { store in
                try await Self.begin(store)
                for day: Int64 in [3, 3, 4] {
                    _ = try await store.reserveAttempt(Self.holder, browser: nil, since: 0) { history in
                        Self.inARow(history, Self.holder, day: day)
                    }
                }
                func inAll(since day: Int64) async throws -> Int {
                    let history = try await Self.history(store, Self.holder, since: day)
                    return history.inAll
                }
                try expect(try await inAll(since: 3) == 3, "both days")
                try expect(try await inAll(since: 4) == 1, "the later day")
                try expect(
                    try await store.deleteAttempts(before: .start, day: 4, limit: 9) == 1, "the row of the old day")
                try expect(try await inAll(since: 0) == 1, "the later day is left")
            },
            ConformanceCheck("a right attempt is given back, and the attempts of others count on") { store in
                try await Self.begin(store)
                for _ in 0..<3 { _ = try await Self.reserve(store) }
                let attempt = try await Self.reserve(store)
                var step = Self.step("1")
                step.attempt = attempt
                try expect(try await store.advance(step), "it was right")
                try expect(
                    try await Self.history(store, Self.holder) == AttemptHistory(inAll: 3),
                    "none in a row, three in all")
                let other = try await Self.reserve(store)
                try expect(
                    try await store.confirm(Self.shown, attempt: other, spent: nil, use: nil),
                    "it was right here, too")
                try expect(try await Self.history(store, Self.holder) == AttemptHistory(inAll: 3), "and given back")
                _ = try await store.setPassword(
                    PasswordChange(to: Self.record("$hash$2"), endsSessions: true, audit: sampleAudit()))
                try expect(
                    try await Self.history(store, Self.holder) == AttemptHistory(), "a new password forgets them all")
            },
            ConformanceCheck("a known browser has attempts of its own, which a right one gives back") { store in
                try await Self.begin(store)
                try await Self.know(store, 1)
                for _ in 0..<2 { _ = try await Self.reserve(store) }
                for wrong in 1...2 {
                    _ = try await Self.reserve(store, byBrowser: 1)
                    try expect(try await Self.browser(store, 1)?.wrong == wrong, "counted for the browser")
                }
                try expect(
                    try await Self.history(store, Self.holder)
                        == AttemptHistory(inARow: AttemptCount(count: 2, at: .start), inAll: 4),
                    "not in the account's row, but among all")
                let attempt = try await Self.reserve(store, byBrowser: 1)
                try await store.giveBackAttempt(attempt, unlessItMade: 9)
                try expect(try await Self.browser(store, 1)?.wrong == 2, "one that nobody could judge")
                try expect(try await Self.history(store, Self.holder).inAll == 4, "nor does it count among all")
                var step = Self.step("1")
                step.attempt = try await Self.reserve(store, byBrowser: 1)
                try expect(try await store.advance(step), "it was right")
                try expect(try await Self.browser(store, 1)?.wrong == 0, "the browser's are forgotten")
                try expect(
                    try await Self.history(store, Self.holder)
                        == AttemptHistory(inARow: AttemptCount(count: 2, at: .start), inAll: 4),
                    "those of others go on resting")
            },
            ConformanceCheck(
                "a browser and a network are known to their account alone, and a browser's former cookie is over"
            ) {
                store in
                try await Self.begin(store)
                try await store.createAccount(sampleAccount("bob"), audit: sampleAudit())
                try await Self.know(store, 1, network: "192.0.2.0")
                try await Self.know(store, 2, network: "192.0.2.0", former: 1)
                try expect(try await Self.browser(store, 1) == nil, "another cookie has its place")
                try expect(
                    try await Self.browser(store, 2) == KnownBrowserRecord(wrong: 0, usedAt: Self.moment(2)),
                    "the new one")
                try expect(try await Self.browser(store, 2, of: "account-bob") == nil, "nobody else's")
                func since(_ network: String, _ account: String = "account-alice") async throws -> Timestamp? {
                    let known = try await store.knownVisit(accountID: account, network: network, browser: nil)
                    return known.network
                }
                try expect(try await since("192.0.2.0") == Self.moment(2), "the network, since the last time")
                try expect(try await since("198.51.100.0") == nil, "no other network")
                try expect(try await since("192.0.2.0", "account-bob") == nil, "nor for another account")
            },
            ConformanceCheck("an account knows five browsers and five networks at most, those that were used last") {
                store in
                try await Self.begin(store)
                for number: UInt8 in 1...7 { try await Self.know(store, number, network: "network \(number)") }
                for number: UInt8 in 1...7 {
                    let known = try await store.knownVisit(
                        accountID: "account-alice", network: "network \(number)", browser: Self.digest(number))
                    try expect((known.network != nil) == (number > 2), "network \(number)")
                    try expect((known.browser != nil) == (number > 2), "browser \(number)")
                }
            },
        ]
        + [
            Self.ending("another password") { store in
                try await store.setPassword(
                    PasswordChange(to: Self.record("$hash$2"), endsSessions: false, audit: sampleAudit()))
            },
            Self.ending("the end of the password") { store in
                try await store.removePassword(accountID: "account-alice", audit: sampleAudit())
            },
            Self.ending("a lock") { store in
                try await store.setAccountLocked(true, id: "account-alice", audit: sampleAudit())
            },
            Self.ending("the end of all sessions") { store in
                try await store.endSessions(account: "account-alice", audit: sampleAudit()) == 0
            },
            Self.ending("a password that is chosen in place of one for once") { store in
                var before = Self.step("1").record
                before.needsNewPassword = true
                _ = try await store.advance(PasswordSignInStep(to: before))
                return try await store.advance(
                    PasswordSignInStep(
                        to: Self.step("1").record, from: before, newPassword: Self.record("$hash$2")))
            },
        ]

    /// Returns a check that `end` removes the browsers and networks of an account, and of no other account.
    private static func ending(
        _ name: String, _ end: @escaping @Sendable (any Subject) async throws -> Bool
    ) -> ConformanceCheck<any Subject> {
        ConformanceCheck("the browsers and networks that an account knows end with \(name)") { store in
            try await Self.begin(store)
            try await store.createAccount(sampleAccount("bob"), audit: sampleAudit())
            _ = try await store.setPassword(
                PasswordChange(to: Self.record(of: "account-bob"), endsSessions: false, audit: sampleAudit()))
            try await Self.know(store, 1, network: "here")
            try await Self.know(store, 2, network: "here", account: "account-bob", request: "2")
            try expect(try await end(store), "it has ended")
            func known(_ number: UInt8, _ account: String) async throws -> [Bool] {
                let known = try await store.knownVisit(
                    accountID: account, network: "here", browser: Self.digest(number))
                return [known.network != nil, known.browser != nil]
            }
            try expect(try await known(1, "account-alice") == [false, false], "hers")
            try expect(try await known(2, "account-bob") == [true, true], "not his")
        }
    }

    // MARK: Samples

    private static let holder = AttemptHolder.password(account: "account-alice")
    private static let shown = ShownPassword(accountID: "account-alice", hash: "$hash$1")

    private static func moment(_ number: UInt8) -> Timestamp { .start + .seconds(Int64(number)) }

    private static func digest(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func record(_ hash: String = "$hash$1", of account: String = "account-alice") -> PasswordRecord {
        PasswordRecord(accountID: account, hash: hash, setAt: .start)
    }

    /// Adds an account with a password, and two waiting requests.
    private static func begin(_ store: any Subject) async throws {
        try await store.createAccount(sampleAccount(), audit: sampleAudit())
        _ = try await store.setPassword(PasswordChange(to: Self.record(), endsSessions: false, audit: sampleAudit()))
        for number: UInt8 in 1...2 {
            try await store.addRequest(SampleSignIn("\(number)", secret: Self.digest(number), at: .start).request)
        }
    }

    private static func step(_ request: String, of account: String = "account-alice") -> PasswordSignInStep {
        PasswordSignInStep(
            to: PasswordSignInRecord(
                request: "request-\(request)", accountID: account, needsSecondFactor: false, needsNewPassword: false),
            verifiedHash: "$hash$1")
    }

    /// Makes an account know a browser.
    private static func know(
        _ store: any Subject, _ number: UInt8, network: String? = nil, former: UInt8? = nil,
        account: String = "account-alice", request: String = "1"
    ) async throws {
        var step = Self.step(request, of: account)
        step.visit = KnownVisit(
            network: network, former: former.map(Self.digest), browser: Self.digest(number), at: Self.moment(number),
            most: 5)
        try expect(try await store.advance(step), "a sign-in")
    }

    private static func browser(
        _ store: any Subject, _ number: UInt8, of account: String = "account-alice"
    ) async throws -> KnownBrowserRecord? {
        try await store.knownVisit(accountID: account, network: "", browser: Self.digest(number)).browser
    }

    /// Returns the decision that counts one more attempt in a row.
    private static func inARow(
        _ history: AttemptHistory, _ holder: AttemptHolder, day: Int64 = 0
    ) -> AttemptDecision {
        let count = AttemptCount(count: (history.inARow?.count ?? 0) + 1, at: .start)
        return .reserved(ReservedAttempt(holder: holder, leave: .account(count), day: day), nil)
    }

    /// Reserves an attempt, by the account's allowance or a browser's.
    private static func reserve(_ store: any Subject, byBrowser number: UInt8? = nil) async throws -> ReservedAttempt {
        let digest = number.map(Self.digest)
        let decision = try await store.reserveAttempt(Self.holder, browser: digest, since: 0) { history in
            guard let digest else { return Self.inARow(history, Self.holder) }
            guard history.browser != nil else { return .resting }
            return .reserved(ReservedAttempt(holder: Self.holder, leave: .browser(digest), day: 0), nil)
        }
        guard case .reserved(let attempt, _) = decision else {
            throw StoreError(.notFound, "an attempt that may be made")
        }
        return attempt
    }

    /// Returns the attempts that the store reports.
    private static func history(
        _ store: any Subject, _ holder: AttemptHolder, since day: Int64 = 0
    ) async throws -> AttemptHistory {
        let seen = Seen()
        _ = try await store.reserveAttempt(holder, browser: nil, since: day) { history in
            seen.history.withLock { $0 = history }
            return .resting
        }
        return seen.history.withLock { $0 }
    }
}

/// Keeps the history that a rule received.
private final class Seen: Sendable {
    let history = Mutex(AttemptHistory())
}

public import Records
import _Primitives

/// The rules for every ``RefreshStore``, about refresh tokens and revoked tokens.
public enum RefreshConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & AuditStore & AuthorizationStore & RefreshStore & SessionStore
        & TokenStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = Self.chains + Self.ends + Self.revocations

    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let day: Duration = .seconds(24 * 60 * 60)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)

    private static func bytes(_ number: Int) -> [UInt8] {
        (0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4))) }
    }

    /// Adds a lasting grant with a family that begins with the token 0. The grant lasts ten days, and a token five.
    @discardableResult
    private static func begin(_ store: Subject, key: String? = nil) async throws -> StandingGrant {
        var sample = SampleSignIn("r", secret: Self.bytes(1), account: "a", client: "c", at: Self.start)
        sample.grant = GrantRecord(
            id: "grant", client: "c", subject: "c-a", authentication: sample.grant.authentication,
            session: sample.session.id, isLasting: true, scope: "openid", expiresAt: Self.start + .seconds(360))
        try await sample.keep(in: store)
        let isThere = try await store.beginFamily(Self.family("grant", key: key), at: Self.start)
        try expect(isThere, "the grant is there")
        let grant = GrantRecord(
            id: "grant", client: "c", subject: "c-a", authentication: sample.grant.authentication,
            session: sample.session.id, isLasting: true, scope: "openid", keyThumbprint: key,
            expiresAt: Self.start + Self.day * 10)
        return StandingGrant(grant: grant, authentication: sample.session.authentication, isAccountLocked: false)
    }

    private static func family(_ grant: String, key: String? = nil) -> RefreshFamilyStart {
        RefreshFamilyStart(
            grant: grant, head: Self.bytes(0), headEndsAt: Self.start + Self.day * 5, keyThumbprint: key,
            until: Self.start + Self.day * 10, most: 9, displaced: Self.event)
    }

    private static func step(_ number: Int) -> [UInt8] { Array(Self.bytes(1000 + number).prefix(16)) }

    /// Presents a token. `successor` is the number of the next token; `nil` if the client's token stays the same.
    private static func refresh(
        _ store: Subject, _ presented: Int, to successor: Int?, isBound: Bool = true, after time: Duration = .zero,
        judge: @escaping @Sendable (StandingGrant) throws -> Void = { _ in }
    ) async throws -> RefreshOutcome {
        let exchange = RefreshExchange(
            grant: "grant", presented: Self.bytes(presented),
            successor: successor.map { RefreshExchange.Successor(digest: Self.bytes($0), step: Self.step($0)) },
            isBound: isBound, parentLifetime: .seconds(600), successorEndsAt: Self.start + time + Self.day * 5,
            reuse: Self.event)
        return try await store.refresh(exchange, at: Self.start + time, judge: judge)
    }

    /// Returns the outcome of a token's use. The client's next token ends five days after `time`.
    private static func renewed(
        _ standing: StandingGrant, by token: Renewal.Token = .successor, after time: Duration = .zero
    ) -> RefreshOutcome {
        .renewed(Renewal(standing, by: token, until: Self.start + time + Self.day * 5))
    }

    /// Returns the outcome of presenting a token again. The token's successor has that number and was given at the
    /// beginning.
    private static func again(_ standing: StandingGrant, _ successor: Int) -> RefreshOutcome {
        Self.renewed(standing, by: .successorBefore(step: Self.step(successor)))
    }

    private static func trail(_ store: Subject) async throws -> [String?] {
        try await store.auditEntries(after: 0, limit: 100).map(\.event).filter { $0.kind == Self.event.kind }
            .map(\.accountID)
    }

    private static let chains: [ConformanceCheck<Subject>] = [
        ConformanceCheck("each token gives the next, with the grant and how its person signed in") { store in
            let standing = try await Self.begin(store)
            for number in 0..<5 {
                let time = Duration.seconds(60 * number)
                let outcome = try await Self.refresh(store, number, to: number + 1, after: time)
                try expect(outcome == Self.renewed(standing, after: time), "the whole grant, not \(outcome)")
            }
        },
        ConformanceCheck("a bound token gives the same successor until that is used, a day later too") { store in
            let standing = try await Self.begin(store)
            try expect(try await Self.refresh(store, 0, to: 1) == Self.renewed(standing), "used")
            for days in 1...2 {
                let outcome = try await Self.refresh(store, 0, to: 9, after: Self.day * days)
                try expect(outcome == Self.again(standing, 1), "the answer was lost, and nothing is prolonged")
            }
            let later = Self.day * 2
            try expect(
                try await Self.refresh(store, 1, to: 2, after: later) == Self.renewed(standing, after: later),
                "the child is good")
            // The last repeat may have been doubled, however long ago its token was first used.
            try expect(try await Self.refresh(store, 0, to: 5, after: later + .seconds(59)) == .late, "a late request")
            let past = later + .seconds(60)
            try expect(try await Self.refresh(store, 0, to: 5, after: past) == .reused, "its parent is past")
            try expect(try await Self.refresh(store, 2, to: 6, after: past) == .unknown, "all of it has ended")
        },
        ConformanceCheck("a repeat moves neither the end of the successor nor the first use") { store in
            let standing = try await Self.begin(store)
            _ = try await Self.refresh(store, 0, to: 1, isBound: false)
            let later = Self.day * 4
            try expect(try await Self.refresh(store, 0, to: 9, after: later) == Self.again(standing, 1), "bound")
            let end = Self.day * 5
            try expect(try await Self.refresh(store, 1, to: 2, after: end) == .unknown, "the successor has ended")
        },
        ConformanceCheck("a token that is bound to a key is judged by it, and gives the same successor a day later") {
            store in
            let standing = try await Self.begin(store, key: "thumbprint")
            try expect(standing.grant.keyThumbprint == "thumbprint", "the sample")
            let expected = [Self.renewed(standing), Self.again(standing, 1)]
            for (number, time) in [Duration.zero, Self.day].enumerated() {
                let outcome = try await Self.refresh(store, 0, to: number + 1, isBound: false, after: time) { judged in
                    guard judged == standing else { throw StoreError(.corrupt, "another grant is judged") }
                }
                try expect(outcome == expected[number], "after \(time)")
            }
        },
        ConformanceCheck("an unbound token gives the same successor for its time after the first use") { store in
            let standing = try await Self.begin(store)
            try expect(try await Self.refresh(store, 0, to: 1, isBound: false) == Self.renewed(standing), "used")
            for seconds in [0, 30, 599] {
                let outcome = try await Self.refresh(store, 0, to: 9, isBound: false, after: .seconds(seconds))
                try expect(outcome == Self.again(standing, 1), "after \(seconds) seconds")
            }
            // The repeats have not prolonged the time.
            let late = try await Self.refresh(store, 0, to: 4, isBound: false, after: .seconds(600))
            try expect(late == .reused, "not after its time")
            try expect(try await Self.trail(store) == ["a"], "told in the trail")
        },
        ConformanceCheck("the token before both is refused without consequences for a minute, and ends the family then")
        {
            store in
            let standing = try await Self.begin(store)
            _ = try await Self.refresh(store, 0, to: 1)
            _ = try await Self.refresh(store, 1, to: 2, after: .seconds(1))
            for seconds in [1, 30, 60] {
                try expect(
                    try await Self.refresh(store, 0, to: 9, after: .seconds(seconds)) == .late, "\(seconds) seconds")
            }
            try expect(try await Self.trail(store).isEmpty, "nothing in the trail")
            let again = Renewal.Token.successorBefore(step: Self.step(2))
            try expect(
                try await Self.refresh(store, 1, to: 9, after: .seconds(59))
                    == Self.renewed(standing, by: again, after: .seconds(1)), "the others are as they were")
            try expect(try await Self.refresh(store, 0, to: 9, after: .seconds(61)) == .reused, "after a minute")
            try expect(try await store.grant("grant", token: nil, at: Self.start) == nil, "the grant has ended")
            try expect(try await Self.trail(store) == ["a"], "once in the trail")
        },
        ConformanceCheck("while the token before both is remembered, the newest one is handed out again") { store in
            let standing = try await Self.begin(store)
            _ = try await Self.refresh(store, 0, to: 1)
            _ = try await Self.refresh(store, 1, to: 2, after: .seconds(1))
            let soon = Duration.seconds(60)
            try expect(
                try await Self.refresh(store, 2, to: 3, after: soon)
                    == Self.renewed(standing, by: .presented, after: soon), "the same one, for longer")
            try expect(try await Self.refresh(store, 0, to: 9, after: soon) == .late, "and no token was forgotten")
            let later = Duration.seconds(61)
            try expect(
                try await Self.refresh(store, 2, to: 3, after: later) == Self.renewed(standing, after: later),
                "the next one")
        },
        ConformanceCheck("a token that stays the same stays so, and its use prolongs it") { store in
            let standing = try await Self.begin(store)
            for days in 1...6 {
                let time = Self.day * days
                try expect(
                    try await Self.refresh(store, 0, to: nil, after: time)
                        == Self.renewed(standing, by: .presented, after: time), "day \(days)")
            }
        },
        ConformanceCheck("of 50 at once with one token all get the same child") { store in
            let standing = try await Self.begin(store)
            let outcomes = try await withThrowingTaskGroup(of: RefreshOutcome.self) { group in
                for number in 1...50 { group.addTask { try await Self.refresh(store, 0, to: number) } }
                return try await group.reduce(into: [RefreshOutcome]()) { $0.append($1) }
            }
            try expect(outcomes.count { $0 == Self.renewed(standing) } == 1, "one is the first")
            let others = Set(
                outcomes.compactMap { outcome -> [UInt8]? in
                    guard case .renewed(let renewal) = outcome, case .successorBefore(let step) = renewal.token else {
                        return nil
                    }
                    return step
                })
            try expect(others.count == 1, "the others are given what the first was given")
            guard let child = (1...50).first(where: { Self.step($0) == others.first }) else {
                throw ConformanceFailure(description: "a step that nobody brought")
            }
            let time = Duration.seconds(1)
            try expect(
                try await Self.refresh(store, child, to: 99, after: time) == Self.renewed(standing, after: time),
                "the child is good")
        },
        ConformanceCheck("what is refused changes nothing") { store in
            let standing = try await Self.begin(store)
            _ = try await Self.refresh(store, 0, to: 1)
            for presented in [0, 1, 7] {
                try await expectError(StoreError(.conflict, "")) {
                    _ = try await Self.refresh(store, presented, to: 9) { _ in throw StoreError(.conflict, "refused") }
                }
            }
            try expect(try await Self.refresh(store, 0, to: 2) == Self.again(standing, 1), "the parent is good")
            try expect(try await Self.refresh(store, 1, to: 3) == Self.renewed(standing), "and the head")
            try expect(try await Self.trail(store).isEmpty, "nothing in the trail")
        },
        ConformanceCheck("a token that is older than the three that are known ends the family") { store in
            let standing = try await Self.begin(store)
            for number in 0..<3 {
                _ = try await Self.refresh(store, number, to: number + 1, after: .seconds(60 * number))
            }
            let time = Duration.seconds(180)
            try expect(
                try await Self.refresh(store, 1, to: 9, after: .seconds(179)) == .late, "the one before both")
            try expect(
                try await Self.refresh(store, 3, to: 4, after: time) == Self.renewed(standing, after: time), "the head")
            try expect(try await Self.refresh(store, 0, to: 9, after: time) == .reused, "older")
            try expect(try await Self.refresh(store, 4, to: 5, after: time) == .unknown, "the family has ended")
        },
    ]

    private static let ends: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a token that is not used ends, and the grant has an end of its own") { store in
            let standing = try await Self.begin(store)
            let almost = Self.day * 5 - .seconds(1)
            try expect(
                try await Self.refresh(store, 0, to: 1, after: almost) == Self.renewed(standing, after: almost),
                "the last moment")
            try expect(try await Self.refresh(store, 1, to: 2, after: almost + Self.day * 5) == .unknown, "too late")
        },
        ConformanceCheck("no use prolongs the grant") { store in
            let standing = try await Self.begin(store)
            for number in 0..<9 {
                let time = Self.day * (number + 1)
                let outcome = try await Self.refresh(store, number, to: number + 1, after: time)
                try expect(outcome == Self.renewed(standing, after: time), "day \(number + 1)")
            }
            try expect(try await Self.refresh(store, 9, to: 10, after: Self.day * 10) == .unknown, "its end")
        },
        ConformanceCheck("a lasting grant survives a sign-out and a sweep, and no person who takes it back") { store in
            let standing = try await Self.begin(store)
            try expect(try await store.endSession("session-r", audit: Self.event), "signed out")
            let time = Duration.seconds(4000)
            let later = Self.start + time
            while try await store.sweepAuthorizations(at: later, idleSince: later, limit: 10) > 0 {}
            try expect(
                try await Self.refresh(store, 0, to: 1, after: time) == Self.renewed(standing, after: time), "goes on")
        },
        ConformanceCheck("with its last grant an authentication goes that no session stands on") { store in
            try await Self.begin(store)
            try expect(try await store.endSession("session-r", audit: Self.event), "signed out")
            try expect(try await store.deleteGrant("grant", client: "c", audit: Self.event), "given up")
            let swept = try await store.sweepAuthorizations(
                at: Self.start, idleSince: Self.start - Self.day, limit: 10)
            try expect(swept == 1, "the authentication, not \(swept)")
        },
        ConformanceCheck("with its session an authentication goes whose lasting grant was given up before") { store in
            try await Self.begin(store)
            try expect(try await store.deleteGrant("grant", client: "c", audit: Self.event), "given up")
            let swept = try await store.sweepAuthorizations(
                at: Self.start + .seconds(3600), idleSince: Self.start - Self.day, limit: 10)
            try expect(swept == 2, "session and authentication, not \(swept)")
        },
        ConformanceCheck("whoever takes a session back takes its lasting grants back") { store in
            try await Self.begin(store)
            try expect(try await store.endSession("session-r", account: "a", audit: Self.event), "taken back")
            try expect(try await Self.refresh(store, 0, to: 1) == .unknown, "ended")
        },
        ConformanceCheck("a family begins once, and says so of its first token alone") { store in
            try await Self.begin(store)
            try expect(try await store.beginFamily(Self.family("grant"), at: Self.start), "the same again")
            guard case .renewed = try await Self.refresh(store, 0, to: 1) else {
                throw ConformanceFailure(description: "the first token is not good")
            }
            let isThere = try await store.beginFamily(Self.family("grant"), at: Self.start)
            try expect(!isThere, "it has gone on")
        },
        ConformanceCheck("a family begins for a grant that is there, and for no other") { store in
            let isThere = try await store.beginFamily(Self.family("none"), at: Self.start)
            try expect(!isThere, "no grant")
            try expect(try await Self.refresh(store, 0, to: 1) == .unknown, "no family")
        },
    ]

    private static let revocations: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a client deletes its own grant, once, and no other's") { store in
            try await Self.begin(store)
            try expect(try await store.deleteGrant("grant", client: "d", audit: Self.event) == false, "another's")
            try expect(try await store.grant("grant", token: nil, at: Self.start) != nil, "stands")
            try expect(try await store.deleteGrant("grant", client: "c", audit: Self.event), "its own")
            try expect(try await store.deleteGrant("grant", client: "c", audit: Self.event) == false, "once")
            try expect(try await Self.refresh(store, 0, to: 1) == .unknown, "with its family")
            try expect(try await Self.trail(store).count == 1, "one event")
        },
        ConformanceCheck("with its last grant a session ends that no browser has, and none that a browser shows") {
            store in
            for (name, hasBrowser) in [("app", false), ("browser", true)] {
                var sample = SampleSignIn(
                    name, secret: Self.bytes(hasBrowser ? 7 : 8), account: "a", client: "c", at: Self.start)
                let session = sample.session
                sample.session = SessionRecord(
                    id: session.id, cookieDigest: session.cookieDigest, authentications: session.authentications,
                    usedAt: session.usedAt, expiresAt: session.expiresAt, hasBrowser: hasBrowser)
                try await sample.keep(in: store)
                try expect(try await store.session(cookieDigest: session.cookieDigest) == sample.session, "as it began")
                let (other, code) = SampleSignIn.grant(
                    "\(name)-2", of: session, secret: Self.bytes(hasBrowser ? 9 : 10), client: "c", at: Self.start)
                try await store.addGrant(other, code: code, usedAt: Self.start, audit: Self.event)
                _ = try await store.deleteGrant(other.id, client: "c", audit: Self.event)
                try expect(try await store.session(cookieDigest: session.cookieDigest) != nil, "another is left")
                _ = try await store.deleteGrant(sample.grant.id, client: "c", audit: Self.event)
                let isThere = try await store.session(cookieDigest: session.cookieDigest) != nil
                try expect(isThere == hasBrowser, "the last one is gone")
            }
        },
        ConformanceCheck("a token is taken back by itself, until it would have ended") { store in
            let standing = try await Self.begin(store)
            let end = Self.start + .seconds(300)
            try await store.revokeToken("one", ofGrant: "another", until: end)
            try expect(try await store.grant("grant", token: "one", at: Self.start) == standing, "of no grant")
            try expect(try await !store.isRevoked(tokens: ["one"]), "and nothing is kept of it")
            for _ in 0..<2 { try await store.revokeToken("one", ofGrant: "grant", until: end) }
            try expect(try await store.grant("grant", token: "one", at: Self.start) == nil, "taken back")
            try expect(try await store.grant("grant", token: "two", at: Self.start) == standing, "the others stand")
            try expect(try await store.grant("grant", tokens: [], at: Self.start) == standing, "the whole of it")
            try expect(try await store.grant("grant", tokens: ["two"], at: Self.start) == standing, "another's")
            try expect(try await store.grant("grant", tokens: ["two", "one"], at: Self.start) == nil, "one of them")
            try expect(try await store.grant("other", tokens: [], at: Self.start) == nil, "no grant")
            try expect(
                try await store.grant("grant", tokens: [], at: standing.grant.expiresAt) == nil, "it has ended")
            let swept = try await store.sweepAuthorizations(at: end, idleSince: Self.start - Self.day, limit: 10)
            try expect(swept == 1, "its name is forgotten when it has ended, not \(swept)")
            try expect(try await !store.isRevoked(tokens: ["one"]), "forgotten")
        },
        ConformanceCheck("a token that rests on no grant is taken back") { store in
            try await store.revokeToken("own", ofGrant: nil, until: Self.start + .seconds(300))
            try expect(try await store.isRevoked(tokens: ["own"]), "taken back")
            try expect(try await store.isRevoked(tokens: ["other", "own"]), "one of them")
            try expect(try await !store.isRevoked(tokens: ["other"]), "another stands")
            try expect(try await !store.isRevoked(tokens: []), "none is none")
        },
    ]
}

public import Store
import _Primitives

/// What every store keeps of refresh tokens and of tokens that were taken back: the duties of ``RefreshStore``.
public enum RefreshConformance {
    /// What the rules are about.
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

    /// A lasting grant whose family begins with the token 0. It lasts ten days, and a token five.
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
        return StandingGrant(grant: grant, authentication: sample.session.authentication)
    }

    private static func family(_ grant: String, key: String? = nil) -> RefreshFamilyStart {
        RefreshFamilyStart(
            grant: grant, head: Self.bytes(0), headEndsAt: Self.start + Self.day * 5, keyThumbprint: key,
            until: Self.start + Self.day * 10, most: 9, displaced: Self.event)
    }

    private static func refresh(
        _ store: Subject, _ presented: Int, to successor: Int, isBound: Bool = true, after time: Duration = .zero,
        judge: @escaping @Sendable (StandingGrant) throws -> Void = { _ in }
    ) async throws -> RefreshOutcome {
        let exchange = RefreshExchange(
            grant: "grant", presented: Self.bytes(presented), successor: Self.bytes(successor), isBound: isBound,
            parentLifetime: .seconds(60), successorEndsAt: Self.start + time + Self.day * 5, reuse: Self.event)
        return try await store.refresh(exchange, at: Self.start + time, judge: judge)
    }

    private static func trail(_ store: Subject) async throws -> [String?] {
        try await store.auditEntries(after: 0, limit: 100).map(\.event).filter { $0.kind == Self.event.kind }
            .map(\.accountID)
    }

    private static let chains: [ConformanceCheck<Subject>] = [
        ConformanceCheck("each token gives the next, with the grant and how its person signed in") { store in
            let standing = try await Self.begin(store)
            for number in 0..<5 {
                let outcome = try await Self.refresh(store, number, to: number + 1)
                try expect(outcome == .renewed(standing), "the whole grant, not \(outcome)")
            }
        },
        ConformanceCheck("a bound token is taken again until its child is used, a day later too") { store in
            let renewed = RefreshOutcome.renewed(try await Self.begin(store))
            try expect(try await Self.refresh(store, 0, to: 1) == renewed, "used")
            try expect(try await Self.refresh(store, 0, to: 2, after: Self.day) == renewed, "the answer was lost")
            try expect(try await Self.refresh(store, 0, to: 3, after: Self.day * 2) == renewed, "and again")
            try expect(
                try await Self.refresh(store, 3, to: 4, after: Self.day * 2) == renewed, "the last child is good")
            try expect(try await Self.refresh(store, 0, to: 5, after: Self.day * 2) == .reused, "its parent is past")
            try expect(try await Self.refresh(store, 4, to: 6, after: Self.day * 2) == .unknown, "all of it has ended")
        },
        ConformanceCheck("a token that is bound to a key is judged by it, and taken again a day later") { store in
            let standing = try await Self.begin(store, key: "thumbprint")
            try expect(standing.grant.keyThumbprint == "thumbprint", "the sample")
            let renewed = RefreshOutcome.renewed(standing)
            for (number, time) in [(1, Duration.zero), (2, Self.day)] {
                let outcome = try await Self.refresh(store, 0, to: number, isBound: false, after: time) { judged in
                    guard judged == standing else { throw StoreError(.corrupt, "another grant is judged") }
                }
                try expect(outcome == renewed, "after \(time)")
            }
        },
        ConformanceCheck("an unbound token is taken again for a minute after its first use") { store in
            let renewed = RefreshOutcome.renewed(try await Self.begin(store))
            for (number, seconds) in [(1, 0), (2, 30), (3, 59)] {
                let outcome = try await Self.refresh(store, 0, to: number, isBound: false, after: .seconds(seconds))
                try expect(outcome == renewed, "after \(seconds) seconds")
            }
            // The repeats have not prolonged it.
            let late = try await Self.refresh(store, 0, to: 4, isBound: false, after: .seconds(60))
            try expect(late == .reused, "not after a minute")
            try expect(try await Self.trail(store) == ["a"], "told in the trail")
        },
        ConformanceCheck("a child that a repeat made void ends the family, and so does an older ancestor") { store in
            try await Self.begin(store)
            _ = try await Self.refresh(store, 0, to: 1)
            _ = try await Self.refresh(store, 0, to: 2)
            try expect(try await Self.refresh(store, 1, to: 3) == .reused, "void")
            try expect(try await Self.refresh(store, 2, to: 3) == .unknown, "its sister has ended with it")
            try expect(try await store.grant("grant", token: nil, at: Self.start) == nil, "and the grant")
            try expect(try await Self.trail(store) == ["a"], "once in the trail")
        },
        ConformanceCheck("of 50 at once with one token each gets a child, and the last one's alone is good") { store in
            let renewed = RefreshOutcome.renewed(try await Self.begin(store))
            let outcomes = try await withThrowingTaskGroup(of: RefreshOutcome.self) { group in
                for number in 1...50 { group.addTask { try await Self.refresh(store, 0, to: number) } }
                return try await group.reduce(into: [RefreshOutcome]()) { $0.append($1) }
            }
            try expect(outcomes.allSatisfy { $0 == renewed }, "the same grant for all")
            // Each made the child before it void, so one is the head; and whatever is not ends the family.
            let last = try await withThrowingTaskGroup(of: RefreshOutcome.self) { group in
                for number in 1...50 { group.addTask { try await Self.refresh(store, number, to: 100 + number) } }
                return try await group.reduce(into: [RefreshOutcome]()) { $0.append($1) }
            }
            try expect(last.count { $0 == .reused } == 1, "one ends the family")
            try expect(last.count { $0 == renewed } <= 1, "one was the head, if it came first")
        },
        ConformanceCheck("what is refused changes nothing") { store in
            let renewed = RefreshOutcome.renewed(try await Self.begin(store))
            _ = try await Self.refresh(store, 0, to: 1)
            for presented in [0, 1, 7] {
                try await expectError(StoreError(.conflict, "")) {
                    _ = try await Self.refresh(store, presented, to: 9) { _ in throw StoreError(.conflict, "refused") }
                }
            }
            try expect(try await Self.refresh(store, 0, to: 2) == renewed, "the parent is good")
            try expect(try await Self.refresh(store, 2, to: 3) == renewed, "and the head")
            try expect(try await Self.trail(store).isEmpty, "nothing in the trail")
        },
        ConformanceCheck("a thief and an owner who both go on end the family, bound or not, whoever is first") {
            store in
            try await Self.begin(store)
            // The owner's 1 was stolen; both use it, and then what they were given.
            _ = try await Self.refresh(store, 0, to: 1, isBound: false)
            _ = try await Self.refresh(store, 1, to: 2, isBound: false)
            _ = try await Self.refresh(store, 1, to: 3, isBound: false)
            _ = try await Self.refresh(store, 3, to: 4, isBound: false)
            try expect(try await Self.refresh(store, 2, to: 5, isBound: false) == .reused, "the other's")
        },
    ]

    private static let ends: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a token that is not used ends, and the grant has an end of its own") { store in
            let renewed = RefreshOutcome.renewed(try await Self.begin(store))
            let almost = Self.day * 5 - .seconds(1)
            try expect(try await Self.refresh(store, 0, to: 1, after: almost) == renewed, "the last moment")
            try expect(try await Self.refresh(store, 1, to: 2, after: almost + Self.day * 5) == .unknown, "too late")
        },
        ConformanceCheck("no use prolongs the grant") { store in
            let renewed = RefreshOutcome.renewed(try await Self.begin(store))
            for number in 0..<9 {
                let outcome = try await Self.refresh(store, number, to: number + 1, after: Self.day * (number + 1))
                try expect(outcome == renewed, "day \(number + 1)")
            }
            try expect(try await Self.refresh(store, 9, to: 10, after: Self.day * 10) == .unknown, "its end")
        },
        ConformanceCheck("a lasting grant survives a sign-out and a sweep, and no person who takes it back") { store in
            let renewed = RefreshOutcome.renewed(try await Self.begin(store))
            try expect(try await store.endSession("session-r", audit: Self.event), "signed out")
            let later = Self.start + .seconds(4000)
            while try await store.sweepAuthorizations(at: later, idleSince: later, limit: 10) > 0 {}
            try expect(try await Self.refresh(store, 0, to: 1, after: .seconds(4000)) == renewed, "goes on")
        },
        ConformanceCheck("with its last grant an authentication goes that no session stands on") { store in
            try await Self.begin(store)
            try expect(try await store.endSession("session-r", audit: Self.event), "signed out")
            try expect(try await store.deleteGrant("grant", client: "c", audit: Self.event), "given up")
            let swept = try await store.sweepAuthorizations(
                at: Self.start, idleSince: Self.start - Self.day, limit: 10)
            try expect(swept == 1, "the authentication, not \(swept)")
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
        ConformanceCheck("a token is taken back by itself, until it would have ended") { store in
            let standing = try await Self.begin(store)
            let end = Self.start + .seconds(300)
            try await store.revokeToken("one", ofGrant: "another", until: end)
            try expect(try await store.grant("grant", token: "one", at: Self.start) == standing, "of no grant")
            try expect(try await !store.isRevoked(tokens: ["one"]), "and nothing is kept of it")
            for _ in 0..<2 { try await store.revokeToken("one", ofGrant: "grant", until: end) }
            try expect(try await store.grant("grant", token: "one", at: Self.start) == nil, "taken back")
            try expect(try await store.grant("grant", token: "two", at: Self.start) == standing, "the others stand")
            try expect(try await store.grant("grant", tokens: [], at: Self.start) == standing.grant, "the grant alone")
            try expect(try await store.grant("grant", tokens: ["two"], at: Self.start) == standing.grant, "another's")
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

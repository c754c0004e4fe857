public import Records
import _Primitives

/// The rules for every ``GrantListStore``, and for ``RefreshStore/beginFamily(_:at:)``: the lasting grants that people
/// and operators see and end, and the limit on their number.
public enum GrantListConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & AuditStore & AuthorizationStore & ClientStore & GrantListStore
        & RefreshStore & SessionStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] =
        Self.lists + Self.ends + Self.browserless + Self.bounds + Self.signIns

    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let day: Duration = .seconds(24 * 60 * 60)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)
    private static let displaced = AuditEvent(AuditEvent.Kind(rawValue: "displaced"), at: start, actor: "c")

    private static func bytes(_ number: Int) -> [UInt8] {
        (0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4))) }
    }

    private static func addClient(_ id: String, _ store: Subject) async throws {
        try await store.addClient(
            ClientRecord(
                id: id, name: "The \(id)", redirectURIs: ["https://\(id).example/"], postLogoutRedirectURIs: [],
                secretDigest: Self.bytes(1), createdAt: Self.start, settings: ClientSettings()), limit: 10,
            audit: Self.event)
    }

    /// Adds a sign-in with the grant `grant-<number>`. The grant lasts ten days, and its token five. Returns `false` if
    /// the grant does not last, because `most` is 0.
    @discardableResult private static func begin(
        _ number: Int, _ store: Subject, account: String = "a", client: String = "c", after time: Duration = .zero,
        most: Int = 99
    ) async throws -> Bool {
        let moment = Self.start + time
        var sample = SampleSignIn(
            "\(number)", secret: Self.bytes(number), account: account, client: client, at: moment,
            browser: "Firefox \(number)", address: "192.0.2.\(number)")
        sample.grant = GrantRecord(
            id: "grant-\(number)", client: client, subject: "\(client)-\(account)",
            authentication: sample.grant.authentication, session: sample.session.id, isLasting: true,
            scope: "openid offline_access", expiresAt: moment + .seconds(360))
        try await sample.keep(in: store)
        let isThere = try await store.beginFamily(
            RefreshFamilyStart(
                grant: "grant-\(number)", head: Self.bytes(1000 * number), headEndsAt: moment + Self.day * 5,
                keyThumbprint: nil, until: moment + Self.day * 10, most: most, displaced: Self.displaced), at: moment)
        try expect(isThere == (most > 0), "the grant is there")
        return isThere
    }

    private static func refresh(_ number: Int, _ store: Subject, to successor: Int = 1, after time: Duration)
        async throws -> RefreshOutcome
    {
        try await store.refresh(
            RefreshExchange(
                grant: "grant-\(number)", presented: Self.bytes(1000 * number + successor - 1),
                successor: RefreshExchange.Successor(
                    digest: Self.bytes(1000 * number + successor), step: Self.bytes(successor)), isBound: true,
                parentLifetime: .seconds(60),
                successorEndsAt: Self.start + time + Self.day * 5, reuse: Self.event), at: Self.start + time
        ) { _ in }
    }

    private static func session(_ number: Int) -> GivingSession {
        GivingSession(id: "session-\(number)", browser: "Firefox \(number)", address: "192.0.2.\(number)")
    }

    private static func list(
        _ store: Subject, account: String = "a", after time: Duration = .zero, limit: Int = 99
    ) async throws -> [GrantListing] {
        try await store.lastingGrants(account: account, at: Self.start + time, limit: limit)
    }

    private static func trail(_ store: Subject, _ kind: AuditEvent.Kind) async throws -> [AuditEvent] {
        try await store.auditEntries(after: 0, limit: 999).map(\.event).filter { $0.kind == kind }
    }

    private static let lists: [ConformanceCheck<Subject>] = [
        ConformanceCheck("an account's lasting grants are listed whole, the newest first, and no other account's") {
            store in
            for id in ["c", "d"] { try await Self.addClient(id, store) }
            try await Self.begin(1, store)
            try await Self.begin(2, store, client: "d", after: .seconds(5))
            try await Self.begin(3, store, account: "b")
            // A grant that ends with its session is no lasting grant.
            try await SampleSignIn("4", secret: Self.bytes(4), account: "a", client: "c", at: Self.start).keep(
                in: store)
            _ = try await Self.refresh(1, store, after: Self.day)
            let expected = [
                GrantListing(
                    kind: .grant, id: "grant-2", client: "d", clientName: "The d", scope: "openid offline_access",
                    session: Self.session(2), since: Self.start + .seconds(5), usedAt: nil,
                    expiresAt: Self.start + .seconds(5) + Self.day * 5),
                GrantListing(
                    kind: .grant, id: "grant-1", client: "c", clientName: "The c", scope: "openid offline_access",
                    session: Self.session(1), since: Self.start,
                    usedAt: Self.start + Self.day, expiresAt: Self.start + Self.day * 6),
            ]
            let listed = try await Self.list(store, after: Self.day)
            try expect(listed == expected, "both, not \(listed)")
            try expect(try await Self.list(store, limit: 1).map(\.id) == ["grant-2"], "the limit")
            try expect(try await Self.list(store, account: "z").isEmpty, "nobody's")
        },
        ConformanceCheck("the end of all sessions ends what lasts, also that of a session that ended before") { store in
            try await Self.addClient("c", store)
            for number in [1, 2] { try await Self.begin(number, store) }
            try await Self.begin(3, store, account: "b")
            for number in [1, 2] {
                try expect(try await store.endSession("session-\(number)", audit: Self.event), "signed out")
            }
            try expect(try await Self.list(store).count == 2, "both go on")
            let before = try await Self.trail(store, Self.event.kind).count
            try expect(try await store.endSessions(account: "a", audit: Self.event) == 0, "no session is left")
            try expect(try await Self.list(store).isEmpty, "nothing lasts")
            try expect(try await Self.trail(store, Self.event.kind).count == before + 1, "one event")
            try expect(try await Self.list(store, account: "b").map(\.id) == ["grant-3"], "nobody else's")
        },
        ConformanceCheck("a grant is listed when its session is gone, and not when its token has ended") { store in
            try await Self.addClient("c", store)
            try await Self.begin(1, store)
            try expect(try await store.endSession("session-1", audit: Self.event), "signed out")
            let listed = try await Self.list(store, after: Self.day)
            try expect(listed.map(\.id) == ["grant-1"], "goes on")
            try expect(listed.map(\.session) == [Self.session(1)], "the session that gave it is told")
            try expect(try await Self.list(store, after: Self.day * 5).isEmpty, "not used for too long")
            for (successor, days) in [(1, 4), (2, 8)] {
                _ = try await Self.refresh(1, store, to: successor, after: Self.day * days)
            }
            let last = try await Self.list(store, after: Self.day * 9)
            try expect(last.map(\.expiresAt) == [Self.start + Self.day * 10], "the grant's own end")
            try expect(try await Self.list(store, after: Self.day * 10).isEmpty, "its end")
        },
    ]

    private static let ends: [ConformanceCheck<Subject>] = [
        ConformanceCheck("one grant ends by its identifier, of its own account, once") { store in
            try await Self.addClient("c", store)
            for number in [1, 2] { try await Self.begin(number, store) }
            for account in ["b", ""] {
                let count = try await store.endGrants(.grant("grant-1"), account: account, audit: Self.event)
                try expect(count == 0, "another's")
            }
            let before = try await Self.trail(store, Self.event.kind).count
            try expect(try await store.endGrants(.grant("grant-1"), account: "a", audit: Self.event) == 1, "ended")
            try expect(try await store.endGrants(.grant("grant-1"), account: "a", audit: Self.event) == 0, "once")
            try expect(try await Self.trail(store, Self.event.kind).count == before + 1, "one event")
            try expect(try await Self.refresh(1, store, after: .zero) == .unknown, "with its family")
            try expect(try await Self.list(store).map(\.id) == ["grant-2"], "the other stands")
        },
        ConformanceCheck("all of a client end, and all of an account, those of sessions too") { store in
            for id in ["c", "d"] { try await Self.addClient(id, store) }
            try await Self.begin(1, store)
            try await Self.begin(2, store, client: "d")
            try await Self.begin(3, store, account: "b")
            try await SampleSignIn("4", secret: Self.bytes(4), account: "a", client: "c", at: Self.start).keep(
                in: store)
            try expect(try await store.endGrants(.client("c"), account: "a", audit: Self.event) == 2, "both of c")
            try expect(try await store.grant("grant-4", token: nil, at: Self.start) == nil, "the session's too")
            try expect(try await store.session(cookieDigest: Self.bytes(4)) != nil, "the session goes on")
            try expect(try await Self.list(store).map(\.id) == ["grant-2"], "d's stands")
            try expect(try await store.endGrants(.all, account: "a", audit: Self.event) == 1, "what was left")
            try expect(try await Self.list(store).isEmpty, "nothing")
            try expect(try await Self.list(store, account: "b").map(\.id) == ["grant-3"], "another person's stands")
        },
    ]

    private static let browserless: [ConformanceCheck<Subject>] = [
        ConformanceCheck("with its last grant a session ends that no browser has, whichever way the person ends it") {
            store in
            try await Self.addClient("c", store)
            let selections: [GrantSelection] = [.grant("grant-1"), .client("c"), .all, .grant("grant-4")]
            for (number, selection) in zip(1..., selections) {
                var sample = SampleSignIn(
                    "\(number)", secret: Self.bytes(number), account: "a", client: "c", at: Self.start)
                let session = sample.session
                let hasBrowser = number == 4
                sample.session = SessionRecord(
                    id: session.id, cookieDigest: session.cookieDigest, authentications: session.authentications,
                    usedAt: session.usedAt, expiresAt: session.expiresAt, hasBrowser: hasBrowser)
                try await sample.keep(in: store)
                let (other, code) = SampleSignIn.grant(
                    "\(number)-2", of: session, secret: Self.bytes(100 + number), client: "c", at: Self.start)
                try await store.addGrant(other, code: code, usedAt: Self.start, audit: Self.event)
                _ = try await store.endGrants(.grant(other.id), account: "a", audit: Self.event)
                try expect(try await store.session(cookieDigest: session.cookieDigest) != nil, "another is left")
                try expect(try await store.endGrants(selection, account: "a", audit: Self.event) == 1, "the last one")
                let isThere = try await store.session(cookieDigest: session.cookieDigest) != nil
                try expect(isThere == hasBrowser, "a browser's session alone goes on")
            }
        }
    ]

    private static let bounds: [ConformanceCheck<Subject>] = [
        ConformanceCheck("of too many of one client and person the oldest ends, and is told of") { store in
            for id in ["c", "d"] { try await Self.addClient(id, store) }
            try await Self.begin(8, store, client: "d")
            try await Self.begin(9, store, account: "b")
            for number in 1...3 {
                try await Self.begin(number, store, after: .seconds(number), most: 3)
            }
            try expect(try await Self.trail(store, Self.displaced.kind).isEmpty, "not one too many")
            // An ended grant makes room.
            _ = try await store.endGrants(.grant("grant-2"), account: "a", audit: Self.event)
            try await Self.begin(4, store, after: .seconds(4), most: 3)
            try expect(
                try await Self.list(store).map(\.id) == ["grant-4", "grant-3", "grant-1", "grant-8"], "three, and d's")
            try await Self.begin(5, store, after: .seconds(5), most: 3)
            try expect(
                try await Self.list(store).map(\.id) == ["grant-5", "grant-4", "grant-3", "grant-8"], "the oldest went")
            try expect(try await Self.list(store, account: "b").map(\.id) == ["grant-9"], "another person's stands")
            let events = try await Self.trail(store, Self.displaced.kind)
            try expect(events.map(\.detail) == ["grant-1"] && events.map(\.accountID) == ["a"], "one event")
            try await Self.begin(6, store, after: .seconds(6), most: 1)
            try expect(try await Self.list(store).map(\.id) == ["grant-6", "grant-8"], "a smaller limit")
        },
        ConformanceCheck("of a client that can have no lasting grants none lasts, and the others stay") { store in
            try await Self.addClient("c", store)
            try await Self.begin(1, store)
            let isThere = try await Self.begin(2, store, after: .seconds(1), most: 0)
            try expect(!isThere, "the second does not last")
            try expect(try await Self.list(store).map(\.id) == ["grant-1"], "the first lasts")
            try expect(try await Self.trail(store, Self.displaced.kind).isEmpty, "no grant has ended")
        },
        ConformanceCheck("of 50 that begin at once as many are left as there can be") { store in
            try await Self.addClient("c", store)
            try await withThrowingTaskGroup { group in
                for number in 1...50 { group.addTask { try await Self.begin(number, store, most: 5) } }
                try await group.waitForAll()
            }
            try expect(try await Self.list(store).count == 5, "five")
            try expect(try await Self.trail(store, Self.displaced.kind).count == 45, "each of the others was told of")
        },
    ]

    private static let signIns: [ConformanceCheck<Subject>] = [
        ConformanceCheck("who authenticated before a lock is not let in after it, whatever the method was") { store in
            let before = SampleSignIn("1", secret: Self.bytes(1), account: "a", client: "c", at: Self.start)
            try await before.addAccount(to: store)
            try await store.addRequest(before.request)
            for isLocked in [true, false] {
                let event = AuditEvent(Self.event.kind, at: Self.start)
                try expect(try await store.setAccountLocked(isLocked, id: "a", audit: event), "an account")
            }
            try await expectError(StoreError(.notFound, "")) {
                try await store.complete(before.completed, replacing: nil)
            }
            try expect(try await store.session(cookieDigest: Self.bytes(1)) == nil, "no session")
            try expect(try await store.request("request-1") != nil, "the request is the caller's to end")
            // The sample authenticates a second before its moment.
            try await SampleSignIn(
                "2", secret: Self.bytes(2), account: "a", client: "c", at: Self.start + .milliseconds(1001)
            ).keep(in: store)
            try expect(try await store.session(cookieDigest: Self.bytes(2)) != nil, "who authenticated after it is")
        },
        ConformanceCheck("an account that is gone, or never was, is not let in, also where no device is named") {
            store in
            let sample = SampleSignIn("1", secret: Self.bytes(1), account: "a", client: "c", at: Self.start)
            try await store.addRequest(sample.request)
            try await expectError(StoreError(.notFound, "")) {
                try await store.complete(sample.completed, replacing: nil)
            }
            try await sample.addAccount(to: store)
            try expect(try await store.deleteAccount(id: "a", audit: Self.event), "deleted")
            try await expectError(StoreError(.notFound, "")) {
                try await store.complete(sample.completed, replacing: nil)
            }
            try expect(try await store.session(cookieDigest: Self.bytes(1)) == nil, "no session")
        },
    ]
}

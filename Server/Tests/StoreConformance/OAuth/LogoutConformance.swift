public import Records
import Settings
import _Primitives

/// The rules for every ``OutboxStore``, for every step that ends a session, and for the step that ends a question to a
/// person: the messages that clients receive.
public enum LogoutConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & AuditStore & AuthorizationStore & BackchannelStore & CeremonyStore
        & ClientStore
        & OutboxStore & SessionStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] =
        Self.ends + Self.quiet + Self.turns
        + Self.answers + Self.statuses + Self.roomForStatements

    private static let start = Timestamp.start
    private static let lease = start + .seconds(60)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)

    private static func bytes(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func address(_ id: String) -> String { "https://\(id).example/logout" }

    /// Adds a client that wants to be notified.
    private static func addClient(_ id: String, _ store: Subject, wantsToBeTold: Bool = true) async throws {
        var settings = ClientSettings()
        if wantsToBeTold { settings.logout = ClientSettings.LogoutAddress(Self.address(id), needsSession: id == "c") }
        let client = ClientRecord(
            id: id, name: "The \(id)", redirectURIs: ["https://\(id).example/"], postLogoutRedirectURIs: [],
            secretDigest: Self.bytes(1), createdAt: Self.start, settings: settings)
        try await store.addClient(client, limit: 10, audit: Self.event)
        try expect(try await store.client(id) == client, "the address comes back")
    }

    /// Adds a session `session-<number>` of alice that has signed in to c and d.
    private static func signIn(
        _ number: UInt8, _ store: Subject, account: String = "account-alice", device: String? = nil,
        replacing cookie: [UInt8]? = nil
    ) async throws {
        let sample = SampleSignIn(
            "\(number)", secret: Self.bytes(number), account: account, client: "c", at: Self.start, device: device)
        try await sample.keep(in: store, replacing: cookie)
        let (grant, code) = SampleSignIn.grant(
            "\(number)-d", of: sample.session, secret: Self.bytes(number + 100), client: "d", at: Self.start)
        try await store.addGrant(grant, code: code, usedAt: Self.start, audit: Self.event)
    }

    private static func take(
        _ store: Subject, at moment: Timestamp = Self.start, lease: Timestamp = Self.lease, share: Int = 9,
        most: Int = 99, underWay: [ExactText: Int] = [:]
    ) async throws -> [OutboxMessage] {
        let shares = OutboxShares(most: most, share: share, underWay: underWay)
        return try await store.takeMessages(to: .client, at: moment, lease: lease, shares: shares)
    }

    private static func notified(_ number: Int, _ mode: BackchannelNotification.Mode?) -> BackchannelRequestRecord {
        BackchannelRequestRecord(
            id: "q\(number)", digest: Self.bytes(UInt8(number)), client: "c", scope: "openid", interval: .seconds(5),
            expiresAt: Self.start + .seconds(300), details: #"[{"type":"x"}]"#,
            notification: mode.map { BackchannelNotification(mode: $0, secret: "secret-\(number)", token: "t/~+") })
    }

    /// Asks the person that the client has named.
    private static func ask(_ request: BackchannelRequestRecord, _ store: Subject) async throws {
        let ceremony = CeremonyRecord(
            id: "ceremony-\(request.id)", kind: .authentication, clientID: "c", reference: request.id,
            accountID: "account-alice", createdAt: Self.start, expiresAt: request.expiresAt, detail: CeremonyDetail())
        try await store.createCeremony(ceremony, tokens: [], audit: nil)
        try await store.addBackchannelRequest(request, keptUntil: request.expiresAt + .seconds(60))
    }

    private static func change(
        _ request: String, to phase: CeremonyRecord.Phase, at moment: Timestamp, _ store: Subject
    ) async throws {
        _ = try await store.change(.reference(request)) { record in
            record.phase = phase
            record.changedAt = moment
            return CeremonyChange()
        }
    }

    private static let answers: [ConformanceCheck<Subject>] = [
        ConformanceCheck("who wants to be told what a person answers is, in the step that ends what they were asked") {
            store in
            try await Self.addClient("c", store)
            _ = try await store.changeClient("c") { client in
                client.settings.answers = ClientSettings.AnswerDelivery(.ping, at: "https://c.example/answers")
                return []
            }
            let requests = [Self.notified(1, .ping), Self.notified(2, .push), Self.notified(3, nil)]
            for request in requests {
                try await Self.ask(request, store)
                let kept = try await store.backchannelRequest(request.id, at: Self.start)
                try expect(kept == NotifiedBackchannelRequest(request: request, given: nil), "as it was added")
            }
            try await Self.change("q1", to: .claimed, at: Self.start, store)
            try expect(try await store.waitingMessages(to: .client).count == 0, "nobody has answered")
            let later = Self.start + .seconds(9)
            for request in requests {
                for _ in 0..<2 { try await Self.change(request.id, to: .ended, at: later, store) }
            }
            try expect(
                try await store.waitingMessages(to: .client) == WaitingMessages(count: 2, oldest: later), "once each")
            try expect(try await Self.take(store, at: later - .milliseconds(1)).isEmpty, "not before")
            let taken = try await Self.take(store, at: later)
            try expect(
                try taken.map { try ClientDelivery($0).content } == [.answer(request: "q1"), .answer(request: "q2")],
                "\(taken)")
            try expect(taken.allSatisfy { $0.createdAt == later && $0.attempt == 1 }, "since then")
            for delivery in taken { try await store.removeMessage(delivery, audit: nil) }
            try expect(try await store.waitingMessages(to: .client).count == 0, "told")
        },
        ConformanceCheck("a client is told of a question that ends with the device that had the question") { store in
            try await Self.addClient("c", store)
            _ = try await store.changeClient("c") { client in
                client.settings.answers = ClientSettings.AnswerDelivery(.ping, at: "https://c.example/answers")
                return []
            }
            try await enrol(store)
            for request in [Self.notified(1, .ping), Self.notified(2, .ping), Self.notified(3, nil)] {
                try await Self.ask(request, store)
            }
            for request in ["q1", "q3"] {
                _ = try await store.change(.reference(request)) { record in
                    record.phase = .claimed
                    record.deviceID = "device-phone-alice"
                    return CeremonyChange()
                }
            }
            try expect(try await store.deleteDevice(id: "device-phone-alice", audit: Self.event), "deleted")
            let taken = try await Self.take(store)
            try expect(
                try taken.map { try ClientDelivery($0).content } == [.answer(request: "q1")],
                "not of the open question, and once: \(taken)")
        },
    ]

    /// Keeps a ceremony of alice that a client's back end has dispatched.
    private static func dispatch(_ id: String, by client: String? = "c", _ store: Subject) async throws {
        let ceremony = CeremonyRecord(
            id: id, kind: .transaction, clientID: client, accountID: "account-alice", createdAt: Self.start,
            expiresAt: Self.start + .seconds(60), detail: CeremonyDetail(contentType: "text/plain", content: [1]))
        try await store.createCeremony(ceremony, tokens: [], audit: nil)
    }

    private static func wantStatuses(_ client: String, _ store: Subject) async throws {
        let changed = try await store.changeClient(client) { client in
            client.settings.statusAddress = "https://\(client.id).example/status"
            return []
        }
        try expect(changed?.settings.statusAddress == "https://\(client).example/status", "the address is kept")
        try expect(try await store.client(client) == changed, "and comes back")
    }

    /// The ended sessions among messages, with their outcomes.
    private static func ends(_ messages: [OutboxMessage]) throws -> [String: CeremonyRecord.Outcome?] {
        var ends: [String: CeremonyRecord.Outcome?] = [:]  // check: unicode-words
        for message in messages {
            guard case .status(let session) = try ClientDelivery(message).content else { continue }
            ends[session.id] = session.outcome
        }
        return ends
    }

    private static let statuses: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a back end that wants to be told is, in the step that ends a session of its own, once") {
            store in
            for id in ["c", "d"] { try await Self.addClient(id, store) }
            try await Self.wantStatuses("c", store)
            try await enrol(store)
            try await Self.dispatch("s1", store)
            try await Self.dispatch("s2", by: "d", store)
            try await Self.dispatch("s3", by: nil, store)
            let request = Self.notified(3, nil)
            try await Self.ask(request, store)
            for id in ["s1", "s2", "s3", "ceremony-q3"] {
                _ = try await store.change(.id(id)) { record in
                    record.phase = .claimed
                    return CeremonyChange()
                }
            }
            try expect(try await store.waitingMessages(to: .client).count == 0, "no session has ended")
            let later = Self.start + .seconds(9)
            for id in ["s1", "s2", "s3", "ceremony-q3", "s1"] {
                _ = try await store.change(.id(id)) { record in
                    record.phase = .ended
                    record.outcome = .succeeded
                    record.changedAt = later
                    record.methods = ["pin"]
                    record.contentHash = Self.bytes(4)
                    return CeremonyChange()
                }
            }
            let taken = try await Self.take(store, at: later)
            guard taken.count == 1, case .status(let session) = try ClientDelivery(taken[0]).content else {
                throw ConformanceFailure(description: "the client of s1 alone, once: \(taken)")
            }
            try expect(taken[0].lane == "c" && taken[0].createdAt == later, "the dispatching client, from the end on")
            try expect(session.id == "s1" && session.outcome == .succeeded && session.changedAt == later, "the end")
            try expect(session.accountID == "account-alice" && session.methods == ["pin"], "the person and the methods")
            try expect(
                session.contentHash == Self.bytes(4) && session.detail == CeremonyDetail(contentType: "text/plain"),
                "the hash, and not the content")
        },
        ConformanceCheck("a back end is told of sessions that end with the account, and not of sessions that had ended")
        { store in
            try await Self.addClient("c", store)
            try await Self.wantStatuses("c", store)
            try await enrol(store)
            for id in ["s1", "s2", "s3"] { try await Self.dispatch(id, store) }
            _ = try await store.change(.id("s3")) { record in
                record.phase = .ended
                record.outcome = .denied
                return CeremonyChange()
            }
            try expect(try await store.deleteAccount(id: "account-alice", audit: Self.event), "deleted")
            let ends = try Self.ends(try await Self.take(store))
            try expect(ends == ["s1": .cancelled, "s2": .cancelled, "s3": .denied], "\(ends)")
            try expect(try await store.ceremony(.id("s1")) == nil, "the rows are gone")
        },
        ConformanceCheck("a back end is told of a session that ends with the device that had the session") { store in
            try await Self.addClient("c", store)
            try await Self.wantStatuses("c", store)
            try await enrol(store)
            for id in ["s1", "s2"] { try await Self.dispatch(id, store) }
            _ = try await store.change(.id("s1")) { record in
                record.phase = .claimed
                record.deviceID = "device-phone-alice"
                return CeremonyChange()
            }
            try expect(try await store.deleteDevice(id: "device-phone-alice", audit: Self.event), "deleted")
            let ends = try Self.ends(try await Self.take(store))
            try expect(ends == ["s1": .cancelled], "\(ends)")
        },
    ]

    private static let roomForStatements: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a client has a bounded number of waiting statements, and the oldest gives way") { store in
            for id in ["c", "d"] {
                try await Self.addClient(id, store)
                try await Self.wantStatuses(id, store)
            }
            try await enrol(store)
            try await Self.signIn(1, store)
            try expect(try await store.endSession("session-1", audit: Self.event), "a logout for c, and one for d")
            func end(_ number: Int, of client: String = "c") async throws {
                try await Self.dispatch("\(client)-\(number)", by: client, store)
                _ = try await store.change(.id("\(client)-\(number)")) { record in
                    record.phase = .ended
                    record.outcome = .expired
                    record.changedAt = Self.start + .seconds(Int64(number))
                    return CeremonyChange()
                }
            }
            let most = Limits.Fixed.waitingStatements
            let later = Self.start + .seconds(9 * Int64(most))
            func waiting() async throws -> [OutboxMessage] {
                try await Self.take(store, at: later, lease: later, share: 2 * most, most: 3 * most)
            }
            func ended(_ messages: [OutboxMessage]) throws -> [String] {
                try messages.filter { $0.expiresAt != nil }.map { message in
                    guard case .status(let session) = try ClientDelivery(message).content else { return "another" }
                    return session.id
                }
            }
            try await end(1, of: "d")
            for number in 1..<most { try await end(number) }
            var messages = try await waiting()
            try expect(messages.count == most - 1 + 3 && (try ended(messages)).isEmpty, "all wait")
            try await end(most)
            messages = try await waiting()
            try expect(messages.count == most + 3, "all wait, \(messages.count)")
            try expect(try ended(messages) == ["c-1"], "the oldest is over")
            try expect(messages.first { $0.expiresAt != nil }?.expiresAt == Self.start + .seconds(Int64(most)), "since")
            for number in 1...2 { try await end(most + number) }
            messages = try await waiting()
            try expect(messages.count == most + 3, "no more wait, \(messages.count)")
            try expect(try ended(messages) == ["c-3"], "the two oldest are gone, and the next is over")
            try expect(messages.count { $0.subject == "logout" } == 2, "the logouts wait")
            try expect(messages.contains { $0.lane == "d" && $0.subject == "status" }, "the other client's wait")
        }
    ]

    private static func check(_ end: @escaping @Sendable (Subject) async throws -> Bool)
        -> @Sendable (Subject)
        async throws -> Void
    {
        { store in
            for id in ["c", "d"] { try await Self.addClient(id, store) }
            try await Self.addClient("silent", store, wantsToBeTold: false)
            try await enrol(store)
            try await enrol(store, "bob")
            try await Self.signIn(1, store, device: "device-phone-alice")
            try await Self.signIn(2, store, account: "account-bob", device: "device-phone-bob")
            try expect(
                try await store.waitingMessages(to: .client) == WaitingMessages(count: 0, oldest: nil), "nobody yet")
            try expect(try await end(store), "ended")
            try expect(
                try await store.waitingMessages(to: .client) == WaitingMessages(count: 2, oldest: Self.start),
                "in the same step")
            let taken = try await Self.take(store)
            try expect(taken.map(\.lane) == ["c", "d"], "both clients, and nobody else: \(taken)")
            try expect(taken.allSatisfy { $0.session == "session-1" }, "the session")
            try expect(taken.map(\.name) == ["c-account-alice", "d-account-alice"], "by the name that each knows")
            try expect(taken.allSatisfy { $0.attempt == 1 && $0.createdAt == Self.start }, "the first time")
        }
    }

    private static let ends: [ConformanceCheck<Subject>] = [
        ConformanceCheck(
            "a sign-out leaves what each client of the session is to be told",
            check { store in try await store.endSession("session-1", audit: Self.event) }),
        ConformanceCheck(
            "so does a session that its person takes back",
            check { try await $0.endSession("session-1", account: "account-alice", audit: Self.event) }),
        ConformanceCheck(
            "so does the end of all sessions of an account",
            check { try await $0.endSessions(account: "account-alice", audit: Self.event) == 1 }),
        ConformanceCheck(
            "so does a lock",
            check { try await $0.setAccountLocked(true, id: "account-alice", audit: Self.event) }),
        ConformanceCheck(
            "so does the end of an account",
            check { try await $0.deleteAccount(id: "account-alice", audit: Self.event) }),
        ConformanceCheck(
            "so does the end of the device that signed in",
            check { try await $0.deleteDevice(id: "device-phone-alice", audit: Self.event) }),
        ConformanceCheck(
            "so does the deregistration of all keys",
            check { store in
                let outcome = try await store.deregister(
                    .all, accountID: "account-alice", asker: .anybody, audit: Self.event, notice: nil)
                return outcome == .deregistered(credentials: 1)
            }),
        ConformanceCheck(
            "so does another person's sign-in in the browser",
            check { store in
                try await SampleSignIn(
                    "3", secret: Self.bytes(3), account: "account-bob", client: "silent", at: Self.start
                ).keep(in: store, replacing: Self.bytes(1))
                return true
            }),
    ]

    private static let quiet: [ConformanceCheck<Subject>] = [
        ConformanceCheck("nobody is told of what never was, of one's own next sign-in, and of a session that runs out")
        {
            store in
            for id in ["c", "d"] { try await Self.addClient(id, store) }
            try await Self.signIn(1, store)
            try expect(try await store.endSession("session-9", audit: Self.event) == false, "never was")
            try await Self.signIn(2, store, replacing: Self.bytes(1))
            let later = Self.start + .seconds(4000)
            while try await store.sweepAuthorizations(at: later, idleSince: Self.start, limit: 9) > 0 {}
            try expect(try await store.session(cookieDigest: Self.bytes(2)) == nil, "ran out")
            try expect(try await store.waitingMessages(to: .client).count == 0, "nobody")
        },
        ConformanceCheck("what a client is to be told goes with it") { store in
            for id in ["c", "d"] { try await Self.addClient(id, store) }
            try await Self.signIn(1, store)
            try expect(try await store.endSession("session-1", audit: Self.event), "ended")
            try expect(try await store.deleteClient("c", audit: Self.event), "deleted")
            try expect(try await store.waitingMessages(to: .client).count == 1, "d's")
            try expect(try await Self.take(store).map(\.lane) == ["d"], "and no other")
        },
    ]

    private static let turns: [ConformanceCheck<Subject>] = [
        ConformanceCheck("of 50 that take at once one has a delivery, and has it until its lease is over") { store in
            for id in ["c", "d"] { try await Self.addClient(id, store) }
            try await Self.signIn(1, store)
            try expect(try await store.endSession("session-1", audit: Self.event), "ended")
            let taken = try await withThrowingTaskGroup(of: [OutboxMessage].self) { group in
                for _ in 0..<50 { group.addTask { try await Self.take(store) } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            try expect(taken.count == 2, "one each, not \(taken.count)")
            try expect(try await Self.take(store, at: Self.lease - .milliseconds(1)).isEmpty, "leased")
            let again = try await Self.take(store, at: Self.lease, lease: Self.lease + .seconds(60))
            try expect(again.map(\.attempt) == [2, 2], "the second time")
            // A slow client does not change the other client's turn, but its delivered message counts as delivered.
            try await store.postponeMessage(taken[0], until: Self.lease)
            try expect(try await Self.take(store, at: Self.lease).isEmpty, "not due")
            try await store.removeMessage(taken[0], audit: nil)
            try expect(try await store.waitingMessages(to: .client).count == 1, "told")
        },
        ConformanceCheck("a delivery waits as long as it is to, and goes once it is told, with its event") { store in
            try await Self.addClient("c", store)
            try await Self.signIn(1, store)
            try expect(try await store.endSession("session-1", audit: Self.event), "ended")
            guard let taken = try await Self.take(store).first else { throw ConformanceFailure(description: "none") }
            try await store.postponeMessage(taken, until: Self.start + .seconds(5))
            try expect(try await Self.take(store, at: Self.start + .milliseconds(4999)).isEmpty, "waits")
            let later = try await Self.take(store, at: Self.start + .seconds(5))
            try expect(later.map(\.attempt) == [2], "due")
            let undelivered = AuditEvent(AuditEvent.Kind(rawValue: "given up"), at: Self.start, actor: "c")
            for _ in 0..<2 { try await store.removeMessage(later[0], audit: undelivered) }
            let trail = try await store.auditEntries(after: 0, limit: 99).map(\.event).filter { $0 == undelivered }
            try expect(trail.count == 1, "one event")
            try expect(
                try await store.waitingMessages(to: .client) == WaitingMessages(count: 0, oldest: nil), "nothing")
        },
        ConformanceCheck("each client has a share, and one that is busy waits while the others are told") { store in
            for id in ["c", "d"] { try await Self.addClient(id, store) }
            for number: UInt8 in 1...5 {
                try await Self.signIn(number, store)
                try expect(try await store.endSession("session-\(number)", audit: Self.event), "ended")
            }
            let first = try await Self.take(store, share: 2)
            try expect(
                first.map { "\($0.lane) \($0.session ?? "")" } == [
                    "c session-1", "c session-2", "d session-1", "d session-2",
                ], "two each, the oldest: \(first)")
            let others = try await Self.take(store, share: 3, underWay: ["c": 3, "d": 1])
            try expect(others.map(\.session) == ["session-3", "session-4"], "what there is room for of d's")
            try expect(others.allSatisfy { $0.lane == "d" }, "and nothing of c's")
        },
        ConformanceCheck("of all clients so many are taken, first of the one that has the fewest under way") { store in
            for id in ["c", "d"] { try await Self.addClient(id, store) }
            for number: UInt8 in 1...3 {
                try await Self.signIn(number, store)
                try expect(try await store.endSession("session-\(number)", audit: Self.event), "ended")
            }
            try expect(try await Self.take(store, most: 0).isEmpty, "there is no room")
            let first = try await Self.take(store, share: 2, most: 3, underWay: ["c": 1])
            try expect(
                first.map { "\($0.lane) \($0.session ?? "")" } == ["d session-1", "d session-2", "c session-1"],
                "d before c: \(first)")
        },
    ]
}

extension OutboxMessage {
    /// The ended session, if the message is about a session.
    fileprivate var session: String? {
        guard case .logout(let session, _)? = try? ClientDelivery(self).content else { return nil }
        return session
    }
}

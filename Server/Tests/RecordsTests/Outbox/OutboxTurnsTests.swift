import Records
import Testing
import UAF
import _Primitives

@Suite("Decision 112: turns and places of messages in the outbox")
struct OutboxTurnsTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let shares = OutboxShares(
        most: 4, share: 3, sharesOfLanes: ["small": 1],
        underWay: [ExactText("busy"): 2, ExactText("full"): 3, ExactText("over"): 4])

    private static func lanes(_ names: String...) -> [OutboxLane] { names.map { OutboxLane(name: $0, turn: 0) } }

    @Test("The lane with the fewest messages under way comes first, and a lane without a place has no turn")
    func turns() {
        let turns = Self.shares.turns(of: Self.lanes("busy", "full", "idle", "over", "other"))
        #expect(turns.map(\.lane) == ["idle", "other", "busy"])
        #expect(turns.map(\.places) == [3, 3, 1])
        #expect(Self.shares.turns(of: Self.lanes("full")).isEmpty)
    }

    @Test("A lane can have a share of its own, and no share at all")
    func sharesOfLanes() {
        #expect(Self.shares.turns(of: Self.lanes("small", "idle")).map(\.places) == [1, 3])
        for share in [0, -1] {
            let shares = OutboxShares(most: 4, share: 3, sharesOfLanes: ["small": share])
            #expect(shares.turns(of: Self.lanes("small", "idle")).map(\.lane) == ["idle"])
        }
    }

    @Test("The lane whose first message has the earliest turn comes before a lane with fewer messages under way")
    func earlierTurns() {
        let lanes = [OutboxLane(name: "idle", turn: 2), OutboxLane(name: "busy", turn: 1)]
        #expect(Self.shares.turns(of: lanes).map(\.lane) == ["busy", "idle"])
    }

    @Test(
        "A turn takes as many messages as the lane and the caller may have",
        arguments: [(0, 3), (1, 3), (2, 2), (3, 1), (4, nil), (5, nil)] as [(Int, Int?)])
    func limits(taken: Int, limit: Int?) throws {
        let turn = try #require(Self.shares.turns(of: Self.lanes("idle")).first)
        #expect(Self.shares.limit(of: turn, beside: taken) == limit)
    }

    @Test(
        "A client's message comes after the client's other messages, and not before the turn that the lane has reached",
        arguments: [
            (nil, nil, 0), (nil, 4, 5), (7, nil, 7), (7, 7, 8), (7, 3, 7), (0, 9, 10),
        ] as [(Int?, Int?, Int)])
    func turnsOfClients(first: Int?, last: Int?, turn: Int) {
        #expect(OutboxDraft.turn(first: first, lastOfClient: last) == turn)
    }

    private static func message(
        _ channel: OutboxChannel = .client, subject: String = "logout", matter: String? = "session",
        name: String? = "subject", content: [UInt8]? = nil, attempt: Int = 1, account: String? = nil,
        turn: Int = 0, expiresAt: Timestamp? = nil
    ) -> OutboxMessage {
        OutboxMessage(
            number: 1, channel: channel, lane: "lane", turn: turn, accountID: account, subject: subject, matter: matter,
            name: name, content: content, attempt: attempt, createdAt: Self.now, expiresAt: expiresAt)
    }

    @Test(
        "A message is tried again later each time, up to the longest pause, and not at its end",
        arguments: [(1, 5), (2, 10), (3, 20), (4, 20), (60, 20)])
    func pauses(attempt: Int, seconds: Int) {
        let terms = OutboxTerms(
            places: 1, share: 1, lease: .seconds(1), retryPause: .seconds(5), longestRetryPause: .seconds(20),
            interval: .seconds(1))
        let (message, next) = (Self.message(attempt: attempt), Self.now + .seconds(seconds))
        #expect(terms.nextTry(of: message, at: Self.now, before: next + .milliseconds(1)) == next)
        #expect(terms.nextTry(of: message, at: Self.now, before: next) == nil)
    }

    @Test("A stored message to a client says what has happened")
    func clients() throws {
        let logout = try ClientDelivery(Self.message())
        #expect(logout.content == .logout(session: "session", subject: "subject") && logout.client == "lane")
        for name in [nil, "subject"] {
            let answer = try ClientDelivery(Self.message(subject: "answer", matter: "request", name: name))
            #expect(answer.content == .answer(request: "request"))
        }
        for message in [
            Self.message(name: nil), Self.message(matter: nil), Self.message(subject: "answer", matter: nil),
            Self.message(subject: "else"), Self.message(subject: "status"),
            Self.message(subject: "status", matter: nil, content: Self.ended.storedStatus),
            Self.message(subject: "status", content: Array("{".utf8)),
            Self.message(subject: "status", content: Array(#"{"kind":9,"endedAt":1}"#.utf8)),
            Self.message(subject: "status", content: Array(#"{"kind":2}"#.utf8)),
            Self.message(subject: "status", content: Array(#"{"kind":2,"endedAt":1,"channel":9}"#.utf8)),
            Self.message(subject: "status", content: Array(#"{"kind":2,"endedAt":1,"outcome":"x"}"#.utf8)),
            Self.message(subject: "status", content: Array(#"{"kind":2,"endedAt":1,"denial":9}"#.utf8)),
        ] {
            #expect(throws: StoreError(.corrupt, "")) { try ClientDelivery(message) }
        }
    }

    /// A confirmed transaction, with each member that a status shows, and with members that no status shows.
    private static let ended: CeremonyRecord = {
        var ceremony = CeremonyRecord(
            id: "session", kind: .transaction, clientID: "lane", accountID: "alice", createdAt: Self.now,
            expiresAt: Self.now, detail: CeremonyDetail(contentType: "text/plain"))
        ceremony.phase = .ended
        ceremony.outcome = .succeeded
        ceremony.channel = .link
        ceremony.uafStatusCode = 1200
        ceremony.clientErrorCode = 0
        ceremony.asmStatusCode = 0
        ceremony.authenticators = ["A#1", "B#2"]
        ceremony.methods = ["pin", "hwk"]
        ceremony.assurance = "acr"
        ceremony.contentHash = [1, 2, 3]
        return ceremony
    }()

    @Test("The message about an ended session has what the status shows, and nothing else of the ceremony")
    func statuses() throws {
        func read(_ ceremony: CeremonyRecord) throws -> ClientDelivery {
            let draft = OutboxDraft(endOf: ceremony, to: "lane")
            #expect(draft.channel == .client && draft.lane == "lane" && draft.accountID == nil)
            #expect(draft.expiresAt == nil && draft.createdAt == ceremony.changedAt)
            return try ClientDelivery(
                Self.message(subject: draft.subject, matter: draft.matter, name: draft.name, content: draft.content))
        }
        #expect(try read(Self.ended).content == .status(Self.ended))
        var bare = CeremonyRecord(
            id: "session", kind: .deregistration, clientID: "lane", createdAt: Self.now, expiresAt: Self.now,
            detail: CeremonyDetail())
        bare.phase = .ended
        bare.outcome = .expired
        #expect(try read(bare).content == .status(bare))
        for denial in CeremonyRecord.Denial.allCases {
            var denied = bare
            (denied.outcome, denied.denial) = (.denied, denial)
            #expect(try read(denied).content == .status(denied))
        }
        var secret = Self.ended
        secret.progress = [9]
        secret.continuationDigest = [9]
        secret.deviceID = "device"
        #expect(try read(secret).content == .status(Self.ended))
    }

    @Test("The back end of a dispatch is told of the end, once, and the client of another ceremony is not")
    func clientsOfEnds() {
        var open = Self.ended
        open.phase = .claimed
        #expect(Self.ended.clientOfEnd(before: open) == "lane")
        #expect(Self.ended.clientOfEnd(before: Self.ended) == nil)
        #expect(open.clientOfEnd(before: open) == nil)
        var asked = open
        asked.reference = "request"
        #expect(Self.ended.clientOfEnd(before: asked) == nil)
        var nobodys = Self.ended
        nobodys.clientID = nil
        #expect(nobodys.clientOfEnd(before: open) == nil)
        let cancelled = open.ended(as: .cancelled, at: Self.now + .seconds(1))
        #expect(cancelled.clientOfEnd(before: open) == "lane" && cancelled.outcome == .cancelled)
        #expect(cancelled.changedAt == Self.now + .seconds(1))
    }

    @Test("A stored letter has an account, an end, a known subject and a known turn")
    func letters() throws {
        func letter(
            _ subject: String = "invitation", account: String? = "alice", turn: Int = 1, end: Timestamp? = Self.now
        ) -> OutboxMessage {
            Self.message(.mailbox, subject: subject, name: nil, account: account, turn: turn, expiresAt: end)
        }
        let read = try MailDelivery(letter())
        #expect(read.accountID == "alice" && read.subject == .invitation && read.turn == .told)
        #expect(read.about == "session" && read.linkName == nil && read.expiresAt == Self.now && read.attempt == 1)
        for message in [letter("else"), letter(account: nil), letter(turn: 9), letter(end: nil)] {
            #expect(throws: StoreError(.corrupt, "")) { try MailDelivery(message) }
        }
        #expect(letter("new-activation").offerID == "session" && letter().offerID == nil)
        #expect(Self.message(subject: "new-activation").offerID == nil)
    }

    @Test("A stored message to a device has a ceremony, a target, a content and an end")
    func devices() throws {
        func device(
            _ ceremony: String? = "c", target: String? = "t", content: [UInt8]? = [1], end: Timestamp? = Self.now
        ) -> OutboxMessage {
            Self.message(.device, subject: "token", matter: ceremony, name: target, content: content, expiresAt: end)
        }
        let read = try DeviceDelivery(device())
        #expect(read.message == DeviceMessageRecord(dispatcher: "lane", target: "t", content: [1]))
        #expect(read.ceremonyID == "c" && read.expiresAt == Self.now)
        for message in [device(nil), device(target: nil), device(content: nil), device(end: nil)] {
            #expect(throws: StoreError(.corrupt, "")) { try DeviceDelivery(message) }
        }
    }
}

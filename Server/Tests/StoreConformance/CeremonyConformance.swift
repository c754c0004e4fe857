public import Records
import UAF
import _Primitives

/// The rules for every store of ceremonies.
public enum CeremonyConformance {
    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<any AccountStore & CeremonyStore & AuditStore & NoticeStore>] =
        Self.rows + Self.races + Self.changes

    private static let rows: [ConformanceCheck<any AccountStore & CeremonyStore & AuditStore & NoticeStore>] = [
        ConformanceCheck("a ceremony is read as it was written, before and after a change of every column") { store in
            let ceremony = sampleCeremony(reference: "request", browser: [1, 2])
            try await store.createCeremony(ceremony, tokens: [sampleToken()], audit: sampleAudit())
            try expect(try await store.ceremony(.id("ceremony")) == ceremony, "as it was added")
            let changed = try await store.change(.reference("request")) { record in
                record.phase = .ended
                record.outcome = .succeeded
                record.accountID = "account"
                record.channel = .link
                record.expiresAt = .start + .seconds(11)
                record.changedAt = .start + .seconds(12)
                record.continuationDigest = [3]
                record.confirmationCode = [4]
                record.deviceID = "device"
                record.uafStatusCode = 1200
                record.clientErrorCode = 3
                record.asmStatusCode = 2
                record.authenticators = ["C516#0001", "C516#0006"]
                record.methods = ["pin", "hwk"]
                record.assurance = "urn:x"
                record.contentHash = [5]
                record.isConsumed = true
                record.isOpenedElsewhere = true
                record.denial = .notMe
                record.answerCode = [6]
                record.isNumberWrong = true
                return CeremonyChange()
            }
            try expect(changed?.authenticators.count == 2, "the step answers the changed row")
            try expect(try await store.ceremony(.id("ceremony")) == changed, "by identifier")
            try expect(try await store.ceremony(.reference("request")) == changed, "by reference")
            try expect(try await store.ceremony(.continuation([3])) == changed, "by continuation")
            try expect(try await store.ceremony(.continuation([4])) == nil, "and by nothing else")
        },
        ConformanceCheck("what a judge throws reaches the caller, and nothing is changed") { store in
            let ceremony = sampleCeremony()
            try await store.createCeremony(ceremony, tokens: [sampleToken()], audit: sampleAudit())
            try await expectError(StoreError(.notFound, "")) {
                _ = try await store.change(.id("ceremony")) { record in
                    record.phase = .ended
                    throw StoreError(.notFound, "the judge's own")
                }
            }
            try await expectError(StoreError(.notFound, "")) {
                _ = try await store.redeem(tokenDigest: sampleToken().digest) { record, _ in
                    record.phase = .claimed
                    throw StoreError(.notFound, "the judge's own")
                }
            }
            try expect(try await store.ceremony(.id("ceremony")) == ceremony, "the row is as before")
            try expect(try await store.change(.id("other")) { _ in CeremonyChange() } == nil, "unknown: nil")
        },
        ConformanceCheck("a second ceremony of a reference ends the first and its tokens") { store in
            var begun = sampleCeremony("one", reference: "request", browser: [1])
            begun.progress = [1]
            try await store.createCeremony(begun, tokens: [sampleToken()], audit: sampleAudit())
            var second = sampleCeremony("two", reference: "request", browser: [1])
            second.createdAt = .start + .seconds(5)
            try await store.createCeremony(second, tokens: [sampleToken(2)], audit: sampleAudit())
            let first = try await store.ceremony(.id("one"))
            try expect(first?.outcome == .cancelled && first?.reference == nil, "the first is cancelled")
            try expect(first?.progress == nil, "what was said in it is forgotten")
            try expect(try await store.ceremony(.reference("request"))?.id == "two", "the second has the reference")
            _ = try await store.redeem(tokenDigest: sampleToken().digest) { _, token in
                try expect(token.expiresAt == .start + .seconds(5), "the first one's token has expired")
                return CeremonyChange()
            }
            try await expectError(StoreError(.conflict, "")) {
                try await store.createCeremony(
                    sampleCeremony("three", reference: "request", browser: [2]), tokens: [], audit: sampleAudit())
            }
            try expect(
                try await store.ceremony(.reference("request"))?.id == "two", "another browser takes nothing over")
        },
        ConformanceCheck("a token and its ceremony keep the channel") { store in
            for (number, channel) in DispatchChannel.allCases.enumerated() {
                let (id, byte) = ("ceremony-\(number)", UInt8(number))
                try await store.createCeremony(
                    sampleCeremony(id), tokens: [sampleToken(byte, channel: channel)], audit: sampleAudit())
                _ = try await store.redeem(tokenDigest: sampleToken(byte).digest) { record, token in
                    try expect(token.channel == channel, "the token has the channel")
                    record.channel = token.channel
                    return CeremonyChange()
                }
                try expect(try await store.ceremony(.id(id))?.channel == channel, "the ceremony has the channel")
            }
        },
        ConformanceCheck("new tokens let the earlier ones expire") { store in
            try await store.createCeremony(sampleCeremony(), tokens: [sampleToken()], audit: sampleAudit())
            _ = try await store.change(.id("ceremony")) { record in
                record.changedAt = .start + .seconds(2)
                var change = CeremonyChange()
                change.newTokens = [sampleToken(2, channel: .typed)]
                return change
            }
            _ = try await store.redeem(tokenDigest: sampleToken(1).digest) { _, token in
                try expect(token.expiresAt == .start + .seconds(2), "the old one is over")
                return CeremonyChange()
            }
            _ = try await store.redeem(tokenDigest: sampleToken(2).digest) { _, token in
                try expect(token == sampleToken(2, channel: .typed), "the new one is as written")
                return CeremonyChange()
            }
            try expect(
                try await store.redeem(tokenDigest: [9]) { _, _ in CeremonyChange() } == nil, "an unknown one is nil")
            try expect(try await store.ceremony(ofToken: [9]) == nil, "for a reader, too")
            let found = try await store.ceremony(ofToken: sampleToken(2).digest)
            try expect(found?.token == sampleToken(2, channel: .typed), "a reader finds the new one")
            try expect(try await store.ceremony(.id("ceremony")) == found?.ceremony, "with its ceremony")
            // The first token expired at second 2, the second token at second 3.
            for (second, since) in [(3, 2), (4, 3)] {
                _ = try await store.change(.id("ceremony")) { record in
                    record.changedAt = .start + .seconds(second)
                    var change = CeremonyChange()
                    change.newTokens = [sampleToken(UInt8(second))]
                    change.tokensKeptSince = .start + .seconds(since)
                    return change
                }
                let oldest = try await store.redeem(tokenDigest: sampleToken(1).digest) { _, _ in CeremonyChange() }
                try expect((oldest != nil) == (since == 2), "an old token goes when its time has come")
                try expect(
                    try await store.redeem(tokenDigest: sampleToken(2).digest) { _, _ in CeremonyChange() } != nil,
                    "and no newer one")
            }
        },
        ConformanceCheck("further tokens stand beside the present ones, and the same token gets the new end") { store in
            try await store.createCeremony(sampleCeremony(), tokens: [sampleToken()], audit: sampleAudit())
            var again = sampleToken(2)
            again.expiresAt = sampleToken(2).expiresAt + .seconds(5)
            for token in [sampleToken(2), again] {
                _ = try await store.change(.id("ceremony")) { _ in
                    var change = CeremonyChange()
                    change.addedTokens = [token]
                    return change
                }
                try expect(
                    try await store.ceremony(ofToken: sampleToken(1).digest)?.token == sampleToken(1),
                    "the present one stays")
                try expect(try await store.ceremony(ofToken: token.digest)?.token == token, "the further one is there")
            }
        },
        ConformanceCheck("of more operations than a device's list has, a client that asks often hides no other") {
            store in
            for (number, client) in ["bank", "shop", "shop", "shop", "shop"].enumerated() {
                let ceremony = CeremonyRecord(
                    id: "\(client)-\(number)", kind: .authentication, clientID: client, reference: "r\(number)",
                    accountID: "alice", createdAt: .start, expiresAt: .start + .seconds(60),
                    detail: CeremonyDetail(service: client))
                try await store.createCeremony(ceremony, tokens: [], audit: nil)
            }
            for (limit, expected) in [
                (1, ["shop-4"]), (2, ["shop-4", "bank-0"]), (3, ["shop-4", "shop-3", "bank-0"]),
                (9, ["shop-4", "shop-3", "shop-2", "shop-1", "bank-0"]),
            ] {
                let found = try await store.waitingOperations(
                    accountID: "alice", deviceID: "phone", at: .start, limit: limit
                ).map(\.id)
                try expect(found == expected, "\(limit): \(found)")
            }
        },
        ConformanceCheck("browsers that name a person take turns together, whatever their networks are") { store in
            for number in 1...5 {
                let ceremony = CeremonyRecord(
                    id: "browser-\(number)", kind: .authentication, clientID: "bank network-\(number)",
                    reference: "b\(number)", browserDigest: [UInt8](repeating: 1, count: 32), accountID: "alice",
                    createdAt: .start, expiresAt: .start + .seconds(60),
                    detail: CeremonyDetail(service: "Bank", number: "004711"))
                try await store.createCeremony(ceremony, tokens: [], audit: nil)
                if number == 1 {
                    let question = CeremonyRecord(
                        id: "question", kind: .authentication, clientID: "shop", reference: "q", accountID: "alice",
                        createdAt: .start, expiresAt: .start + .seconds(60), detail: CeremonyDetail(service: "Shop"))
                    try await store.createCeremony(question, tokens: [], audit: nil)
                }
            }
            let found = try await store.waitingOperations(
                accountID: "alice", deviceID: "phone", at: .start, limit: 2
            ).map(\.id)
            try expect(found == ["browser-5", "question"], "\(found)")
        },
        ConformanceCheck("what waits for a device: questions of its account, and dispatches to it alone") { store in
            func waiting(_ account: String, _ device: String, at seconds: Int = 1, limit: Int = 9) async throws
                -> [String]
            {
                try await store.waitingOperations(
                    accountID: account, deviceID: device, at: .start + .seconds(seconds), limit: limit
                ).map(\.id)
            }
            func begin(_ id: String, account: String = "alice", _ change: (inout CeremonyRecord) -> Void) async throws {
                var ceremony = CeremonyRecord(
                    id: id, kind: .authentication, clientID: "bank", accountID: account, createdAt: .start,
                    expiresAt: .start + .seconds(60), detail: CeremonyDetail(service: "Bank"))
                change(&ceremony)
                try await store.createCeremony(ceremony, tokens: [], audit: nil)
            }
            try await begin("question") { $0.reference = "r1" }
            try await begin("dispatch") { $0.target = .init(deviceID: "phone", dispatcher: "stream") }
            try await begin("link") { _ in }
            try await begin("browser") { record in
                record.reference = "r2"
                record.clientID = nil
            }
            try await begin("foreign", account: "bob") { $0.reference = "r3" }
            try expect(try await waiting("alice", "phone") == ["dispatch", "question"], "the newest first")
            try expect(try await waiting("alice", "tablet") == ["question"], "another device has no dispatch")
            try expect(try await waiting("bob", "phone") == ["foreign"], "another account has neither")
            try expect(try await waiting("alice", "phone", limit: 1) == ["dispatch"], "no more than the limit")
            try expect(try await waiting("alice", "phone", at: 60).isEmpty, "nothing past its time")
            try expect(
                try await store.ceremony(.id("dispatch"))?.target
                    == CeremonyRecord.Target(deviceID: "phone", dispatcher: "stream"), "the target is as written")
            _ = try await store.change(.id("question")) { record in
                record.phase = .claimed
                return CeremonyChange()
            }
            try expect(try await waiting("alice", "phone") == ["dispatch"], "a phone has taken the question")
        },
        ConformanceCheck("the names of a part of the trail") { store in
            let before = try await store.auditedSubjects(after: nil, limit: 9)
            try expect(before.accounts.isEmpty && before.details.isEmpty, "without a number the last number alone")
            for (account, detail) in [("alice", nil), (nil, "phone"), ("bob", "x")] as [(String?, String?)] {
                try await store.appendAudit(
                    AuditEvent(AuditEvent.Kind(rawValue: "test"), at: .start, accountID: account, detail: detail))
            }
            let read = try await store.auditedSubjects(after: before.last, limit: 9)
            try expect(read.last == before.last + 3, "the last number")
            try expect(read.accounts == ["alice", "bob"] && read.details == ["phone", "x"], "the names")
            let first = try await store.auditedSubjects(after: before.last, limit: 1)
            try expect(first.last == before.last + 1 && first.accounts == ["alice"], "no more than the limit")
            let none = try await store.auditedSubjects(after: read.last, limit: 9)
            try expect(none == AuditedSubjects(last: read.last), "nothing after the last")
        },
        ConformanceCheck("overdue ceremonies are found, and stale rows deleted with their tokens") { store in
            for (id, seconds) in [("late", 10), ("later", 20), ("open", 60)] {
                try await store.createCeremony(
                    sampleCeremony(id, expiresAt: .start + .seconds(seconds)),
                    tokens: [sampleToken(UInt8(seconds))], audit: sampleAudit())
            }
            try expect(
                try await store.overdueCeremonies(at: .start + .seconds(20), limit: 9) == ["late", "later"],
                "those whose time is over, the oldest first")
            try expect(try await store.overdueCeremonies(at: .start + .seconds(20), limit: 1) == ["late"], "a limit")
            for id in ["late", "later"] {
                _ = try await store.change(.id(id)) { record in
                    record.phase = .ended
                    record.outcome = .expired
                    record.changedAt = record.expiresAt
                    return CeremonyChange()
                }
            }
            try expect(try await store.overdueCeremonies(at: .start + .seconds(20), limit: 9) == [], "ended is ended")
            _ = try await store.answer(
                AnsweredChallenge(digest: [1], expiresAt: .start + .seconds(5)), change: CeremonyChange(), at: .start)
            let deleted = try await store.deleteStale(
                endedBefore: .start + .seconds(20), deregisteredBefore: .start, now: .start + .seconds(6), limit: 9)
            try expect(deleted == 2, "one ceremony and one challenge, not \(deleted)")
            try expect(try await store.ceremony(.id("late")) == nil, "the stale one is gone")
            try expect(try await store.ceremony(.id("later")) != nil, "the other is not")
            try expect(
                try await store.redeem(tokenDigest: sampleToken(10).digest) { _, _ in CeremonyChange() } == nil,
                "its token is gone")
        },
        ConformanceCheck("the first answer of a challenge without a row is kept with its judgement") { store in
            let keys = [(aaid: "C516#0001", keyID: [UInt8](repeating: 7, count: 32))]
            func judged(_ digest: UInt8) async throws -> (answer: JudgedAnswer, credentials: [StoredCredential?])? {
                try await store.judgedAnswer(challengeDigest: [digest], keys: keys)
            }
            let answer = JudgedAnswer(code: [9], statusCode: 1200)
            try expect(try await judged(1) == nil, "nothing was answered")
            for (code, isFirst) in [(answer, true), (JudgedAnswer(code: [8], statusCode: 1498), false)] {
                let challenge = AnsweredChallenge(digest: [1], expiresAt: .start + .seconds(5), answer: code)
                let isTaken = try await store.answer(challenge, change: CeremonyChange(), at: .start)
                try expect(isTaken == isFirst, "the first answer counts")
            }
            let found = try await judged(1)
            try expect(found?.answer == answer, "with its judgement")
            try expect(found?.credentials == [nil], "and with what is known of the keys")
            _ = try await store.answer(
                AnsweredChallenge(digest: [2], expiresAt: .start + .seconds(5)), change: CeremonyChange(), at: .start)
            try expect(try await judged(2) == nil, "an answer without a code tells nothing again")
        },
    ]

    private static let races: [ConformanceCheck<any AccountStore & CeremonyStore & AuditStore & NoticeStore>] = [
        ConformanceCheck("of 50 calls that redeem one token at once, one wins") { store in
            try await store.createCeremony(sampleCeremony(), tokens: [sampleToken()], audit: sampleAudit())
            let count = try await winners(50) { _ in
                do {
                    return try await store.redeem(tokenDigest: sampleToken().digest) { record, _ in
                        guard record.phase == .created else { throw StoreError.conflict }
                        record.phase = .claimed
                        return CeremonyChange()
                    } != nil
                } catch let error as StoreError where error == .conflict { return false }
            }
            try expect(count == 1, "one of 50 wins, not \(count)")
        },
        ConformanceCheck("of 64 calls that answer one challenge at once, one wins") { store in
            try await enrol(store)
            let count = try await winners(64) { index in
                var change = CeremonyChange()
                change.advances = [CounterAdvance(credentialID: "credential-phone-alice", counter: UInt32(6 + index))]
                return try await store.answer(
                    AnsweredChallenge(digest: [8], expiresAt: .start + .seconds(9)), change: change, at: .start)
            }
            try expect(count == 1, "one of 64 wins, not \(count)")
        },
        ConformanceCheck("of 64 steps that bring one counter at once, one wins") { store in
            try await enrol(store)
            let count = try await winners(64) { index in
                var change = CeremonyChange()
                change.advances = [CounterAdvance(credentialID: "credential-phone-alice", counter: 6)]
                do {
                    return try await store.answer(
                        AnsweredChallenge(digest: [UInt8(index)], expiresAt: .start + .seconds(9)), change: change,
                        at: .start)
                } catch let error as StoreError where error == .conflict { return false }
            }
            try expect(count == 1, "one of 64 wins, not \(count)")
            let stored = try await store.credentials(accountID: "account-alice")
            try expect(stored[0].counter == 6 && stored[0].lastUsedAt == .start, "the counter is the winner's")
        },
    ]

    private static let changes: [ConformanceCheck<any AccountStore & CeremonyStore & AuditStore & NoticeStore>] = [
        ConformanceCheck("a counter advances, stays at zero, and never goes back") { store in
            try await enrol(store)
            for (counter, isAccepted) in [(5, false), (4, false), (0, false), (6, true), (6, false), (100, true)]
                as [(UInt32, Bool)]
            {
                var change = CeremonyChange()
                change.advances = [CounterAdvance(credentialID: "credential-phone-alice", counter: counter)]
                var wasAccepted = true
                do {
                    wasAccepted = try await store.answer(
                        AnsweredChallenge(
                            digest: [UInt8(counter), isAccepted ? 1 : 0], expiresAt: .start + .seconds(9)),
                        change: change, at: .start)
                } catch let error as StoreError where error == .conflict { wasAccepted = false }
                try expect(wasAccepted == isAccepted, "counter \(counter)")
            }
        },
        ConformanceCheck("a step whose counter is refused leaves nothing: no row, no challenge, no trail") { store in
            try await enrol(store)
            try await store.createCeremony(sampleCeremony(), tokens: [], audit: sampleAudit())
            let trail = try await store.auditEntries(after: 0, limit: 99).count
            try await expectError(StoreError(.conflict, "")) {
                _ = try await store.change(.id("ceremony")) { record in
                    record.phase = .ended
                    record.outcome = .succeeded
                    var change = CeremonyChange()
                    change.advances = [CounterAdvance(credentialID: "credential-phone-alice", counter: 1)]
                    change.audit = [sampleAudit()]
                    return change
                }
            }
            try expect(try await store.ceremony(.id("ceremony")) == sampleCeremony(), "the row is as before")
            var change = CeremonyChange()
            change.advances = [CounterAdvance(credentialID: "credential-phone-alice", counter: 1)]
            let refused = change
            try await expectError(StoreError(.conflict, "")) {
                _ = try await store.answer(
                    AnsweredChallenge(digest: [1], expiresAt: .start + .seconds(9)), change: refused, at: .start)
            }
            let isFirst = try await store.answer(
                AnsweredChallenge(digest: [1], expiresAt: .start + .seconds(9)), change: CeremonyChange(), at: .start)
            try expect(isFirst, "the challenge was not used up")
            try expect(try await store.auditEntries(after: 0, limit: 99).count == trail, "the trail is as before")
        },
        ConformanceCheck("new keys join an active device, in place of its keys of the same models") { store in
            try await enrol(store)
            func join(_ key: CredentialRecord, _ byte: UInt8) async throws -> Bool {
                var change = CeremonyChange()
                change.newCredentials = [key]
                return try await store.answer(
                    AnsweredChallenge(digest: [byte], expiresAt: .start + .seconds(9)), change: change, at: .start)
            }
            var other = sampleRegistration("other").credentials[0]
            other.deviceID = "device-phone-alice"
            other.aaid = "C516#0003"
            try expect(try await join(other, 1), "a key of another model")
            var credentials = try await store.credentials(accountID: "account-alice")
            try expect(credentials.map(\.aaid) == ["C516#0001", "C516#0003"] && credentials[1] == other, "joins it")
            var replacing = sampleRegistration("replacing").credentials[0]
            replacing.deviceID = "device-phone-alice"
            try expect(try await join(replacing, 2), "a key of the same model")
            credentials = try await store.credentials(accountID: "account-alice")
            try expect(credentials == [other, replacing], "takes the earlier one's place")
            try expect(try await store.devices(accountID: "account-alice").count == 1, "and the device stays one")

            try await enrol(store, "bob", isActive: false)
            for (device, account) in [
                ("device-none", "account-alice"), ("device-phone-alice", "account-bob"),
                ("device-phone-bob", "account-bob"),
            ] {
                var key = sampleRegistration("refused").credentials[0]
                (key.deviceID, key.accountID) = (device, account)
                let refused = key
                try await expectError(StoreError(.notFound, "")) { _ = try await join(refused, 3) }
            }
            var taken = sampleRegistration("phone-bob").credentials[0]
            taken.deviceID = "device-phone-alice"
            let conflicting = taken
            try await expectError(StoreError(.conflict, "")) { _ = try await join(conflicting, 3) }
            _ = try await store.setAccountLocked(true, id: "account-alice", audit: sampleAudit())
            var late = sampleRegistration("late").credentials[0]
            late.deviceID = "device-phone-alice"
            let locked = late
            try await expectError(StoreError(.forbidden, "")) { _ = try await join(locked, 3) }
            try expect(
                try await store.credentials(accountID: "account-alice") == [other, replacing],
                "a step that is refused leaves everything as it was")
        },
        ConformanceCheck("a pending device is activated or discarded with its ceremony's step") { store in
            for fate in [CeremonyChange.DeviceFate.activate, .discard] {
                let name = fate == .activate ? "alice" : "bob"
                try await store.createAccount(sampleAccount(name), audit: sampleAudit())
                let registration = sampleRegistration("of-\(name)", account: "account-\(name)", isActive: false)
                try await store.createCeremony(
                    sampleCeremony(name, kind: .registration, account: "account-\(name)"),
                    tokens: [sampleToken(fate == .activate ? 1 : 2)], audit: sampleAudit())
                _ = try await store.change(.id(name)) { record in
                    record.deviceID = registration.device.id
                    var change = CeremonyChange()
                    change.registration = registration
                    return change
                }
                var advance = CeremonyChange()
                advance.advances = [CounterAdvance(credentialID: registration.credentials[0].id, counter: 9)]
                let attempt = advance
                try await expectError(StoreError(.forbidden, "")) {
                    _ = try await store.answer(
                        AnsweredChallenge(digest: Array(name.utf8), expiresAt: .start), change: attempt, at: .start)
                }
                let redeemed = try await store.redeem(tokenDigest: sampleToken(fate == .activate ? 1 : 2).digest) {
                    _, _ in CeremonyChange()
                }
                try expect(redeemed?.account == sampleAccount(name), "a redeemed registration brings its account")
                try expect(redeemed?.credentials.isEmpty == true, "and no pending keys")
                _ = try await store.change(.id(name)) { _ in
                    var change = CeremonyChange()
                    change.deviceFate = fate
                    change.deviceLimit = .start + .seconds(7)
                    return change
                }
                let devices = try await store.devices(accountID: "account-\(name)")
                let credentials = try await store.credentials(accountID: "account-\(name)")
                if fate == .activate {
                    try expect(devices.map(\.isActive) == [true], "the device is active")
                    try expect(devices[0].standing.limitedUntil == .start + .seconds(7), "and limited")
                    try expect(credentials.map(\.isActive) == [true], "and its keys")
                } else {
                    try expect(devices.isEmpty && credentials.isEmpty, "the device and its keys are gone")
                }
            }
        },
        ConformanceCheck("a companion changes in the same step, and neither ceremony changes if one judge throws") {
            store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            for id in ["question", "enrolment"] {
                try await store.createCeremony(
                    sampleCeremony(id, kind: .registration, account: "account-alice"), tokens: [], audit: nil)
            }
            @Sendable func step(_ companion: String, failing: Bool) -> CeremonyJudge {
                { record in
                    record.uafStatusCode = 1200
                    var change = CeremonyChange()
                    change.audit = [sampleAudit("of the first")]
                    change.companion = (
                        companion,
                        { other in
                            if failing { throw StoreError(.conflict, "the second judge") }
                            other.uafStatusCode = 1202
                            var change = CeremonyChange()
                            change.audit = [sampleAudit("of the second")]
                            return change
                        }
                    )
                    return change
                }
            }
            let codes: () async throws -> [Int?] = {
                let question = try await store.ceremony(.id("question"))
                let enrolment = try await store.ceremony(.id("enrolment"))
                return [question?.uafStatusCode, enrolment?.uafStatusCode]
            }
            try await expectError(StoreError(.conflict, "")) {
                _ = try await store.change(.id("question"), judge: step("enrolment", failing: true))
            }
            try await expectError(StoreError(.forbidden, "")) {
                _ = try await store.change(.id("question"), judge: step("none", failing: false))
            }
            try expect(try await codes() == [nil, nil], "nothing has changed")
            _ = try await store.change(.id("question"), judge: step("enrolment", failing: false))
            try expect(try await codes() == [1200, 1202], "both have changed")
        },
    ]
}

import Records
import Settings
import _Primitives

/// The rules for every store of identity sessions: the steps of ``IdentityStore`` on a session and an activation.
public enum IdentitySessionConformance {
    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<IdentityConformanceSubject>] =
        Self.rows + Self.answers + Self.races + Self.changes + Self.consents

    private static let rows: [ConformanceCheck<IdentityConformanceSubject>] = [
        ConformanceCheck("a step sees the session, the activation, its keys and the token, and writes both rows") {
            store in
            try await activate(store)
            try await activate(store, "other", account: "bob")
            try await open(store)
            let sample = sampleActivation()
            let digest = sampleToken(of: "session").digest
            let scene = try await store.scene(session: "session", activation: "device-phone", tokenDigest: digest)
            try expect(scene?.ceremony == sampleSession(), "the session as it was added")
            try expect(scene?.activation == sample.activation, "the activation as it was enrolled")
            try expect(scene?.credentials == sample.credentials, "its keys and no others")
            try expect(scene?.token == sampleToken(of: "session") && scene?.isAccountLocked == false, "the token")
            let step = try await takeStep(store, token: digest) { scene, _ in
                try expect(
                    scene.token == sampleToken(of: "session") && scene.credentials == sample.credentials,
                    "as for a reader")
                scene.ceremony.phase = .claimed
                scene.ceremony.accountID = "account-alice"
                scene.ceremony.deviceID = "device-phone"
                scene.ceremony.changedAt = .start + .seconds(3)
                scene.ceremony.progress = Array("{\"state\":\"started\"}".utf8)
                scene.activation.signingKey = [9, 1]
                scene.activation.encryptionKey = [9, 2]
                scene.activation.pinVersion = 8
                scene.activation.lastUsedAt = .start + .seconds(3)
                scene.activation.lockout = LockoutRecord(failuresInARow: 0, failures: [.start], isPermanent: true)
            }
            try expect(step.decision == "answer", "it is decided")
            let ceremony = try await store.ceremony(.id("session"))
            try expect(ceremony?.progress == Array("{\"state\":\"started\"}".utf8), "the progress is kept")
            try expect(ceremony?.phase == .claimed && ceremony?.deviceID == "device-phone", "and the phase")
            let activation = try await store.activation(id: "device-phone")
            try expect(activation?.signingKey == [9, 1] && activation?.encryptionKey == [9, 2], "its new keys")
            try expect(
                activation?.pinVersion == 8 && activation?.lastUsedAt == .start + .seconds(3), "version and time")
            try expect(
                activation?.lockout == LockoutRecord(failuresInARow: 0, failures: [.start], isPermanent: true),
                "and its attempts")
            try expect(activation?.isActive == false, "it is disabled")
            try expect(
                try await store.activation(id: "device-other")
                    == sampleActivation("other", account: "account-bob").activation,
                "no other activation is changed")
        },
        ConformanceCheck("an account's open sessions are those of its activations, the newest first, up to a limit") {
            store in
            try await activate(store)
            try await activate(store, "other", account: "bob")
            for (id, account, device, second) in [
                ("first", "account-alice", "device-phone", 1), ("second", "account-alice", "device-phone", 2),
                ("ended", "account-alice", "device-phone", 3), ("others", "account-bob", "device-other", 4),
            ] {
                var session = sampleSession(id, account: account, device: device)
                session.createdAt = .start + .seconds(second)
                try await store.createCeremony(session, tokens: [], audit: nil)
            }
            // The first of these sessions is unclaimed, and the second is no session of an identity.
            try await open(store, "unclaimed")
            try await store.createCeremony(
                sampleCeremony("plain", kind: .authentication, account: "account-alice"), tokens: [], audit: nil)
            _ = try await store.change(.id("ended")) { record in
                record.phase = .ended
                record.outcome = .denied
                return CeremonyChange()
            }
            func ids(_ limit: Int = 9) async throws -> [String] {
                try await store.openIdentitySessions(accountID: "account-alice", at: .start, limit: limit).map(\.id)
            }
            try expect(try await ids() == ["second", "first"], "the open ones")
            try expect(try await ids(1) == ["second"], "the newest")
            let first = try await store.openIdentitySessions(accountID: "account-alice", at: .start, limit: 9).last
            try expect(try await store.ceremony(.id("first")) == first, "as it is")
            // An expired session whose end is not written yet does not count among the open sessions.
            _ = try await store.change(.id("second")) { record in
                record.expiresAt = .start
                return CeremonyChange()
            }
            try expect(try await ids(1) == ["first"], "the newest that goes on")
        },
        ConformanceCheck("progress is kept with a ceremony from its beginning, and taken away") { store in
            let session = sampleSession(progress: "{\"a\":1}")
            try await store.createCeremony(session, tokens: [], audit: nil)
            try expect(try await store.ceremony(.id("session")) == session, "as it was added")
            for progress in [[1, 2], nil, [3]] as [[UInt8]?] {
                let changed = try await store.change(.id("session")) { record in
                    record.progress = progress
                    return CeremonyChange()
                }
                try expect(changed?.progress == progress, "the step answers it")
                try expect(try await store.ceremony(.id("session")) == changed, "and it is kept")
            }
        },
        ConformanceCheck("a token of another session is none, nor is one that nobody has") { store in
            try await activate(store)
            try await open(store)
            try await open(store, "other")
            for digest in [sampleToken(of: "other").digest, sampleToken(of: "none").digest, nil] {
                let scene = try await store.scene(session: "session", activation: "device-phone", tokenDigest: digest)
                try expect(scene != nil && scene?.token == nil, "the session without a token")
                let step = try await takeStep(store, token: digest) { scene, _ in
                    try expect(scene.token == nil, "in the step, too")
                }
                try expect(step.decision != nil, "and it is judged")
            }
        },
        ConformanceCheck("without the session, or without the activation, nothing is judged") { store in
            try await activate(store)
            try await open(store)
            try await store.createAccount(sampleAccount("bob"), audit: sampleAudit())
            try await addDevice(store, sampleRegistration("plain", account: "account-bob"))
            for (session, activation) in [
                ("none", "device-phone"), ("session", "none"), ("session", "device-plain"),
            ] {
                let step = try await takeStep(store, session, activation: activation, request: sampleName()) { _, _ in
                    throw StoreError(.unavailable, "judged")
                }
                try expect(step.isMissing, "\(session), \(activation)")
                try expect(
                    try await store.scene(session: session, activation: activation, tokenDigest: nil) == nil,
                    "for a reader, too")
            }
            try expect(try await store.answer(to: sampleName()) == nil, "and nothing is answered")
        },
        ConformanceCheck("what a judge throws reaches the caller, and nothing is changed") { store in
            try await activate(store)
            try await open(store)
            let trail = try await store.auditEntries(after: 0, limit: 99).count
            try await expectError(StoreError(.notFound, "")) {
                _ = try await takeStep(store, request: sampleName()) { scene, change in
                    scene.ceremony.phase = .ended
                    scene.activation.lockout.failuresInARow += 1
                    change.ceremony.audit = [sampleAudit()]
                    throw StoreError(.notFound, "the judge's own")
                }
            }
            // Only the writing can find this error: a counter that goes back, after both rows.
            try await expectError(StoreError(.conflict, "")) {
                _ = try await takeStep(store, request: sampleName()) { scene, change in
                    scene.ceremony.phase = .ended
                    scene.activation.lockout.failuresInARow += 1
                    change.withdrawnCredentials = ["pin-phone"]
                    change.ceremony.advances = [CounterAdvance(credentialID: "credential-phone", counter: 1)]
                    change.ceremony.audit = [sampleAudit()]
                    change.offer = sampleOffer("another")
                }
            }
            try await expectError(StoreError(.conflict, "")) {
                _ = try await takeStep(store) { scene, _ in scene.activation.device.name = "Other" }
            }
            try expect(try await store.ceremony(.id("session")) == sampleSession(), "the session is as before")
            try expect(
                try await store.activation(id: "device-phone") == sampleActivation().activation, "the activation")
            try expect(
                try await store.credentials(accountID: "account-alice") == sampleActivation().credentials, "its keys")
            try expect(try await store.offer(id: "another") == nil, "there is no offer")
            try expect(try await store.answer(to: sampleName()) == nil, "no answer")
            try expect(try await store.auditEntries(after: 0, limit: 99).count == trail, "and the trail as before")
        },
        ConformanceCheck("a step sees that the account was locked") { store in
            try await activate(store)
            try await open(store)
            for isLocked in [true, false] {
                _ = try await store.setAccountLocked(isLocked, id: "account-alice", audit: sampleAudit())
                let step = try await takeStep(store) { scene, _ in
                    try expect(scene.isAccountLocked == isLocked, "as it is at that moment")
                }
                try expect(step.decision != nil, "it is judged")
            }
        },
    ]

    private static let answers: [ConformanceCheck<IdentityConformanceSubject>] = [
        ConformanceCheck("the same request is answered again, and other bytes of its name are refused") { store in
            try await activate(store)
            try await activate(store, "other")
            try await open(store)
            @Sendable func count(_ scene: inout IdentityScene) { scene.activation.lockout.failuresInARow += 1 }
            let first = try await takeStep(store, request: sampleName(), answer: "first") { scene, _ in count(&scene) }
            try expect(first.decision == "first", "it is judged once")
            let again = try await takeStep(store, request: sampleName(), answer: "second") { scene, _ in count(&scene) }
            try expect(again.repetition == "first", "and answered again")
            let altered = sampleName(hash: 2)
            let replayed = try await takeStep(store, request: altered, answer: "third") { scene, _ in count(&scene) }
            try expect(replayed.isReplayed, "other bytes are a replay")
            try expect(try await store.answer(to: sampleName())?.repetition == "first", "a reader gives it, too")
            try expect(try await store.answer(to: altered)?.isReplayed == true, "and refuses, too")
            try expect(try await store.answer(to: sampleName("other")) == nil, "another name was not answered")
            try expect(
                try await store.activation(id: "device-phone")?.lockout.failuresInARow == 3,
                "one effect, from two to three")
            // A request of the same name from another caller is another request, also if the joined names are alike.
            for (caller, request) in [("device-other", "jti"), ("device-phone", "jti x"), ("device-phone", " jti")] {
                let name = sampleName(request, caller: caller)
                let step = try await takeStep(store, activation: caller, request: name, answer: caller + request)
                try expect(step.decision == caller + request, "\(caller), \(request)")
                try expect(try await store.answer(to: name)?.repetition == caller + request, "has its own answer")
            }
        },
        ConformanceCheck("an answer is given again though its session, or its activation's account, is gone") { store in
            try await activate(store)
            try await open(store)
            let step = try await takeStep(store, request: sampleName(), answer: "deleted") { scene, change in
                scene.ceremony.accountID = scene.activation.device.accountID
                change.deletesAccount = true
                change.ceremony.audit = [sampleAudit("account-deleted")]
            }
            try expect(step.decision == "deleted", "the account is deleted")
            try expect(try await store.ceremony(.id("session")) == nil, "and its session")
            let again = try await takeStep(store, request: sampleName())
            try expect(again.repetition == "deleted", "whoever lost that hears it again")
            try expect(try await takeStep(store, request: sampleName("new")).isMissing, "and nothing else")
        },
        ConformanceCheck("the end of a session erases its answers but the last, and no other session's") { store in
            try await activate(store)
            try await activate(store, "other")
            for id in ["session", "second"] { try await open(store, id) }
            for request in ["1", "2"] { _ = try await takeStep(store, request: sampleName(request)) }
            _ = try await takeStep(store, "second", request: sampleName("3"))
            let others = sampleName("1", caller: "device-other")
            _ = try await takeStep(store, activation: "device-other", request: others)
            let end = try await takeStep(store, request: sampleName("4"), answer: "over") { scene, _ in
                (scene.ceremony.phase, scene.ceremony.outcome) = (.ended, .succeeded)
            }
            try expect(end.decision == "over", "the session ends")
            for (name, isKept) in [
                (sampleName("1"), false), (sampleName("2"), false), (sampleName("3"), true), (sampleName("4"), true),
                (others, true),
            ] {
                try expect(try await (store.answer(to: name) != nil) == isKept, "\(name.caller) \(name.request)")
            }
            // A later step does not erase the answers from after the end.
            _ = try await takeStep(store, request: sampleName("5")) { scene, _ in scene.ceremony.isConsumed = true }
            try expect(try await store.answer(to: sampleName("4"))?.repetition == "over", "the last one stays")
        },
        ConformanceCheck("a session that an app begins is added with its token, once for each request") { store in
            try await activate(store)
            let request = sampleName()
            let trail = try await store.auditEntries(after: 0, limit: 99).count
            for (number, id) in ["one", "two"].enumerated() {
                let step = try await store.begin(
                    sampleSession(id), token: sampleToken(UInt8(number)), request: request,
                    answer: sampleAnswer(request, id), audit: sampleAudit())
                try expect(number == 0 ? step.decision != nil : step.repetition == "one", "the first is begun")
            }
            let altered = sampleName(hash: 2)
            let replayed = try await store.begin(
                sampleSession("three"), token: sampleToken(3), request: altered, answer: sampleAnswer(altered),
                audit: sampleAudit())
            try expect(replayed.isReplayed, "other bytes are a replay")
            try expect(try await store.ceremony(.id("one")) == sampleSession("one"), "it is there")
            try expect(
                try await store.scene(session: "one", activation: "device-phone", tokenDigest: sampleToken(0).digest)?
                    .token == sampleToken(0), "with its token")
            for id in ["two", "three"] { try expect(try await store.ceremony(.id(id)) == nil, "no other is") }
            try expect(try await store.auditEntries(after: 0, limit: 99).count == trail + 1, "one event")
            _ = try await takeStep(store, "one") { scene, _ in
                (scene.ceremony.phase, scene.ceremony.outcome) = (.ended, .failed)
            }
            try expect(
                try await store.answer(to: request)?.repetition == "one", "the end of the session begins no other one")
        },
        ConformanceCheck("answers whose time is over are deleted, the oldest first") { store in
            try await activate(store)
            try await open(store)
            for seconds in [30, 10, 20] {
                let name = sampleName("\(seconds)")
                _ = try await store.step(
                    session: "session", activation: "device-phone", tokenDigest: nil, request: name
                ) { _ in
                    var change = IdentityChange()
                    change.answer = sampleAnswer(name, keptFor: .seconds(seconds))
                    return (change, ())
                }
            }
            func delete(_ second: Int, _ limit: Int) async throws -> Int {
                try await store.deleteStaleIdentities(
                    now: .start + .seconds(second), historyBefore: .start, limit: limit)
            }
            try expect(try await delete(10, 9) == 0, "none before its time")
            try expect(try await delete(25, 1) == 1, "at most the limit")
            try expect(try await store.answer(to: sampleName("10")) == nil, "the oldest")
            try expect(try await store.answer(to: sampleName("20")) != nil, "not the next")
            try expect(try await delete(25, 9) == 1, "the rest")
            try expect(try await store.answer(to: sampleName("30")) != nil, "and none whose time is not over")
        },
    ]

    private static let races: [ConformanceCheck<IdentityConformanceSubject>] = [
        ConformanceCheck("of 50 steps at once on one activation, each sees what the others have written") { store in
            try await activate(store)
            for number in 0..<5 { try await open(store, "session-\(number)") }
            let count = try await winners(50) { index in
                try await takeStep(
                    store, "session-\(index % 5)", request: sampleName("\(index)")
                ) { scene, _ in
                    scene.activation.lockout.failuresInARow += 1
                    scene.activation.lockout.failures.append(.start + .milliseconds(index))
                    let steps = scene.ceremony.progress.map { String(decoding: $0, as: UTF8.self) }.flatMap(Int.init)
                    scene.ceremony.progress = Array("\((steps ?? 0) + 1)".utf8)
                }.decision != nil
            }
            try expect(count == 50, "each is judged")
            let lockout = try await store.activation(id: "device-phone")?.lockout
            try expect(lockout?.failuresInARow == 52, "two and fifty, not \(lockout?.failuresInARow ?? 0)")
            try expect(Set(lockout?.failures ?? []).count == 52, "and each attempt is on record")
            for number in 0..<5 {
                let progress = try await store.ceremony(.id("session-\(number)"))?.progress
                try expect(progress == Array("10".utf8), "ten steps of each session")
            }
        },
        ConformanceCheck("of 50 equal requests at once one is judged, and all get its answer") { store in
            try await activate(store)
            try await open(store)
            let answers = try await withThrowingTaskGroup(of: (String, Bool).self) { group in
                for index in 0..<50 {
                    group.addTask {
                        let step = try await takeStep(store, request: sampleName(), answer: "\(index)") { scene, _ in
                            scene.activation.lockout.failuresInARow += 1
                        }
                        return (step.decision ?? step.repetition ?? "", step.decision != nil)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            try expect(answers.count(where: \.1) == 1, "one is judged")
            try expect(Set(answers.map(\.0)).count == 1 && answers[0].0 != "", "and all are told the same")
            try expect(try await store.activation(id: "device-phone")?.lockout.failuresInARow == 3, "one effect")
        },
        ConformanceCheck("of 50 claims at once one wins") { store in
            try await open(store)
            for number in 0..<5 { try await activate(store, "\(number)") }
            let count = try await winners(50) { index in
                do {
                    return try await takeStep(
                        store, activation: "device-\(index % 5)", token: sampleToken(of: "session").digest
                    ) { scene, _ in
                        guard scene.ceremony.phase == .created, scene.token != nil else { throw StoreError.conflict }
                        scene.ceremony.phase = .claimed
                        scene.ceremony.deviceID = scene.activation.device.id
                    }.decision != nil
                } catch let error as StoreError where error == .conflict { return false }
            }
            try expect(count == 1, "one of 50 wins, not \(count)")
        },
    ]

    private static func agree(
        _ store: IdentityConformanceSubject, _ kept: KeptConsent, by activation: String = "device-phone"
    ) async throws {
        try await open(store, kept.record.session)
        _ = try await takeStep(store, kept.record.session, activation: activation) { $1.consent = kept }
    }

    private static let consents: [ConformanceCheck<IdentityConformanceSubject>] = [
        ConformanceCheck("what was agreed to is kept with its step, for its account alone, and goes with it") { store in
            try await activate(store)
            try await activate(store, "other", account: "bob")
            let service = sampleConsent()
            var own = sampleConsent("second")
            own.record.service = nil
            try await Self.agree(store, service)
            try await Self.agree(store, own)
            try await Self.agree(store, sampleConsent("bobs", account: "account-bob"), by: "device-other")
            try expect(
                try await store.identityConsents(accountID: "account-alice", limit: 9) == [own.record, service.record],
                "the newest first, as they were added")
            try expect(
                try await store.identityConsents(accountID: "account-alice", limit: 1) == [own.record],
                "at most so many")
            try expect(
                try await store.identityConsent(session: "session", accountID: "account-alice") == service.record, "one"
            )
            try expect(
                try await store.identityConsent(session: "session", accountID: "account-bob") == nil, "nobody else's")
            // A refused step leaves nothing.
            try await open(store, "refused")
            try await expectError(StoreError.conflict) {
                _ = try await takeStep(store, "refused") { _, change in
                    change.consent = sampleConsent("refused")
                    throw StoreError.conflict
                }
            }
            try expect(try await store.identityConsent(session: "refused", accountID: "account-alice") == nil, "none")
            try expect(try await store.deleteAccount(id: "account-alice", audit: sampleAudit()), "it is there")
            try expect(try await store.identityConsents(accountID: "account-alice", limit: 9).isEmpty, "all are gone")
            try expect(try await store.identityConsents(accountID: "account-bob", limit: 9).count == 1, "no other's")
        },
        ConformanceCheck("of an account as many agreements are kept as are to be, and none past its time") { store in
            try await activate(store)
            try await activate(store, "other", account: "bob")
            try await Self.agree(store, sampleConsent("bobs", account: "account-bob"), by: "device-other")
            for number in 1...5 { try await Self.agree(store, sampleConsent("\(number)")) }
            func sessions(_ account: String = "account-alice") async throws -> [String] {
                try await store.identityConsents(accountID: account, limit: 9).map(\.session)
            }
            try expect(try await sessions() == ["5", "4", "3"], "the newest three")
            try expect(try await sessions("account-bob") == ["bobs"], "no other's goes for it")
            func delete(_ second: Int, _ limit: Int) async throws -> Int {
                try await store.deleteStaleIdentities(
                    now: .start + .seconds(second), historyBefore: .start, limit: limit)
            }
            try expect(try await delete(60, 9) == 0, "none before its time")
            try expect(try await delete(61, 2) == 2, "at most the limit")
            try expect(try await sessions("account-bob").isEmpty, "the oldest")
            try expect(try await sessions() == ["5", "4"], "first")
            _ = try await delete(61, 9)
            try expect(try await sessions().isEmpty, "and then the rest")
        },
    ]

    private static let changes: [ConformanceCheck<IdentityConformanceSubject>] = [
        ConformanceCheck("a step moves counters on, replaces keys, offers an activation, and tells of it") { store in
            try await activate(store)
            try await open(store)
            var pin = sampleActivation().credentials[1]
            (pin.id, pin.keyID) = ("pin-new", [9, 9, 9])
            let replacing = pin
            let notice = NoticeRecord(
                id: "n", accountID: "account-alice", kind: .authenticatorAdded, at: .start, subject: "PIN")
            let step = try await takeStep(store) { scene, change in
                scene.ceremony.changedAt = .start + .seconds(4)
                change.withdrawnCredentials = ["pin-phone", "nobody's"]
                change.ceremony.newCredentials = [replacing]
                change.ceremony.advances = [CounterAdvance(credentialID: "credential-phone", counter: 6)]
                change.ceremony.audit = [sampleAudit("one"), sampleAudit("two")]
                change.ceremony.notices = [notice]
                change.offer = sampleOffer("another")
            }
            try expect(step.decision != nil, "it is decided")
            let keys = try await store.credentials(accountID: "account-alice")
            try expect(keys.map(\.id) == ["credential-phone", "pin-new"], "one key in the other's place")
            try expect(keys[0].counter == 6 && keys[0].lastUsedAt == .start + .seconds(4), "a counter moved on")
            try expect(try await store.offer(id: "another") == sampleOffer("another"), "the offer")
            let trail = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            try expect(trail.suffix(2) == ["one", "two"], "the trail")
            try expect(try await store.notices(accountID: "account-alice", limit: 9) == [notice], "a notice")
        },
        ConformanceCheck("no step withdraws another activation's key") { store in
            try await activate(store)
            try await activate(store, "other")
            try await open(store)
            _ = try await takeStep(store) { _, change in change.withdrawnCredentials = ["pin-other"] }
            try expect(
                try await store.scene(session: "session", activation: "device-other", tokenDigest: nil)?.credentials
                    .count == 2, "it is there")
        },
        ConformanceCheck("the other open sessions of a disabled activation end as failed, and nobody else's") { store in
            for name in ["phone", "other"] { try await activate(store, name) }
            for (id, device) in [
                ("session", "phone"), ("open", "phone"), ("ended", "phone"), ("theirs", "other"),
            ] {
                try await open(store, id)
                _ = try await takeStep(store, id, activation: "device-\(device)") { scene, _ in
                    scene.ceremony.phase = id == "ended" ? .ended : .claimed
                    scene.ceremony.outcome = id == "ended" ? .succeeded : nil
                    scene.ceremony.accountID = "account-alice"
                    scene.ceremony.deviceID = "device-\(device)"
                }
            }
            try await open(store, "unclaimed")
            _ = try await takeStep(store) { scene, change in
                scene.activation.lockout.isPermanent = true
                scene.ceremony.changedAt = .start + .seconds(6)
                change.endOfOtherSessions = { ceremony in
                    IdentityOutcomeChange(
                        accountID: "account-alice", service: nil, at: .start,
                        history: IdentityHistoryRecord(
                            purpose: ceremony.id, service: nil, role: nil, outcome: .failed, at: .start),
                        limits: Limits())
                }
            }
            let history = try await store.identityHistory(accountID: "account-alice", limit: 9)
            try expect(history.map(\.purpose) == ["open"] && history[0].service == nil, "the history has it")
            for (id, phase, outcome) in [
                ("session", .claimed, nil), ("open", .ended, .failed), ("ended", .ended, .succeeded),
                ("theirs", .claimed, nil), ("unclaimed", .created, nil),
            ] as [(String, CeremonyRecord.Phase, CeremonyRecord.Outcome?)] {
                let session = try await store.ceremony(.id(id))
                try expect(session?.phase == phase && session?.outcome == outcome, id)
            }
            try expect(try await store.ceremony(.id("open"))?.changedAt == .start + .seconds(6), "at that moment")
        },
        ConformanceCheck("what an attempt has disabled that nobody settles is ended: keys, sessions, and no others") {
            store in
            let cases: [(name: String, isPermanent: Bool, second: Int?)] = [
                ("phone", true, 5), ("later", true, 6), ("resting", false, 5), ("settled", true, nil),
            ]
            for (name, isPermanent, second) in cases {
                try await activate(store, name)
                try await open(store, name)
                _ = try await takeStep(store, name, activation: "device-\(name)") { scene, _ in
                    scene.ceremony.phase = .claimed
                    scene.ceremony.accountID = "account-alice"
                    scene.ceremony.deviceID = "device-\(name)"
                    scene.activation.lockout = LockoutRecord(
                        failuresInARow: 9, isPermanent: isPermanent,
                        reservation: second.map { LockoutRecord.Reservation(request: [1], at: .start + .seconds($0)) })
                }
            }
            @Sendable func end() async throws -> Int {
                try await store.disableForsaken(
                    countedBy: .start + .seconds(5), limit: 9,
                    audit: AuditEvent(.init(rawValue: "disabled"), at: .start + .seconds(7))
                ) { ceremony in
                    IdentityOutcomeChange(
                        accountID: "account-alice", service: nil, at: .start,
                        history: IdentityHistoryRecord(
                            purpose: ceremony.id, service: nil, role: nil, outcome: .failed, at: .start),
                        limits: Limits())
                }
            }
            try expect(try await end() == 1, "one is")
            try expect(try await end() == 0, "and is once")
            for (name, isPermanent, second) in cases {
                let activation = try await store.activation(id: "device-\(name)")
                let isEnded = name == "phone"
                try expect((activation?.lockout.reservation == nil) == (isEnded || second == nil), "\(name): attempt")
                try expect(activation?.lockout.isPermanent == isPermanent, "\(name): as disabled as before")
                let keys = try await store.credentials(accountID: "account-alice")
                try expect(keys.contains { $0.deviceID == "device-\(name)" } != isEnded, "\(name): keys")
                let session = try await store.ceremony(.id(name))
                try expect(session?.outcome == (isEnded ? .failed : nil), "\(name): session")
            }
            try expect(try await store.ceremony(.id("phone"))?.changedAt == .start + .seconds(7), "at that moment")
            let history = try await store.identityHistory(accountID: "account-alice", limit: 9)
            try expect(history.map(\.purpose) == ["phone"], "the history has it")
            let trail = try await store.auditEntries(after: 0, limit: 99).map(\.event).filter {
                $0.kind.rawValue == "disabled"
            }
            try expect(
                trail.map(\.detail) == ["device-phone"] && trail.first?.accountID == "account-alice", "and the trail")
        },
        ConformanceCheck("a step that deletes the account leaves nothing of it, and nobody else loses anything") {
            store in
            for (name, account) in [("phone", "alice"), ("tablet", "alice"), ("other", "bob")] {
                try await activate(store, name, account: account)
                try await store.offer(
                    sampleOffer("offer-\(name)", account: "account-\(account)"), audit: sampleAudit())
                try await open(store, name)
                _ = try await takeStep(
                    store, name, activation: "device-\(name)", request: sampleName(caller: "device-\(name)"))
                let request = sampleName(caller: GivenAnswer.offerPrefix + "offer-\(name)")
                _ = try await store.step(offer: "offer-\(name)", request: request) { _ in
                    var change = OfferChange()
                    change.answer = sampleAnswer(request)
                    return (change, ())
                }
            }
            _ = try await takeStep(store, "phone") { _, change in change.deletesAccount = true }
            for (name, isThere) in [("phone", false), ("tablet", false), ("other", true)] {
                try expect(try await (store.activation(id: "device-\(name)") != nil) == isThere, "activation \(name)")
                try expect(try await (store.offer(id: "offer-\(name)") != nil) == isThere, "offer \(name)")
                for caller in ["device-\(name)", GivenAnswer.offerPrefix + "offer-\(name)"] {
                    try expect(
                        try await (store.answer(to: sampleName(caller: caller)) != nil) == isThere, "answer \(caller)")
                }
            }
            try expect(try await store.account(id: "account-alice") == nil, "the account is gone")
        },
    ]
}

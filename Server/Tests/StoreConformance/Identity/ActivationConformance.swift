import Records
import Settings
import _Primitives

/// The rules for every store of activations and their offers.
public enum ActivationConformance {
    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<IdentityConformanceSubject>] = Self.offers + Self.activations

    private static let offers: [ConformanceCheck<IdentityConformanceSubject>] = [
        ConformanceCheck("an offer is read as it was written, before and after a change of every column") { store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            try await store.createAccount(sampleAccount("bob"), audit: sampleAudit())
            try await store.offer(sampleOffer(), audit: sampleAudit("offered"))
            try expect(try await store.offer(id: "device-phone") == sampleOffer(), "as it was added")
            try expect(try await store.offer(id: "other") == nil, "and no other")
            try expect(
                try await store.auditEntries(after: 0, limit: 9).last?.event.kind.rawValue == "offered",
                "with its event")
            var changed = sampleOffer()
            changed.accountID = "account-bob"
            changed.claimDigest = [4]
            changed.pinKey = [5]
            changed.pinParameters = "{}"
            changed.name = nil
            changed.inviteID = nil
            changed.challenge = "next"
            changed.tokenDigest = [6]
            changed.tokenUntil = .start + .seconds(7)
            changed.lockout = sampleActivation().activation.lockout
            changed.createdAt = .start + .seconds(8)
            changed.expiresAt = .start + .seconds(9)
            let wanted = changed
            let step = try await store.step(offer: "device-phone", request: nil) { offer in
                offer = wanted
                return (OfferChange(), ())
            }
            try expect(step.decision != nil, "it is decided")
            try expect(try await store.offer(id: "device-phone") == wanted, "as it was changed")
        },
        ConformanceCheck("the key of an offer's PIN is gone once the offer cannot be used") { store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            for state in OfferRecord.State.allCases {
                let id = "offer-\(state)"
                try await store.offer(sampleOffer(id), audit: sampleAudit())
                _ = try await store.step(offer: id, request: nil) { offer in
                    offer.state = state
                    offer.challenge = "next"
                    return (OfferChange(), ())
                }
                let offer = try await store.offer(id: id)
                try expect(offer?.state == state && offer?.challenge == "next", "\(state)")
                try expect(offer?.pinKey == (state == .offered ? sampleOffer(id).pinKey : []), "the key of \(state)")
            }
        },
        ConformanceCheck("of two offers of one identifier there is one, and none of a device's") { store in
            try await activate(store)
            try await store.offer(sampleOffer("new"), audit: sampleAudit())
            for id in ["new", "device-phone"] {
                try await expectError(StoreError(.conflict, "")) {
                    try await store.offer(sampleOffer(id, name: "Other"), audit: sampleAudit())
                }
            }
            try await addDevice(store, sampleRegistration("plain"))
            try await expectError(StoreError(.conflict, "")) {
                try await store.offer(sampleOffer("device-plain"), audit: sampleAudit())
            }
            try expect(try await store.offer(id: "new") == sampleOffer("new"), "the first is as it was")
        },
        ConformanceCheck("an account's offers are those that can be used, the oldest first") { store in
            for name in ["alice", "bob"] { try await store.createAccount(sampleAccount(name), audit: sampleAudit()) }
            for (id, after) in [("late", 3), ("early", 1), ("over", 2), ("taken", 4), ("locked", 5)] {
                try await store.offer(
                    sampleOffer(id, lifetime: .seconds(id == "over" ? 10 : 60), after: after), audit: sampleAudit())
            }
            try await store.offer(sampleOffer("other", account: "account-bob"), audit: sampleAudit())
            for id in ["taken", "locked"] {
                _ = try await store.step(offer: id, request: nil) { offer in
                    if id == "taken" { offer.state = .revoked } else { offer.lockout.isPermanent = true }
                    return (OfferChange(), ())
                }
            }
            let ids = try await store.offers(accountID: "account-alice", at: .start + .seconds(12)).map(\.id)
            try expect(ids == ["early", "late"], "\(ids)")
            try expect(
                try await store.offers(accountID: "account-alice", at: .start + .seconds(11)).map(\.id).contains(
                    "over"),
                "before its end it can be used")
        },
        ConformanceCheck("an offer becomes an activation once, with its keys, its answer and what is told of it") {
            store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            try await store.offer(sampleOffer(), audit: sampleAudit())
            let sample = sampleActivation()
            let notice = NoticeRecord(
                id: "n", accountID: "account-alice", kind: .deviceAdded, at: .start, subject: "Phone")
            let count = try await winners(50) { index in
                let request = sampleName("\(index % 25)", caller: GivenAnswer.offerPrefix + "device-phone")
                do {
                    return try await store.step(offer: "device-phone", request: request) { offer in
                        guard offer.state == .offered else { throw StoreError.conflict }
                        offer.state = .enrolled
                        var change = OfferChange()
                        change.enrolled = sample
                        change.answer = sampleAnswer(request, "\(index)")
                        change.audit = [sampleAudit("enrolled")]
                        change.notices = [notice]
                        return (change, ())
                    }.decision != nil
                } catch let error as StoreError where error == .conflict { return false }
            }
            try expect(count == 1, "one of 50 wins, not \(count)")
            try expect(try await store.activation(id: "device-phone") == sample.activation, "the activation")
            try expect(try await store.activations(accountID: "account-alice") == [sample.activation], "of the account")
            try expect(try await store.devices(accountID: "account-alice") == [sample.activation.device], "its device")
            try expect(try await store.credentials(accountID: "account-alice") == sample.credentials, "its keys")
            try expect(try await store.notices(accountID: "account-alice", limit: 9) == [notice], "a notice")
            try expect(
                try await store.auditEntries(after: 0, limit: 99).count { $0.event.kind.rawValue == "enrolled" } == 1,
                "an event")
        },
        ConformanceCheck("a request about an offer is answered again, and other bytes of its name are refused") {
            store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            try await store.offer(sampleOffer(), audit: sampleAudit())
            @Sendable func take(_ request: RequestName, _ text: String) async throws -> IdentityStep<String> {
                try await store.step(offer: "device-phone", request: request) { offer in
                    offer.lockout.failuresInARow += 1
                    var change = OfferChange()
                    change.answer = sampleAnswer(request, text)
                    return (change, text)
                }
            }
            let name = sampleName(caller: GivenAnswer.offerPrefix + "device-phone")
            let altered = RequestName(caller: name.caller, request: name.request, hash: [2])
            try expect(try await take(name, "first").decision == "first", "it is judged once")
            try expect(try await take(name, "second").repetition == "first", "and answered again")
            try expect(try await take(altered, "third").isReplayed, "other bytes are a replay")
            try expect(try await store.offer(id: "device-phone")?.lockout.failuresInARow == 1, "one effect")
            let missing = try await store.step(offer: "none", request: name.with(request: "x")) { _ in
                (OfferChange(), ())
            }
            try expect(missing.isMissing, "an offer that is not there is missing")
        },
        ConformanceCheck("50 attempts at once on one offer are fifty") { store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            try await store.offer(sampleOffer(), audit: sampleAudit())
            let count = try await winners(50) { _ in
                try await store.step(offer: "device-phone", request: nil) { offer in
                    offer.lockout.failuresInARow += 1
                    return (OfferChange(), ())
                }.decision != nil
            }
            let failures = try await store.offer(id: "device-phone")?.lockout.failuresInARow
            try expect(count == 50 && failures == 50, "fifty, not \(failures ?? 0)")
        },
        ConformanceCheck("what a judge throws, and an enrolment that cannot be, leave an offer as it was") { store in
            for name in ["alice", "bob"] { try await store.createAccount(sampleAccount(name), audit: sampleAudit()) }
            try await store.offer(sampleOffer(), audit: sampleAudit())
            let trail = try await store.auditEntries(after: 0, limit: 99).count
            @Sendable func enrol(_ sample: (ActivationRecord, [CredentialRecord])) async throws {
                _ = try await store.step(offer: "device-phone", request: nil) { offer in
                    offer.state = .enrolled
                    var change = OfferChange()
                    change.enrolled = sample
                    change.audit = [sampleAudit()]
                    return (change, ())
                }
            }
            try await expectError(StoreError(.notFound, "")) {
                _ = try await store.step(offer: "device-phone", request: nil) { offer -> (OfferChange, Bool) in
                    offer.state = .revoked
                    throw StoreError(.notFound, "the judge's own")
                }
            }
            try await expectError(StoreError(.notFound, "")) {
                try await enrol(sampleActivation(account: "account-nobody"))
            }
            _ = try await store.setAccountLocked(true, id: "account-alice", audit: sampleAudit())
            try await expectError(StoreError(.forbidden, "")) { try await enrol(sampleActivation()) }
            _ = try await store.setAccountLocked(false, id: "account-alice", audit: sampleAudit())
            // The key belongs to another device.
            try await addDevice(store, sampleRegistration("phone-bob", account: "account-bob"))
            var taken = sampleActivation()
            taken.credentials[0].keyID = sampleRegistration("phone-bob").credentials[0].keyID
            let conflicting = taken
            try await expectError(StoreError(.conflict, "")) { try await enrol(conflicting) }
            try expect(try await store.offer(id: "device-phone") == sampleOffer(), "as it was")
            try expect(try await store.devices(accountID: "account-alice").isEmpty, "no device")
            try expect(try await store.auditEntries(after: 0, limit: 99).count == trail + 2, "no event of it")
        },
        ConformanceCheck("offers whose time is over are deleted, the oldest first, whatever they became") { store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            for seconds in [30, 10, 20] {
                try await store.offer(sampleOffer("\(seconds)", lifetime: .seconds(seconds)), audit: sampleAudit())
            }
            _ = try await store.step(offer: "20", request: nil) { offer in
                offer.state = .enrolled
                return (OfferChange(), ())
            }
            func delete(_ second: Int, _ limit: Int) async throws -> Int {
                try await store.deleteStaleIdentities(
                    now: .start + .seconds(second), historyBefore: .start, limit: limit)
            }
            try expect(try await delete(10, 9) == 0, "none before its time")
            try expect(try await delete(25, 1) == 1, "at most the limit")
            try expect(try await store.offer(id: "10") == nil, "the oldest")
            try expect(try await store.offer(id: "20") != nil, "not the next")
            try expect(try await delete(25, 9) == 1, "the rest")
            try expect(try await store.offer(id: "30") != nil, "and none whose time is not over")
        },
    ]

    private static let activations: [ConformanceCheck<IdentityConformanceSubject>] = [
        ConformanceCheck("an offer that nobody has used gives way to another of its name, where that is asked for") {
            store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            let first = sampleOffer("again")
            try await store.offer(first, audit: sampleAudit())
            var second = first
            second.claimDigest = [UInt8](repeating: 9, count: 32)
            second.letter = "the code"
            let another = second
            try await expectError(StoreError(.conflict, "")) {
                try await store.offer(another, audit: sampleAudit())
            }
            try await store.offer(another, replacing: true, audit: sampleAudit("replaced"))
            try expect(try await store.offer(id: first.id) == another, "the second, letter and all")
            let request = sampleName(caller: GivenAnswer.offerPrefix + first.id)
            _ = try await store.step(offer: first.id, request: request) { offer in
                offer.state = .enrolled
                var change = OfferChange()
                change.answer = sampleAnswer(request)
                return (change, ())
            }
            try expect(try await store.offer(id: first.id)?.letter == nil, "what was used is in no letter")
            try await expectError(StoreError(.conflict, "")) {
                try await store.offer(another, replacing: true, audit: sampleAudit())
            }
            try expect(try await store.answer(to: request) != nil, "its answer is kept")
        },
        ConformanceCheck("of offers at once an account gets as many as the limit, of those that can still be used") {
            store in
            for name in ["alice", "bob"] {
                try await store.createAccount(sampleAccount(name), audit: sampleAudit())
            }
            try await store.offer(sampleOffer("over", lifetime: .zero), audit: sampleAudit())
            try await store.offer(sampleOffer("used"), audit: sampleAudit())
            _ = try await store.step(offer: "used", request: nil) { offer in
                offer.state = .enrolled
                return (OfferChange(), ())
            }
            try await store.offer(sampleOffer("other", account: "account-bob"), audit: sampleAudit())
            let trail = try await store.auditEntries(after: 0, limit: 99).count
            let count = try await winners(20) { index in
                do {
                    try await store.offer(
                        sampleOffer("\(index)"), replacing: false, limit: 2, audit: sampleAudit("offered"))
                    return true
                } catch let error as StoreError where error.code == .conflict {
                    return false
                }
            }
            try expect(count == 2, "two")
            try expect(try await store.offers(accountID: "account-alice", at: .start).count == 2, "that can be used")
            try expect(try await store.auditEntries(after: 0, limit: 99).count == trail + 2, "no event of the others")
        },
        ConformanceCheck("an offer is taken back once, by its own account, while it can be used, and its key goes") {
            store in
            for name in ["alice", "bob"] {
                try await store.createAccount(sampleAccount(name), audit: sampleAudit())
            }
            let offer = sampleOffer("open")
            try await store.offer(offer, audit: sampleAudit())
            let late = AuditEvent(AuditEvent.Kind(rawValue: "late"), at: offer.expiresAt)
            for (account, audit, expected) in [
                ("account-bob", sampleAudit("a"), false), ("account-alice", late, false),
                ("account-alice", sampleAudit("b"), true), ("account-alice", sampleAudit("c"), false),
            ] {
                let isWithdrawn = try await store.withdrawOffer(id: offer.id, accountID: account, audit: audit)
                try expect(isWithdrawn == expected, audit.kind.rawValue)
            }
            let left = try await store.offer(id: offer.id)
            try expect(left?.state == .revoked && left?.pinKey == [], "no key of a PIN")
            let kinds = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            try expect(kinds.filter { ["a", "b", "c", "late"].contains($0) } == ["b"], "one event")
        },
        ConformanceCheck("an offer that is locked for good is not taken back, unless its last try is being judged") {
            store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            for (id, reservation, expected) in [
                ("locked", nil, false), ("judged", LockoutRecord.Reservation(request: [8], at: .start), true),
            ] as [(String, LockoutRecord.Reservation?, Bool)] {
                try await store.offer(sampleOffer(id), audit: sampleAudit())
                _ = try await store.step(offer: id, request: nil) { offer in
                    offer.lockout = LockoutRecord(isPermanent: true, reservation: reservation)
                    return (OfferChange(), ())
                }
                let isWithdrawn = try await store.withdrawOffer(
                    id: id, accountID: "account-alice", audit: sampleAudit("withdrawn"))
                try expect(isWithdrawn == expected, id)
                try expect(try await store.offer(id: id)?.state == (expected ? .revoked : .offered), "\(id) after")
            }
            let kinds = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            try expect(kinds.count { $0 == "withdrawn" } == 1, "one event")
        },
        ConformanceCheck("an account's activations are its devices that have an identity, the oldest first") { store in
            for name in ["second", "first"] { try await activate(store, name) }
            try await addDevice(store, sampleRegistration("plain"))
            try await activate(store, "other", account: "bob")
            let ids = try await store.activations(accountID: "account-alice").map(\.device.id)
            try expect(ids == ["device-second", "device-first"], "\(ids)")
            try expect(try await store.activation(id: "device-plain") == nil, "a device without one is none")
            try expect(try await store.activation(id: "none") == nil, "nor is what is not there")
        },
        ConformanceCheck("an activation is called by another name") { store in
            try await activate(store)
            try await addDevice(store, sampleRegistration("plain"))
            let isRenamed = try await store.renameActivation(
                id: "device-phone", name: "Work", audit: sampleAudit("renamed"))
            try expect(isRenamed, "it is there")
            var expected = sampleActivation().activation
            expected.device.name = "Work"
            try expect(try await store.activation(id: "device-phone") == expected, "by the new name")
            let last = try await store.auditEntries(after: 0, limit: 99).last?.event
            try expect(last?.kind.rawValue == "renamed" && last?.accountID == "account-alice", "with its event")
            for id in ["none", "device-plain"] {
                try expect(try await !store.renameActivation(id: id, name: "X", audit: sampleAudit()), id)
            }
            try expect(try await store.devices(accountID: "account-alice").last?.name != "X", "a plain device stays")
        },
        ConformanceCheck(
            "a step on an activation alone writes it and what is withdrawn, or nothing where it is refused"
        ) { store in
            try await activate(store)
            try await activate(store, "other", account: "bob")
            let sample = sampleActivation()
            let notice = NoticeRecord(
                id: "n", accountID: "account-alice", kind: .authenticatorsRemoved, at: .start, subject: "Phone")
            for isRefused in [true, false] {
                do {
                    let result = try await store.step(onActivation: "device-phone") { activation, keys in
                        try expect(activation == sample.activation && keys == sample.credentials, "as it is")
                        activation.lockout = LockoutRecord()
                        var change = ActivationChange()
                        // The key of another activation does not belong to this activation.
                        change.withdrawnCredentials = ["pin-phone", "pin-other"]
                        change.audit = sampleAudit("cared")
                        change.notice = notice
                        guard !isRefused else { throw StoreError(.forbidden, "refused") }
                        return (change, 7)
                    }
                    try expect(result == 7 && !isRefused, "what the judge says")
                } catch let error as StoreError where error.code == .forbidden {
                    try expect(isRefused, "as it was thrown")
                    try expect(
                        try await store.activation(id: "device-phone") == sample.activation, "nothing is changed")
                }
            }
            try expect(try await store.activation(id: "device-phone")?.lockout == LockoutRecord(), "it is written")
            let keys = try await store.credentials(accountID: "account-alice")
            try expect(keys.map(\.id) == [sample.credentials[0].id], "the key is gone")
            try expect(try await store.credentials(accountID: "account-bob").count == 2, "and no other's")
            let last = try await store.auditEntries(after: 0, limit: 99).last?.event
            try expect(last?.kind.rawValue == "cared" && last?.accountID == "account-alice", "with its event")
            try expect(try await store.notices(accountID: "account-alice", limit: 9) == [notice], "and its notice")
            try await addDevice(store, sampleRegistration("plain"))
            for id in ["none", "device-plain"] {
                let result = try await store.step(onActivation: id) { _, _ in (ActivationChange(), 1) }
                try expect(result == nil, id)
            }
        },
        ConformanceCheck("an activation that is taken back goes with its keys, answers and open sessions") { store in
            for name in ["phone", "other"] {
                try await activate(store, name)
                try await open(store, name)
                _ = try await takeStep(
                    store, name, activation: "device-\(name)", request: sampleName(caller: "device-\(name)")
                ) { scene, _ in
                    scene.ceremony.phase = .claimed
                    scene.ceremony.accountID = "account-alice"
                    scene.ceremony.deviceID = "device-\(name)"
                }
            }
            let notice = NoticeRecord(
                id: "n", accountID: "account-alice", kind: .authenticatorsRemoved, at: .start, subject: "Phone")
            for expected in [true, false] {
                let isRevoked = try await store.revokeActivation(
                    id: "device-phone", audit: sampleAudit("revoked"), notice: notice
                ) { ceremony in
                    IdentityOutcomeChange(
                        accountID: "account-alice", service: "portal", at: .start,
                        history: IdentityHistoryRecord(
                            purpose: ceremony.id, service: "portal", role: nil, outcome: .failed, at: .start),
                        limits: Limits())
                }
                try expect(isRevoked == expected, "once")
            }
            try await Self.expectGone(store)
            let session = try await store.ceremony(.id("phone"))
            try expect(session?.phase == .ended && session?.outcome == .cancelled, "its session is over")
            try expect(try await store.ceremony(.id("other"))?.phase == .claimed, "the other one's is not")
            let history = try await store.identityHistory(accountID: "account-alice", limit: 9)
            try expect(history.map(\.purpose) == ["phone"], "the history has that session")
            let revoked = try await store.auditEntries(after: 0, limit: 99).map(\.event).filter {
                $0.kind.rawValue == "revoked"
            }
            try expect(revoked.map(\.accountID) == ["account-alice"], "one event, of the account")
            try expect(try await store.notices(accountID: "account-alice", limit: 9) == [notice], "one notice")
            try await addDevice(store, sampleRegistration("plain"))
            try expect(
                try await !store.revokeActivation(id: "device-plain", audit: sampleAudit(), notice: nil) { _ in nil },
                "a device without an identity is none")
        },
        ConformanceCheck("what a device was asked is in its account's history when another takes its place") { store in
            try await activate(store)
            try await open(store)
            _ = try await takeStep(store, request: sampleName()) { scene, _ in
                scene.ceremony.phase = .claimed
                scene.ceremony.accountID = "account-alice"
                scene.ceremony.deviceID = "device-phone"
            }
            var successor = sampleRegistration("new", isActive: false)
            successor.replaces = sampleActivation().credentials.map(\.id)
            try await addDevice(store, successor)
            let enrolment = sampleCeremony("enrolment", kind: .registration, account: "account-alice")
            try await store.createCeremony(enrolment, tokens: [], audit: nil)
            try expect(try await store.activation(id: "device-phone") != nil, "until then it is there")
            _ = try await store.change(.id("enrolment")) { record in
                record.deviceID = "device-new"
                var change = CeremonyChange()
                change.deviceFate = .activate
                change.endOfSessions = { ceremony in
                    IdentityOutcomeChange(
                        accountID: "account-alice", service: "portal", at: .start,
                        history: IdentityHistoryRecord(
                            purpose: ceremony.id, service: "portal", role: nil, outcome: .failed, at: .start),
                        limits: Limits())
                }
                return change
            }
            try expect(try await store.activation(id: "device-phone") == nil, "it is replaced")
            try expect(try await store.ceremony(.id("session"))?.outcome == .cancelled, "what it was asked is over")
            let history = try await store.identityHistory(accountID: "account-alice", limit: 9)
            try expect(history.map(\.purpose) == ["session"], "the history has it")
        },
        ConformanceCheck("a device takes its activation and its answers with it, by whichever way it goes") { store in
            for way in 0..<3 {
                for name in ["phone", "other"] where try await store.activation(id: "device-\(name)") == nil {
                    if way > 0 {
                        _ = try await store.deleteStaleIdentities(
                            now: .start + .seconds(9999), historyBefore: .start, limit: 9)
                    }
                    try await activate(store, name)
                }
                for name in ["phone", "other"] {
                    try await open(store, "\(name)-\(way)")
                    _ = try await takeStep(
                        store, "\(name)-\(way)", activation: "device-\(name)",
                        request: sampleName(caller: "device-\(name)"))
                }
                switch way {
                case 0:
                    try expect(try await store.deleteDevice(id: "device-phone", audit: sampleAudit()), "revoked")
                case 1:
                    let names = sampleActivation().credentials.map {
                        CredentialSelection.Name(aaid: $0.aaid, keyID: $0.keyID)
                    }
                    _ = try await store.deregister(
                        .keys(names), accountID: "account-alice", asker: .anybody, audit: sampleAudit(), notice: nil)
                default:
                    var change = CeremonyChange()
                    change.deviceFate = .discard
                    let discard = change
                    _ = try await store.change(.id("phone-\(way)")) { record in
                        record.deviceID = "device-phone"
                        return discard
                    }
                }
                try await Self.expectGone(store)
            }
        },
        ConformanceCheck("an account takes its activations, offers and answers with it") { store in
            try await activate(store)
            try await activate(store, "other", account: "bob")
            for name in ["phone", "other"] {
                try await open(store, name)
                _ = try await takeStep(
                    store, name, activation: "device-\(name)", request: sampleName(caller: "device-\(name)"))
            }
            try expect(try await store.deleteAccount(id: "account-alice", audit: sampleAudit()), "it is there")
            try await Self.expectGone(store)
            try expect(try await store.offer(id: "device-phone") == nil, "its offer is gone")
            try expect(try await store.offer(id: "device-other") != nil, "the other's is not")
        },
    ]

    /// Checks that the activation of "phone" has left no data, and that the activation of "other" has lost none.
    private static func expectGone(_ store: IdentityConformanceSubject) async throws {
        try expect(try await store.activation(id: "device-phone") == nil, "the activation is gone")
        try expect(try await store.answer(to: sampleName()) == nil, "and what it was answered")
        let other = try await store.activation(id: "device-other")
        try expect(other?.isActive == true, "the other one is there")
        try expect(
            try await store.credentials(accountID: other?.device.accountID ?? "").map(\.deviceID)
                == ["device-other", "device-other"], "with its keys alone")
        try expect(try await store.answer(to: sampleName(caller: "device-other")) != nil, "and its answers")
    }
}

extension RequestName {
    fileprivate func with(request: String) -> RequestName {
        RequestName(caller: self.caller, request: request, hash: self.hash)
    }
}

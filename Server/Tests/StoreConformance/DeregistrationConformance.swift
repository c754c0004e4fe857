public import Records
import _Primitives

/// The rules for every ``DeregistrationStore``, about the deletion of keys, devices and accounts.
public enum DeregistrationConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & CeremonyStore & AuditStore & NoticeStore & AuthorizationStore
        & SessionStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = Self.selections + Self.ceremonies + Self.askers + Self.ends

    private static let pin = "C516#0001"
    private static let finger = "C516#0003"
    private static let event = AuditEvent(
        AuditEvent.Kind(rawValue: "gone"), at: .start + .seconds(5), accountID: "account-alice")

    private static func notice(_ id: String) -> NoticeRecord {
        NoticeRecord(
            id: id, accountID: "account-alice", kind: .authenticatorsRemoved, at: .start + .seconds(5), subject: "Bank")
    }

    /// Returns the number of trail entries about deleted keys, and the number of notices about them for alice.
    private static func notes(_ store: Subject) async throws -> [Int] {
        [
            try await store.auditEntries(after: 0, limit: 99).count { $0.event == Self.event },
            try await store.notices(accountID: "account-alice", limit: 9).count,
        ]
    }

    private static let selections: [ConformanceCheck<Subject>] = [
        ConformanceCheck("all keys of an account go with its devices and sessions, and nobody else's") { store in
            try await Self.twoPhones(store)
            try await enrol(store, "bob")
            for (number, device) in [(1, "device-phone-alice"), (2, "device-second"), (3, nil)] {
                try await Self.signIn(store, number, device: device)
            }
            try await Self.signIn(store, 4, account: "account-bob", device: "device-phone-bob")
            let outcome = try await store.deregister(
                .all, accountID: "account-alice", asker: .person(onDevice: "device-second"), audit: Self.event,
                notice: nil)
            try expect(outcome == .deregistered(credentials: 3), "three keys")
            try expect(try await store.credentials(accountID: "account-alice").isEmpty, "no key is left")
            try expect(try await store.devices(accountID: "account-alice").isEmpty, "no device is left")
            try expect(try await Self.liveSessions(store) == [4], "no session is left")
            try expect(try await store.credentials(accountID: "account-bob").count == 1, "another's keys stay")
            try expect(try await Self.trail(store) == [Self.event], "one event")
            try expect(try await store.account(id: "account-alice") != nil, "the account stays")
        },
        ConformanceCheck("the keys of one model go on every device; a device with others stays, with its sessions") {
            store in
            try await Self.twoPhones(store)
            try await Self.signIn(store, 1, device: "device-phone-alice")
            try await Self.signIn(store, 2, device: "device-second")
            let outcome = try await store.deregister(
                .model(Self.pin), accountID: "account-alice", asker: .anybody, audit: Self.event, notice: nil)
            try expect(outcome == .deregistered(credentials: 2), "two keys")
            try expect(try await store.credentials(accountID: "account-alice").map(\.aaid) == [Self.finger], "the rest")
            try expect(try await store.devices(accountID: "account-alice").map(\.id) == ["device-second"], "its device")
            try expect(try await Self.liveSessions(store) == [2], "its session")
        },
        ConformanceCheck("named keys go, those that are not there count nothing and leave no trail") { store in
            try await Self.twoPhones(store)
            let key = try await store.credentials(accountID: "account-alice")[0]
            let known = CredentialSelection.Name(aaid: key.aaid, keyID: key.keyID)
            let unknown = CredentialSelection.Name(aaid: Self.finger, keyID: key.keyID)
            for (id, expected) in [("first", 1), ("second", 0)] {
                let outcome = try await store.deregister(
                    .keys([unknown, known]), accountID: "account-alice", asker: .anybody, audit: Self.event,
                    notice: Self.notice(id))
                try expect(outcome == .deregistered(credentials: expected), "\(expected) keys")
            }
            try expect(
                try await store.notices(accountID: "account-alice", limit: 9) == [Self.notice("first")], "one notice")
            try expect(try await store.credentials(accountID: "account-alice").count == 2, "the others stay")
            try expect(try await Self.trail(store) == [Self.event], "one event")
        },
        ConformanceCheck("a key of another account is as one that never was") { store in
            try await Self.twoPhones(store)
            try await enrol(store, "bob")
            let keys = try await [
                store.credentials(accountID: "account-bob")[0], store.credentials(accountID: "account-alice")[0],
            ]
            let names = keys.map { CredentialSelection.Name(aaid: $0.aaid, keyID: $0.keyID) }
            func deregister(_ names: [CredentialSelection.Name]) async throws -> DeregistrationOutcome {
                try await store.deregister(
                    .keys(names), accountID: "account-alice", asker: .anybody, audit: Self.event,
                    notice: Self.notice("once"))
            }
            for _ in 0..<2 {
                try expect(try await deregister([names[0]]) == .deregistered(credentials: 0), "nothing is deleted")
            }
            try expect(try await store.notices(accountID: "account-alice", limit: 9).isEmpty, "no notice")
            try expect(try await Self.trail(store).isEmpty, "no event")
            try expect(try await store.credentials(accountID: "account-alice").count == 3, "all are there")
            try expect(try await deregister(names) == .deregistered(credentials: 1), "the account's own alone")
            try expect(try await store.credentials(accountID: "account-alice").count == 2, "it is gone")
            try expect(try await store.credentials(accountID: "account-bob") == [keys[0]], "another's key stays")
            try expect(try await store.devices(accountID: "account-bob").count == 1, "and another's device")
            try expect(try await Self.trail(store) == [Self.event], "one event")
        },
    ]

    private static let ceremonies: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a ceremony knows the keys that it has deleted, for as long as it is kept") { store in
            try await Self.twoPhones(store)
            try await enrol(store, "bob")
            try await store.createCeremony(
                sampleCeremony(kind: .deregistration, account: "account-alice"), tokens: [sampleToken()], audit: nil)
            let names = try await store.credentials(accountID: "account-alice").map {
                CredentialSelection.Name(aaid: $0.aaid, keyID: $0.keyID)
            }
            for time in 0..<2 {
                let redeemed = try await store.redeem(tokenDigest: sampleToken().digest) { record, _ in
                    var change = CeremonyChange()
                    guard time == 0 else { return change }
                    record.phase = .ended
                    record.outcome = .succeeded
                    change.deregistration = .all
                    (change.deregistrationAudit, change.deregistrationNotice) = (Self.event, Self.notice("n"))
                    return change
                }
                let told = redeemed?.deregistered ?? []
                try expect(told.count == 3 && names.allSatisfy(told.contains), "alice's three, not \(told.count)")
                try expect(try await store.credentials(accountID: "account-alice").isEmpty, "none is left")
                try expect(try await store.credentials(accountID: "account-bob").count == 1, "another's stays")
            }
            for (moment, isKept) in [(Timestamp.start, true), (.start + .seconds(1), false)] {
                _ = try await store.deleteStale(
                    endedBefore: .start + .seconds(9), deregisteredBefore: moment, now: .start, limit: 9)
                let isThere = try await store.ceremony(.id("ceremony")) != nil
                try expect(isThere == isKept, "kept until its own time")
            }
            try expect(try await Self.notes(store) == [1, 1], "one entry and one notice")
        },
        ConformanceCheck("a ceremony that finds no keys to delete leaves neither entry nor notice") { store in
            try await enrol(store, "bob")
            try await store.createCeremony(
                sampleCeremony(kind: .deregistration, account: "account-alice"), tokens: [sampleToken()], audit: nil)
            let foreign = try await store.credentials(accountID: "account-bob").map {
                CredentialSelection.Name(aaid: $0.aaid, keyID: $0.keyID)
            }
            let redeemed = try await store.redeem(tokenDigest: sampleToken().digest) { record, _ in
                record.phase = .ended
                record.outcome = .succeeded
                var change = CeremonyChange()
                change.deregistration = .keys(foreign)
                (change.deregistrationAudit, change.deregistrationNotice) = (Self.event, Self.notice("n"))
                return change
            }
            try expect(redeemed?.deregistered.isEmpty == true, "nothing is deleted")
            try expect(try await Self.notes(store) == [0, 0], "nothing is said to have been")
            let offered = try await store.ceremony(ofToken: sampleToken().digest)
            try expect(offered?.ceremony == redeemed?.ceremony && offered?.deregistered.isEmpty == true, "nor read")
        },
    ]

    private static let askers: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a device that is gone, pending or another account's deletes nothing") { store in
            try await Self.twoPhones(store)
            try await enrol(store, "bob")
            try await addDevice(store, sampleRegistration("pending", isActive: false))
            for device in ["device-never", "device-pending", "device-phone-bob"] {
                let outcome = try await store.deregister(
                    .all, accountID: "account-alice", asker: .person(onDevice: device), audit: Self.event, notice: nil)
                try expect(outcome == .unknown, device)
                try expect(try await store.account(id: "account-alice", ofDevice: device) == nil, device)
            }
            try expect(
                try await store.deregister(.all, accountID: "never", asker: .anybody, audit: Self.event, notice: nil)
                    == .unknown,
                "an account that never was")
            try expect(try await store.credentials(accountID: "account-alice").count == 4, "nothing is deleted")
            try expect(
                try await store.account(id: "account-alice", ofDevice: "device-second")?.username == "alice",
                "an active device has its account")
        },
        ConformanceCheck("a device of a locked account deletes nothing; others may") { store in
            try await Self.twoPhones(store)
            _ = try await store.setAccountLocked(true, id: "account-alice", audit: sampleAudit())
            let refused = try await store.deregister(
                .all, accountID: "account-alice", asker: .person(onDevice: "device-second"), audit: Self.event,
                notice: nil)
            try expect(refused == .locked, "refused")
            try expect(try await store.credentials(accountID: "account-alice").count == 3, "nothing is deleted")
            let outcome = try await store.deregister(
                .all, accountID: "account-alice", asker: .anybody, audit: Self.event, notice: nil)
            try expect(outcome == .deregistered(credentials: 3), "three keys")
        },
    ]

    private static let ends: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a lock ends the sessions of the account with itself, and nobody else's") { store in
            try await Self.twoPhones(store)
            try await enrol(store, "bob")
            for (number, device) in [(1, "device-phone-alice"), (2, "device-second"), (3, nil)] {
                try await Self.signIn(store, number, device: device)
            }
            try await Self.signIn(store, 4, account: "account-bob", device: "device-phone-bob")
            _ = try await store.setAccountLocked(false, id: "account-alice", audit: sampleAudit())
            try expect(try await Self.liveSessions(store) == [1, 2, 3, 4], "an unlocking ends nothing")
            _ = try await store.setAccountLocked(true, id: "account-alice", audit: sampleAudit())
            try expect(try await Self.liveSessions(store) == [4], "the other person's alone")
            try await expectError(StoreError(.notFound, "")) {
                try await Self.signIn(store, 5, device: "device-second")
            }
            try expect(try await Self.liveSessions(store) == [4], "and no later one begins")
        },
        ConformanceCheck("with a device end its sessions, its unconfirmed enrolment and its open sign-in") { store in
            try await Self.twoPhones(store)
            try await Self.signIn(store, 1, device: "device-phone-alice")
            try await Self.signIn(store, 2, device: "device-second")
            for (id, kind, device) in [
                ("enrolment", CeremonyRecord.Kind.registration, "device-second"),
                ("sign-in", .authentication, "device-second"), ("taken", .authentication, "device-second"),
                ("other", .authentication, "device-phone-alice"),
                ("agreed", .transaction, "device-second"),
            ] {
                try await store.createCeremony(
                    sampleCeremony(
                        id, kind: kind, reference: kind == .authentication ? "r-\(id)" : nil,
                        account: "account-alice"), tokens: [], audit: sampleAudit())
                _ = try await store.change(.id(id)) { record in
                    record.deviceID = device
                    record.phase = kind == .registration ? .answering : .ended
                    record.outcome = kind == .registration ? nil : .succeeded
                    record.isConsumed = id == "taken"
                    return CeremonyChange()
                }
            }
            var event = Self.event
            event.accountID = nil
            try expect(try await store.deleteDevice(id: "device-second", audit: event), "it existed")
            try expect(try await Self.liveSessions(store) == [1], "the other device's session stays")
            for (id, outcome) in [
                ("enrolment", CeremonyRecord.Outcome.cancelled), ("sign-in", .cancelled), ("taken", .succeeded),
                ("other", .succeeded), ("agreed", .succeeded),
            ] {
                let record = try await store.ceremony(.id(id))
                try expect(record?.phase == .ended && record?.outcome == outcome, id)
            }
            try expect(try await store.ceremony(.id("sign-in"))?.changedAt == event.at, "when it ended")
            try expect(try await Self.trail(store) == [Self.event], "the event names the account")
            try expect(try await store.deleteDevice(id: "device-second", audit: event) == false, "once")
        },
        ConformanceCheck("a sign-in whose device went in between begins no session") { store in
            try await Self.twoPhones(store)
            _ = try await store.deleteDevice(id: "device-second", audit: Self.event)
            try await expectError(StoreError(.notFound, "")) {
                try await Self.signIn(store, 1, device: "device-second")
            }
            try expect(try await Self.liveSessions(store).isEmpty, "no session")
        },
        ConformanceCheck("with an account go its sessions and the names that clients knew it by") { store in
            try await Self.twoPhones(store)
            try await enrol(store, "bob")
            try await Self.signIn(store, 1, device: nil)
            try await Self.signIn(store, 2, account: "account-bob", device: nil)
            try expect(try await store.deleteAccount(id: "account-alice", audit: Self.event), "it existed")
            try expect(try await Self.liveSessions(store) == [2], "another's session stays")
            try expect(try await store.account(subject: "c-account-alice", client: "c") == nil, "no name")
            try expect(
                try await store.account(subject: "c-account-bob", client: "c") == "account-bob",
                "another's name stays")
        },
    ]

    // MARK: What the runs begin with

    /// Enrols two phones for alice: a PIN on the first, a PIN and a finger on the second.
    private static func twoPhones(_ store: Subject) async throws {
        try await enrol(store)
        var second = sampleRegistration("second")
        var finger = second.credentials[0]
        finger.id = "credential-finger"
        finger.aaid = Self.finger
        second.credentials.append(finger)
        try await addDevice(store, second)
    }

    private static func cookie(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 32) }

    private static func signIn(
        _ store: Subject, _ number: Int, account: String = "account-alice", device: String?
    ) async throws {
        try await SampleSignIn(
            "\(number)", secret: Self.cookie(number), account: account, client: "c", at: .start, device: device
        ).keep(in: store)
    }

    private static func liveSessions(_ store: Subject) async throws -> [Int] {
        var numbers: [Int] = []
        for number in 1...4 where try await store.session(cookieDigest: Self.cookie(number)) != nil {
            numbers.append(number)
        }
        return numbers
    }

    private static func trail(_ store: Subject) async throws -> [AuditEvent] {
        try await store.auditEntries(after: 0, limit: 99).map(\.event).filter { $0.kind == Self.event.kind }
    }
}

extension DeregistrationStore {
    /// Calls ``DeregistrationStore/deregister(_:accountID:asker:audit:notice:ending:)`` for devices without sessions of
    /// identities.
    public func deregister(
        _ selection: CredentialSelection, accountID: String, asker: DeregistrationAsker, audit: AuditEvent,
        notice: NoticeRecord?
    ) async throws -> DeregistrationOutcome {
        try await self.deregister(
            selection, accountID: accountID, asker: asker, audit: audit, notice: notice, ending: { _ in nil })
    }

    /// Calls ``DeregistrationStore/deleteDevice(id:audit:ending:)`` for a device without sessions of identities.
    public func deleteDevice(id: String, audit: AuditEvent) async throws -> Bool {
        try await self.deleteDevice(id: id, audit: audit, ending: { _ in nil })
    }
}

public import Records
import _Primitives

/// The rules for every store of the keys by which devices prove their identity.
public enum DeviceIdentityConformance {
    /// The store protocols that the rules use.
    public typealias Subject = AccountStore & AuditStore & CeremonyStore & DeviceIdentityStore & NoticeStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<any Subject>] = [
        ConformanceCheck("a device gets other keys in the place of its own, with the event and the notice") { store in
            try await Self.enrol(store, "phone", keys: "old")
            let isReplaced = try await Self.tell(store, "phone", keys: "new")
            try expect(isReplaced, "they are the device's")
            try expect(try await store.device(ofKey: "signing-old") == nil, "the former are nobody's")
            let found = try await store.device(ofKey: "signing-new")
            try expect(found?.deviceID == "device-phone" && found?.signingKey == [4, 3], "found by the new one")
            try expect(found?.account.id == "account-alice" && found?.isGone == false, "whose it is")
            let events = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            try expect(events.count { $0 == "replaced" } == 1 && !events.contains("added"), "\(events)")
            let notices = try await store.notices(accountID: "account-alice", limit: 9)
            try expect(notices.map(\.subject) == ["phone of account-alice"], "with the device's name")
            try expect(notices.map(\.kind) == [.deviceKeysReplaced], "and its kind")
            let isChanged = try await Self.tell(store, "phone", keys: "old")
            try expect(isChanged, "what nobody has any more is nobody's")
        },
        ConformanceCheck("nothing takes the place of keys where nobody has seen to it that the person was there") {
            store in
            try await Self.enrol(store, "phone", keys: "old")
            let isReplaced = try await Self.tell(store, "phone", keys: "new", isByPerson: false)
            try expect(!isReplaced, "they are not taken")
            try await Self.expectUnchanged(store)
        },
        ConformanceCheck("a device that may not authenticate, or is another account's, gets no other keys") { store in
            try await Self.enrol(store, "phone", keys: "old", isActive: false)
            let ofPending = try await Self.tell(store, "phone", keys: "new")
            try expect(!ofPending, "one that waits")
            try await store.createAccount(sampleAccount("bob"), audit: sampleAudit())
            try await Self.add(store, "other", "account-bob", keys: "bobs")
            let ofAnother = try await Self.tell(store, "other", keys: "new")
            try expect(!ofAnother, "another account's")
            let found = try await store.device(ofKey: "signing-bobs")
            try expect(found?.deviceID == "device-other", "it has its own")
            try await Self.expectNothing(store)
        },
        ConformanceCheck("keys of which one is anybody's, in either place, take the place of none") { store in
            try await Self.enrol(store, "phone", keys: "old")
            try await store.createAccount(sampleAccount("bob"), audit: sampleAudit())
            try await Self.add(store, "other", "account-bob", keys: "bobs")
            try await Self.add(store, "second", "account-alice", keys: "second")
            for (signing, encryption) in [
                ("signing-bobs", "encryption-bobs"), ("signing-second", "encryption-second"),
                ("signing-bobs", "encryption-new"), ("signing-new", "encryption-second"),
                ("encryption-bobs", "encryption-new"), ("signing-new", "signing-old"),
                ("encryption-old", "signing-old"),
                ("signing-old", "encryption-old"),
            ] {
                _ = try await Self.tell(store, "phone", signing, encryption)
                try expect(try await store.isKey("signing-old", ofDevice: "device-phone"), "\(signing) \(encryption)")
                try expect(
                    try await store.isKey("signing-bobs", ofDevice: "device-other"), "\(signing) \(encryption)")
            }
            try await Self.expectUnchanged(store)
        },
    ]

    private static func identity(_ signing: String, _ encryption: String) -> DeviceIdentityRecord {
        DeviceIdentityRecord(
            signing: DeviceIdentityRecord.Key(name: signing, point: [4, signing == "signing-new" ? 3 : 1]),
            encryption: DeviceIdentityRecord.Key(name: encryption, point: [4, 2]))
    }

    private static func add(
        _ store: any Subject, _ name: String, _ account: String, keys: String, isActive: Bool = true
    ) async throws {
        var registration = sampleRegistration(name, account: account, isActive: isActive)
        registration.identity = Self.identity("signing-\(keys)", "encryption-\(keys)")
        try await addDevice(store, registration)
    }

    private static func enrol(_ store: any Subject, _ name: String, keys: String, isActive: Bool = true) async throws {
        try await store.createAccount(sampleAccount(), audit: sampleAudit())
        try await Self.add(store, name, "account-alice", keys: keys, isActive: isActive)
    }

    /// Sends keys from a device of alice. Returns `true` if the device has these keys afterwards.
    private static func tell(
        _ store: any Subject, _ name: String, keys: String, isByPerson: Bool = true
    ) async throws -> Bool {
        try await Self.tell(store, name, "signing-\(keys)", "encryption-\(keys)", isByPerson: isByPerson)
    }

    private static func tell(
        _ store: any Subject, _ name: String, _ signing: String, _ encryption: String, isByPerson: Bool = true
    ) async throws -> Bool {
        let label = "\(name) \(signing) \(encryption)"
        var change = CeremonyChange()
        change.identityAddition = DeviceIdentityAddition(
            deviceID: "device-\(name)", accountID: "account-alice", identity: Self.identity(signing, encryption),
            audit: sampleAudit("added"),
            replacement: isByPerson
                ? DeviceIdentityAddition.Replacement(
                    audit: sampleAudit("replaced"),
                    notice: NoticeRecord(
                        id: "notice \(label)", accountID: "account-alice", kind: .deviceKeysReplaced, at: .start,
                        subject: ""))
                : nil)
        _ = try await store.answer(
            AnsweredChallenge(digest: Array(label.utf8), expiresAt: .start + .seconds(9)), change: change, at: .start)
        return try await store.isKey(signing, ofDevice: "device-\(name)")
    }

    private static func expectNothing(_ store: any Subject) async throws {
        let events = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
        try expect(!events.contains("replaced") && !events.contains("added"), "\(events)")
        try expect(try await store.notices(accountID: "account-alice", limit: 9).isEmpty, "nobody is told anything")
    }

    private static func expectUnchanged(_ store: any Subject) async throws {
        try expect(try await store.device(ofKey: "signing-old")?.deviceID == "device-phone", "it has its own")
        try expect(try await store.device(ofKey: "signing-new") == nil, "and no other")
        try await Self.expectNothing(store)
    }
}

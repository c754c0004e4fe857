public import Records
import _Primitives

/// The rules for every store of lost devices.
public enum LostDeviceConformance {
    /// The store protocols that the rules use.
    public typealias Subject = AccountStore & AuditStore & CeremonyStore & DeregistrationStore & DeviceIdentityStore
        & DispatchTargetStore & LostDeviceStore & NoticeStore

    private static let alice = "account-alice"
    private static let later = Timestamp.start + .seconds(60)

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<any Subject>] = [
        ConformanceCheck("a device that is reported as lost rests once, and the person is told in the same step") {
            store in
            try await Self.fill(store)
            try expect(try await store.restDevice(Self.report("phone")), "the first report")
            try expect(try await Self.rested(store) == ["device-phone": Self.later], "since the report")
            try expect(try await !store.restDevice(Self.report("phone", id: "again")), "it rests already")
            try expect(
                try await store.notices(accountID: Self.alice, limit: 9) == [Self.report("phone").notice], "one notice")
            let events = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind)
            try expect(events.count { $0 == .deviceRested } == 1, "one event")
        },
        ConformanceCheck("nothing rests that is pending, unknown or another account's, and nobody is told") { store in
            try await Self.fill(store)
            try await addDevice(store, sampleRegistration("pending", isActive: false))
            try await store.createAccount(sampleAccount("bob"), audit: sampleAudit())
            try await addDevice(store, sampleRegistration("bobs", account: "account-bob"))
            for name in ["pending", "none", "bobs"] {
                try expect(try await !store.restDevice(Self.report(name, id: name)), "\(name) does not rest")
                try expect(try await !store.returnDevice(Self.report(name, id: name)), "\(name) does not return")
            }
            try expect(try await Self.rested(store).isEmpty, "nothing rests")
            try expect(try await store.notices(accountID: Self.alice, limit: 9).isEmpty, "nobody is told")
        },
        ConformanceCheck("a device that rests authenticates nowhere, is no target, and is not gone") { store in
            try await Self.fill(store)
            _ = try await store.restDevice(Self.report("phone"))
            try expect(try await Self.isActive("phone", store) == false, "its key is not active")
            try expect(try await Self.isActive("tablet", store) == true, "another device's is")
            let named = try await store.keys(username: AccountName(stored: "alice")).active
            try expect(named?.keys.map(\.deviceID) == ["device-tablet"], "no challenge names its keys")
            try expect(
                try await store.dispatchTargets(accountID: Self.alice).map(\.deviceID) == ["device-tablet"],
                "no target")
            try expect(
                try await store.account(id: Self.alice, ofDevice: "device-phone") == nil, "its token opens nothing")
            let proving = try await store.device(ofKey: Self.keys("phone").signing.name)
            try expect(proving?.isGone == false && proving?.standing.mayAuthenticate == false, "it rests")
            try expect(
                try await store.credentials(accountID: Self.alice).count { $0.isActive } == 2, "no key is taken away")
        },
        ConformanceCheck("a device that returns is as it was, once, and the person is told") { store in
            try await Self.fill(store)
            try expect(try await !store.returnDevice(Self.report("phone", id: "early")), "it does not rest")
            let before = try await store.dispatchTargets(accountID: Self.alice)
            _ = try await store.restDevice(Self.report("phone"))
            try expect(try await store.returnDevice(Self.report("phone", id: "returned")), "it returns")
            try expect(try await !store.returnDevice(Self.report("phone", id: "twice")), "once")
            try expect(try await Self.rested(store).isEmpty, "nothing rests")
            try expect(try await store.dispatchTargets(accountID: Self.alice) == before, "with its push address")
            try expect(try await Self.isActive("phone", store) == true, "its key counts")
            try expect(try await store.notices(accountID: Self.alice, limit: 9).count == 2, "two notices")
        },
        ConformanceCheck("every registration of a phone rests and returns with it") { store in
            try await Self.fill(store)
            var second = sampleRegistration("second")
            second.identity = Self.keys("phone")
            try await addDevice(store, second)
            _ = try await store.restDevice(Self.report("second"))
            try expect(
                try await Self.rested(store) == ["device-phone": Self.later, "device-second": Self.later], "both rest")
            _ = try await store.returnDevice(Self.report("phone", id: "returned"))
            try expect(try await Self.rested(store).isEmpty, "both return")
        },
        ConformanceCheck("of 16 reports at once one counts") { store in
            try await Self.fill(store)
            let count = try await winners(16) { try await store.restDevice(Self.report("phone", id: "report-\($0)")) }
            try expect(count == 1, "one of 16, not \(count)")
        },
    ]

    /// Adds alice with two devices that have keys of their own.
    private static func fill(_ store: any Subject) async throws {
        try await store.createAccount(sampleAccount(), audit: sampleAudit())
        for name in ["phone", "tablet"] {
            var registration = sampleRegistration(name)
            registration.identity = Self.keys(name)
            try await addDevice(store, registration)
        }
    }

    /// Returns the keys by which a device of the checks speaks for itself.
    private static func keys(_ name: String) -> DeviceIdentityRecord {
        DispatchTargetConformance.keys(name == "phone" ? 1 : 2)
    }

    /// Returns `true` if the key of a device counts in an answer; `nil` if there is no such key.
    private static func isActive(_ name: String, _ store: any Subject) async throws -> Bool? {
        let keyID = Array(name.utf8) + [UInt8](repeating: 7, count: 32)
        let found = try await store.verificationMaterial(ceremonyID: "none", keys: [("C516#0001", keyID)])
        return found.credentials.first??.credential.isActive
    }

    /// Returns the moments of the devices of alice that rest.
    private static func rested(_ store: any Subject) async throws -> [String: Timestamp] {  // check: unicode-words
        let devices = try await store.devices(accountID: Self.alice)
        return Dictionary(
            uniqueKeysWithValues: devices.compactMap { device in device.standing.restedAt.map { (device.id, $0) } })
    }

    private static func report(_ name: String, id: String = "report") -> LostDeviceReport {
        LostDeviceReport(
            deviceID: "device-\(name)", accountID: Self.alice,
            audit: AuditEvent(.deviceRested, at: Self.later, accountID: Self.alice, detail: "device-\(name)"),
            notice: NoticeRecord(
                id: id, accountID: Self.alice, kind: .deviceRested, at: Self.later, subject: "phone of account-alice"))
    }
}

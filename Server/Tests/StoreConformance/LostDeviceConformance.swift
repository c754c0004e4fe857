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
            for (name, isKey) in [("phone", false), ("tablet", true)] {
                try expect(
                    try await store.isKey(Self.keys(name).signing.name, ofDevice: "device-\(name)") == isKey,
                    "the key of the \(name) proves something: \(isKey)")
            }
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
        ConformanceCheck("a device whose approval was disowned comes back by an operator, and then is as any other") {
            store in
            try await Self.fill(store)
            var registration = sampleRegistration("disowned")
            let standing = DeviceStanding(restedAt: .start, isDisowned: true)
            registration.device.standing = standing
            try await addDevice(store, registration)
            try expect(try await store.devices(accountID: Self.alice).last?.standing == standing, "as it was kept")
            var report = Self.report("disowned")
            try expect(try await !store.returnDevice(report), "the person does not take it back")
            try expect(try await !store.restDevice(report), "it rests already")
            report.audit.actor = "carol"
            try expect(try await store.returnDevice(report), "the operator gives it back")
            try expect(
                try await store.devices(accountID: Self.alice).last?.standing == DeviceStanding(), "without a mark")
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
        ConformanceCheck("in a random walk over lives of devices nothing that rests counts, and each change is told") {
            store in
            try await Self.walk(200, store)
        },
    ]

    // MARK: A random walk

    /// A device of the walk, as the rules expect the device.
    private struct Life {
        let name: String
        let account: String
        let phone: Int
        var isResting = false
    }

    /// Draws the steps of a walk: a generator whose draws are the same in every run.
    private struct Draws {
        private var state: UInt64 = 0x5EED

        mutating func next(below bound: Int) -> Int {
            self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((self.state >> 33) % UInt64(bound))
        }
    }

    /// Walks over lives of devices of two people: registrations of four phones, reports and returns in any order. Throws
    /// unless after each step exactly the devices in use count, no phone counts for two people, and each report that
    /// changed something is told.
    private static func walk(_ steps: Int, _ store: any Subject) async throws {
        let people = ["alice", "bob"]
        for person in people { try await store.createAccount(sampleAccount(person), audit: sampleAudit()) }
        var (draws, lives, owners, told) = (Draws(), [Life](), [Int: String](), 0)
        for step in 0..<steps {
            let action = draws.next(below: 3)
            if action == 0 || lives.isEmpty {
                let life = Life(
                    name: "walk-\(step)", account: people[draws.next(below: 2)], phone: 1 + draws.next(below: 4))
                guard lives.count < 16 else { continue }
                let isFree = owners[life.phone].map { $0 == life.account } ?? true
                var registration = sampleRegistration(life.name, account: "account-\(life.account)")
                registration.identity = DispatchTargetConformance.keys(life.phone)
                do {
                    try await addDevice(store, registration)
                    try expect(isFree, "step \(step): a phone of one person is no other's")
                    owners[life.phone] = life.account
                    lives.append(life)
                } catch let error as StoreError where error.code == .conflict {
                    try expect(!isFree, "step \(step): a new phone is added")
                }
            } else {
                let chosen = lives[draws.next(below: lives.count)]
                let isReport = action == 1
                var report = Self.report(chosen.name, id: "walk-\(step)")
                report.accountID = "account-\(chosen.account)"
                report.notice.accountID = report.accountID
                report.audit.accountID = report.accountID
                let isChanged = try await isReport ? store.restDevice(report) : store.returnDevice(report)
                try expect(isChanged == (chosen.isResting != isReport), "step \(step): each state once")
                guard isChanged else { continue }
                told += 1
                for index in lives.indices where lives[index].phone == chosen.phone {
                    lives[index].isResting = isReport
                }
            }
            try await Self.expectState(of: lives, told: told, of: people, store, at: step)
        }
        try Self.expectWalked(lives, told: told)
    }

    private static func expectState(
        of lives: [Life], told: Int, of people: [String], _ store: any Subject, at step: Int
    ) async throws {
        var notices = 0
        for person in people {
            let named = try await store.keys(username: AccountName(stored: person)).active
            let inUse = lives.filter { $0.account == person && !$0.isResting }.map { "device-\($0.name)" }
            try expect(named?.keys.map(\.deviceID) == inUse, "step \(step): \(person)'s devices in use")
            notices += try await store.notices(accountID: "account-\(person)", limit: 999).count
        }
        try expect(notices == told, "step \(step): each change is told once")
    }

    /// Throws unless a walk has come to devices, to reports and to returns.
    private static func expectWalked(_ lives: [Life], told: Int) throws {
        try expect(lives.count > 4 && told > 20, "the walk went somewhere")
    }

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

public import Records
import _Primitives

/// The rules for every store of the appearance of invented accounts.
public enum InventedAccountConformance {
    /// The store protocols that the rules use.
    public typealias Subject = AccountStore & CeremonyStore & AuditStore & InventedAccountStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<any Subject>] = [
        ConformanceCheck("the document is there for whoever asks by a name, until it is taken away") { store in
            try expect(try await store.inventedAccounts() == nil, "none at first")
            try await enrol(store)
            for document in ["one", "two", nil] {
                try await store.setInventedAccounts(document, audit: sampleAudit())
                try expect(try await store.inventedAccounts() == document, "as it was set")
                for name in ["alice", "nobody"] {
                    let named = try await store.keys(username: AccountName(stored: name))
                    try expect(named.inventedAccounts == document, "with the keys of every name")
                    try expect((named.active != nil) == (name == "alice"), "whether or not somebody has it")
                }
            }
            try expect(try await store.auditEntries(after: 0, limit: 99).count == 4, "each change is in the trail")
        },
        ConformanceCheck("active keys are counted by device, and devices by account") { store in
            try expect(
                try await store.keyStatistics(limit: 9) == KeyStatistics(sets: [], accountsByDevices: [:]), "none yet")
            for name in ["alice", "bob"] { try await enrol(store, name) }
            try await enrol(store, "pending", isActive: false)
            try await addDevice(store, sampleRegistration("second-bob", account: "account-bob", isActive: true))
            let counted = try await store.keyStatistics(limit: 9)
            try expect(counted.accountsByDevices == [1: 1, 2: 1], "one account with one device, one with two")
            let sets = [41, 42, 43].map { length in
                KeyStatistics.DeviceKeys(
                    keys: [KeyStatistics.Key(aaid: "C516#0001", keyIDLength: length)], accounts: 1)
            }
            try expect(counted.sets == sets, "by model and by the length of the keys' names")
            try expect(try await store.keyStatistics(limit: 0).sets.isEmpty, "a limit")
        },
    ]
}

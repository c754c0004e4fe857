public import Records
import _Primitives

/// The rules for every store of the server's keys for personalised identities.
public enum IdentityKeyConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any IdentityKeyStore & AuditStore

    private static func key(_ name: String, after seconds: Int) -> SealingKeyRecord {
        SealingKeyRecord(
            id: name, privateKey: SecretBytes([9] + Array(name.utf8)), createdAt: .start + .seconds(seconds),
            erasedAt: .start + .seconds(seconds + 100))
    }

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = [
        ConformanceCheck("of 50 roots that are made at once, one is kept, and all get it") { store in
            let roots = try await withThrowingTaskGroup(of: SecretBytes.self) { group in
                for index in 0..<50 {
                    group.addTask {
                        try await store.identityRoot(
                            orElse: SecretBytes([UInt8](repeating: UInt8(index), count: 32)), audit: sampleAudit())
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            try expect(roots.allSatisfy { $0 == roots[0] }, "one root")
            let again = try await store.identityRoot(orElse: SecretBytes([1]), audit: sampleAudit())
            try expect(again == roots[0], "and it stays")
            try expect(try await store.auditEntries(after: 0, limit: 99).count == 1, "one event")
        },
        ConformanceCheck("a sealing key is followed by another, and erased when its time is over") { store in
            try expect(try await store.identitySealingKeys().isEmpty, "none at first")
            @Sendable func follow(_ name: String, at second: Int, since: Int) async throws -> [String] {
                let keys = try await store.followSealingKeys(
                    by: Self.key(name, after: second), unlessMadeSince: .start + .seconds(since),
                    at: .start + .seconds(second))
                try expect(try await store.identitySealingKeys() == keys, "a reader sees the same")
                return keys.map(\.id)
            }
            try expect(try await follow("a", at: 0, since: -50) == ["a"], "the first")
            try expect(try await store.identitySealingKeys() == [Self.key("a", after: 0)], "as it was added")
            try expect(try await follow("b", at: 50, since: 0) == ["a"], "one that was made since stays alone")
            try expect(try await follow("b", at: 50, since: 1) == ["b", "a"], "the newest first")
            try expect(try await follow("c", at: 99, since: 49) == ["b", "a"], "until its time is over")
            try expect(try await follow("c", at: 100, since: 50) == ["b"], "then it is erased")
            try expect(try await follow("d", at: 200, since: 150) == ["d"], "also where another follows")
        },
        ConformanceCheck("a sealing key is added by hand whatever the age of the newest, up to as many as there can be")
        {
            store in
            @Sendable func add(_ name: String, at second: Int, limit: Int = 2) async throws -> [String] {
                let keys = try await store.addSealingKey(
                    Self.key(name, after: second), limit: limit,
                    audit: event(AuditEvent.Kind(rawValue: "added"), at: .start + .seconds(second)))
                try expect(try await store.identitySealingKeys() == keys, "a reader sees the same")
                return keys.map(\.id)
            }
            try expect(try await add("a", at: 0) == ["a"], "the first")
            try expect(try await add("b", at: 1) == ["b", "a"], "and another one")
            try await expectError(StoreError(.conflict, "")) { _ = try await add("c", at: 99) }
            try expect(try await store.identitySealingKeys().map(\.id) == ["b", "a"], "nothing has changed")
            try await expectError(StoreError(.conflict, "")) { _ = try await add("c", at: 100, limit: 1) }
            try expect(try await store.identitySealingKeys().map(\.id) == ["b", "a"], "none is erased by a refusal")
            try expect(try await add("c", at: 100) == ["c", "b"], "once one is erased")
            let kinds = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            try expect(kinds == ["added", "added", "added"], "an event each")
            let followed = try await store.followSealingKeys(
                by: Self.key("d", after: 101), unlessMadeSince: .start + .seconds(100), at: .start + .seconds(101))
            try expect(followed.map(\.id) == ["c"], "it is followed like any other")
        },
        ConformanceCheck("of 50 sealing keys that are made at once, one is added") { store in
            let count = try await winners(50) { index in
                let keys = try await store.followSealingKeys(
                    by: Self.key("key-\(index)", after: 0), unlessMadeSince: .start - .seconds(1), at: .start)
                try expect(keys.count == 1, "one key")
                return keys[0].id.hasBytes(atStart: "key-\(index)")
                    && keys[0].id.utf8.count == "key-\(index)".utf8.count
            }
            try expect(count == 1, "one of 50 wins, not \(count)")
        },
    ]
}

public import Records
import _Primitives

/// The rules for every ``TermsStore``, about the terms that people agree to.
public enum TermsConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & AuditStore & TermsStore

    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: .start)

    private static func add(_ id: String, _ store: Subject) async throws {
        try await store.createAccount(
            AccountRecord(id: id, username: nil, displayName: nil, createdAt: .start), audit: Self.event)
    }

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = [
        ConformanceCheck("who has agreed has agreed to that version, and to no other") { store in
            for id in ["a", "b"] { try await Self.add(id, store) }
            try expect(try await store.hasAgreed(account: "a", version: "1") == false, "nobody")
            try expect(try await store.agree(account: "a", version: "1", audit: Self.event), "agreed")
            try expect(try await store.hasAgreed(account: "a", version: "1"), "remembered")
            for (account, version) in [("a", "2"), ("a", "1 "), ("b", "1")] {
                try expect(try await store.hasAgreed(account: account, version: version) == false, "no other")
            }
            try expect(try await store.agree(account: "a", version: "2", audit: Self.event), "the next")
            try expect(try await store.hasAgreed(account: "a", version: "1"), "the one before stays")
        },
        ConformanceCheck("of those who agree at once one is in the trail") { store in
            try await Self.add("a", store)
            let count = try await winners(20) { _ in
                try await store.agree(account: "a", version: "1", audit: Self.event)
            }
            try expect(count == 20, "all of them have")
            try expect(try await store.auditEntries(after: 0, limit: 99).count == 2, "one event")
        },
        ConformanceCheck("nobody agrees for an account that is gone, and it takes with it what it agreed to") { store in
            try expect(try await store.agree(account: "a", version: "1", audit: Self.event) == false, "nobody")
            try await Self.add("a", store)
            _ = try await store.agree(account: "a", version: "1", audit: Self.event)
            _ = try await store.deleteAccount(id: "a", audit: Self.event)
            try await Self.add("a", store)
            try expect(try await store.hasAgreed(account: "a", version: "1") == false, "anew")
        },
    ]
}

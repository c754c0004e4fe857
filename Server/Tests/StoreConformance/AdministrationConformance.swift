public import Records
import _Primitives

/// The rules for every store of administrators.
public enum AdministrationConformance {
    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<any AdministrationStore>] = [
        ConformanceCheck("a link makes one administrator, whoever asks at the same time") { store in
            let deadline = Timestamp.start + .seconds(900)
            try expect(
                try await store.createAdministratorLink(digest: [1], expiresAt: deadline, audit: sampleAudit()),
                "there is no administrator yet")
            let count = try await winners(20) { index in
                try await store.redeemAdministratorLink(
                    digest: [1], at: .start, administrator: administrator(UInt8(index)), audit: sampleAudit())
            }
            try expect(count == 1, "one of 20 wins, not \(count)")
            try expect(
                try await store.createAdministratorLink(digest: [2], expiresAt: deadline, audit: sampleAudit())
                    == false,
                "no further link where an administrator exists")
        },
        ConformanceCheck("a link that is replaced, unknown or expired makes nobody") { store in
            let deadline = Timestamp.start + .seconds(900)
            for digest: [UInt8] in [[1], [2]] {
                _ = try await store.createAdministratorLink(digest: digest, expiresAt: deadline, audit: sampleAudit())
            }
            for (digest, now) in [([1], Timestamp.start), ([3], .start), ([2], deadline)] as [([UInt8], Timestamp)] {
                try expect(
                    try await store.redeemAdministratorLink(
                        digest: digest, at: now, administrator: administrator(1), audit: sampleAudit()) == false,
                    "\(digest) at \(now) is refused")
            }
            try expect(
                try await store.redeemAdministratorLink(
                    digest: [2], at: deadline - .milliseconds(1), administrator: administrator(1),
                    audit: sampleAudit()), "the last link works to its end")
        },
        ConformanceCheck("a token is valid until it expires") { store in
            _ = try await store.createAdministratorLink(
                digest: [1], expiresAt: .start + .seconds(1), audit: sampleAudit())
            let record = administrator(7)
            _ = try await store.redeemAdministratorLink(
                digest: [1], at: .start, administrator: record, audit: sampleAudit())
            try expect(try await store.administrator(tokenDigest: [7], at: .start) == record, "it is found")
            try expect(try await store.administrator(tokenDigest: [8], at: .start) == nil, "another is not")
            try expect(
                try await store.administrator(tokenDigest: [7], at: record.expiresAt) == nil, "nor an expired one")
        },
        ConformanceCheck("tokens are listed until they expire, and one that is taken away is worth nothing") { store in
            let record = try await add(7, to: store)
            try expect(try await store.administrators(at: .start, limit: 9) == [record], "it is listed")
            try expect(try await store.administrators(at: record.expiresAt, limit: 9).isEmpty, "not once expired")
            try expect(
                try await store.deleteAdministrator(id: "nobody", audit: sampleAudit()) == false, "nobody is not there")
            try expect(try await store.deleteAdministrator(id: record.id, audit: sampleAudit()), "it is taken away")
            try expect(try await store.administrator(tokenDigest: [7], at: .start) == nil, "and not valid any more")
            try expect(
                try await store.deleteAdministrator(id: record.id, audit: sampleAudit()) == false, "once only")
        },
        ConformanceCheck("a token that replaces another leaves it worth nothing") { store in
            let old = try await add(7, to: store)
            var new = old
            (new.tokenDigest, new.expiresAt) = ([8], old.expiresAt + .seconds(1))
            try expect(
                try await store.replaceAdministrator(new, at: old.expiresAt, audit: sampleAudit()) == false,
                "not an expired one")
            try expect(try await store.replaceAdministrator(new, at: .start, audit: sampleAudit()), "replaced")
            try expect(
                try await store.administrator(tokenDigest: [7], at: .start) == nil, "the old one is worth nothing")
            try expect(try await store.administrator(tokenDigest: [8], at: .start) == new, "the new one is valid")
            try expect(
                try await store.replaceAdministrator(administrator(9), at: .start, audit: sampleAudit()) == false,
                "nobody is not there")
        },
    ]

    private static func add(_ byte: UInt8, to store: any AdministrationStore) async throws -> AdministratorRecord {
        let record = self.administrator(byte)
        _ = try await store.createAdministratorLink(digest: [1], expiresAt: .start + .seconds(1), audit: sampleAudit())
        _ = try await store.redeemAdministratorLink(
            digest: [1], at: .start, administrator: record, audit: sampleAudit())
        return record
    }

    private static func administrator(_ byte: UInt8) -> AdministratorRecord {
        AdministratorRecord(
            id: "administrator-\(byte)", tokenDigest: [byte], createdAt: .start, expiresAt: .start + .seconds(3600))
    }
}

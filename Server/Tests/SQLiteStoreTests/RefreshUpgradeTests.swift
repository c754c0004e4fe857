import Foundation
import GRDB
import Records
import SQLStore
import SQLiteStore
import Sealing
import StoreConformance
import Testing
import _Primitives

/// A database of the version whose families of refresh tokens had two tokens, each with a secret of its own.
@Suite("An upgrade: whoever renews tokens goes on (decision 28)")
struct RefreshUpgradeTests {
    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)

    private static func bytes(_ number: UInt8) -> [UInt8] { Array(repeating: number, count: 32) }

    /// Makes of a database what the version before the steps of refresh tokens has left: a head that was made at random, and its parent, which was used.
    private static func turnBack(_ path: String) async throws {
        let raw = try DatabaseQueue(path: path)
        try await raw.write { db in
            let schema = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
            try db.execute(
                sql: """
                    \(FormerSchema.undoing)
                    PRAGMA user_version = \(schema - FormerSchema.count);
                    """)
            try db.execute(
                sql: "UPDATE oauth_refresh SET head = ?, parent = ?, parent_used_at = ?",
                arguments: [
                    Data(Self.bytes(1)), Data(Self.bytes(0)), Self.start.milliseconds,
                ])
        }
        try raw.close()
    }

    private func run(_ body: (SQLStore) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let key = KeyEncryptionKey()
        let new = try SQLStore(folder: folder, key: key)
        var sample = SampleSignIn("r", secret: Self.bytes(9), account: "a", client: "c", at: Self.start)
        sample.grant = GrantRecord(
            id: "grant", client: "c", subject: "c-a", authentication: sample.grant.authentication,
            session: sample.session.id, isLasting: true, scope: "openid", expiresAt: Self.start + .seconds(360))
        try await sample.keep(in: new)
        let isThere = try await new.beginFamily(
            RefreshFamilyStart(
                grant: "grant", head: Self.bytes(0), headEndsAt: Self.start + .seconds(5000), keyThumbprint: nil,
                until: Self.start + .seconds(9000), most: 9, displaced: Self.event), at: Self.start)
        #expect(isThere)
        await new.close()
        try await Self.turnBack(folder + "/countersign.sqlite")
        let store = try SQLStore(folder: folder, key: key)
        try await body(store)
        await store.close()
    }

    private func show(_ presented: UInt8, to successor: UInt8, in store: SQLStore, after seconds: Int)
        async throws
        -> Renewal.Token?
    {
        let outcome = try await store.refresh(
            RefreshExchange(
                grant: "grant", presented: Self.bytes(presented),
                successor: RefreshExchange.Successor(
                    digest: Self.bytes(successor), step: Array(Self.bytes(successor).prefix(16))), isBound: true,
                parentLifetime: .seconds(600), successorEndsAt: Self.start + .seconds(5000 + seconds),
                reuse: Self.event), at: Self.start + .seconds(seconds), judge: { _ in })
        guard case .renewed(let renewal) = outcome else { return nil }
        return renewal.token
    }

    @Test("The newest token of before is renewed, twice")
    func head() async throws {
        try await self.run { store async throws in
            #expect(try await self.show(1, to: 2, in: store, after: 100) == .successor)
            #expect(try await self.show(2, to: 3, in: store, after: 200) == .successor)
        }
    }

    @Test("The token before that, whose answer was lost, is renewed, twice; the lost one ends nothing")
    func parent() async throws {
        try await self.run { store async throws in
            #expect(try await self.show(0, to: 2, in: store, after: 100) == .successor)
            #expect(try await self.show(1, to: 9, in: store, after: 101) == nil, "late")
            let step = Array(Self.bytes(2).prefix(16))
            #expect(try await self.show(0, to: 9, in: store, after: 102) == .successorBefore(step: step))
            #expect(try await self.show(2, to: 3, in: store, after: 200) == .successor)
        }
    }
}

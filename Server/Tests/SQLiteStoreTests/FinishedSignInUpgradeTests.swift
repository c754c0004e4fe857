import Foundation
import GRDB
import Records
import SQLStore
import SQLiteStore
import Sealing
import StoreConformance
import Testing
import _Primitives

/// A database of the version in which passwords and other providers kept their finished sign-ins in tables of their own.
@Suite("Decision 109: an upgrade keeps unfinished sign-ins, and ends finished sign-ins")
struct FinishedSignInUpgradeTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: now)
    private static let identity = UpstreamIdentity(provider: "up", issuer: "https://up.example", subject: "subject")

    private static func progress(_ request: String) -> PasswordSignInRecord {
        PasswordSignInRecord(
            request: request, accountID: "alice", needsSecondFactor: false, needsNewPassword: true,
            browser: "A browser", address: "192.0.2.7")
    }

    /// Two requests, each with a sign-in by a password and an identity that waits.
    private static func begin(_ store: SQLStore) async throws {
        try await store.createAccount(
            AccountRecord(id: "alice", username: nil, displayName: nil, createdAt: Self.now), audit: Self.event)
        try await store.addProvider(
            UpstreamProvider(
                name: "up", title: "Up", kind: .openID, issuer: "https://up.example", clientID: "client",
                secret: SecretBytes(utf8: "secret"), usualLevel: "urn:x", createdAt: Self.now), limit: 9,
            audit: Self.event)
        for number: UInt8 in 1...2 {
            let request = SampleSignIn("\(number)", secret: [number], at: Self.now).request
            try await store.addRequest(request)
            #expect(try await store.advance(PasswordSignInStep(to: Self.progress(request.id))))
            let account = try await store.arrive(
                UpstreamArrival(request: request.id, identity: Self.identity, at: Self.now, acr: "urn:x", amr: []),
                at: Self.now, newcomer: nil
            ) { (Self.event, NoticeRecord(id: $0, accountID: $0, kind: .signedIn, at: Self.now, subject: "Bank")) }
            #expect(account == nil)
        }
    }

    /// Makes of a database what the version before has left. Both sign-ins of the second request are finished.
    private static func turnBack(_ path: String) async throws {
        let raw = try DatabaseQueue(path: path)
        try await raw.write { db in
            let schema = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
            try db.execute(
                sql: """
                    \(FormerSchema.undoingOneOutbox)
                    \(FormerSchema.undoingFinishedSignIns)
                    UPDATE password_sign_in SET finished_at = 1 WHERE request = 'request-2';
                    UPDATE upstream_arrival SET account_id = 'alice' WHERE request = 'request-2';
                    PRAGMA user_version = \(schema - FormerSchema.laterCount - 2);
                    """)
        }
        try raw.close()
    }

    @Test("Whoever has something to show goes on, an identity waits on, and whoever had finished begins anew")
    func upgrade() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let key = KeyEncryptionKey()
        let new = try SQLStore(folder: folder, key: key)
        try await Self.begin(new)
        await new.close()
        try await Self.turnBack(folder + "/countersign.sqlite")

        let store = try SQLStore(folder: folder, key: key)
        #expect(try await store.passwordSignIn(request: "request-1") == Self.progress("request-1"))
        #expect(try await store.passwordSignIn(request: "request-2") == nil)
        #expect(try await store.wantLink(request: "request-1", provider: "up"))
        #expect(try await store.wantLink(request: "request-2", provider: "up") == false)
        #expect(try await store.wantedLink(request: "request-1")?.arrivedAt == Self.now)
        let refusal = try await store.connect(request: "request-1", provider: "up", account: "alice", limit: 9) {
            (
                UpstreamLink(id: "link", identity: $0, accountID: "alice", createdAt: Self.now), Self.event,
                NoticeRecord(id: "linked", accountID: "alice", kind: .identityLinked, at: Self.now, subject: "Up")
            )
        }
        #expect(refusal == nil)
        #expect(try await store.account(linkedTo: Self.identity) == "alice", "the identity is opened as before")
        for request in ["request-1", "request-2"] {
            #expect(try await store.finishedSignIns(request: request).isEmpty)
        }
        await store.close()
    }
}

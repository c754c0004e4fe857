import Foundation
import GRDB
import Records
import SQLStore
import SQLiteStore
import Sealing
import StoreConformance
import Testing
import _Primitives

/// A database of the version whose messages to clients and whose letters waited in two tables.
@Suite("An upgrade: no waiting message is lost (decision 112)")
struct OutboxUpgradeTests {
    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let end = start + .seconds(900)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)

    private static func bytes(_ number: UInt8) -> [UInt8] { Array(repeating: number, count: 32) }

    private static func turnBack(_ path: String) async throws {
        let raw = try DatabaseQueue(path: path)
        try await raw.write { db in
            let schema = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
            try db.execute(
                sql: "\(FormerSchema.undoingOneOutbox) PRAGMA user_version = \(schema - FormerSchema.laterCount - 1);")
        }
        try raw.close()
    }

    /// Leaves a logout for the client c, an awaited letter with a link, and a letter for a stranger.
    private static func fill(_ store: SQLStore) async throws {
        let account = AccountRecord(
            id: "alice", username: AccountName(stored: "alice"), displayName: nil, createdAt: Self.start)
        try await store.createAccount(account, audit: Self.event)
        var settings = ClientSettings()
        settings.logout = ClientSettings.LogoutAddress("https://c.example/logout")
        try await store.addClient(
            ClientRecord(
                id: "c", name: "The c", redirectURIs: ["https://c.example/"], postLogoutRedirectURIs: [],
                secretDigest: Self.bytes(1), createdAt: Self.start, settings: settings), limit: 10, audit: Self.event)
        try await SampleSignIn("1", secret: Self.bytes(2), account: "alice", client: "c", at: Self.start)
            .keep(in: store)
        #expect(try await store.endSession("session-1", audit: Self.event))
        let link = MailedLinkRecord(
            digest: Self.bytes(3), accountID: "alice", purpose: .passwordReset, expiresAt: Self.end)
        let letters = [
            MailRecord(
                accountID: "alice", subject: .accountChanged, turn: .stranger, about: "change", createdAt: Self.start,
                expiresAt: Self.end),
            MailRecord(
                accountID: "alice", subject: .passwordReset, link: ("name", link), createdAt: Self.start,
                expiresAt: Self.end),
        ]
        for (count, letter) in zip(1..., letters) {
            _ = try await store.countAttempt(.mail(account: "alice"), leaving: (letter, 9)) { _ in
                (AttemptCount(count: count, at: Self.start), nil)
            }
        }
    }

    private static func take(_ channel: OutboxChannel, _ store: SQLStore, at moment: Timestamp) async throws
        -> [OutboxMessage]
    {
        try await store.takeMessages(
            to: channel, at: moment, lease: moment + .seconds(60), shares: OutboxShares(most: 9, share: 9))
    }

    @Test("Messages to clients and letters wait as before, with their tries, turns, links and ends")
    func moved() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let key = KeyEncryptionKey()
        let former = try SQLStore(folder: folder, key: key)
        try await Self.fill(former)
        let taken = try await Self.take(.client, former, at: Self.start)
        #expect(taken.map(\.attempt) == [1])
        await former.close()
        try await Self.turnBack(folder + "/countersign.sqlite")

        let store = try SQLStore(folder: folder, key: key)
        let lease = Self.start + .seconds(60)
        #expect(try await Self.take(.client, store, at: lease - .milliseconds(1)).isEmpty, "another node's")
        let news = try await Self.take(.client, store, at: lease)
        #expect(news.map(\.attempt) == [2] && news.map(\.createdAt) == [Self.start] && news.map(\.lane) == ["c"])
        #expect(
            try news.map { try ClientDelivery($0).content } == [.logout(session: "session-1", subject: "c-alice")])
        let letters = try await Self.take(.mailbox, store, at: Self.start)
        let read = try letters.map { try MailDelivery($0) }
        #expect(letters.map(\.lane) == ["people", "strangers"])
        #expect(read.map(\.subject) == [.passwordReset, .accountChanged] && read.map(\.turn) == [.awaited, .stranger])
        #expect(read.map(\.linkName) == ["name", nil] && read.map(\.about) == [nil, "change"])
        #expect(read.allSatisfy { $0.accountID == "alice" && $0.expiresAt == Self.end && $0.attempt == 1 })
        #expect(try await store.beginLink(of: letters[0], until: Self.end + .seconds(1)), "the link is the letter's")
        for message in news + letters { try await store.removeMessage(message, audit: nil) }
        for channel in OutboxChannel.allCases {
            #expect(try await store.waitingMessages(to: channel).count == 0)
        }
        await store.close()
    }
}

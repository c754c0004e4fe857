import Foundation
import GRDB
import JOSE
import Records
import SQLStore
import SQLiteStore
import Sealing
import StoreConformance
import Synchronization
import Testing
import _Primitives

@Suite("Another key-encryption key (decision 47): nothing is lost, and the former one is let go")
struct KeyRotationTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let purpose = SealingPurpose("recovery code")

    private static func event(_ kind: String = "test") -> AuditEvent {
        AuditEvent(AuditEvent.Kind(rawValue: kind), at: self.now)
    }

    private final class Place: Sendable {
        let folder = FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString

        deinit { try? FileManager.default.removeItem(atPath: self.folder) }

        /// Opens it with these keys, the newest first.
        func open(_ keys: [KeyEncryptionKey]) throws -> SQLStore {
            try SQLStore(folder: self.folder, keys: KeyRing(keys[0], former: Array(keys.dropFirst())))
        }

        func open(_ keys: KeyEncryptionKey...) throws -> SQLStore { try self.open(keys) }

        func raw<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
            let raw = try DatabaseQueue(path: self.folder + "/countersign.sqlite")
            defer { try? raw.close() }
            return try await raw.write(body)
        }
    }

    private static func addAccount(_ name: String, to store: SQLStore) async throws {
        try await store.createAccount(
            AccountRecord(
                id: "id-\(name)", username: AccountName(stored: name), displayName: "Person \(name)",
                createdAt: self.now),
            audit: self.event("account-created"))
    }

    private static func reseal(_ store: SQLStore) async throws -> Resealed {
        try await store.reseal(audit: { self.event("resealed") }, told: { _ in })
    }

    /// What must be the same before and after.
    private struct Promise: Equatable {
        let accounts: [String: String?]
        let displayNames: [String?]
        let subjectSecret: SecretBytes
        let signingKeys: [String]
        let recoveryCode: [UInt8]
        let sessions: [String?]
        let isTrailIntact: Bool
    }

    private static func promise(_ store: SQLStore, names: [String], sessions: Int) async throws -> Promise {
        var accounts: [String: String?] = [:]
        var displayNames: [String?] = []
        for name in names {
            let account = try await store.account(username: AccountName(stored: name))
            accounts[name] = account?.id
            displayNames.append(account?.displayName)
        }
        var found: [String?] = []
        for number in 0..<sessions {
            let session = try await store.session(cookieDigest: Self.digest(number))
            found.append(session.map { "\($0.id) \($0.authentication.browser ?? "")" })
        }
        let keys = try await store.providerKeys()
        var isTrailIntact = false
        if case .intact = try await store.verifyAudit() { isTrailIntact = true }
        return Promise(
            accounts: accounts, displayNames: displayNames, subjectSecret: keys.subjectSecret,
            signingKeys: keys.signingKeys.map(\.id), recoveryCode: store.sealing.code("code", purpose: Self.purpose),
            sessions: found, isTrailIntact: isTrailIntact)
    }

    private static func digest(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number + 1), count: 32) }

    // MARK: Any order

    /// Numbers that come again with the same seed (SplitMix64).
    private struct Dice: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            self.state &+= 0x9E37_79B9_7F4A_7C15
            var value = self.state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }

    @Test(
        "In whatever order keys come, sealing anew is cut off and the store is used: every name, secret and session stays",
        arguments: UInt64(1)...12)
    func anyOrder(seed: UInt64) async throws {
        var dice = Dice(state: seed)
        let place = Place()
        var keys = [KeyEncryptionKey()]
        var store = try place.open(keys[0])
        _ = try await store.providerKeys(
            orFirst: ProviderKeys(
                subjectSecret: SecretBytes([1, 2, 3]),
                signingKeys: [
                    .init(
                        id: "first", algorithm: .es256, privateKey: SecretBytes([9]), createdAt: Self.now,
                        retiredAt: nil)
                ]))
        var (names, sessions): ([String], Int) = ([], 0)
        for step in 0..<40 {
            let before = try await Self.promise(store, names: names, sessions: sessions)
            switch Int.random(in: 0..<6, using: &dice) {
            case 0:
                // Several in one page of rows or more, so that a cut finds some on either side.
                for _ in 0..<Int.random(in: 1...60, using: &dice) {
                    names.append("n\(step)-\(names.count)")
                    try await Self.addAccount(names[names.count - 1], to: store)
                }
                continue
            case 1:
                let signIn = SampleSignIn(
                    "s\(sessions)", secret: Self.digest(sessions), account: "somebody", client: "bank", at: Self.now)
                try await signIn.keep(in: store)
                sessions += 1
                continue
            case 2:
                // The server is started anew with one more key.
                await store.close()
                keys.insert(KeyEncryptionKey(), at: 0)
            case 3:
                // Cut off somewhere in between.
                let pages = Mutex(0)
                let cut = Int.random(in: 0..<30, using: &dice)
                let cutOff = store
                let task = Task {
                    _ = try await cutOff.reseal(
                        audit: { Self.event("resealed") },
                        told: { _ in
                            if pages.withLock({ pages in
                                pages += 1
                                return pages > cut
                            }) {
                                withUnsafeCurrentTask { $0?.cancel() }
                            }
                        })
                }
                _ = await task.result
                await store.close()
            case 4:
                _ = try await Self.reseal(store)
                #expect(try await store.sealingKeys() == [keys[0].identifier])
                await store.close()
                // What the store does not need is taken out of the file.
                keys = [keys[0]]
            default: await store.close()
            }
            store = try place.open(keys)
            #expect(try await Self.promise(store, names: names, sessions: sessions) == before, "step \(step)")
        }
        await store.close()
    }

    // MARK: What is sealed

    @Test func aStoreIsNotOpenedWithoutAKeyThatItNeeds() async throws {
        let place = Place()
        let (first, second, third) = (KeyEncryptionKey(), KeyEncryptionKey(), KeyEncryptionKey())
        var store = try place.open(first)
        try await Self.addAccount("alice", to: store)
        await store.close()
        #expect(throws: StoreError(.wrongKey, "")) { try place.open(second) }
        store = try place.open(second, first)
        #expect(try await store.sealingKeys() == [second.identifier, first.identifier])
        await store.close()
        for keys in [(second, third), (first, third), (third, second), (third, first)] {
            let error = #expect(throws: StoreError.self) { try place.open(keys.0, keys.1) }
            #expect(error?.code == .missingKey)
            let missing = [keys.0, keys.1].contains(first) ? second : first
            #expect(error?.reason.contains(missing.identifier) == true, "the operator is told which")
        }
        store = try place.open(second, first)
        #expect(try await Self.reseal(store).resealed > 0)
        await store.close()
        store = try place.open(second)
        #expect(try await store.account(username: "alice")?.displayName == "Person alice")
        #expect(try await Self.reseal(store) == Resealed(), "there is nothing to do")
        await store.close()
        #expect(throws: StoreError(.wrongKey, "")) { try place.open(first) }
    }

    @Test func aValueThatCannotBeReadKeepsTheFormerKeys() async throws {
        let place = Place()
        let (first, second) = (KeyEncryptionKey(), KeyEncryptionKey())
        var store = try place.open(first)
        for name in ["alice", "bob"] { try await Self.addAccount(name, to: store) }
        await store.close()
        try await place.raw {
            try $0.execute(sql: "UPDATE account SET display_name = username WHERE id = 'id-alice'")
        }
        store = try place.open(second, first)
        let resealed = try await Self.reseal(store)
        #expect(resealed.unreadable == 1 && resealed.resealed >= 3)
        #expect(resealed.unreadableColumns == ["account.display_name"])
        #expect(try await store.sealingKeys() == [second.identifier, first.identifier])
        #expect(try await store.auditEntries(after: 0, limit: 9).allSatisfy { $0.event.kind.rawValue != "resealed" })
        #expect(try await store.account(username: "bob")?.displayName == "Person bob")
        await #expect(throws: StoreError(.corrupt, "")) { try await store.account(username: "alice") }
        // What is spoilt is deleted: then the former key goes.
        #expect(try await Self.reseal(store).unreadable == 1)
        await store.close()
        try await place.raw { try $0.execute(sql: "UPDATE account SET display_name = NULL WHERE id = 'id-alice'") }
        store = try place.open(second, first)
        #expect(try await Self.reseal(store).unreadable == 0)
        #expect(try await store.sealingKeys() == [second.identifier])
        await store.close()
    }

    @Test func theTrailSaysWhenAFormerKeyIsNotNeededAnyMore() async throws {
        let place = Place()
        let (first, second) = (KeyEncryptionKey(), KeyEncryptionKey())
        await (try place.open(first)).close()
        let store = try place.open(second, first)
        _ = try await Self.reseal(store)
        _ = try await Self.reseal(store)
        #expect(try await store.auditEntries(after: 0, limit: 9).map(\.event.kind.rawValue) == ["resealed"])
        await store.close()
    }

    @Test func theRootSecretOfANewStoreDoesNotFollowFromItsKey() async throws {
        let place = Place()
        let key = KeyEncryptionKey()
        let store = try place.open(key)
        #expect(store.sealing.root != SealingRoot(of: key))
        let root = store.sealing.root
        await store.close()
        let again = try place.open(key)
        #expect(again.sealing.root == root)
        await again.close()
    }
}

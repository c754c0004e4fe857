import Records
import SQLStore
import SQLiteStore
import StoreConformance
import Testing
import _Primitives

@Suite("The languages of people in a backup")
struct BackupLanguageTests {
    @Test("A restore keeps the languages of the backup, and takes a sign-in since for no change by anybody")
    func languages() async throws {
        let place = try await BackupPlace()
        try await place.store.createAccount(
            AccountRecord(
                id: "alice", username: AccountName(stored: "alice"), displayName: nil, language: "de",
                createdAt: BackupPlace.now), audit: BackupPlace.event("account-created"))
        _ = try place.backUp()
        let sample = SampleSignIn("1", secret: BackupPlace.digest(1), account: "alice", at: BackupPlace.now)
        try await place.store.addRequest(sample.request)
        try await place.store.complete(
            CompletedAuthorization(
                request: sample.request.id, session: sample.session, grant: sample.grant, code: sample.code,
                language: "en"), replacing: nil)
        #expect(try await place.store.account(id: "alice")?.language == "en")
        await place.store.close()
        let report = try place.restore(into: place.data)
        #expect(!report.changes.contains { $0.kind == .accountChanged || $0.kind == .accountChangedOutside })
        let restored = try SQLStore(folder: place.data, key: place.key)
        #expect(try await restored.account(id: "alice")?.language == "de")
        await restored.close()
    }
}

import Foundation
import GRDB
import Records
import SQLStore
import SQLiteStore
import Testing
import _Primitives

@Suite("Decision 62 and 21: what becomes of the server's own keys for identities in a backup")
struct BackupIdentityKeyTests {
    @Test("No backup has a key that phones seal to, and a restore begins with new ones; the root stays")
    func keysThatAreSealedToAreInNoBackup() async throws {
        let place = try await BackupPlace()
        let root = try await place.store.identityRoot(orElse: BackupActivations.root, audit: BackupPlace.event("root"))
        _ = try await place.store.followSealingKeys(
            by: BackupActivations.sealingKey("sealing-key-1"), unlessMadeSince: BackupPlace.now, at: BackupPlace.now)
        _ = try place.backUp()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: place.backup))
        #expect(bytes.range(of: Data("sealing-key-1".utf8)) == nil)
        #expect(
            bytes.range(of: Data("CREATE TABLE identity_sealing_key".utf8)) != nil, "the search would find something")
        #expect(try await place.store.identitySealingKeys().count == 1, "the server's own is there")
        await place.store.close()
        let attributes = try FileManager.default.attributesOfItem(atPath: place.backup)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder).sorted() == ["backup", "data"])
        for folder in [place.data, place.folder + "/other"] {
            try place.restore(into: folder)
            let restored = try SQLStore(folder: folder, key: place.key)
            #expect(try await restored.identitySealingKeys().isEmpty)
            #expect(
                try await restored.identityRoot(orElse: SecretBytes([1]), audit: BackupPlace.event("root")) == root)
            await restored.close()
        }
    }

    @Test("A root that was made since the backup stays: apps are configured with it")
    func theRootOfTheReplacedDatabaseStays() async throws {
        let place = try await BackupPlace()
        _ = try place.backUp()
        let root = try await place.store.identityRoot(orElse: BackupActivations.root, audit: BackupPlace.event("root"))
        await place.store.close()
        try place.restore(into: place.data, .undone)
        let restored = try SQLStore(folder: place.data, key: place.key)
        #expect(try await restored.identityRoot(orElse: SecretBytes([1]), audit: BackupPlace.event("root")) == root)
        await restored.close()
        // One that somebody has written is none.
        try await place.changing { try $0.execute(sql: "UPDATE identity_root SET sealed = randomblob(80)") }
        try place.restore(into: place.data, .undone)
        let again = try SQLStore(folder: place.data, key: place.key)
        let other = SecretBytes([2])
        #expect(try await again.identityRoot(orElse: other, audit: BackupPlace.event("root")) == other)
        await again.close()
    }
}

import Foundation
import GRDB
import Records
import SQLStore
import SQLiteStore
import Testing
import _Primitives

@Suite("Decision 62: a key that was erased is in no page of the database's file")
struct ErasureTests {
    /// Enough of them for pages that hold nothing else, which go to the free ones.
    private static let count = 300

    private static func key(_ number: Int, at moment: Timestamp) -> SealingKeyRecord {
        SealingKeyRecord(
            id: "sealing-key-\(number)-of-the-test", privateKey: SecretBytes([UInt8](repeating: 7, count: 32)),
            createdAt: moment, erasedAt: moment + .seconds(60))
    }

    @Test(
        "Neither what was sealed nor its name is left once the log is in the file, also where whole pages became free")
    func erased() async throws {
        let place = try await BackupPlace()
        for number in 0..<Self.count {
            let moment = BackupPlace.now + .milliseconds(number)
            _ = try await place.store.followSealingKeys(
                by: Self.key(number, at: moment), unlessMadeSince: moment + .seconds(1), at: moment)
        }
        await place.store.close()
        let path = place.data + "/countersign.sqlite"
        let sealed = try await DatabaseQueue(path: path).read { db in
            try Data.fetchAll(db, sql: "SELECT sealed FROM identity_sealing_key")
        }
        #expect(sealed.count == Self.count)
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(sealed.allSatisfy { before.range(of: $0) != nil }, "the search would find something")

        let store = try SQLStore(folder: place.data, key: place.key)
        let later = BackupPlace.now + .seconds(3600)
        let left = try await store.followSealingKeys(
            by: Self.key(Self.count, at: later), unlessMadeSince: later, at: later)
        #expect(left.count == 1)
        await store.close()
        for file in [path, path + "-wal"] where FileManager.default.fileExists(atPath: file) {
            let after = try Data(contentsOf: URL(fileURLWithPath: file))
            #expect(sealed.allSatisfy { after.range(of: $0) == nil }, "\(file)")
            for number in 0..<Self.count {
                #expect(after.range(of: Data("sealing-key-\(number)-of-the-test".utf8)) == nil, "\(file)")
            }
        }
    }
}

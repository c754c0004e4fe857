import JOSE
import Records
import SQLStore
import SQLiteStore
import Testing
import _Primitives

@Suite("Decision 121: what becomes of the keys of receipts in a restore")
struct BackupReceiptKeyTests {
    private static func key(at moment: Timestamp) throws -> SigningKeyRecord {
        let kept = try SigningKey.make(.es256, random: .system)
        let name = try SigningKey(kept: kept, algorithm: .es256, keyID: nil).keyID
        return SigningKeyRecord(
            id: try #require(name), algorithm: .es256, privateKey: kept, face: .receipt, createdAt: moment,
            retiredAt: nil)
    }

    @Test(
        "A key of receipts that signs after the restore has no end, and every public key stays",
        arguments: [DatabaseRestore.Revocations.kept, .undone])
    func keys(_ revocations: DatabaseRestore.Revocations) async throws {
        let place = try await BackupPlace()
        let later = BackupPlace.now + .seconds(60)
        let (former, present) = (try Self.key(at: BackupPlace.now), try Self.key(at: later))
        _ = try await place.store.providerKeys(
            orFirst: ProviderKeys(subjectSecret: SecretBytes([1]), signingKeys: [former]))
        _ = try place.backUp()
        _ = try await place.store.rotateSigningKeys(
            to: [present], replacing: nil, from: later, forgettingRetiredBefore: BackupPlace.now,
            audit: BackupPlace.event("rotated"))
        await place.store.close()
        try place.restore(into: place.data, revocations)
        let restored = try SQLStore(folder: place.data, key: place.key)
        let signing = try await restored.providerKeys().signingKeys.filter {
            $0.face == .receipt && $0.retiredAt == nil
        }
        #expect(signing.map(\.id) == [revocations == .kept ? present.id : former.id])
        let keys = try await restored.receiptKeys()
        #expect(Set(keys.map(\.id)) == [former.id, present.id])
        let signer = try #require(keys.first { $0.id == signing.first?.id })
        #expect(signer.signsUntil == nil)
        let other = try #require(keys.first { $0.id == former.id })
        #expect(other.signsUntil == (revocations == .kept ? later : nil))
        await restored.close()
    }
}

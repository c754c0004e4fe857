import Crypto
import Foundation
import Testing
import UAF

@Suite("Decision 68: what a device says of its keys in what an authenticator signs")
struct DeviceKeyAnnouncementTests {
    private static let challenge = "eyJjaGFsbGVuZ2UiOiIxIn0"
    private static let hash = FinalChallengeParams.hash(ofEncoded: challenge)

    private let signing = P256.Signing.PrivateKey()
    private let encryption = P256.Signing.PrivateKey()

    private func point(_ key: P256.Signing.PrivateKey) -> [UInt8] { Array(key.publicKey.x963Representation) }

    private func announcement(of encryption: P256.Signing.PrivateKey? = nil, for challenge: String = Self.challenge)
        throws -> AssertionExtension
    {
        let other = self.point(encryption ?? self.encryption)
        let signed = DeviceKeyAnnouncement.signedBytes(
            signingKey: self.point(self.signing), encryptionKey: other, finalChallenge: challenge)
        return DeviceKeyAnnouncement.assertionExtension(
            signingKey: self.point(self.signing), encryptionKey: other,
            signature: Array(try self.signing.signature(for: Data(signed)).rawRepresentation))
    }

    private func reading(_ extensions: [AssertionExtension]) throws(UAFError) -> DeviceKeyAnnouncement? {
        try DeviceKeyAnnouncement(among: extensions, finalChallengeHash: Self.hash)
    }

    @Test("It is read out of what an assertion holds, whatever stands beside it, and is not critical")
    func right() throws {
        let told = try self.announcement()
        #expect(!told.isCritical && told.id == "countersign.device-keys.1" && told.data.count == 194)
        let other = AssertionExtension(id: "another", data: [1], isCritical: false)
        let read = try #require(try self.reading([other, told, other]))
        #expect(read.signingKey == self.point(self.signing) && read.encryptionKey == self.point(self.encryption))
        #expect(try self.reading([]) == nil && self.reading([other]) == nil)
        #expect(
            try self.reading([
                AssertionExtension(id: "countersign.device-keys.2", data: told.data, isCritical: false)
            ]) == nil, "another form is not read as this one")
    }

    @Test("Any byte that is another refuses it", arguments: [0, 1, 64, 65, 129, 130, 193])
    func altered(position: Int) throws {
        let told = try self.announcement()
        var data = told.data
        data[position] ^= 1
        #expect(throws: UAFError.self) {
            try self.reading([AssertionExtension(id: told.id, data: data, isCritical: false)])
        }
    }

    @Test("What was told in another message, twice, in another length, or of one key alone is refused")
    func refused() throws {
        let told = try self.announcement()
        #expect(throws: UAFError(.invalidSignature)) { try self.reading([self.announcement(for: "e30")]) }
        #expect(throws: UAFError(.duplicateTag)) { try self.reading([told, told]) }
        for data in [[], Array(told.data.dropLast()), told.data + [0]] {
            #expect(throws: UAFError(.invalidLength)) {
                try self.reading([AssertionExtension(id: told.id, data: data, isCritical: false)])
            }
        }
        #expect(throws: UAFError(.invalidKey)) { try self.reading([self.announcement(of: self.signing)]) }
    }
}

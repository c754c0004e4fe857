import Crypto
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("uaf-sections §8.6: sealed server data")
struct SealedServerDataTests {
    private static let key = SymmetricKey(size: .bits256)
    private static let random = RandomSource { bytes($0, 5) }
    private static let expiry = Timestamp(seconds: 1000)

    private static func data(username: String? = "alice", policy: String = "default") throws -> SealedServerData {
        SealedServerData(
            operation: .authentication, challenge: try Challenge(Base64URL.encode(bytes(32))), username: username,
            policy: policy, expiresAt: self.expiry)
    }

    private static func expectRefusal(_ text: String, key: SymmetricKey = key, now: Timestamp = Timestamp(seconds: 1)) {
        Refused("server data", .invalidRequest, .serverData) { _ in }.expect {
            _ = try SealedServerData(opening: text, with: key, now: now)
        }
    }

    @Test("What was sealed opens until its time", arguments: ["alice", nil])
    func roundTrip(username: String?) throws {
        let data = try Self.data(username: username)
        let text = try data.sealed(with: Self.key, random: Self.random)
        #expect(try SealedServerData(opening: text, with: Self.key, now: Timestamp(milliseconds: 999_999)) == data)
    }

    @Test("At its time it is too late")
    func expired() throws {
        let text = try Self.data().sealed(with: Self.key, random: Self.random)
        Self.expectRefusal(text, now: Self.expiry)
        Self.expectRefusal(text, now: Timestamp(seconds: 5000))
    }

    @Test("Nothing of the content can be read")
    func confidential() throws {
        let text = try Self.data().sealed(with: Self.key, random: Self.random)
        let bytes = try #require(Base64URL.decode(text))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("alice"))
    }

    @Test("Every changed letter is noticed")
    func tampered() throws {
        let text = try Self.data().sealed(with: Self.key, random: Self.random)
        for index in text.indices {
            var changed = text
            changed.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
            Self.expectRefusal(changed)
        }
    }

    @Test("Another key, another text and nothing are refused")
    func foreign() throws {
        let text = try Self.data().sealed(with: Self.key, random: Self.random)
        Self.expectRefusal(text, key: SymmetricKey(size: .bits256))
        Self.expectRefusal("")
        Self.expectRefusal("AAAA")
        Self.expectRefusal(text + "=")
        Self.expectRefusal(String(repeating: "A", count: 1540))
    }

    @Test("What was sealed for another purpose does not open as server data")
    func otherPurpose() throws {
        let box = try AES.GCM.seal(Array("{}".utf8), using: Self.key)
        Self.expectRefusal(Base64URL.encode(try #require(box.combined)))
    }

    @Test("The text stays within 1536 characters, or is not made")
    func limit() throws {
        let longest = try Self.data(
            username: String(repeating: "ü", count: 128), policy: String(repeating: "p", count: 64))
        #expect(try longest.sealed(with: Self.key, random: Self.random).utf8.count <= 1536)
        let tooLong = try Self.data(policy: String(repeating: "p", count: 1200))
        #expect {
            _ = try tooLong.sealed(with: Self.key, random: Self.random)
        } throws: { error in (error as? RequestError)?.code == .outOfRange }
    }
}

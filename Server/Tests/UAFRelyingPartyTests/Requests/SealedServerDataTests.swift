import Crypto
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("uaf-sections §8.6: sealed server data")
struct SealedServerDataTests {
    private static let key = SymmetricKey(size: .bits256)
    private static let expiry = Timestamp(seconds: 1000)

    private static func data(username: String? = "alice", policy: String = "default") throws -> SealedServerData {
        SealedServerData(
            operation: .authentication, challenge: try Challenge(Base64URL.encode(bytes(32))), username: username,
            policy: policy, expiresAt: self.expiry)
    }

    private static func seal(_ bytes: [UInt8]) throws -> [UInt8] {
        Array(try #require(try AES.GCM.seal(bytes, using: Self.key).combined))
    }

    private static func opening(_ key: SymmetricKey = key) -> ([UInt8]) -> [UInt8]? {
        { sealed in
            (try? AES.GCM.SealedBox(combined: sealed)).flatMap { try? AES.GCM.open($0, using: key) }.map(Array.init)
        }
    }

    private static func expectRefusal(_ text: String, key: SymmetricKey = key, now: Timestamp = Timestamp(seconds: 1)) {
        Refused("server data", .invalidRequest, .serverData) { _ in }.expect {
            _ = try SealedServerData(opening: text, by: Self.opening(key), now: now)
        }
    }

    @Test("What was sealed opens until its time", arguments: ["alice", nil])
    func roundTrip(username: String?) throws {
        let data = try Self.data(username: username)
        let text = try data.sealed(by: Self.seal)
        #expect(try SealedServerData(opening: text, by: Self.opening(), now: Timestamp(milliseconds: 999_999)) == data)
    }

    @Test("At its time it is too late")
    func expired() throws {
        let text = try Self.data().sealed(by: Self.seal)
        Self.expectRefusal(text, now: Self.expiry)
        Self.expectRefusal(text, now: Timestamp(seconds: 5000))
    }

    @Test("Nothing of the content can be read")
    func confidential() throws {
        let text = try Self.data().sealed(by: Self.seal)
        let bytes = try #require(Base64URL.decode(text))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("alice"))
    }

    @Test("Every changed letter is noticed")
    func tampered() throws {
        let text = try Self.data().sealed(by: Self.seal)
        for index in text.indices {
            var changed = text
            changed.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
            Self.expectRefusal(changed)
        }
    }

    @Test("Another key, another text and nothing are refused")
    func foreign() throws {
        let text = try Self.data().sealed(by: Self.seal)
        Self.expectRefusal(text, key: SymmetricKey(size: .bits256))
        Self.expectRefusal("")
        Self.expectRefusal("AAAA")
        Self.expectRefusal(text + "=")
        Self.expectRefusal(String(repeating: "A", count: 1540))
    }

    @Test("What was sealed and is no state of an operation is refused")
    func otherContent() throws {
        Self.expectRefusal(Base64URL.encode(try Self.seal(Array("{}".utf8))))
        Self.expectRefusal(Base64URL.encode(try Self.seal(Array("[".utf8))))
    }

    @Test("What cannot be sealed is not sent")
    func unsealed() throws {
        struct Failure: Error {}
        let data = try Self.data()
        #expect {
            _ = try data.sealed(by: { _ in throw Failure() })
        } throws: { error in (error as? RequestError)?.code == .outOfRange }
    }

    @Test("The text stays within 1536 characters, or is not made")
    func limit() throws {
        let longest = try Self.data(
            username: String(repeating: "ü", count: 128), policy: String(repeating: "p", count: 64))
        #expect(try longest.sealed(by: Self.seal).utf8.count <= 1536)
        let tooLong = try Self.data(policy: String(repeating: "p", count: 1200))
        #expect {
            _ = try tooLong.sealed(by: Self.seal)
        } throws: { error in (error as? RequestError)?.code == .outOfRange }
    }
}

import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import JOSE
import Testing
import UAFClient
import _Primitives

@Suite("Operations parity 28, 30; decision 113: the decoder opens payloads of this device", .overEachKeyAbility)
struct EncryptedPayloadOperationTests {
    private static func decode(_ world: World) -> OutOfBandPayloadDecode {
        world.phone.client.operations.outOfBandPayloadDecode
    }

    /// The code of the error with which the phone refuses the text; `nil` if the phone reads the text.
    private static func code(_ json: String, on world: World) async -> OutOfBandPayloadError.Code? {
        do {
            _ = try await self.decode(world).json(json).execute()
            return nil
        } catch {
            return (error as? OutOfBandPayloadError)?.code
        }
    }

    /// A payload of the server with members of the service.
    private static func payload(_ world: World) async throws -> OutOfBandPayload {
        try OutOfBandPayload(
            redeemData: try await world.server.authentication().redeemData,
            data: #"{"case":"A-7","amounts":[1,2.5],"note":"ü"}"#)
    }

    @Test("The name of the key finds the account: each form is read, nobody is asked, nothing is sent or stored")
    func opens() async throws {
        let world = try await World()
        try await world.enroll("alice")
        try await world.enroll("bob")
        let (requests, storage) = (await world.server.requests.count, world.phone.storage.snapshot)
        for username in ["alice", "bob"] {
            let payload = try await Self.payload(world)
            let json = try await world.server.encrypted(payload, for: username)
            let text = Base64URL.encode(json.utf8)
            let link = "https://id.example.com/open?dispatchTokenResponse=\(text)"
            for decode in [
                Self.decode(world).json(json), Self.decode(world).base64URLEncoded(text),
                Self.decode(world).scanned(text), Self.decode(world).link(link), Self.decode(world).scanned(link),
            ] {
                let read = try await decode.execute()
                #expect(read == payload && read.data == payload.data)
            }
            #expect(try await Self.decode(world).link(link).execute().isFromLink)
        }
        #expect(await world.server.requests.count == requests)
        #expect(world.phone.storage.snapshot == storage && world.phone.person.asked.isEmpty)
    }

    @Test("A phone redeems what it has decrypted, also after a restart of the app, with the service's members")
    func redeems() async throws {
        let world = try await World()
        try await world.enroll()
        let again = try await world.restarted()
        let payload = try await Self.payload(world)
        let json = try await world.server.encrypted(payload, for: "alice")
        let read = try await Self.decode(again).json(json).execute()
        #expect(read.data == payload.data)
        _ = try await again.phone.authenticate(read)
        #expect(await world.server.accepted.map(\.username) == ["alice"])
    }

    @Test("Another device, a phone without the account and a phone without accounts have no key that opens")
    func anotherDevice() async throws {
        let (world, other, empty) = (try await World(), try await World(), try await World())
        try await world.enroll("alice")
        try await world.enroll("bob")
        try await other.enroll("alice")
        let json = try await world.server.encrypted(try await Self.payload(world), for: "alice")
        #expect(await Self.code(json, on: world) == nil)
        #expect(await Self.code(json, on: other) == .decryptionError)
        #expect(await Self.code(json, on: empty) == .decryptionError)
        let alice = try #require(await world.phone.client.localData.accounts.first { $0.username == "alice" })
        try await world.phone.client.localData.forget(alice)
        let requests = await world.server.requests.count
        #expect(await Self.code(json, on: world) == .decryptionError)
        #expect(await world.server.requests.count == requests)
        #expect(await empty.server.requests.isEmpty)
    }

    @Test("A phone whose own keys are gone has no key that opens")
    func lostKeys() async throws {
        let world = try await World(keyStore: .file)
        try await world.enroll()
        let json = try await world.server.encrypted(try await Self.payload(world), for: "alice")
        try #require(world.phone.keys as? VerifyingKeys).loseUnlocked()
        #expect(await Self.code(json, on: world) == .decryptionError)
    }

    @Test("One flipped bit of each byte is a decryption error, without a request and without a question")
    func flippedBits() async throws {
        let world = try await World()
        try await world.enroll()
        let json = try await world.server.encrypted(try await Self.payload(world), for: "alice")
        guard case .object(var object) = try JSON(parsing: json) else { throw JSONError(.wrongType, "payload") }
        let parts = try object.requiredString("nma_data").split(separator: ".", omittingEmptySubsequences: false).map {
            try #require(Base64URL.decode($0))
        }
        let requests = await world.server.requests.count
        world.phone.person.forget()
        var (refused, all) = (0, 0)
        for part in parts.indices {
            for index in parts[part].indices {
                var changed = parts
                changed[part][index] ^= 1 << UInt8(index % 8)
                object["nma_data"] = .string(changed.map { Base64URL.encode($0) }.joined(separator: "."))
                all += 1
                if await Self.code(JSON.object(object).text, on: world) == .decryptionError { refused += 1 }
            }
        }
        #expect(refused == all && all > 300)
        #expect(await world.server.requests.count == requests && world.phone.person.asked.isEmpty)
    }

    @Test("The server of the tests encrypts to no device that has announced no key")
    func unknownDevice() async throws {
        let world = try await World()
        let payload = try await Self.payload(world)
        await #expect(throws: JOSEError(.unknownKey, "")) {
            _ = try await world.server.encrypted(payload, for: "alice")
        }
    }
}

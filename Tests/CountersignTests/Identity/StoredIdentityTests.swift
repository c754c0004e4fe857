import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Decision 56: what earlier versions have stored of identities") struct StoredIdentityTests {
    /// The files of the folder `Stored`, oldest first. Whoever changes a format adds one that the code of before has written
    /// (``file(of:)``), and leaves these.
    static let names = ["identity-1"]

    /// The phone after its app was updated, a while later, before the server that knows its keys.
    private func updated(_ file: StoredFile) async throws -> VirtualIdentityPhone {
        let clock = FakeClock()
        clock.advance(by: .seconds(40 * 86_400))
        let server = try VirtualIdentityServer(memory: try file.object.requiredObject("server"), clock: clock)
        return try await VirtualIdentityPhone(server: server, storage: InMemoryStorage(file.values))
    }

    /// What a phone keeps and its server knows now, as a file of the folder.
    private func file(of phone: VirtualIdentityPhone) async -> [UInt8] {
        var texts: JSONObject = [:]
        var bytes: JSONObject = [:]
        for (name, value) in phone.storage.snapshot.sorted(by: { $0.key < $1.key }) {
            if let text = String(validating: value, as: UTF8.self) {
                texts[name] = .string(text)
            } else {
                bytes[name] = .string(Base64URL.encode(value))
            }
        }
        return JSON.object([
            "texts": .object(texts), "bytes": .object(bytes),
            "server": .object(await phone.server.memory),
        ]).serialized
    }

    @Test("a phone that was personalised before signs in after the update, and after the next start", arguments: names)
    func signsIn(name: String) async throws {
        try await self.signInTwice(try await self.updated(try StoredFile(name)))
    }

    @Test("what is written today is read again in the same way") func written() async throws {
        let phone = try await VirtualIdentityPhone.personalized(withFinger: true)
        #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
        try await self.signInTwice(try await self.updated(try StoredFile(bytes: await self.file(of: phone))))
    }

    private func signInTwice(_ first: VirtualIdentityPhone) async throws {
        var phone = first
        for _ in 1...2 {
            let identities = try phone.sdk.personalizer.personalizedIdentities
            #expect(identities.map(\.alias) == ["Phone"])
            #expect(identities.map(\.enrolledFactors) == [[.device, .pin, .biometric]])
            #expect(identities.map(\.createdAt) == [Date(timeIntervalSince1970: 1_800_000_000)])
            #expect(identities.first?.lastUsedAt != nil)
            #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
            #expect(try await phone.authenticateByFinger().isUserLogin)
            await phone.server.ask { $0.roles = [("a", "A", [["pin", "device"]])] }
            // What it could do all along a wrong PIN cannot.
            #expect(try await phone.authenticate(try await phone.data(), pin: "000000").lockout?.isPermanent == false)
            phone.clock.advance(by: .seconds(60))
            phone = try await phone.restarted()
        }
        #expect(await phone.server.accepted.count == 4)
    }

    @Test("each format that is written today has a file that was written in it")
    func hasFiles() async throws {
        let today = try await VirtualIdentityPhone.personalized().storage.snapshot
        let newest = try StoredFile(try #require(Self.names.last)).values
        #expect(Self.versions(of: today) == Self.versions(of: newest))
        #expect(Self.versions(of: today).count == 2)
    }

    @Test(
        "what a later version has written is left as it is, and the person is told to update the app", arguments: names)
    func newer(name: String) async throws {
        let file = try StoredFile(name)
        for (value, version) in Self.versions(of: file.values) {
            var values = file.values
            let text = String(decoding: try #require(values[value]), as: UTF8.self)
            values[value] = Array(
                text.replacing("\"version\":\(version)", with: "\"version\":\(version + 1)", maxReplacements: 1).utf8)
            let storage = InMemoryStorage(values)
            let server = try VirtualIdentityServer(memory: try file.object.requiredObject("server"))
            let error = await #expect(throws: CountersignError.self) {
                let phone = try await VirtualIdentityPhone(server: server, storage: storage)
                _ = try await phone.authenticate(try await phone.data())
            }
            #expect(error?.errorCode == .storageNewer, "\(value)")
            #expect(error?.errorDescription == "This app is too old.")
            #expect(storage.snapshot == values)
        }
    }

    /// The versions that values name themselves.
    private static func versions(of values: [String: [UInt8]]) -> [String: Int64] {
        values.compactMapValues { value in
            guard case .object(let object) = try? JSON(parsing: value) else { return nil }
            return try? object.integer("version")
        }
    }
}

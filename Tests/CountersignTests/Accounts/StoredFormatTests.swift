import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

/// A file of the folder `Stored`: what a device kept, and what its server knew, when an earlier version of the SDK had last
/// written it.
struct StoredFile {
    /// What the device kept, by its names.
    let values: [String: [UInt8]]
    /// The whole of the file.
    let object: JSONObject

    init(_ name: String) throws {
        let url = try #require(Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Stored"))
        try self.init(bytes: Array(try Data(contentsOf: url)))
    }

    init(bytes file: [UInt8]) throws {
        guard case .object(let object) = try JSON(parsing: file), let texts = try object.object("texts"),
            let bytes = try object.object("bytes")
        else { throw JSONError(.wrongType, "a stored file") }
        var values: [String: [UInt8]] = [:]
        for (name, _) in texts.members { values[name] = Array(try texts.requiredString(name).utf8) }
        for (name, _) in bytes.members { values[name] = try bytes.bytes(name) }
        self.values = values
        self.object = object
    }
}

/// What a phone kept, and what its server knew, when an earlier version of the SDK had last written it.
struct StoredPhone {
    let values: [String: [UInt8]]
    private let keys: [JSONObject]

    init(_ name: String) throws {
        let file = try StoredFile(name)
        self.values = file.values
        self.keys = try (file.object.array("keys") ?? []).map { key in
            guard case .object(let object) = key else { throw JSONError(.wrongType, "keys") }
            return object
        }
    }

    /// The phone after its app was updated, before a server that knows its keys.
    func updated() async throws -> World {
        let world = try await World()
        for key in self.keys {
            try await world.server.know(
                try KeyID(base64URL: try key.requiredString("keyID")), of: try key.requiredString("username"),
                aaid: try AAID(try key.requiredString("aaid")),
                publicKey: try key.bytes("publicKey"),
                signCounter: try key.requiredInteger("signCounter"))
        }
        return try await world.restarted(with: self.values)
    }
}

extension JSONObject {
    fileprivate func bytes(_ name: String) throws -> [UInt8] {
        guard let bytes = Base64URL.decode(try self.requiredString(name)) else { throw JSONError(.wrongType, name) }
        return bytes
    }
}

@Suite("Decision 56: what earlier versions have stored")
struct StoredFormatTests {
    private static let accounts: [(Username, [AuthenticatorModel])] = [
        ("alice", [World.pin, World.possession]), ("bob", [World.fingerprint]), ("carol", [World.password]),
    ]

    @Test("A phone that was enrolled before answers after the update, and after the next start", arguments: ["phone-1"])
    func authenticates(name: String) async throws {
        var world = try await StoredPhone(name).updated()
        #expect(await world.phone.client.localData.accounts.map(\.username) == ["alice", "bob", "carol"])
        #expect(await world.phone.client.localData.deviceInformation?.name == "Virtual phone")
        for _ in 1...2 {
            for (username, models) in Self.accounts {
                if models.contains(World.fingerprint) { world.phone.sensor.feel(.match) }
                let payload = try await world.server.authentication(policy: World.policy([models]), username: username)
                #expect(try await world.phone.authenticate(payload).account.username == username)
            }
            world = try await world.restarted()
        }
        #expect(await world.server.accepted.count == 6)
    }

    @Test("What it knew of its accounts is kept: browsers, and what proves which device it is")
    func keepsAccounts() async throws {
        let world = try await StoredPhone("phone-1").updated()
        let requester = ReturnUAFRequest.Requester(service: "Bank", browserID: "browser-1")
        _ = try await world.phone.authenticate(
            try await world.server.authentication(
                policy: World.policy([[World.pin, World.possession]]), username: "alice", requester: requester))
        #expect(!world.phone.person.asked.contains { $0.question == .requester })
        try await world.enroll("alice", [World.pin])
        let proof = try #require(await world.server.registrationContexts.last?.object("replaces"))
        #expect(try proof.strings("secrets") == ["7aX8oCecfpOQwqDjVFVJLG9gT7oQHO4s9VMfMwJkTnQ"])
    }

    @Test("Accounts are found by their server and an identifier that shows nobody's name")
    func accountKeys() async throws {
        let world = try await StoredPhone("phone-1").updated()
        try await world.enroll("dora")
        guard
            case .object(let list) = try JSON(parsing: try #require(world.phone.storage.snapshot["accounts"]))
        else { throw JSONError(.wrongType, "accounts") }
        #expect(try list.requiredInteger("version", as: Int.self) == 2)
        var identifiers: Set<ExactText> = []
        for case .object(let account) in try #require(try list.array("accounts")) {
            #expect(try account.requiredString("server") == "https://id.example.com")
            let id = try account.requiredString("id")
            let username = try account.requiredString("username")
            #expect(id.utf8.count == 43 && !id.contains(username))
            identifiers.insert(ExactText(id))
        }
        #expect(identifiers.count == 4)
    }
}

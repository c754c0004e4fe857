import CountersignTestKit
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("UAF Protocol 1.1 §3.6: what a deregistration ends")
struct PreparedDeregistrationTests {
    private static let other = "linux:program:elsewhere"

    /// Two PIN keys and a silent one of an AppID, and a key of another.
    private func device() async throws -> (Device, [KeyName]) {
        let device = try Device()
        var keys: [KeyName] = []
        for model in [Device.pin, Device.pin, Device.possession] {
            keys.append(try await device.register(model, appID: RequestScene.appID).name)
        }
        try await device.register(Device.pin, appID: Self.other)
        return (device, keys)
    }

    private func end(_ entries: [(String, String)], _ device: Device, _ keys: [KeyName]) async throws -> [KeyName] {
        var scene = try RequestScene(.deregistration, keys)
        scene.set(
            "0.authenticators",
            .array(entries.map { .object(["aaid": .string($0.0), "keyID": .string($0.1)]) }))
        let prepared = try await scene.client(device).prepareDeregistration(scene.message.serialized)
        #expect(prepared.appID == RequestScene.appID)
        let named = await prepared.keys
        try await prepared.execute()
        #expect(await prepared.keys.isEmpty)
        return named
    }

    @Test("The keys that are named, those of a model, or all of the AppID; never those of another")
    func ends() async throws {
        for (entries, ended) in [
            ([(Device.pin.aaid.text, 0)], [0]),
            ([(Device.pin.aaid.text, 0), (Device.possession.aaid.text, 2)], [0, 2]),
            ([(Device.pin.aaid.text, nil)], [0, 1]), ([("", nil)], [0, 1, 2]), ([("c516#0006", 2)], [2]),
        ] as [([(String, Int?)], [Int])] {
            let (device, keys) = try await self.device()
            let named = try await self.end(
                entries.map { ($0.0, $0.1.map { keys[$0].keyID.base64URL } ?? "") }, device, keys)
            #expect(named == ended.map { keys[$0] })
            let left = try await device.reopened().module.registrations(appID: RequestScene.appID).map(\.name)
            #expect(left == keys.filter { !named.contains($0) })
            #expect(try await device.reopened().module.registrations(appID: Self.other).count == 1)
        }
    }

    @Test("A key that is not there, of another model or of another AppID ends as if it had been there")
    func nothingIsTold() async throws {
        let (device, keys) = try await self.device()
        let elsewhere = try #require(await device.module.registrations(appID: Self.other).first).name
        let unknown = Base64URL.encode([UInt8](repeating: 9, count: 32))
        for entry in [
            (Device.pin.aaid.text, unknown), (Device.possession.aaid.text, keys[0].keyID.base64URL),
            (Device.pin.aaid.text, elsewhere.keyID.base64URL), ("ABCD#0001", ""),
        ] {
            #expect(try await self.end([entry], device, keys).isEmpty)
        }
        #expect(await device.module.registrations(appID: RequestScene.appID).map(\.name) == keys)
        #expect(await device.module.registrations(appID: Self.other).count == 1)
    }

    @Test("Where the disk is full it can be carried out again")
    func fullDisk() async throws {
        let (device, keys) = try await self.device()
        device.storage.refuseWrites(true)
        await #expect(throws: StorageError(.unavailable, "")) { try await self.end([("", "")], device, keys) }
        device.storage.refuseWrites(false)
        #expect(try await self.end([("", "")], device, keys) == keys)
    }
}

@Suite("uaf-sections §2.8 and §9.6: discover and checkPolicy")
struct DiscoveryTests {
    @Test("Discovery lists what the hardware supports, each with its names and flags, and no key")
    func discover() async throws {
        let device = try Device(camera: nil, displays: [Picture.display])
        let key = try await device.register(Device.pin).name
        let client = MessageClient(
            module: device.module, facetID: try FacetID(Device.facet), versions: [.uaf10, .uaf11]
        ) { _ in throw CancellationError() }
        let data = await client.discover()
        #expect(data.supportedUAFVersions == [.uaf11, .uaf10])
        #expect(
            data.availableAuthenticators.map(\.info.aaid)
                == Device.models.filter { $0.factor != .face && !$0.allowsPasscode }.map(\.aaid))
        let json = data.json
        #expect(!String(decoding: JSON.object(json).serialized, as: UTF8.self).contains(key.keyID.base64URL))
        #expect(try json.requiredString("clientVendor") == "Countersign")
        let authenticators = try #require(try json.array("availableAuthenticators"))
        for (value, info) in zip(authenticators, data.availableAuthenticators.map(\.info)) {
            guard case .object(let object) = value else {
                Issue.record("an authenticator is no dictionary")
                continue
            }
            #expect(try object.requiredString("aaid") == info.aaid.text)
            for name in ["title", "description"] { #expect(try !object.requiredString(name).isEmpty) }
            #expect(try object.requiredInteger("userVerification", as: UInt32.self) == info.userVerification.rawValue)
            #expect(try object.requiredInteger("tcDisplay", as: UInt16.self) == info.tcDisplay.rawValue)
            #expect(try object.string("tcDisplayContentType") == info.tcDisplayContentType?.rawValue)
            #expect(try object.array("tcDisplayPNGCharacteristics")?.count == (info.isSilent ? nil : 1))
            let icon = try object.requiredString("icon").split(separator: ",")
            let letters = icon[1].replacing("+", with: "-").replacing("/", with: "_").filter { $0 != "=" }
            let picture = try DisplayPNGCharacteristics(ofPNG: try #require(Base64URL.decode(letters)))
            #expect(icon[0] == "data:image/png;base64" && picture.width == 1)
        }
    }

    @Test("A policy is checked without asking the person, counting or changing anything")
    func checkPolicy() async throws {
        let device = try Device()
        let keys = [
            try await device.register(Device.pin, appID: RequestScene.appID).name,
            try await device.register(Device.possession, appID: RequestScene.appID).name,
        ]
        let before = device.storage.snapshot
        for operation in RequestScene.Operation.allCases { try await RequestScene(operation, keys).check(device) }
        #expect(device.storage.snapshot == before)
        // What needs an enrolment counts, what needs hardware that is not here does not.
        var scene = try RequestScene(.registration, keys)
        scene.set("0.policy.accepted.0.0.aaid.0", .string(Device.face.aaid.text))
        device.camera?.enroll(nil)
        try await scene.check(device)
        let without = try Device(camera: nil)
        #expect(await failure { try await scene.check(without) } == OperationFailure(.noSuitableAuthenticator, ""))
    }
}

import CountersignTestKit
import Crypto
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("uaf-sections §12: the KHAccessToken, and keys of others")
struct KeyHandleTests {
    private static func keys(_ storage: InMemoryStorage) throws -> [JSONObject] {
        guard case .object(let content) = try JSON(parsing: try #require(storage.snapshot["authenticators"])) else {
            return []
        }
        return try (content.array("keys") ?? []).compactMap { if case .object(let key) = $0 { key } else { nil } }
    }

    @Test("A key handle holds SHA-256(AppID ‖ ASMToken ‖ PersonaID ‖ CallerID), the private key and the user's name")
    func definition() async throws {
        let device = try Device(persona: "work")
        let key = try await device.register(Device.possession, appID: "https://id.example.com/facets")
        let secrets = try #require(device.storage.snapshot["module"])
        let record = try #require(try Self.keys(device.storage).first)
        let wrapKey = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secrets[32...]), salt: key.name.keyID.bytes,
            info: Array("countersign key handle/1".utf8), outputByteCount: 32)
        let handle = try #require(Base64URL.decode(try record.requiredString("keyHandle")))
        let raw = Array(
            try AES.GCM.open(
                AES.GCM.SealedBox(combined: handle), using: wrapKey,
                authenticating: Array(key.name.aaid.text.utf8) + key.name.keyID.bytes))
        let token = SHA256.hash(
            data: Array("https://id.example.com/facets".utf8) + secrets[..<32] + Array("work".utf8)
                + Array(Device.facet.utf8))
        #expect(Array(raw[..<32]) == Array(token))
        let privateKey = try P256.Signing.PrivateKey(rawRepresentation: raw[32..<64])
        #expect(
            Array(privateKey.publicKey.x963Representation) == (try key.read().keyRegistrationData.publicKey))
        #expect(Array(raw[64...]) == [0, 5] + Array("alice".utf8))
    }

    @Test("Two installations make different tokens for the same app and AppID")
    func installations() async throws {
        let first = try Device()
        let second = try Device()
        #expect(first.storage.snapshot["module"] != second.storage.snapshot["module"])
    }

    /// Another app, another user of the operating system, or another installation's app of the same name.
    private static let strangers: [@Sendable (Device) throws -> Device] = [
        { try Device(storage: $0.storage, clock: $0.clock, facet: "linux:program:other") },
        { try Device(storage: $0.storage, clock: $0.clock, persona: "work") },
    ]

    @Test("To another app or persona a key is not there: refused as an unknown one, listed and deleted by nobody else")
    func strangers() async throws {
        for stranger in Self.strangers {
            let device = try Device()
            let name = try await device.register(Device.pin).name
            let other = try stranger(device)
            let unknown = KeyName(aaid: Device.pin.aaid, keyID: try KeyID([UInt8](repeating: 7, count: 32)))
            var ends: [String] = []
            for key in [name, unknown] {
                let person = TestPerson()
                let ended = await failure { _ = try await other.sign(key, person: person) }
                ends.append("\(try #require(ended)) \(String(describing: ended?.asmStatus))")
                // Nobody is asked for a PIN that could never help.
                #expect(await person.statuses.isEmpty)
                #expect(try await other.module.protectionStatus(of: key) == .lockedOut)
                try await other.module.notify(key, .unknownKeyID)
            }
            #expect(ends[0] == ends[1])
            #expect(await other.module.registrations(appID: Device.facet).isEmpty)
            try await other.module.deregister(appID: Device.facet)
            try await other.module.deleteAll(except: [])
            _ = try await device.reopened().sign(name)
        }
    }

    @Test("A stored key that claims to be of another app does not open for it either")
    func claimed() async throws {
        let device = try Device()
        let name = try await device.register(Device.possession).name
        var values = device.storage.snapshot
        let text = String(decoding: try #require(values["authenticators"]), as: UTF8.self)
        for (member, value, facet, persona) in [
            ("callerID", "linux:program:other", "linux:program:other", ""), ("personaID", "work", Device.facet, "work"),
        ] {
            let original = member == "callerID" ? #""callerID":"\#(Device.facet)""# : #""personaID":"""#
            values["authenticators"] = Array(
                text.replacingOccurrences(of: original, with: #""\#(member)":"\#(value)""#).utf8)
            let other = try Device(
                storage: InMemoryStorage(values), clock: device.clock, facet: facet, persona: persona)
            #expect(await other.module.registrations(appID: Device.facet).map(\.name) == [name])
            let ended = await failure { _ = try await other.sign(name) }
            #expect(ended == OperationFailure(.authenticatorAccessDenied, "") && ended?.asmStatus == .accessDenied)
        }
    }

    @Test("A stored key that claims to be of another AppID is found there, and its handle does not open")
    func claimedAppID() async throws {
        let device = try Device()
        let name = try await device.register(Device.possession).name
        var values = device.storage.snapshot
        let text = String(decoding: try #require(values["authenticators"]), as: UTF8.self)
        let claimed = text.replacingOccurrences(
            of: #""appID":"\#(Device.facet)""#, with: #""appID":"linux:program:other""#)
        #expect(claimed != text)
        values["authenticators"] = Array(claimed.utf8)
        let other = try Device(storage: InMemoryStorage(values), clock: device.clock)
        #expect(await other.module.registrations(appID: "linux:program:other").map(\.name) == [name])
        let ended = await failure { _ = try await other.sign(name, appID: "linux:program:other") }
        #expect(ended == OperationFailure(.authenticatorAccessDenied, "") && ended?.asmStatus == .accessDenied)
        #expect(try await device.sign(name).signCounter == 1)
    }

    @Test("A registration counter that is used up makes no further key")
    func usedUpRegistrationCounter() async throws {
        let device = try Device()
        try await device.register(Device.possession)
        var values = device.storage.snapshot
        let text = String(decoding: try #require(values["authenticators"]), as: UTF8.self)
        values["authenticators"] = Array(
            text.replacingOccurrences(of: #""registrationCounter":1"#, with: #""registrationCounter":4294967294"#)
                .utf8)
        let old = try Device(storage: InMemoryStorage(values), clock: device.clock)
        let last = try await old.register(Device.possession)
        #expect(try last.read().keyRegistrationData.registrationCounter == UInt32.max)
        #expect(
            await failure { try await old.register(Device.possession) }
                == OperationFailure(.insufficientAuthenticatorResources, ""))
    }
}

@Suite("uaf-sections §2.7 and §14: a picture to confirm")
struct PictureTests {
    @Test("A picture that the app shows is shown before verification, and its bytes' hash is signed")
    func confirmed() async throws {
        let device = try Device(displays: [Picture.display])
        let name = try await device.register(Device.pin).name
        let person = TestPerson()
        let signed = try await device.sign(name, transaction: Picture.transaction, person: person)
        #expect(signed.mode == .transactionConfirmed)
        #expect(signed.transactionContentHash == Array(SHA256.hash(data: Picture.bytes)))
        #expect(await person.pictures == [Picture.bytes])
        // A text is the app's own to show.
        _ = try await device.sign(name, transaction: Transaction(content: [65]))
        #expect(await person.pictures.count == 1)
    }

    @Test(
        "A person who does not go on after the picture is not verified, and nothing is counted",
        arguments: [
            (UserVerificationError.cancelled, ErrorCode.userCancelled), (.notResponsive, .userNotResponsive),
            (.unavailable, .invalidTransactionContent),
        ])
    func refused(error: UserVerificationError, code: ErrorCode) async throws {
        let device = try Device(displays: [Picture.display])
        let name = try await device.register(Device.pin).name
        let person = TestPerson()
        await person.seesPictures(failing: error)
        let ended = await failure {
            _ = try await device.sign(name, transaction: Picture.transaction, person: person)
        }
        #expect(ended == OperationFailure(code, ""))
        #expect(await person.statuses.isEmpty)
        #expect(try await device.sign(name).signCounter == 1)
    }

    @Test("An authenticator that shows another kind of picture, or none, cannot render it")
    func otherDisplay() async throws {
        var taller = Picture.display
        taller.height = 2
        for displays in [[], [taller]] {
            let device = try Device(displays: displays)
            let name = try await device.register(Device.pin).name
            let person = TestPerson()
            let ended = await failure {
                _ = try await device.sign(name, transaction: Picture.transaction, person: person)
            }
            #expect(ended == OperationFailure(.invalidTransactionContent, ""))
            #expect(ended?.asmStatus == .cannotRenderTransactionContent)
            #expect(await person.pictures.isEmpty)
        }
    }

    @Test("Only an app that shows pictures says so at registration, and only for authenticators with a display")
    func advertised() async throws {
        for displays in [[], [Picture.display]] {
            let device = try Device(displays: displays)
            #expect(try await device.register(Device.pin).assertion.pngCharacteristics == displays)
            #expect(try await device.register(Device.possession).assertion.pngCharacteristics.isEmpty)
            #expect(device.module.info(of: Device.pin).pngCharacteristics == displays)
            #expect(device.module.info(of: Device.pin).tcDisplayContentType == .textPlain)
        }
    }

    @Test("Of several renderings the text is taken, wherever it stands")
    func textPreferred() async throws {
        let device = try Device(displays: [Picture.display])
        let client = MessageClient(module: device.module, facetID: try FacetID(Device.facet)) { _ in
            throw CancellationError()
        }
        let text = Transaction(content: Array("Pay".utf8))
        for (transaction, chosen) in [
            ([Picture.transaction, text], text), ([text, Picture.transaction], text),
            ([Picture.transaction], Picture.transaction),
        ] {
            let request = AuthenticationRequest(
                header: OperationHeader(operation: .authentication), challenge: Challenge(random: .system),
                transaction: transaction, policy: VirtualServer.anything)
            #expect(try await client.prepareAuthentication(request.serialized).transaction == chosen)
        }
    }
}

@Suite("uaf-sections §21: counters of one key under concurrency and crashes")
struct CounterPropertyTests {
    private struct Killed: Error {}

    @Test("Registrations and signatures at once: each registration counts once, each signature once", arguments: 0..<8)
    func registrationsAndSignatures(seed: UInt64) async throws {
        var chance = Chance(seed: seed)
        let device = try Device()
        let names = [
            try await device.register(Device.possession).name, try await device.register(Device.pin).name,
        ]
        let plan = (0..<48).map { _ in chance.number(below: 3) }
        let result = try await withThrowingTaskGroup(of: (key: Int?, counter: UInt32).self) { group in
            for step in plan {
                group.addTask {
                    guard step < 2 else {
                        let key = try await device.register(Device.possession)
                        return (nil, try key.read().keyRegistrationData.registrationCounter)
                    }
                    return (step, try await device.sign(names[step]).signCounter)
                }
            }
            return try await group.reduce(into: [Int?: [UInt32]]()) { $0[$1.key, default: []].append($1.counter) }
        }
        for step in 0..<2 {
            let count = UInt32(plan.filter { $0 == step }.count)
            #expect((result[step] ?? []).sorted() == Array(1..<(count + 1)))
        }
        let registered = (result[nil] ?? []).sorted()
        #expect(registered == Array(3..<(UInt32(registered.count) + 3)))
        #expect(registered.count == plan.filter { $0 == 2 }.count)
    }

    @Test("Signatures of one key at once, killed at any write: no number is signed twice", arguments: 0..<12)
    func killedUnderConcurrency(seed: UInt64) async throws {
        var chance = Chance(seed: seed)
        var device = try Device()
        let name = try await device.register(Device.possession).name
        var signed: [UInt32] = []
        for _ in 0..<6 {
            let survived = Countdown(chance.number(below: 10))
            device.storage.interruptAfterWrite { _ in if survived.isOver() { throw Killed() } }
            let current = device
            let round = await withTaskGroup(of: UInt32?.self) { group in
                for _ in 0..<12 { group.addTask { try? await current.sign(name).signCounter } }
                return await group.reduce(into: [UInt32]()) { if let counter = $1 { $0.append(counter) } }
            }
            if let highest = signed.max() { #expect(round.allSatisfy { $0 > highest }) }
            signed += round
            device = try device.reopened()
        }
        #expect(Set(signed).count == signed.count)
        // The first one after all of it goes on above everything that has left the device.
        #expect(try await device.sign(name).signCounter > signed.max() ?? 0)
    }
}

import CountersignTestKit
import Crypto
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("UAF Authenticator Commands 1.1 §6.2 and ASM API 1.1 §3: keys, handles, counters")
struct AuthenticatorModuleTests {
    @Test("A registration attests a new key by itself", arguments: Device.models)
    func registration(model: AuthenticatorModel) async throws {
        let device = try Device()
        let key = try await device.register(model)
        let read = try key.read()
        let data = read.keyRegistrationData
        #expect(data.aaid == model.aaid && data.keyID == key.name.keyID && data.keyID.bytes.count == 32)
        #expect(data.mode == .userVerified && data.authenticatorVersion == AuthenticatorModel.authenticatorVersion)
        #expect(data.finalChallengeHash == FinalChallengeParams.hash(ofEncoded: "challenge"))
        #expect(data.signCounter == 0 && data.registrationCounter == 1)
        #expect(read.attestation.type == .basicSurrogate)
        let publicKey = try P256Encoding.publicKey(data.publicKey, format: data.publicKeyFormat)
        let signature = try P256Encoding.signature(read.attestation.signature, algorithm: data.signatureAlgorithm)
        #expect(publicKey.isValidSignature(signature, for: data.signedBytes))
        let registrations = await device.module.registrations(appID: Device.facet)
        #expect(registrations.map(\.name) == [key.name])
        #expect(registrations.map(\.isPending) == [true])
    }

    @Test("A signature verifies with the registered key and binds challenge, key and counter")
    func signature() async throws {
        let device = try Device()
        let key = try await device.register(Device.pin)
        let data = try key.read().keyRegistrationData
        let publicKey = try P256Encoding.publicKey(data.publicKey, format: data.publicKeyFormat)
        for counter in 1...3 as ClosedRange<UInt32> {
            let bytes = try await device.module.authenticate(
                key.name, appID: Device.facet, finalChallenge: "other", transaction: nil, verification: TestPerson()
            ).bytes
            let read = try AuthenticationAssertion(parsing: bytes)
            let signature = try P256Encoding.signature(
                read.signature, algorithm: read.signedData.signatureAlgorithm)
            #expect(publicKey.isValidSignature(signature, for: read.signedData.signedBytes))
            #expect(read.signedData.signCounter == counter && read.signedData.keyID == key.name.keyID)
            #expect(read.signedData.finalChallengeHash == FinalChallengeParams.hash(ofEncoded: "other"))
            #expect(read.signedData.mode == .userVerified && read.signedData.transactionContentHash.isEmpty)
            #expect(read.signedData.nonce.count >= 8)
        }
    }

    @Test("A transaction is confirmed in mode 2 with the hash of its bytes")
    func transaction() async throws {
        let device = try Device()
        let name = try await device.register(Device.pin).name
        let transaction = Transaction(content: Array("Pay 5".utf8))
        let signed = try await device.sign(name, transaction: transaction)
        #expect(signed.mode == .transactionConfirmed)
        #expect(signed.transactionContentHash == Array(SHA256.hash(data: Array("Pay 5".utf8))))
    }

    @Test("A silent authenticator confirms no transaction")
    func silentTransaction() async throws {
        let device = try Device()
        let name = try await device.register(Device.possession).name
        let ended = await failure { _ = try await device.sign(name, transaction: Transaction(content: [65])) }
        #expect(ended == OperationFailure(.authenticatorAccessDenied, ""))
        #expect(try await device.sign(name).signCounter == 1)
    }

    @Test("A picture to confirm cannot be shown")
    func pictureTransaction() async throws {
        let device = try Device()
        let name = try await device.register(Device.pin).name
        let transaction = Transaction(contentType: .imagePNG, content: [1])
        let ended = await failure { _ = try await device.sign(name, transaction: transaction) }
        #expect(ended == OperationFailure(.invalidTransactionContent, ""))
        #expect(ended?.asmStatus == .cannotRenderTransactionContent)
    }

    @Test("Every registration counts, over all applications, and deleting lowers nothing")
    func registrationCounter() async throws {
        let device = try Device()
        let first = try await device.register(Device.pin)
        try await device.module.deregister(appID: Device.facet)
        #expect(try first.read().keyRegistrationData.registrationCounter == 1)
        let second = try await device.register(Device.possession, appID: "https://other.example")
        #expect(try second.read().keyRegistrationData.registrationCounter == 2)
        let third = try await device.reopened().register(Device.pin)
        #expect(try third.read().keyRegistrationData.registrationCounter == 3)
    }

    @Test("Keys, counters and secrets survive a restart")
    func restart() async throws {
        let device = try Device()
        let name = try await device.register(Device.pin).name
        #expect(try await device.sign(name).signCounter == 1)
        #expect(try await device.reopened().sign(name).signCounter == 2)
    }

    @Test("A counter is on disk before its signature leaves")
    func counterBeforeSignature() async throws {
        let device = try Device()
        let name = try await device.register(Device.possession).name
        struct Killed: Error {}
        device.storage.interruptAfterWrite { name in if name == "authenticators" { throw Killed() } }
        await #expect(throws: Killed.self) { _ = try await device.sign(name) }
        // Nothing left the device, but the number is used up.
        #expect(try await device.reopened().sign(name).signCounter == 2)
    }

    @Test("Where the counter cannot be written there is no signature, and none is skipped afterwards")
    func fullDisk() async throws {
        let device = try Device()
        let name = try await device.register(Device.possession).name
        device.storage.refuseWrites(true)
        await #expect(throws: StorageError(.unavailable, "")) { _ = try await device.sign(name) }
        device.storage.refuseWrites(false)
        #expect(try await device.sign(name).signCounter == 1)
    }

    @Test("Counters strictly increase under concurrency, without a gap and without a repetition")
    func concurrentCounters() async throws {
        let device = try Device()
        let name = try await device.register(Device.possession).name
        let counters = try await withThrowingTaskGroup(of: UInt32.self) { group in
            for _ in 0..<64 { group.addTask { try await device.sign(name).signCounter } }
            return try await group.reduce(into: [UInt32]()) { $0.append($1) }
        }
        #expect(counters.sorted() == Array(1...64))
    }

    @Test("A key handle opens only for the AppID that it was made for")
    func foreignAppID() async throws {
        let device = try Device()
        let name = try await device.register(Device.possession).name
        let ended = await failure { _ = try await device.sign(name, appID: "https://other.example") }
        #expect(ended == OperationFailure(.authenticatorAccessDenied, ""))
    }

    @Test("A key handle opens only for the app that it was made for")
    func foreignCaller() async throws {
        let device = try Device()
        let name = try await device.register(Device.possession).name
        let other = try Device(storage: device.storage, clock: device.clock, facet: "linux:program:other")
        let ended = await failure { _ = try await other.sign(name) }
        #expect(ended == OperationFailure(.authenticatorAccessDenied, ""))
    }

    @Test("A key that is not there is refused like one that is somebody else's")
    func unknownKey() async throws {
        let device = try Device()
        let name = KeyName(aaid: Device.pin.aaid, keyID: try KeyID([UInt8](repeating: 7, count: 32)))
        let ended = await failure { _ = try await device.sign(name) }
        #expect(ended == OperationFailure(.authenticatorAccessDenied, ""))
        #expect(ended?.asmStatus == .accessDenied)
    }

    @Test("The storage holds neither a user name in the clear nor the PIN")
    func nothingInTheClear() async throws {
        let device = try Device()
        _ = try await device.register(Device.pin, username: "alice-in-the-clear")
        let values = device.storage.snapshot.values
        #expect(!values.isEmpty)
        for value in values {
            let text = String(decoding: value, as: UTF8.self)
            #expect(!text.contains("alice-in-the-clear"))
            #expect(!text.contains("135790"))
        }
    }

    @Test("With another store's secret the right PIN opens nothing")
    func pinNeedsTheStore() async throws {
        let device = try Device()
        let name = try await device.register(Device.pin).name
        var values = device.storage.snapshot
        values["module"]?.replaceSubrange(32..., with: [UInt8](repeating: 1, count: 32))
        let other = try Device(storage: InMemoryStorage(values))
        let person = TestPerson()
        _ = await failure { _ = try await other.sign(name, person: person) }
        #expect(await person.refusals == [nil, .wrong])
    }

    @Test("Keys without the module's secrets are a corrupt store, and so are unreadable keys")
    func corruptStore() async throws {
        let device = try Device()
        try await device.register(Device.pin)
        var values = device.storage.snapshot
        values["module"] = nil
        #expect(throws: StorageError(.corrupt, "")) { try Device(storage: InMemoryStorage(values)) }
        values = device.storage.snapshot
        values["module"] = [1, 2, 3]
        #expect(throws: StorageError(.corrupt, "")) { try Device(storage: InMemoryStorage(values)) }
        for text in [
            "", "[]", "{}", #"{"version":0,"registrationCounter":1}"#, #"{"version":1,"registrationCounter":-1}"#,
        ] {
            values = device.storage.snapshot
            values["authenticators"] = Array(text.utf8)
            #expect(throws: StorageError(.corrupt, "")) { try Device(storage: InMemoryStorage(values)) }
        }
    }

    @Test("What a later version has written is not read, and not called corrupt")
    func laterStore() async throws {
        let stored = ["authenticators": Array(#"{"version":2,"registrationCounter":1}"#.utf8)]
        let storage = InMemoryStorage(stored)
        #expect(throws: StorageError(.newer, "")) { try Device(storage: storage) }
        #expect(storage.snapshot == stored)
    }

    @Test("There is room for so many keys and no more")
    func resources() async throws {
        let device = try Device(maximumKeys: 2)
        try await device.register(Device.pin)
        try await device.register(Device.possession)
        let ended = await failure { try await device.register(Device.possession) }
        #expect(ended == OperationFailure(.insufficientAuthenticatorResources, ""))
        #expect(ended?.asmStatus == .insufficientAuthenticatorResources)
    }

    @Test("An attestation that the authenticator cannot give is refused")
    func attestation() async throws {
        let device = try Device()
        let ended = await failure {
            _ = try await device.module.register(
                Device.pin, appID: Device.facet, username: "alice", finalChallenge: "c", attestationType: .basicFull,
                verification: TestPerson())
        }
        #expect(ended == OperationFailure(.unknown, ""))
        #expect(ended?.asmStatus == .error)
    }

    private static func text(_ length: Int) -> String { String(repeating: "ü", count: length) }

    @Test(
        "Parameters outside their limits are refused",
        arguments: [
            ("", "alice", "challenge"), (text(513), "alice", "challenge"), (Device.facet, "", "challenge"),
            (Device.facet, text(129), "challenge"), (Device.facet, "alice", ""),
        ])
    func parameters(appID: String, username: String, challenge: String) async throws {
        let device = try Device()
        let ended = await failure {
            try await device.register(Device.possession, appID: appID, username: username, challenge: challenge)
        }
        #expect(ended == OperationFailure(.unknown, ""))
        #expect(ended?.asmStatus == .error)
        #expect(await device.module.registrations(appID: appID).isEmpty)
    }

    @Test("Parameters at their limits are taken", arguments: [(text(1), text(1)), (text(512), text(128))])
    func parametersAtTheirLimits(appID: String, username: String) async throws {
        let device = try Device()
        _ = try await device.register(Device.possession, appID: appID, username: username, challenge: "x")
        #expect(await device.module.registrations(appID: appID).count == 1)
    }

    @Test(
        "The server's answer makes a pending key final, leaves it, or deletes it",
        arguments: [
            (UAFStatusCode.ok, false as Bool?), (.accepted, true), (.unknownKeyID, nil), (.unacceptableContent, nil),
            (.forbidden, nil), (.internalServerError, nil),
        ])
    func notifyPending(status: UAFStatusCode, isPending: Bool?) async throws {
        let device = try Device()
        let name = try await device.register(Device.pin).name
        try await device.module.notify(name, status)
        #expect(try await device.reopened().module.registrations(appID: Device.facet).first?.isPending == isPending)
    }

    @Test("A refused authentication leaves a final key; an unknown key identifier deletes it with its tries")
    func notifyFinal() async throws {
        let device = try Device()
        let name = try await device.register(Device.pin).name
        try await device.module.notify(name, .ok)
        try await device.module.notify(name, .unacceptableContent)
        #expect(await device.module.registrations(appID: Device.facet).count == 1)
        try await device.module.notify(name, .unknownKeyID)
        #expect(await device.module.registrations(appID: Device.facet).isEmpty)
        #expect(!device.storage.snapshot.keys.contains { $0.hasPrefix("attempts-") })
    }

    @Test("Deregistering deletes one key, those of a model, or all of the AppID, and never says what was there")
    func deregister() async throws {
        let device = try Device()
        let pin = try await device.register(Device.pin).name
        let first = try await device.register(Device.possession).name
        let second = try await device.register(Device.possession).name
        let other = try await device.register(Device.possession, appID: "https://other.example").name
        func left() async -> [KeyName] { await device.module.registrations(appID: Device.facet).map(\.name) }
        try await device.module.deregister(appID: Device.facet, aaid: first.aaid, keyID: first.keyID)
        #expect(await left() == [pin, second])
        try await device.module.deregister(appID: Device.facet, aaid: first.aaid, keyID: first.keyID)
        try await device.module.deregister(appID: Device.facet, aaid: Device.possession.aaid)
        #expect(await left() == [pin])
        try await device.module.deregister(appID: Device.facet)
        #expect(await left() == [])
        #expect(await device.module.registrations(appID: "https://other.example").map(\.name) == [other])
        try await device.module.deleteAll(except: [])
        #expect(await device.module.registrations(appID: "https://other.example").isEmpty)
    }

    @Test("A key that is deleted while the person types does not sign")
    func deletedMeanwhile() async throws {
        let device = try Device()
        let name = try await device.register(Device.pin).name
        let person = TestPerson()
        await person.beforePin { try? await device.module.deregister(appID: Device.facet) }
        let ended = await failure { _ = try await device.sign(name, person: person) }
        #expect(ended?.code == .userLockout || ended?.code == .authenticatorAccessDenied)
        #expect(await device.module.registrations(appID: Device.facet).isEmpty)
    }

    @Test("Keys are listed in the order in which they were made, each with its name, apart for each AppID")
    func listed() async throws {
        let device = try Device()
        var names: [KeyName] = []
        for index in 0..<6 {
            let appID = index.isMultiple(of: 3) ? "https://other.example" : Device.facet
            let key = try await device.register(index < 3 ? Device.pin : Device.possession, appID: appID)
            if appID == Device.facet { names.append(key.name) }
        }
        #expect(await device.module.registrations(appID: Device.facet).map(\.name) == names)
        #expect(await device.module.registrations(appID: "https://other.example").count == 2)
        #expect(await device.module.registrations(appID: "").isEmpty)
        #expect("\(names[0])" == "\(Device.pin.aaid)/\(names[0].keyID.base64URL)")
    }

    @Test("The same PIN for two accounts makes two keys that have nothing in common in the storage")
    func samePin() async throws {
        let device = try Device()
        for username in ["alice", "bob"] { try await device.register(Device.pin, username: username) }
        guard case .object(let content) = try JSON(parsing: try #require(device.storage.snapshot["authenticators"])),
            let keys = try content.array("keys"), case .object(let first) = keys[0], case .object(let second) = keys[1]
        else {
            Issue.record("the key store is another")
            return
        }
        #expect(try first.requiredString("keyHandle") != second.requiredString("keyHandle"))
        let salts = try [first, second].map { try $0.requiredObject("secret").requiredString("salt") }
        #expect(Set(salts).count == 2)
    }

    @Test("A cancelled task leaves no key and no signature behind")
    func cancelled() async throws {
        let device = try Device()
        let name = try await device.register(Device.possession).name
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await device.sign(name)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        let registration = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await device.register(Device.possession)
        }
        await #expect(throws: CancellationError.self) { try await registration.value }
        #expect(await device.module.registrations(appID: Device.facet).count == 1)
        #expect(try await device.sign(name).signCounter == 1)
    }
}

@Suite("ASM API 1.1 §3 and founding decision, Keys: one operation a key in flight")
struct ExclusiveUseTests {
    private actor Log {
        var running = 0
        var most = 0
        var order: [Int] = []
        func begin(_ index: Int) {
            self.running += 1
            self.most = max(self.most, self.running)
            self.order.append(index)
        }
        func end() { self.running -= 1 }
    }

    @Test("Operations of one key run one after another; those of another key do not wait")
    func oneAtATime() async throws {
        let device = try Device()
        let first = try await device.register(Device.possession).name
        let second = try await device.register(Device.possession).name
        let log = Log()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<20 {
                group.addTask {
                    try await device.module.withExclusiveUse(of: index.isMultiple(of: 2) ? [first] : [second, first]) {
                        await log.begin(index)
                        for _ in 0..<5 { await Task.yield() }
                        await log.end()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(await log.most == 1)
        #expect(await log.order.count == 20)
    }

    @Test("Whatever waits can be cancelled, and the next one still gets its turn")
    func cancelledWaiter() async throws {
        let device = try Device()
        let name = try await device.register(Device.possession).name
        let (gate, opener) = AsyncStream<Void>.makeStream()
        let (entered, entering) = AsyncStream<Void>.makeStream()
        let holder = Task {
            try await device.module.withExclusiveUse(of: [name]) {
                entering.yield()
                for await _ in gate { break }
            }
        }
        for await _ in entered { break }
        let waiter = Task { try await device.module.withExclusiveUse(of: [name]) {} }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        opener.yield()
        try await holder.value
        let ran = try await device.module.withExclusiveUse(of: [name]) { true }
        #expect(ran)
    }
}

extension ExclusiveUseTests {
    @Test("An operation that fails gives its keys back, also while others wait for them")
    func failed() async throws {
        struct Failed: Error {}
        let device = try Device()
        let first = try await device.register(Device.possession).name
        let second = try await device.register(Device.possession).name
        let ends = await withTaskGroup(of: Bool.self) { group in
            for index in 0..<30 {
                group.addTask {
                    do {
                        try await device.module.withExclusiveUse(of: [first, second]) {
                            await Task.yield()
                            if index.isMultiple(of: 2) { throw Failed() }
                        }
                        return true
                    } catch {
                        return false
                    }
                }
            }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(ends.filter { $0 }.count == 15 && ends.count == 30)
    }

    @Test("A key that is named twice is waited for once, and no key at all is no reason to wait")
    func repeated() async throws {
        let device = try Device()
        let name = try await device.register(Device.possession).name
        let counters = try await device.module.withExclusiveUse(of: [name, name]) {
            [try await device.sign(name).signCounter, try await device.sign(name).signCounter]
        }
        #expect(counters == [1, 2])
        #expect(try await device.module.withExclusiveUse(of: []) { true })
    }

    @Test("What is cancelled before it asks gets no turn, and leaves the key to others")
    func cancelledBefore() async throws {
        let device = try Device()
        let name = try await device.register(Device.possession).name
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await device.module.withExclusiveUse(of: [name]) {}
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await device.module.withExclusiveUse(of: [name]) { true })
    }
}

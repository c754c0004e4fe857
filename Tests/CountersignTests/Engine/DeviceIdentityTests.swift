import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import JOSE
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Decision 61: a device has an identity towards each account's server", .overEachKeyAbility)
struct DeviceIdentityTests {
    private static func identity(_ world: World, _ username: Username = "alice") async throws -> DeviceIdentity {
        let account = try #require(
            await world.phone.client.localData.accounts.first { $0.username == username })
        return try #require(try await world.phone.client.deviceIdentity(of: account))
    }

    private static func stored(_ world: World) throws -> [JSONObject] {
        guard case .object(let list) = try JSON(parsing: try #require(world.phone.storage.snapshot["accounts"])),
            let accounts = try list.array("accounts")
        else { throw JSONError(.wrongType, "accounts") }
        return accounts.compactMap { if case .object(let account) = $0 { account } else { nil } }
    }

    @Test("It is made at the first registration, and stays the same through further ones and restarts")
    func made() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.pin])
        #expect(try Self.stored(world).map { $0["identity"] != nil } == [true])
        let first = try await Self.identity(world)
        #expect(first.signingKey.use == "sig" && first.encryptionKey.use == "enc")
        #expect(first.signingKey.keyID == first.signingKey.thumbprint)
        try await world.enroll("alice", [World.password])
        let again = try await Self.identity(try await world.restarted())
        #expect(again.signingKey == first.signingKey && again.encryptionKey == first.encryptionKey)
    }

    @Test("What it says about a request is taken for this request and server")
    func proof() async throws {
        let world = try await World()
        try await world.enroll()
        let identity = try await Self.identity(world)
        let compact = try await identity.proof(method: "POST", target: "https://id.example.com/x", body: [1, 2, 3])
        let request = DeviceProof.Request(
            audience: "https://id.example.com", method: "POST", target: "https://id.example.com/x", body: [1, 2, 3])
        let now = world.phone.clock.now()
        _ = try DeviceProof(verifying: compact, of: request, with: identity.signingKey, at: now)
        try await world.enroll("bob")
        let other = try await Self.identity(world, "bob")
        #expect(throws: JOSEError(.invalidSignature, "")) {
            try DeviceProof(verifying: compact, of: request, with: other.signingKey, at: now)
        }
    }

    @Test("What is sealed to it, it opens, and no other account does")
    func sealed() async throws {
        let world = try await World()
        try await world.enroll("alice")
        try await world.enroll("bob")
        let identity = try await Self.identity(world)
        let sealed = try JWE.seal([1, 2, 3], to: identity.encryptionKey, algorithm: .ecdhES)
        #expect(try identity.open(sealed) == [1, 2, 3])
        let other = try await Self.identity(world, "bob")
        #expect(throws: JOSEError(.undecryptable, "")) { try other.open(sealed) }
    }

    @Test("It goes with its account, and with no other")
    func deleted() async throws {
        let world = try await World()
        try await world.enroll("alice")
        let keys = world.phone.keys as? VerifyingKeys
        let count = keys?.count
        try await world.enroll("bob")
        let bob = try #require(await world.phone.client.localData.accounts.first { $0.username == "bob" })
        try await world.phone.client.localData.forget(bob)
        #expect(keys?.count == count)
        #expect(try await world.phone.client.deviceIdentity(of: bob) == nil)
        let alice = try await Self.identity(world)
        _ = try await alice.proof(method: "GET", target: "https://id.example.com/x", body: [])
        _ = try await world.phone.redeem(try await world.server.deregistration(of: "alice"))
        #expect(await world.phone.client.localData.accounts.isEmpty)
        #expect(keys.map { $0.count == 0 } ?? true)
    }

    @Test("A registration whose account could not be written leaves none")
    func storageFails() async throws {
        let world = try await World()
        let storage = world.phone.storage
        storage.interruptAfterWrite { name in
            if name == "authenticators" { storage.refuseWrites(true) }
        }
        _ = await operationError { try await world.enroll() }
        storage.interruptAfterWrite(nil)
        storage.refuseWrites(false)
        let again = try await world.restarted()
        #expect(await again.phone.client.localData.accounts.isEmpty)
        #expect((again.phone.keys as? VerifyingKeys).map { $0.count == 0 } ?? true)
    }

    @Test("A device without room for its keys is enrolled all the same, and gets them when there is room")
    func noRoom() async throws {
        let world = try await World(keyStore: .file)
        let chip = try #require(world.phone.keys as? VerifyingKeys)
        chip.refuseKeys(true, after: 1)
        try await world.enroll()
        #expect(chip.count == 1)
        chip.refuseKeys(false)
        let first = try await Self.identity(world)
        #expect(try await Self.identity(world).signingKey == first.signingKey && chip.count == 3)
    }

    @Test("A phone that was enrolled before has one as soon as it is asked for, and keeps it")
    func enrolledBefore() async throws {
        let world = try await StoredPhone("phone-1").updated()
        let first = try await Self.identity(world)
        #expect(try Self.stored(world).filter { $0["identity"] != nil }.count == 1)
        #expect(try await Self.identity(try await world.restarted()).signingKey == first.signingKey)
    }

    // MARK: What the server knows of it

    /// What the last message of that kind has told of the device; `nil` where it told nothing.
    private static func told(_ world: World, _ kind: String) async throws -> DeviceKeyAnnouncement? {
        let requests = await world.server.requests
        let request = try #require(requests.last { $0.url.path().hasSuffix("/uaf/1.1/\(kind)/") })
        let sent = try SendUAFResponse(parsing: request.body).uafResponse.utf8
        var extensions: [AssertionExtension] = []
        let fcParams: String
        if kind == "registration" {
            let response = try RegistrationResponse(parsing: sent)
            fcParams = response.fcParams
            for assertion in response.assertions {
                extensions += try RegistrationAssertion(parsing: assertion.bytes).keyRegistrationData.extensions
            }
        } else {
            let response = try AuthenticationResponse(parsing: sent)
            fcParams = response.fcParams
            for assertion in response.assertions {
                extensions += try AuthenticationAssertion(parsing: assertion.bytes).signedData.extensions
            }
        }
        return try DeviceKeyAnnouncement(
            among: extensions, finalChallengeHash: FinalChallengeParams.hash(ofEncoded: fcParams))
    }

    /// Authenticates; the server says that it knows the device's key by that name.
    private static func authenticate(_ world: World, knowing name: String? = nil) async throws {
        await world.server.judge(ServerResponse(statusCode: .ok, deviceKey: name))
        _ = try await world.phone.authenticate(try await world.server.authentication())
    }

    private static func questions(_ world: World) async throws -> [ServiceQuestion] {
        try await world.phone.client.operations.waitingQuestions.username("alice").execute()
    }

    @Test("An enrolment tells the server its keys, once among several assertions, and the device proves to have them")
    func announced() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.possession, World.pin])
        let told = try #require(try await Self.told(world, "registration"))
        let identity = try await Self.identity(world)
        #expect(try told.signingKey == Self.point(identity.signingKey))
        #expect(try told.encryptionKey == Self.point(identity.encryptionKey))
    }

    private static func point(_ key: JWK) throws -> [UInt8] {
        guard case .p256(let x, let y, _) = key.material else { throw JOSEError(.invalidKey, "another curve") }
        return [4] + x + y
    }

    @Test("A registration that the server refuses leaves no keys of the device")
    func refused() async throws {
        let world = try await World()
        await world.server.judge(ServerResponse(statusCode: .unacceptableKey))
        _ = await operationError { try await world.enroll() }
        #expect((world.phone.keys as? VerifyingKeys).map { $0.count == 0 } ?? true)
    }

    @Test("Once the server has said that it knows the key, the device tells it no more, and proves what it asks itself")
    func known() async throws {
        let world = try await World()
        try await world.enroll()
        let name = try #require(try await Self.identity(world).signingKey.keyID)
        try await Self.authenticate(world, knowing: name)
        #expect(try await Self.told(world, "authentication") != nil)
        let again = try await world.restarted()
        try await Self.authenticate(again, knowing: name)
        #expect(try await Self.told(again, "authentication") == nil)
        #expect(try await Self.questions(again).isEmpty)
        let request = try #require(await again.server.requests.last)
        let proof = try #require(request.headers.first { $0.name == "Device-Proof" }?.value)
        _ = try DeviceProof(
            verifying: proof,
            of: DeviceProof.Request(
                audience: "https://id.example.com", method: "GET", target: request.url.absoluteString, body: []),
            with: try await Self.identity(again).signingKey, at: again.phone.clock.now())
    }

    @Test("A server that does not know the device any more is told anew with the next authentication")
    func forgotten() async throws {
        let world = try await World()
        try await world.enroll()
        let name = try #require(try await Self.identity(world).signingKey.keyID)
        try await Self.authenticate(world, knowing: name)
        await world.server.intercept { request in
            guard request.url.path().hasSuffix("/questions") else { return nil }
            return TransportResponse(
                status: 401, headers: [("Content-Type", "application/problem+json")],
                body: Array(#"{"type":"urn:countersign:error:not-proven"}"#.utf8))
        }
        #expect(await operationError { _ = try await Self.questions(world) }?.code == .notAuthorized)
        #expect(await operationError { _ = try await Self.questions(world) }?.code == .missingInteraction)
        try await Self.authenticate(world, knowing: name)
        #expect(try await Self.told(world, "authentication") != nil)
    }

    @Test("A device whose own keys are gone makes others, and tells them with the next authentication")
    func lostKeys() async throws {
        let world = try await World(keyStore: .file)
        let chip = try #require(world.phone.keys as? VerifyingKeys)
        try await world.enroll()
        let first = try #require(try await Self.identity(world).signingKey.keyID)
        try await Self.authenticate(world, knowing: first)
        chip.loseUnlocked()
        let sent = await world.server.requests.count
        #expect(await operationError { _ = try await Self.questions(world) }?.code == .notAuthorized)
        #expect(await world.server.requests.count == sent)
        #expect(await operationError { _ = try await Self.questions(world) }?.code == .missingInteraction)
        try await Self.authenticate(world)
        let told = try #require(try await Self.told(world, "authentication"))
        let second = try await Self.identity(world)
        #expect(second.signingKey.keyID != first)
        #expect(try told.signingKey == Self.point(second.signingKey))
        try await Self.authenticate(world, knowing: second.signingKey.keyID)
        #expect(try await Self.questions(world).isEmpty)
    }

    @Test("A server that knows nothing of it, or another key, is told again, and everything goes on as before")
    func foreign() async throws {
        let world = try await World()
        try await world.enroll()
        for name in [nil, "another", nil] {
            try await Self.authenticate(world, knowing: name)
            #expect(try await Self.told(world, "authentication") != nil)
            #expect(await operationError { _ = try await Self.questions(world) }?.code == .missingInteraction)
        }
    }

    @Test(
        "A clock that the server cannot mean is not taken over, and a document that cannot be read says nothing of clocks",
        arguments: [
            ("-1", OperationError.Code.clockSkewTooBig), ("9223372036854775807", .clockSkewTooBig),
            ("1e400", .notAuthorized), ("null", .notAuthorized),
        ])
    func impossibleClock(now: String, code: OperationError.Code) async throws {
        let world = try await World()
        try await world.enroll()
        let name = try #require(try await Self.identity(world).signingKey.keyID)
        try await Self.authenticate(world, knowing: name)
        await world.server.intercept { request in
            guard request.url.path().hasSuffix("/questions") else { return nil }
            return TransportResponse(
                status: 401, headers: [("Content-Type", "application/problem+json")],
                body: Array(#"{"type":"urn:countersign:error:clock-skew","now":\#(now)}"#.utf8))
        }
        let before = await world.server.requests.count
        #expect(await operationError { _ = try await Self.questions(world) }?.code == code)
        #expect(await world.server.requests.count == before + 1)
    }

    @Test("A server that refuses its own time too is a typed error, and the device's keys stay valid")
    func refusedClock() async throws {
        let world = try await World()
        try await world.enroll()
        let name = try #require(try await Self.identity(world).signingKey.keyID)
        try await Self.authenticate(world, knowing: name)
        let now = world.phone.clock.now().milliseconds + 600_000
        await world.server.intercept { request in
            guard request.url.path().hasSuffix("/questions") else { return nil }
            return TransportResponse(
                status: 401, headers: [("Content-Type", "application/problem+json")],
                body: Array(#"{"type":"urn:countersign:error:clock-skew","now":\#(now)}"#.utf8))
        }
        let before = await world.server.requests.count
        let error = await operationError { _ = try await Self.questions(world) }
        #expect(error?.code == .clockSkewTooBig && error?.httpStatus == 401 && error?.recovery == .tryAgain)
        #expect(await world.server.requests.count == before + 2)
        // The device still proves its requests itself.
        #expect(await operationError { _ = try await Self.questions(world) }?.code == .clockSkewTooBig)
    }
}

import Countersign
import CountersignTestKit
import Crypto
import Foundation
import Synchronization
import Testing
import UAF
import UAFClient
import _Primitives

/// A way in which device and server come to differ.
enum DeviceDifference: CaseIterable, Sendable {
    case name, pushAddress, noPushAddress, pushSetting, targetUnknownHere, targetUnknownThere, keysUnknown, keysLost
    case keyAtServer, keyOnDevice

    /// What the check says of the difference.
    var kind: DeviceInformationMismatch.Kind {
        switch self {
        case .name: .name
        case .pushAddress, .noPushAddress: .pushAddress
        case .pushSetting: .pushSetting
        case .targetUnknownHere, .targetUnknownThere: .dispatchTarget
        case .keysUnknown, .keysLost: .deviceKeys
        case .keyAtServer, .keyOnDevice: .authenticator
        }
    }

    var missingSide: DeviceInformationMismatch.Side? {
        switch self {
        case .targetUnknownHere, .keyAtServer: .device
        case .targetUnknownThere, .keyOnDevice: .server
        default: nil
        }
    }
}

@Suite("Operations parity 69: the differences between a device and its servers", .overEachKeyAbility)
struct DeviceInformationSyncTests {
    private static let path = "/token/dispatch/targets"
    private static let address = PushAddress.firebaseCloudMessaging(registrationToken: "push-token-1")

    /// A phone with two authenticators of an account.
    private static func world() async throws -> World {
        let world = try await World()
        let clock = world.phone.clock
        await world.server.serveDevices { clock.now() }
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        let enrolment = world.phone.ready(try await world.registration(payload))
            .deviceInformation(DeviceInformation(name: "Alice's phone", pushAddress: Self.address))
        _ = try await enrolment.execute()
        world.phone.sensor.feel(.match)
        world.phone.person.script.kind = .fingerprint
        let registration = world.phone.ready(world.phone.client.operations.registration.username("alice"))
        _ = try await registration.authorizationProvider(JwtAuthorizationProvider("virtual-jwt")).execute()
        world.phone.person.script.kind = .pin
        world.phone.person.forget()
        return world
    }

    private static func keys(_ world: World, _ model: AuthenticatorModel) async -> Set<KeyID> {
        Set(await world.server.credentials.filter { $0.value.aaid == model.aaid }.map(\.key))
    }

    /// Makes device and server differ. Returns the phone, which some differences need to start again.
    private static func make(_ difference: DeviceDifference, _ world: World) async throws -> World {
        let server = world.server
        func change(_ body: @Sendable (inout VirtualDispatchTarget) -> Void) async {
            await server.changeDispatchTarget(of: "alice") { target in
                var target = target
                body(&target)
                return target
            }
        }
        switch difference {
        case .name: await change { $0.name = "Somebody's phone" }
        case .pushAddress: await change { $0.address = "push-token-2" }
        case .noPushAddress:
            await change {
                $0.dispatcher = nil
                $0.address = nil
            }
        case .pushSetting: await change { $0.isPushEnabled = false }
        case .targetUnknownHere: return try await Self.withoutIdentifiers(world)
        case .targetUnknownThere: await server.changeDispatchTarget(of: "alice") { _ in nil }
        case .keysUnknown: await server.forgetDeviceKeys(of: "alice")
        case .keysLost:
            let chip = try #require(world.phone.keys as? VerifyingKeys)
            chip.loseUnlocked()
        case .keyAtServer:
            try await server.know(
                try KeyID(RandomSource.system.bytes(32)), of: "alice", aaid: World.password.aaid,
                publicKey: Array(P256.Signing.PrivateKey().publicKey.x963Representation))
        case .keyOnDevice: await server.forget(await Self.keys(world, World.fingerprint))
        }
        return world
    }

    /// The phone after a restart with a storage that has lost the servers' identifiers.
    private static func withoutIdentifiers(_ world: World) async throws -> World {
        var values = world.phone.storage.snapshot
        guard case .object(var list) = try JSON(parsing: try #require(values["accounts"])) else {
            throw JSONError(.wrongType, "accounts")
        }
        list["accounts"] = .array(
            try #require(try list.array("accounts")).map { value in
                guard case .object(var account) = value else { return value }
                account["target"] = nil
                return .object(account)
            })
        values["accounts"] = JSON.object(list).serialized
        return try await world.restarted(with: values)
    }

    private static func check(_ world: World) async throws -> [DeviceInformationMismatch] {
        let result = try await world.phone.client.operations.deviceInformationCheck.execute()
        #expect(result.failures.isEmpty)
        return result.mismatches
    }

    private static func sync(_ world: World) -> DeviceInformationSync {
        let person = world.phone.person
        return world.phone.client.operations.deviceInformationSync.authenticatorSelector(person).pinUserVerifier(person)
            .fingerprintUserVerifier(person)
    }

    /// The authenticators of the account on the device.
    private static func kinds(_ world: World) async -> [AuthenticatorDescriptor.Kind] {
        await world.phone.client.localData.authenticators.filter { $0.registration.isRegistered(username: "alice") }
            .map(\.kind)
    }

    @Test("Each difference is found and repaired, and a second check is empty", arguments: DeviceDifference.allCases)
    func repaired(difference: DeviceDifference) async throws {
        let enrolled = try await Self.world()
        // Keys in the storage are not lost by themselves.
        guard difference != .keysLost || enrolled.phone.keys != nil else { return }
        #expect(try await Self.check(enrolled).isEmpty)
        let world = try await Self.make(difference, enrolled)
        var found = try await Self.check(world)
        #expect(found.map(\.kind) == [difference.kind] && found.map(\.missingSide) == [difference.missingSide])
        #expect(found.map(\.account.username) == ["alice"])
        let result = try await Self.sync(world).mismatches(found).execute()
        #expect(result.repaired == found && result.failures.isEmpty)
        #expect(world.phone.person.asked.isEmpty == (difference.kind != .deviceKeys))
        found = try await Self.check(world)
        #expect(found.isEmpty)
        let target = try #require(await world.server.dispatchTarget(of: "alice"))
        #expect(target.name == "Alice's phone" && target.address == "push-token-1" && target.isPushEnabled)
        #expect(target.dispatcher == "firebase-cloud-messaging")
        let information = await world.phone.client.localData.deviceInformation
        #expect(information?.accountIdentifiers.map(\.identifier) == [target.id])
        #expect(await Self.keys(world, World.pin).count == 1)
        #expect(await Self.keys(world, World.password).isEmpty)
        let isGone = difference == .keyOnDevice
        #expect(await Self.keys(world, World.fingerprint).count == (isGone ? 0 : 1))
        #expect(await Self.kinds(world) == (isGone ? [.pin] : [.pin, .fingerprint]))
    }

    @Test(
        "All differences at once are repaired in one call, those too that others hide",
        arguments: [
            (DeviceDifference.targetUnknownThere, DeviceInformationMismatch.Kind.deviceKeys),
            (.targetUnknownHere, .dispatchTarget),
        ])
    func together(target: DeviceDifference, hiding: DeviceInformationMismatch.Kind) async throws {
        var world = try await Self.world()
        for difference in [
            DeviceDifference.name, .pushAddress, .pushSetting, .keyAtServer, .keyOnDevice, .keysUnknown, target,
        ] { world = try await Self.make(difference, world) }
        #expect(try await Self.check(world).map(\.kind) == [hiding])
        let result = try await Self.sync(world).execute()
        #expect(result.failures.isEmpty)
        #expect(result.repaired.map(\.kind) == [hiding, .authenticator, .authenticator])
        #expect(try await Self.check(world).isEmpty)
    }

    @Test("The check changes nothing at the server, asks nobody, and sends one proved request for an account")
    func readsOnly() async throws {
        let world = try await Self.make(.name, try await Self.world())
        let before = await world.server.requests.count
        _ = try await Self.check(world)
        let sent = await world.server.requests.dropFirst(before)
        #expect(sent.map(\.method) == ["GET"] && sent.allSatisfy(\.body.isEmpty))
        #expect(sent.first?.headers.contains { $0.name == "Device-Proof" } == true)
        #expect(world.phone.person.asked.isEmpty)
        #expect(await world.server.dispatchTarget(of: "alice")?.name == "Somebody's phone")
    }

    @Test("A device without an account has nothing to compare, and sends nothing")
    func empty() async throws {
        let world = try await World()
        #expect(try await Self.check(world).isEmpty)
        let result = try await Self.sync(world).execute()
        #expect(result.repaired.isEmpty && result.failures.isEmpty)
        #expect(await world.server.requests.isEmpty)
    }

    @Test("Device keys that the server does not know stay unknown without the person, with the error that says so")
    func needsPerson() async throws {
        let world = try await Self.make(.keysUnknown, try await Self.world())
        let found = try await Self.check(world)
        let result = try await world.phone.client.operations.deviceInformationSync.execute()
        #expect(result.repaired.isEmpty && result.failures.map(\.mismatch) == found)
        #expect(result.failures.map(\.error) == [OperationError(.notAuthorized)])
        #expect(result.failures.first?.error.recovery == .authenticate)
        world.phone.person.script.reactions[.authenticator] = .cancels
        let cancelled = try await Self.sync(world).execute()
        #expect(cancelled.failures.map(\.error) == [.fido(.userCanceled)])
        #expect(try await Self.check(world) == found)
    }

    @Test("A repair that is cancelled while the person is asked ends with the cancellation", .timeLimit(.minutes(10)))
    func cancelled() async throws {
        let world = try await Self.world()
        await world.server.forgetDeviceKeys(of: "alice")
        let running = Mutex<Task<Void, any Error>?>(nil)
        let person = world.phone.person
        let sync = world.phone.client.operations.deviceInformationSync.pinUserVerifier(person)
            .authenticatorSelector { _ in
                while running.withLock({ $0?.cancel() }) == nil { await Task.yield() }
                return nil
            }
        let task = Task { _ = try await sync.execute() as DeviceInformationSyncResult }
        running.withLock { $0 = task }
        let error = await operationError { try await task.value }
        #expect(error == .fido(.userCanceled))
    }

    @Test("Only the differences that the app names are repaired, and only while they exist")
    func chosen() async throws {
        var world = try await Self.make(.name, try await Self.world())
        world = try await Self.make(.pushSetting, world)
        let found = try await Self.check(world)
        #expect(found.map(\.kind) == [.name, .pushSetting])
        let names = found.filter { $0.kind == .name }
        #expect(try await Self.sync(world).mismatches(names).execute().repaired == names)
        #expect(try await Self.check(world).map(\.kind) == [.pushSetting])
        let before = await world.server.requests.count
        let again = try await Self.sync(world).mismatches(names).execute()
        #expect(again.repaired.isEmpty && again.failures.isEmpty)
        #expect(await world.server.requests.dropFirst(before).map(\.method) == ["GET"])
    }

    @Test("A repair that the server refuses stays, with its reason, and the others are made")
    func refused() async throws {
        var world = try await Self.make(.name, try await Self.world())
        world = try await Self.make(.pushAddress, world)
        await world.server.take(name: "Alice's phone", of: "alice")
        let result = try await Self.sync(world).execute()
        #expect(result.repaired.map(\.kind) == [.pushAddress])
        #expect(result.failures.map(\.mismatch?.kind) == [.name])
        #expect(result.failures.map(\.error) == [OperationError(.nameAlreadyExists)])
    }

    @Test("Decision 14: a key goes from the device only by a message that names it")
    func unnamedKey() async throws {
        let world = try await Self.make(.keyOnDevice, try await Self.world())
        let other = try #require(await Self.keys(world, World.pin).first)
        await world.server.intercept { request in
            guard request.url.path().hasPrefix("/uaf/1.1/request/deregistration") else { return nil }
            let message = DeregistrationRequest(
                header: OperationHeader(version: .uaf11, operation: .deregistration, appID: ""),
                authenticators: [.key(World.pin.aaid, other)])
            let body = ReturnUAFRequest(
                statusCode: .ok, operation: .deregistration,
                uafRequest: String(decoding: message.serialized, as: UTF8.self))
            return TransportResponse(
                status: 200, headers: [("Content-Type", "application/fido+uaf")], body: body.serialized)
        }
        let result = try await Self.sync(world).execute()
        #expect(result.repaired.isEmpty && result.failures.map(\.error) == [.fido(.protocolError)])
        #expect(await Self.kinds(world) == [.pin, .fingerprint])
    }

    @Test("A key that only the server has is deleted by the device's own proof, without a token")
    func provedDeletion() async throws {
        let world = try await Self.make(.keyAtServer, try await Self.world())
        _ = try await Self.sync(world).execute()
        let sent = try #require(
            await world.server.requests.last { $0.url.path().hasPrefix("/uaf/1.1/request/deregistration") })
        #expect(sent.headers.contains { $0.name == "Device-Proof" })
        #expect(!sent.headers.contains { $0.name == "Authorization" })
    }

    @Test("A key that waits for its confirmation is no difference, although the server's device does not have it")
    func pendingKey() async throws {
        let world = try await Self.world()
        await world.server.judge(
            ServerResponse(statusCode: .accepted, confirmation: .init(number: "482913", expiresInSeconds: 600)))
        world.phone.person.script.kind = .password
        try await world.enroll("alice", [World.password])
        _ = try await Self.sync(world).execute()
        await world.server.forget(await Self.keys(world, World.password))
        #expect(try await Self.check(world).isEmpty)
    }

    @Test(
        "An answer that no server of this product gives is a failure of its account, and nothing is repaired",
        arguments: [
            (200, "application/json", "{}"), (200, "application/json", "[]"), (200, "text/html", "{}"),
            (200, "application/json", #"{"id":"device-9","name":"x","push":true,"credentials":[]}"#),
            (200, "application/json", #"{"id":"device-1","name":"x","push":1,"credentials":[]}"#),
            (200, "application/json", #"{"id":"device-1","name":"x","push":true}"#),
            (200, "application/json", #"{"id":"device-1","name":"x","push":true,"credentials":[{"aaid":"x"}]}"#),
            (204, "application/json", ""), (302, "application/json", ""), (422, "application/problem+json", "{}"),
        ])
    func malformed(status: Int, type: String, body: String) async throws {
        let world = try await Self.world()
        await world.server.intercept { request in
            guard request.url.path().hasPrefix(Self.path) else { return nil }
            return TransportResponse(status: status, headers: [("Content-Type", type)], body: Array(body.utf8))
        }
        let result = try await world.phone.client.operations.deviceInformationCheck.execute()
        #expect(result.mismatches.isEmpty && result.failures.map(\.error) == [.fido(.protocolError)])
        let repair = try await Self.sync(world).execute()
        #expect(repair.repaired.isEmpty && repair.failures.map(\.error) == [.fido(.protocolError)])
        #expect(await Self.kinds(world) == [.pin, .fingerprint])
    }

    @Test(
        "A server that is busy, has locked the account or refuses the device's clock is a failure and no difference",
        arguments: [
            (403, OperationError(.accountLocked)), (429, OperationError(.networkError)),
            (503, OperationError(.networkError)), (401, OperationError(.clockSkewTooBig)),
        ])
    func unavailable(status: Int, error: OperationError) async throws {
        let world = try await Self.world()
        await world.server.intercept { request in
            guard request.url.path().hasPrefix(Self.path) else { return nil }
            return TransportResponse(
                status: status, headers: [("Content-Type", "application/problem+json")],
                body: Array(#"{"type":"urn:countersign:error:clock-skew"}"#.utf8))
        }
        let result = try await world.phone.client.operations.deviceInformationCheck.execute()
        #expect(result.mismatches.isEmpty && result.failures.map(\.error) == [error])
    }

    @Test("Keys that differ from those that the server knows are found at the creation of a target")
    func differentKeys() async throws {
        let world = try await Self.make(.targetUnknownHere, try await Self.world())
        await world.server.intercept { request in
            guard request.method == "POST", request.url.path().hasPrefix(Self.path) else { return nil }
            return TransportResponse(
                status: 422, headers: [("Content-Type", "application/problem+json")],
                body: Array(#"{"type":"urn:countersign:error:keys-differ"}"#.utf8))
        }
        let result = try await Self.sync(world).execute()
        #expect(result.failures.map(\.error) == [OperationError(.notAuthorized)])
        #expect(try await Self.check(world).map(\.kind) == [.deviceKeys])
    }
}

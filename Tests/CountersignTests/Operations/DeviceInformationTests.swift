import Countersign
import CountersignTestKit
import Foundation
import JOSE
import Synchronization
import Testing
import UAF
import UAFClient
import _Primitives

/// A way to several servers, by their hosts. A server that is down answers nothing.
private actor Hosts: Transport {
    private let servers: [VirtualServer]
    private var down: Set<String> = []

    init(_ servers: [VirtualServer]) { self.servers = servers }

    func turnOff(_ host: String) { self.down.insert(host) }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let host = request.url.host(), !self.down.contains(host),
            let server = self.servers.first(where: { $0.baseURL.host() == host })
        else { throw TransportError(.unreachable, "down") }
        return try await server.send(request)
    }
}

/// A phone whose server knows devices as targets of dispatches.
private enum Target {
    static let path = "/token/dispatch/targets"
    static let address = PushAddress.firebaseCloudMessaging(registrationToken: "push-token-1")
    static let provider = JwtAuthorizationProvider("virtual-jwt")

    static func world(through transport: (VirtualServer) -> any Transport = { $0 }) async throws -> World {
        let world = try await World(through: transport)
        let clock = world.phone.clock
        await world.server.serveDevices { clock.now() }
        return world
    }

    /// Enrols an account with the app's information about the device.
    static func enroll(
        _ world: World, _ username: Username = "alice",
        _ information: DeviceInformation = DeviceInformation(name: "Alice's phone", pushAddress: Self.address)
    ) async throws {
        let payload = try await world.server.registration(for: username, policy: World.policy([[World.pin]]))
        let operation = world.phone.ready(try await world.registration(payload)).deviceInformation(information)
        _ = try await operation.execute()
        world.phone.person.forget()
    }

    static func enrolled() async throws -> World {
        let world = try await Self.world()
        try await Self.enroll(world)
        return world
    }

    /// The requests about targets, by their methods.
    static func methods(_ world: World) async -> [String] {
        await world.server.requests.filter { $0.url.path().hasPrefix(Self.path) }.map(\.method)
    }

    static func of(_ username: Username, _ world: World) async throws -> VirtualDispatchTarget {
        try #require(await world.server.dispatchTarget(of: username))
    }

    static func information(_ world: World) async throws -> DeviceInformation {
        try #require(await world.phone.client.localData.deviceInformation)
    }

    static func change(_ world: World) -> DeviceInformationChange {
        world.phone.client.operations.deviceInformationChange
    }

    static func check(_ world: World) async throws -> DeviceInformationCheckResult {
        try await world.phone.client.operations.deviceInformationCheck.execute()
    }

    static func sync(_ world: World) -> DeviceInformationSync {
        let person = world.phone.person
        return world.phone.client.operations.deviceInformationSync.authenticatorSelector(person).pinUserVerifier(person)
            .fingerprintUserVerifier(person)
    }
}

@Suite("Operations parity 15: the data about a device at its registrations", .overEachKeyAbility)
struct DeviceInformationRegistrationTests {
    @Test("The first registration creates the target, with both keys, and without the person")
    func created() async throws {
        let world = try await Target.enrolled()
        let account = try #require(await world.phone.client.localData.accounts.first)
        let identity = try #require(try await world.phone.client.deviceIdentity(of: account))
        let target = try await Target.of("alice", world)
        #expect(target.name == "Alice's phone" && target.isPushEnabled)
        #expect(target.dispatcher == "firebase-cloud-messaging" && target.address == "push-token-1")
        #expect(target.keyNames == [identity.signingKey.keyID, identity.encryptionKey.keyID])
        #expect(await Target.methods(world) == ["POST"])
        let information = try await Target.information(world)
        #expect(information.name == "Alice's phone" && information.pushAddress == Target.address)
        #expect(information.isPushEnabled && information.deviceID?.utf8.count == 22)
        #expect(information.accountIdentifiers.map(\.identifier) == [target.id])
        #expect(information.accountIdentifiers.map(\.account) == [account])
    }

    @Test("A second registration reuses the data: of another account the target, of the same account the identifier")
    func reused() async throws {
        let world = try await Target.enrolled()
        let first = try await Target.information(world)
        let other = DeviceInformation(name: "Another name", fcmRegistrationToken: "another-token")
        try await Target.enroll(world, "bob", other)
        let bob = try await Target.of("bob", world)
        #expect(bob.name == "Alice's phone" && bob.address == "push-token-1")
        let second = try await Target.information(world)
        #expect(second.deviceID == first.deviceID && second.pushAddress == Target.address)
        #expect(second.accountIdentifiers.map(\.identifier) == [try await Target.of("alice", world).id, bob.id])
        let before = await Target.methods(world)
        world.phone.sensor.feel(.match)
        world.phone.person.script.kind = .fingerprint
        let registration = world.phone.client.operations.registration.username("alice")
        let joining = world.phone.ready(registration).authorizationProvider(Target.provider).deviceInformation(other)
        _ = try await joining.execute()
        #expect(await Target.methods(world) == before)
        #expect(try await Target.information(world) == second)
        world.phone.person.script.kind = .pin
        try await Target.enroll(world, "alice", other)
        #expect(try await Target.information(world) == second)
        #expect(await Target.methods(world) == before + ["POST"])
    }

    @Test("A restart keeps the data; the last account takes them along, and a new enrolment has another identifier")
    func lifetime() async throws {
        let world = try await Target.enrolled()
        let first = try await Target.information(world)
        let again = try await world.restarted()
        #expect(try await Target.information(again) == first)
        try await again.phone.client.localData.deleteAuthenticator(username: "alice")
        #expect(await again.phone.client.localData.deviceInformation == nil)
        let accounts = String(decoding: again.phone.storage.snapshot["accounts"] ?? [], as: UTF8.self)
        #expect(!accounts.contains("push-token-1") && !accounts.contains(first.deviceID ?? "accounts"))
        try await Target.enroll(again)
        #expect(try await Target.information(again).deviceID != first.deviceID)
    }

    @Test("A device of an earlier version gets its identifier when the app first asks, and keeps it")
    func earlierVersion() async throws {
        let world = try await StoredPhone("phone-1").updated()
        let information = try await Target.information(world)
        #expect(information.name == "Virtual phone" && information.pushAddress == nil && information.isPushEnabled)
        #expect(information.deviceID != nil && information.accountIdentifiers.isEmpty)
        #expect(try await Target.information(world.restarted()) == information)
    }

    @Test("No server receives the device's identifier, and no description has the push address")
    func secrecy() async throws {
        let world = try await Target.enrolled()
        let information = try await Target.information(world)
        let id = try #require(information.deviceID)
        for request in await world.server.requests {
            #expect(!String(decoding: request.body, as: UTF8.self).contains(id))
            #expect(!request.url.absoluteString.contains("push-token-1"))
        }
        let change = Target.change(world).pushAddress(Target.address)
        for text in ["\(information)", String(reflecting: information), "\(change)", String(reflecting: change)] {
            #expect(!text.contains("push-token-1"))
        }
    }

    @Test("A registration that waits for its number creates the target with the first authentication")
    func pending() async throws {
        let world = try await Target.world()
        await world.server.judge(
            ServerResponse(statusCode: .accepted, confirmation: .init(number: "482913", expiresInSeconds: 600)))
        try await Target.enroll(world)
        #expect(await Target.methods(world).isEmpty)
        #expect(try await Target.information(world).accountIdentifiers.isEmpty)
        for _ in 0..<2 { _ = try await world.phone.authenticate(username: "alice") }
        #expect(await Target.methods(world) == ["POST"])
        #expect(try await Target.of("alice", world).address == "push-token-1")
    }

    @Test("A first registration in the app creates the target when an authentication has told the server the keys")
    func inApp() async throws {
        let world = try await Target.world()
        let registration = world.phone.ready(world.phone.client.operations.registration.username("alice"))
        _ = try await registration.authorizationProvider(Target.provider)
            .deviceInformation(DeviceInformation(name: "Phone", pushAddress: Target.address)).execute()
        #expect(await Target.methods(world).isEmpty)
        _ = try await world.phone.authenticate(username: "alice")
        #expect(try await Target.of("alice", world).name == "Phone")
    }

    @Test(
        "A target that cannot be created ends no registration; only a transient failure is tried again",
        arguments: [(404, false), (405, false), (422, false), (400, false), (503, true), (429, true)])
    func refused(status: Int, isTransient: Bool) async throws {
        let world = try await Target.world()
        await world.server.intercept { request in
            guard request.url.path().hasPrefix(Target.path) else { return nil }
            return TransportResponse(status: status, headers: [], body: [])
        }
        try await Target.enroll(world)
        _ = try await world.phone.authenticate(username: "alice")
        #expect(await Target.methods(world) == (isTransient ? ["POST", "POST"] : ["POST"]))
        #expect(try await Target.information(world).accountIdentifiers.isEmpty)
        await world.server.stopIntercepting()
        _ = try await world.phone.authenticate(username: "alice")
        #expect(try await Target.information(world).accountIdentifiers.count == (isTransient ? 1 : 0))
    }

    @Test("The creation of a target is not repeated, whatever the registration's policy for retries")
    func unrepeated() async throws {
        let world = try await Target.world()
        await world.server.intercept { request in
            guard request.url.path().hasPrefix(Target.path) else { return nil }
            return TransportResponse(status: 503, headers: [], body: [])
        }
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        let operation = world.phone.ready(try await world.registration(payload))
            .deviceInformation(DeviceInformation(name: "Phone"))
        _ = try await operation.retryPolicy(.constant(maxRetries: 3, delay: .zero)).execute()
        #expect(await Target.methods(world) == ["POST"])
    }

    @Test("A name with characters that cannot be shown is at the server as servers store names, and is no difference")
    func unshownName() async throws {
        let world = try await Target.world()
        try await Target.enroll(world, "alice", DeviceInformation(name: "A\u{202E}B"))
        #expect(try await Target.of("alice", world).name == "A\u{FFFD}B")
        #expect(try await Target.check(world).mismatches.isEmpty)
        await world.server.changeDispatchTarget(of: "alice") { target in
            var target = target
            target.name = "Another"
            return target
        }
        #expect(try await Target.sync(world).execute().repaired.map(\.kind) == [.name])
        #expect(try await Target.of("alice", world).name == "A\u{FFFD}B")
    }

    @Test(
        "A name and an address that no server accepts end the registration before anything is sent",
        arguments: [
            DeviceInformation(name: " "), DeviceInformation(name: "Phone", fcmRegistrationToken: ""),
            DeviceInformation(name: "Phone", fcmRegistrationToken: String(repeating: "x", count: 4097)),
            DeviceInformation(name: "Phone", fcmRegistrationToken: "a\nb"),
            DeviceInformation(name: "Phone", pushAddress: PushAddress(dispatcher: "A b", address: "x")),
            DeviceInformation(name: "Phone", pushAddress: PushAddress(dispatcher: "", address: "x")),
        ])
    func invalid(information: DeviceInformation) async throws {
        let world = try await Target.world()
        let error = await operationError { try await Target.enroll(world, "alice", information) }
        #expect(error == OperationError(.missingInteraction))
        #expect(await world.isEmpty())
        #expect(await world.server.credentials.isEmpty)
    }
}

@Suite("Operations parity 65, 66: the change of a device's name, push address and push setting", .overEachKeyAbility)
struct DeviceInformationChangeTests {
    @Test("A new name is at the server and on the device, by one request that the device itself has signed")
    func name() async throws {
        let world = try await Target.enrolled()
        try await Target.change(world).name("Alice's new phone").execute()
        #expect(try await Target.of("alice", world).name == "Alice's new phone")
        #expect(try await Target.information(world).name == "Alice's new phone")
        #expect(await Target.methods(world) == ["POST", "PATCH"])
        let sent = try #require(await world.server.requests.last)
        #expect(String(decoding: sent.body, as: UTF8.self) == #"{"name":"Alice's new phone"}"#)
        #expect(sent.headers.contains { $0.name == "Device-Proof" })
        #expect(world.phone.person.asked.isEmpty)
    }

    @Test("A name that another device has is a typed error of its own, and both sides keep the former name")
    func nameTaken() async throws {
        let world = try await Target.enrolled()
        await world.server.take(name: "Alice's tablet", of: "alice")
        let error = await operationError { try await Target.change(world).name("Alice's tablet").execute() }
        #expect(error == OperationError(.nameAlreadyExists))
        #expect(error?.httpStatus == 422 && error?.recovery == .chooseAnotherName)
        #expect(try await Target.information(world).name == "Alice's phone")
        #expect(try await Target.of("alice", world).name == "Alice's phone")
        #expect(try await Target.check(world).mismatches.isEmpty)
    }

    @Test("Nothing set is success without a request, on a device without an account too")
    func nothing() async throws {
        let world = try await Target.world()
        try await Target.change(world).execute()
        try await Target.enroll(world)
        let before = await world.server.requests.count
        try await Target.change(world).execute()
        #expect(await world.server.requests.count == before)
    }

    @Test("A new push address, without an address, and the setting reach the server; the address turns nothing on")
    func push() async throws {
        let world = try await Target.enrolled()
        try await Target.change(world).disablePushNotifications().execute()
        try await Target.change(world).fcmRegistrationToken("push-token-2").execute()
        var target = try await Target.of("alice", world)
        #expect(target.address == "push-token-2" && !target.isPushEnabled)
        var information = try await Target.information(world)
        #expect(information.pushAddress == .firebaseCloudMessaging(registrationToken: "push-token-2"))
        #expect(!information.isPushEnabled)
        try await Target.change(world).enablePushNotifications().name("Phone").pushAddress(nil).execute()
        target = try await Target.of("alice", world)
        #expect(target.dispatcher == nil && target.address == nil && target.isPushEnabled && target.name == "Phone")
        information = try await Target.information(world)
        #expect(information.pushAddress == nil && information.isPushEnabled && information.name == "Phone")
        #expect(await Target.methods(world) == ["POST", "PATCH", "PATCH", "PATCH", "DELETE"])
        #expect(try await Target.check(world).mismatches.isEmpty)
    }

    @Test("Without the network a push address and a setting stay for the next repair, and a name does not")
    func offline() async throws {
        let world = try await Target.enrolled()
        await world.server.intercept { _ in throw TransportError(.unreachable, "offline") }
        let change = Target.change(world).name("Phone").fcmRegistrationToken("push-token-2").disablePushNotifications()
        #expect(await operationError { try await change.execute() } == OperationError(.networkError))
        let information = try await Target.information(world)
        #expect(information.name == "Alice's phone" && !information.isPushEnabled)
        #expect(information.pushAddress == .firebaseCloudMessaging(registrationToken: "push-token-2"))
        await world.server.stopIntercepting()
        #expect(try await Target.check(world).mismatches.map(\.kind) == [.pushAddress, .pushSetting])
        #expect(try await Target.sync(world).execute().failures.isEmpty)
        let target = try await Target.of("alice", world)
        #expect(target.name == "Alice's phone" && target.address == "push-token-2" && !target.isPushEnabled)
    }

    @Test("A push address that a later change sets meanwhile stays")
    func meanwhile() async throws {
        let world = try await Target.enrolled()
        let later = Target.change(world).fcmRegistrationToken("push-token-3")
        await world.server.intercept { request in
            guard String(decoding: request.body, as: UTF8.self).contains("push-token-2") else { return nil }
            try await later.execute()
            return nil
        }
        try await Target.change(world).name("Phone").fcmRegistrationToken("push-token-2").execute()
        let information = try await Target.information(world)
        #expect(information.pushAddress == .firebaseCloudMessaging(registrationToken: "push-token-3"))
        #expect(information.name == "Phone")
    }

    @Test("The change goes to the server of each account; one that is down is an error, and the other has the change")
    func severalServers() async throws {
        let other = VirtualServer(baseURL: try #require(URL(string: "https://other.example.com")))
        let hosts = Mutex<Hosts?>(nil)
        let world = try await Target.world { server in
            let made = Hosts([server, other])
            hosts.withLock { $0 = made }
            return made
        }
        let clock = world.phone.clock
        await other.serveDevices { clock.now() }
        try await Target.enroll(world)
        let operations = world.phone.client.operations
        let registration = world.phone.ready(operations.registration.username("bob")).serverURL(other.baseURL)
        _ = try await registration.authorizationProvider(Target.provider).execute()
        _ = try await world.phone.ready(operations.authentication.username("bob")).serverURL(other.baseURL).execute()
        #expect(await other.dispatchTarget(of: "bob")?.name == "Alice's phone")
        try await Target.change(world).name("Our phone").execute()
        #expect(await other.dispatchTarget(of: "bob")?.name == "Our phone")
        #expect(try await Target.of("alice", world).name == "Our phone")
        await hosts.withLock { $0 }?.turnOff("id.example.com")
        let change = Target.change(world).name("Nobody's phone")
        #expect(await operationError { try await change.execute() } == OperationError(.networkError))
        #expect(await other.dispatchTarget(of: "bob")?.name == "Nobody's phone")
        #expect(try await Target.information(world).name == "Our phone")
        let result = try await Target.check(world)
        #expect(result.failures.map(\.account.username) == ["alice"])
        #expect(result.failures.map(\.error) == [OperationError(.networkError)])
        #expect(result.mismatches.map(\.account.username) == ["bob"] && result.mismatches.map(\.kind) == [.name])
        let repaired = try await Target.sync(world).execute()
        #expect(repaired.repaired == result.mismatches && repaired.failures.map(\.account.username) == ["alice"])
        #expect(await other.dispatchTarget(of: "bob")?.name == "Our phone")
    }

    @Test("A dispatcher that the server does not have, a name that it does not take, and a target that is gone differ")
    func refusals() async throws {
        let world = try await Target.enrolled()
        let address = PushAddress(dispatcher: "pigeons", address: "loft-1")
        let unknown = await operationError { try await Target.change(world).pushAddress(address).execute() }
        #expect(unknown == OperationError(.dispatcherUnknown) && unknown?.recovery == .correctApp)
        await world.server.intercept { request in
            guard request.method == "PATCH" else { return nil }
            return TransportResponse(
                status: 422, headers: [("Content-Type", "application/problem+json")],
                body: Array(#"{"type":"urn:countersign:error:target-invalid"}"#.utf8))
        }
        let invalid = await operationError { try await Target.change(world).name("A\nB").execute() }
        #expect(invalid == OperationError(.missingInteraction) && invalid?.httpStatus == 422)
        await world.server.stopIntercepting()
        await world.server.changeDispatchTarget(of: "alice") { _ in nil }
        let gone = await operationError { try await Target.change(world).name("Phone").execute() }
        #expect(gone == OperationError(.dispatchTargetUnknown) && gone?.httpStatus == 404)
    }

    @Test("A device whose keys the server does not know is not authorized, and nothing more is sent")
    func unknownKeys() async throws {
        let world = try await Target.enrolled()
        await world.server.forgetDeviceKeys(of: "alice")
        for _ in 0..<2 {
            #expect(
                await operationError { try await Target.change(world).name("Phone").execute() }
                    == OperationError(.notAuthorized))
        }
        #expect(await Target.methods(world) == ["POST", "PATCH"])
    }

    @Test("What no server accepts, and a device without an account, are refused before anything is sent")
    func unsent() async throws {
        let empty = try await Target.world()
        #expect(
            await operationError { try await Target.change(empty).name("Phone").execute() }
                == OperationError(.unknownUsername))
        let world = try await Target.enrolled()
        let before = await world.server.requests.count
        for change in [Target.change(world).name(""), Target.change(world).fcmRegistrationToken("a b")] {
            #expect(await operationError { try await change.execute() } == OperationError(.missingInteraction))
        }
        #expect(await world.server.requests.count == before)
        #expect(try await Target.information(world).pushAddress == Target.address)
    }

    @Test("A transient failure is repeated by the operation's policy, each time with a proof of its own")
    func repeated() async throws {
        let world = try await Target.enrolled()
        await world.server.intercept { request in
            request.method == "PATCH" ? TransportResponse(status: 503, headers: [], body: []) : nil
        }
        let change = Target.change(world).name("Phone").retryPolicy(.constant(maxRetries: 2, delay: .zero))
        #expect(await operationError { try await change.execute() } == OperationError(.networkError))
        let proofs = await world.server.requests.filter { $0.method == "PATCH" }.flatMap(\.headers)
            .filter { $0.name == "Device-Proof" }.map(\.value)
        #expect(proofs.count == 3 && Set(proofs).count == 3)
    }

    @Test("Each of the three operations is executed once, in either form, and calls back once")
    func callbacks() async throws {
        let world = try await Target.enrolled()
        let operations = world.phone.client.operations
        let change = Target.change(world).name("Phone")
        await confirmation { called in
            await withCheckedContinuation { continuation in
                _ = change.onSuccess { _ in
                    called()
                    continuation.resume()
                }.onError { _ in continuation.resume() }.execute()
            }
        }
        #expect(await operationError { try await change.execute() } == OperationError(.operationReused))
        let (check, sync) = (operations.deviceInformationCheck, operations.deviceInformationSync)
        _ = try await check.execute()
        _ = try await sync.execute()
        #expect(await operationError { _ = try await check.execute() } == OperationError(.operationReused))
        #expect(await operationError { _ = try await sync.execute() } == OperationError(.operationReused))
    }
}

import Crypto
import Foundation
import Hummingbird
import NIOCore
import NIOSSL
import OAuthProvider
import Push
import Settings
import Synchronization
import Testing
import _Primitives

@testable import CountersignCommand

@Suite("countersign serve: push services; decisions 38 and 116")
struct PushSettingsTests {
    private let folder = FileManager.default.temporaryDirectory.path + "/push-\(UUID().uuidString)"

    private func load(_ flags: [String: String]) async throws -> ServeConfiguration {
        try await ServeConfiguration.load(file: nil, flags: flags, environment: ["HOME": "/home/op"])
    }

    private func failure(_ flags: [String: String]) async -> CommandFailure? {
        do {
            _ = try await self.load(flags)
            return nil
        } catch { return error as? CommandFailure }
    }

    private static let apns = [
        "apnsKey": "/etc/AuthKey.p8", "apnsKeyId": "ABC123DEFG", "apnsTeam": "DEF123GHIJ",
        "apnsTopic": "com.example.app", "apnsEnvironment": "production",
    ]

    /// Runs `body` with a file of this mode.
    private func withFile(_ text: String, mode: Int = 0o600, _ body: (String) async throws -> Void) async throws {
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        let path = self.folder + "/key"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        try await body(path)
    }

    private func open(_ settings: PushSettings) throws -> PushSettings.Services? {
        try settings.open(tls: .makeClientConfiguration(), calls: CheckedCalls(), limits: Limits())
    }

    @Test("without settings there is no push service and no connection")
    func none() async throws {
        let configuration = try await self.load([:])
        #expect(configuration.push == PushSettings())
        #expect(try self.open(configuration.push) == nil)
    }

    @Test("the settings of Apple's service go together, and the environment is named")
    func apple() async throws {
        let configuration = try await self.load(Self.apns)
        #expect(configuration.push.apnsTopic == "com.example.app" && configuration.push.apnsEnvironment == "production")
        for name in Self.apns.keys {
            var flags = Self.apns
            flags[name] = nil
            let failure = await self.failure(flags)
            #expect(failure?.status == .usage && failure?.problem.contains("--apns-environment") == true, "\(name)")
        }
        for (name, value) in [
            ("apnsEnvironment", "sandbox"), ("apnsTeam", "a/b"), ("apnsTopic", "a\r\nb"), ("apnsKeyId", ""),
            ("apnsAddress", "http://localhost:1"), ("apnsAddress", "https://localhost/path"),
        ] {
            #expect(await self.failure(Self.apns.merging([name: value]) { $1 })?.status == .usage, "\(name)")
        }
        #expect(await self.failure(["apnsAddress": "https://localhost:1"])?.status == .usage)
    }

    @Test("the settings of Web Push go together, and the contact is an address of mail or https")
    func webPush() async throws {
        let whole = ["webPushKey": "/etc/vapid.pem", "webPushContact": "mailto:push@example.com"]
        #expect(try await self.load(whole).push.webPushContact == "mailto:push@example.com")
        for name in whole.keys {
            var flags = whole
            flags[name] = nil
            #expect(await self.failure(flags)?.status == .usage)
        }
        for contact in ["push@example.com", "http://example.com", "mailto:a b"] {
            #expect(await self.failure(whole.merging(["webPushContact": contact]) { $1 })?.status == .usage)
        }
    }

    @Test("a key file that others can read, that is missing, or that holds no key, is refused with its setting")
    func keyFiles() async throws {
        let pem = P256.Signing.PrivateKey().pemRepresentation
        func settings(_ path: String) -> PushSettings {
            var settings = PushSettings()
            (settings.webPushKey, settings.webPushContact) = (path, "mailto:push@example.com")
            return settings
        }
        try await self.withFile(pem) { path in
            let services = try #require(try self.open(settings(path)))
            #expect(services.webPush != nil && services.apns == nil && services.fcm == nil)
            await services.connections.close()
        }
        for mode in [0o640, 0o604, 0o660] {
            try await self.withFile(pem, mode: mode) { path in
                let failure = #expect(throws: CommandFailure.self) { _ = try self.open(settings(path)) }
                #expect(failure?.description.contains("chmod 600 \(path)") == true)
                #expect(failure?.description.contains("--web-push-key") == true)
            }
        }
        try await self.withFile("no key") { path in
            let failure = #expect(throws: CommandFailure.self) { _ = try self.open(settings(path)) }
            #expect(failure?.description.contains("openssl genpkey") == true)
        }
        let missing = #expect(throws: CommandFailure.self) { _ = try self.open(settings("/nowhere/key")) }
        #expect(missing?.status == .notFound)
        var account = PushSettings()
        try await self.withFile(#"{"type":"authorized_user"}"#) { path in
            account.fcmAccount = path
            let failure = #expect(throws: CommandFailure.self) { _ = try self.open(account) }
            #expect(failure?.description.contains("--fcm-account") == true)
        }
    }

    @Test("UnifiedPush needs no key, and has the identification of Web Push if there is one")
    func unifiedPush() async throws {
        var settings = try await self.load(["unifiedPush": "true"]).push
        let alone = try #require(try self.open(settings))
        #expect(alone.unifiedPush != nil && alone.webPush == nil && alone.apns == nil && alone.fcm == nil)
        await alone.connections.close()
        settings.webPushContact = "mailto:push@example.com"
        try await self.withFile(P256.Signing.PrivateKey().pemRepresentation) { path in
            settings.webPushKey = path
            let both = try #require(try self.open(settings))
            #expect(both.unifiedPush != nil && both.webPush != nil)
            await both.connections.close()
            settings.unifiedPush = false
            let one = try #require(try self.open(settings))
            #expect(one.unifiedPush == nil && one.webPush != nil)
            await one.connections.close()
        }
    }

    @Test("the networks of the operator's clients stay closed to addresses that devices name, and the other way round")
    func networks() async throws {
        try await CalledService.run(answer: { _, _ in Response(status: .created) }) { port async throws in
            let address = "http://127.0.0.1:\(port)/push"
            func reached(_ flags: [String: String]) async throws -> (client: Bool, device: Bool) {
                // The server has a public address, so loopback counts as a private network.
                let configuration = try await self.load(flags.merging(["issuer": "https://id.example"]) { $1 })
                let calls = try configuration.checkedCalls(Limits())
                let client = try? await calls.send(OutgoingCall(to: address, longestAnswer: 10))
                let device = try? await calls.post(PushRequest(to: address, [], body: [1]))
                return (client?.status == 201, device?.status == 201)
            }
            #expect(try await reached([:]) == (false, false))
            #expect(try await reached(["outgoingNetworks": "127.0.0.0/8"]) == (true, false))
            #expect(try await reached(["pushNetworks": "127.0.0.0/8"]) == (false, true))
        }
        let configuration = try await self.load(["pushNetworks": "intranet"])
        let wrong = #expect(throws: CommandFailure.self) { _ = try configuration.checkedCalls(Limits()) }
        #expect(wrong?.status == .usage)
    }

    @Test("a push service that a device names is not called in a private network, and no redirect is followed")
    func checkedCalls() async throws {
        let count = Mutex(0)
        try await CalledService.run(answer: { request, body in
            count.withLock { $0 += 1 }
            #expect(request.headers[.contentEncoding] == "aes128gcm" && body.readableBytes == 3)
            return Response(status: .temporaryRedirect, headers: [.location: "/elsewhere", .retryAfter: "7"])
        }) { port async throws in
            let request = PushRequest(
                to: "http://127.0.0.1:\(port)/push", [.init("content-encoding", "aes128gcm")], body: [1, 2, 3])
            await #expect(throws: PushCallError.self) { _ = try await CheckedCalls().post(request) }
            #expect(count.withLock { $0 } == 0)
            let response = try await CheckedCalls(mayCallLoopback: true).post(request)
            #expect(response.status == 307 && response.retryAfter == "7")
            #expect(count.withLock { $0 } == 1)
        }
        for address in ["http://push.example.net/", "https://10.0.0.1/", "https://[::1]/", "https://169.254.169.254/"] {
            let error = await #expect(throws: PushCallError.self) {
                _ = try await CheckedCalls().post(PushRequest(to: address, [], body: []))
            }
            // The host is the device's word, and is in no log.
            #expect(error?.reason.contains("example") == false)
        }
    }
}

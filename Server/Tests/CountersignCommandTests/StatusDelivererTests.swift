import CountersignServer
import Endpoints
import Foundation
import HTTPTypes
import Hummingbird
import JOSE
import Logging
import NIOCore
import OAuthProvider
import Records
import SQLStore
import ServiceLifecycle
import Settings
import Synchronization
import Testing
import _Primitives

@testable import CountersignCommand

@Suite(
    "Decision 122, over real sockets: receivers that are slow, redirect, or answer without reading (decision 38)",
    .timeLimit(.minutes(10)))
struct StatusDelivererTests {
    private static func limits() -> Limits {
        var limits = Limits()
        (limits.oauth.deliveryInterval, limits.oauth.deliveryRetryPause) = (.milliseconds(10), .milliseconds(10))
        limits.oauth.longestDeliveryRetryPause = .milliseconds(50)
        limits.oauth.outgoingCallTime = .milliseconds(500)
        return limits
    }

    /// Opens a store in a folder, and a server over the store that calls addresses of this machine.
    private static func open(_ folder: String) async throws -> (store: OpenStore, assembly: ServerAssembly) {
        let limits = Self.limits()
        let store = try OpenStore(
            folder: DataFolder(path: folder + "/data"), keyFile: KeyFile(path: folder + "/key"), limits: limits)
        var configuration = ServerAssembly.Configuration(issuer: "http://localhost:8080", facets: [], limits: limits)
        configuration.calls = CheckedCalls(mayCallLoopback: true, limits: limits)
        return (store, try await store.assembly(configuration))
    }

    /// Ends a session of a client's back end that is told at an address.
    private static func end(_ number: Int, at address: String, _ store: OpenStore, _ assembly: ServerAssembly)
        async throws
    {
        var settings = ClientSettings(idTokenAlgorithm: .es256)
        settings.statusAddress = address
        let client = try await assembly.provider.clients.register(
            name: "Bank \(number)", redirectURIs: ["https://bank.example/"], settings: settings
        ).client.id
        let now = TimeSource.system.now()
        try await store.database.createCeremony(
            CeremonyRecord(
                id: "session-\(number)", kind: .authentication, clientID: client, createdAt: now,
                expiresAt: now + .seconds(60), detail: CeremonyDetail()), tokens: [], audit: nil)
        _ = try await store.database.change(.id("session-\(number)")) { record in
            record.phase = .ended
            record.outcome = .denied
            record.changedAt = now
            return CeremonyChange()
        }
    }

    /// Runs the node's deliveries until no message waits.
    private static func deliver(_ store: OpenStore, _ assembly: ServerAssembly) async throws {
        let quiet = Logger(label: "quiet")
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [OutboxService(assembly, [.client], logger: quiet)], logger: quiet))
        async let running: Void = group.run()
        while try await store.database.waitingMessages(to: .client).count > 0 { await Task.yield() }
        await group.triggerGracefulShutdown()
        try await running
    }

    @Test("A redirect is not followed, a slow receiver is told again, and another client is told meanwhile")
    func slowAndRedirecting() async throws {
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (store, assembly) = try await Self.open(folder)
        let arrivals = Mutex<[String]>([])
        let (held, holding) = AsyncStream.makeStream(of: Void.self)
        let released = Mutex(false)
        try await CalledService.run(answer: { request, body in
            let path = request.uri.path
            let count = arrivals.withLock { arrivals in
                arrivals.append(path)
                return arrivals.filter { $0 == path }.count
            }
            #expect(String(buffer: body).hasPrefix("status_token="))
            guard path == "/slow" else {
                // The other client is told while the first client's call is held.
                if released.withLock({ !$0 }) {
                    released.withLock { $0 = true }
                    holding.finish()
                }
                return Response(status: .ok)
            }
            if count == 1 { return Response(status: .temporaryRedirect, headers: [.location: "/elsewhere"]) }
            if count == 2 { for await _ in held {} }
            return Response(status: .ok)
        }) { port in
            try await Self.end(1, at: "http://127.0.0.1:\(port)/slow", store, assembly)
            try await Self.end(2, at: "http://127.0.0.1:\(port)/quick", store, assembly)
            try await Self.deliver(store, assembly)
        }
        let paths = arrivals.withLock { $0 }
        let (quick, slow) = (paths.filter { $0 == "/quick" }, paths.filter { $0 == "/slow" })
        #expect(!paths.contains("/elsewhere"))
        #expect(quick.count == 1 && slow.count >= 2)
        await store.database.close()
    }

    @Test("A receiver that does not answer in time is told again")
    func silent() async throws {
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (store, assembly) = try await Self.open(folder)
        let count = Mutex(0)
        let (held, holding) = AsyncStream.makeStream(of: Void.self)
        try await CalledService.run(answer: { _, _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            // The first call is held until the second call has come.
            if number == 1 { for await _ in held {} } else { holding.finish() }
            return Response(status: .ok)
        }) { port in
            try await Self.end(1, at: "http://127.0.0.1:\(port)/told", store, assembly)
            try await Self.deliver(store, assembly)
        }
        #expect(count.withLock { $0 } >= 2)
        await store.database.close()
    }

    @Test("A receiver that answers 200 without reading counts as told, and its long answer is not read")
    func withoutReading() async throws {
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (store, assembly) = try await Self.open(folder)
        let count = Mutex(0)
        try await CalledService.run(
            reads: false,
            answer: { _, _ in
                count.withLock { $0 += 1 }
                let long = ByteBuffer(repeating: UInt8(ascii: "x"), count: 4 << 20)
                return Response(status: .ok, body: ResponseBody(byteBuffer: long))
            }
        ) { port in
            try await Self.end(1, at: "http://127.0.0.1:\(port)/told", store, assembly)
            try await Self.deliver(store, assembly)
        }
        #expect(count.withLock { $0 } == 1)
        #expect(try await store.database.waitingMessages(to: .client).count == 0)
        await store.database.close()
    }

    @Test("Nothing is lost if the server stops between the end of a session and the delivery")
    func restarts() async throws {
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (tokens, arriving) = AsyncStream.makeStream(of: String.self)
        try await CalledService.run(answer: { _, body in
            arriving.yield(String(buffer: body))
            return Response(status: .ok)
        }) { port in
            let (before, first) = try await Self.open(folder)
            try await Self.end(1, at: "http://127.0.0.1:\(port)/told", before, first)
            await before.database.close()
            let (store, second) = try await Self.open(folder)
            try await Self.deliver(store, second)
            await store.database.close()
        }
        #expect(await tokens.first { _ in true }?.hasPrefix("status_token=") == true)
    }
}

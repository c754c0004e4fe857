import CountersignServer
import Endpoints
import Foundation
import Hummingbird
import NIOCore
import SQLStore
import ServiceLifecycle
import Settings
import _Primitives

@testable import CountersignCommand

#if canImport(Glibc)
    import Glibc
#endif

/// A connection without any HTTP library that would mend what it sends. It waits on threads of its own.
final class RawConnection: Sendable {
    struct Failure: Error {}

    /// The seconds after which a server that does nothing fails the test, in place of a test that hangs. A slow machine takes a
    /// small part of them.
    private static let patience = 600

    private let descriptor: Int32

    /// Connects; with a small window it takes little that it does not read.
    init(_ port: Int, hasSmallWindow: Bool = false) throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if hasSmallWindow {
            var bytes: Int32 = 4096
            setsockopt(self.descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        let connected = Self.withLoopback(port) { connect(self.descriptor, $0, $1.pointee) }
        guard connected == 0 else { throw Failure() }
        var patience = timeval(tv_sec: Self.patience, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(self.descriptor) }

    private static func withLoopback<Value>(
        _ port: Int, _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Value
    ) -> Value {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &size) }
        }
    }

    func send(_ text: String) throws { guard self.sendAll(text) else { throw Failure() } }

    /// Sends the same again and again until the server has closed. Throws ``Failure`` after ``patience``.
    func sendUntilClosed(_ text: String) async throws {
        try await self.onThread {
            let end = ContinuousClock.now + .seconds(Self.patience)
            while self.sendAll(text) { guard ContinuousClock.now < end else { throw Failure() } }
        }
    }

    /// Waits until the connection is gone, without reading what has come.
    func waitUntilReset() async throws {
        try await self.onThread {
            var state = pollfd(fd: self.descriptor, events: 0, revents: 0)
            guard poll(&state, 1, CInt(Self.patience) * 1000) == 1, state.revents & Int16(POLLHUP | POLLERR) != 0 else {
                throw Failure()
            }
        }
    }

    /// What comes until the server has closed, or until it ends in `end` and has so many bytes. Throws where neither
    /// happens.
    func read(until end: String? = nil, count least: Int = 0) async throws -> String {
        try await self.onThread {
            var received = ""
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(self.descriptor, &buffer, buffer.count, 0)
                if count == 0 || count < 0 && errno == ECONNRESET { return received }
                guard count > 0 else { throw Failure() }
                received += String(decoding: buffer[..<count], as: UTF8.self)
                if let end, received.utf8.count > least, received.hasSuffix(end) { return received }
            }
        }
    }

    private func sendAll(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return Foundation.send(self.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result { try body() }) }.start()
        }
    }
}

/// Holds answers back until the test lets them go.
actor Gate {
    nonisolated let arrivals: AsyncStream<Void>
    private let arriving: AsyncStream<Void>.Continuation
    private var held: [CheckedContinuation<Void, Never>] = []

    init() { (self.arrivals, self.arriving) = AsyncStream.makeStream() }

    func pass() async {
        await withCheckedContinuation { continuation in
            self.held.append(continuation)
            self.arriving.yield()
        }
    }

    /// Lets one go, the first that came.
    func release() { if !self.held.isEmpty { self.held.removeFirst().resume() } }

    /// Lets all go.
    func open() { while !self.held.isEmpty { self.release() } }
}

/// The public listener with the routes behind it.
enum Listener {
    /// More than the systems on both ends keep for a connection.
    static let largeBytes = 1024 * 1024
    private static let large = ByteBuffer(repeating: UInt8(ascii: "x"), count: Self.largeBytes)

    /// Runs the public routes, and some of the test's own, behind a real socket. Afterwards the listener is stopped
    /// gracefully. The answers that are held back are let go when `whileStopping` has returned.
    static func run(
        _ limits: Limits = Limits(), _ connections: OpenConnections? = nil, source: String? = nil,
        stop: ServerStop? = nil, whileStopping: @Sendable () async -> Void = {},
        _ test: @escaping @Sendable (_ port: Int, _ gate: Gate) async throws -> Void
    ) async throws {
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try OpenStore(
            folder: DataFolder(path: folder + "/data"), keyFile: KeyFile(path: folder + "/key"), limits: limits)
        let gate = Gate()
        let router = try await store.assembly(.init(issuer: "http://localhost:8080", facets: [])).publicRouter()
        router.get("/quick") { _, _ in "quick" }
        router.head("/quick") { _, _ in "quick" }
        router.post("/unread") { _, _ in "unread" }
        let pieces: @Sendable (Request, ServerContext) -> Response = { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "one "))
                    try await writer.write(ByteBuffer(string: "two"))
                    try await writer.finish(nil)
                })
        }
        router.get("/pieces", use: pieces)
        router.head("/pieces") { request, context in pieces(request, context).createHeadResponse() }
        // Answers HEAD as it would GET, in chunks: what the router itself makes of a GET has a length.
        router.head("/chunks") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "one"))
                    try await writer.finish(nil)
                })
        }
        router.get("/fields") { request, _ in
            (["\(request.uri)"] + request.headers.map { "\($0.name.canonicalName): \($0.value)" }).joined(
                separator: "\n")
        }
        router.get("/large") { _, _ in Response(status: .ok, body: ResponseBody(byteBuffer: Self.large)) }
        router.get("/slow") { _, _ in
            await gate.pass()
            return "slow"
        }
        // Not by HummingbirdTesting: it leaves out what counts connections.
        let (running, start) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            router: router, server: .bounded(limits, connections: connections, stop: stop) { _ in source },
            configuration: .init(
                address: .hostname("127.0.0.1", port: 0), availableConnectionsDelegate: connections),
            onServerRunning: { channel in
                if let port = channel.localAddress?.port { start.yield(port) }
            })
        let service = ServiceGroup(
            configuration: ServiceGroupConfiguration(services: [application], logger: application.logger))
        let result = await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await service.run()
                // One that could not begin must not be waited for.
                start.finish()
            }
            let result: Result<Void, any Error>
            do {
                guard let port = await running.first(where: { _ in true }) else { throw RawConnection.Failure() }
                result = .success(try await test(port, gate))
            } catch { result = .failure(error) }
            stop?.begin()
            await service.triggerGracefulShutdown()
            await whileStopping()
            await gate.open()
            await group.waitForAll()
            return result
        }
        await store.database.close()
        try result.get()
    }

    static func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n" }

    static func post(_ path: String, _ header: String) -> String {
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\(header)\r\n\r\n"
    }

    static func connections(_ limit: Int, share: Int? = nil) -> OpenConnections {
        OpenConnections(limit: limit, share: share ?? limit, courtesy: .seconds(2), pauseOfReports: .seconds(60)) { _ in
        }
    }
}

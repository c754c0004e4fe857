import CountersignServer
import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import Testing

/// Hands on what a server logs.
struct HandedLog: LogHandler {
    let lines: AsyncStream<LogEvent>.Continuation
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) { self.lines.yield(event) }
}

/// Bytes on their way to a server, with no HTTP library that would mend them.
private struct RawExchange {
    struct Failure: Error {}

    /// Sends bytes, says that there are no more where `isCut`, and reads what comes until the other end is done. Waits
    /// on a thread of its own.
    static func send(_ text: String, isCut: Bool, port: Int) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result { try self.exchange(text, isCut: isCut, port: port) }) }.start()
        }
    }

    private static func exchange(_ text: String, isCut: Bool, port: Int) throws -> String {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let bytes = Array(text.utf8)
        guard connected == 0, write(descriptor, bytes, bytes.count) == bytes.count else { throw Failure() }
        if isCut { _ = shutdown(descriptor, Int32(SHUT_WR)) }
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            received += buffer[..<count]
        }
        return String(decoding: received, as: UTF8.self)
    }
}

@Suite("RFC 9112, sections 7.1 and 8: bodies that are broken on their way")
struct BrokenBodyTests {
    @Test(
        "are the sender's mistake: 400, and nothing for the operator to look at", .timeLimit(.minutes(10)),
        arguments: [
            ("Transfer-Encoding: chunked", "zz\r\n", false),
            ("Transfer-Encoding: chunked", "5\r\n{\"tok\r\nxyz\r\n", false),
            ("Transfer-Encoding: chunked", "fffffffffffffffffffff\r\n", false),
            ("Transfer-Encoding: chunked", "5\r\n{\"t", true), ("Content-Length: 100", "{\"token\":", true),
            ("Content-Length: 100", "", true),
        ])
    func brokenBody(header: String, body: String, isCut: Bool) async throws {
        let server = try await ServerFixture()
        let (lines, continuation) = AsyncStream.makeStream(of: LogEvent.self)
        let application = Application(
            router: server.assembly.publicRouter(), configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            logger: Logger(label: "test") { _ in HandedLog(lines: continuation) })
        try await application.test(.live) { client in
            let port = try #require(client.port)
            let answer = try await RawExchange.send(
                "POST /token/redeem/authentication HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    + "Connection: close\r\n"
                    + "\(header)\r\n\r\n\(body)", isCut: isCut, port: port)
            var failures: [String] = []
            for await line in lines {
                if line.level >= .warning { failures.append("\(line.message) \(line.metadata ?? [:])") }
                guard line.message.description.hasPrefix("POST") else { continue }
                #expect(line.metadata?["status"] == "400")
                break
            }
            #expect(failures.isEmpty)
            // A client that has gone away gets no answer.
            if !answer.isEmpty {
                #expect(answer.hasPrefix("HTTP/1.1 400 "))
                #expect(answer.contains("urn:countersign:error:malformed-body"))
            } else {
                #expect(isCut)
            }
        }
    }
}

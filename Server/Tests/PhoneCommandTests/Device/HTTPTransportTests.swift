import Countersign
import Foundation
import Glibc
import Testing

@testable import PhoneCommand

/// A port of this machine. With a listener, each connection is read once and then closed without an answer.
private final class MutePort: Sendable {
    let number: UInt16
    private let socket: Int32

    init(isListening: Bool) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let number = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic -> UInt16? in
                guard bind(socket, generic, length) == 0, getsockname(socket, generic, &length) == 0 else {
                    return nil
                }
                return UInt16(bigEndian: pointer.pointee.sin_port)
            }
        }
        self.number = try #require(number)
        self.socket = socket
        guard isListening else { return }
        try #require(listen(socket, 16) == 0)
        Thread.detachNewThread {
            while true {
                let connection = accept(socket, nil, nil)
                guard connection >= 0 else { break }
                var buffer = [UInt8](repeating: 0, count: 65_536)
                _ = read(connection, &buffer, buffer.count)
                Glibc.close(connection)
            }
            Glibc.close(socket)
        }
    }

    /// Ends the listener, whose thread closes the socket.
    func stop() { shutdown(self.socket, Int32(SHUT_RDWR)) }
}

@Suite("Operations parity 23: the terminal phone's transport knows if a request was certainly unsent")
struct HTTPTransportTests {
    private func error(_ scheme: String, _ port: MutePort) async throws -> TransportError? {
        let request = TransportRequest(
            method: "POST", url: try #require(URL(string: "\(scheme)://127.0.0.1:\(port.number)/")), headers: [],
            body: Array("answer".utf8), timeout: .seconds(60))
        do {
            _ = try await HTTPTransport(caFile: nil).send(request)
            return nil
        } catch {
            return error as? TransportError
        }
    }

    @Test("Without a connection nothing was sent", arguments: ["http", "https"])
    func noConnection(scheme: String) async throws {
        let port = try MutePort(isListening: false)
        let error = try #require(try await self.error(scheme, port))
        #expect(error.code == .unreachable && error.isUnsent)
    }

    @Test("Before the end of the handshake nothing was sent")
    func noHandshake() async throws {
        let port = try MutePort(isListening: true)
        defer { port.stop() }
        #expect(try await self.error("https", port)?.isUnsent == true)
    }

    @Test("A request that a server may have read is not unsent")
    func noAnswer() async throws {
        let port = try MutePort(isListening: true)
        defer { port.stop() }
        let error = try #require(try await self.error("http", port))
        #expect(error.code == .unreachable && !error.isUnsent)
    }
}

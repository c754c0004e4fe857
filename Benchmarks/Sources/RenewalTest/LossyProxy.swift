import Foundation
import ServerClients
import Synchronization

/// Passes requests on to a server, and loses one answer in twenty: the server has done the work, and the client never
/// receives the answer.
final class LossyProxy: Sendable {
    let port: UInt16
    private let listener: Int32
    private let server: UInt16
    private let state: Mutex<(passed: Int, lost: Int)> = Mutex((0, 0))

    var lost: Int { self.state.withLock { $0.lost } }

    init(server: UInt16) throws {
        self.server = server
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 64) == 0
                    ? getsockname(listener, address, &length) : -1
            }
        }
        guard result == 0 else { throw LoadError("no port: \(String(cString: strerror(errno)))") }
        self.listener = listener
        self.port = UInt16(bigEndian: address.sin_port)
        Thread { [self] in
            while case let peer = accept(self.listener, nil, nil), peer >= 0 {
                Thread { [self] in
                    // Either end may be gone at any time: the proxy exists for this case.
                    try? self.serve(peer)
                    close(peer)
                }.start()
            }
        }.start()
    }

    /// Stops taking connections.
    func stop() { shutdown(self.listener, Int32(SHUT_RDWR)) }

    private func serve(_ peer: Int32) throws {
        var one: Int32 = 1
        setsockopt(peer, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        var server = try HTTPConnection(port: self.server)
        var buffer: [UInt8] = []
        while let request = Self.request(of: peer, &buffer) {
            let answer = try server.exchange(request)
            let isLost = self.state.withLock { state in
                state.passed += 1
                guard Int.random(in: 0..<20) == 0 else { return false }
                state.lost += 1
                return true
            }
            guard !isLost else { return }
            var bytes = Array((answer.head + "\r\n\r\n").utf8) + answer.body
            while !bytes.isEmpty {
                let count = send(peer, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                guard count > 0 else { return }
                bytes.removeFirst(count)
            }
        }
    }

    /// Returns the next request of a connection, with a length; `nil` at the connection's end.
    private static func request(of peer: Int32, _ buffer: inout [UInt8]) -> Request? {
        while true {
            if let mark = buffer.firstRange(of: Array("\r\n\r\n".utf8)) {
                let lines = String(decoding: buffer[..<mark.lowerBound], as: UTF8.self).split(separator: "\r\n")
                let fields = lines.dropFirst().map(String.init)
                func value(_ name: String) -> Substring? {
                    fields.first { $0.lowercased().hasPrefix(name + ":") }?.dropFirst(name.count + 1).drop { $0 == " " }
                }
                let end = mark.upperBound + (value("content-length").flatMap { Int($0) } ?? 0)
                guard let first = lines.first?.split(separator: " "), first.count == 3 else { return nil }
                if buffer.count >= end {
                    let body = Array(buffer[mark.upperBound..<end])
                    let passed = fields.filter { field in
                        !["host:", "content-length:", "content-type:"].contains { field.lowercased().hasPrefix($0) }
                    }
                    let type = value("content-type").map(String.init) ?? ""
                    buffer.removeFirst(end)
                    return Request(String(first[0]), String(first[1]), headers: passed, type: type, body: body)
                }
            }
            var room = [UInt8](repeating: 0, count: 8192)
            let count = recv(peer, &room, room.count, 0)
            guard count > 0 else { return nil }
            buffer += room.prefix(count)
        }
    }
}

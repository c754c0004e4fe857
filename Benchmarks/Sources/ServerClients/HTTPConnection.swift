import Glibc

/// One keep-alive connection over a blocking socket: the least work a client can do, because it shares the cores with
/// the server that it measures.
package struct HTTPConnection: ~Copyable {
    private let descriptor: Int32
    private let host: String
    private var buffer: [UInt8] = []

    /// Connects to a port of this machine.
    package init(port: UInt16) throws {
        self.host = "localhost:\(port)"
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var one: Int32 = 1
        setsockopt(self.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        try Self.connect(self.descriptor, to: &address)
    }

    /// Connects to a socket in the file system.
    package init(socketPath: String) throws {
        self.host = "localhost"
        self.descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard socketPath.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw LoadError("the path of the socket is too long: \(socketPath)")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socketPath.utf8) }
        try Self.connect(self.descriptor, to: &address)
    }

    private static func connect<Address>(_ descriptor: Int32, to address: inout Address) throws {
        // A server that never answers is a failure, not a pause.
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
        guard result == 0 else { throw LoadError("cannot connect: \(String(cString: strerror(errno)))") }
    }

    deinit { close(self.descriptor) }

    package struct Response: Sendable {
        package let status: Int
        package let head: String
        package let body: [UInt8]

        /// The value of a header, by its name in any case.
        package func header(_ name: String) -> String? {
            for line in self.head.split(separator: "\r\n") {
                guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name.lowercased() else {
                    continue
                }
                return String(line[line.index(after: colon)...].drop { $0 == " " })
            }
            return nil
        }
    }

    package mutating func get(_ path: String, headers: [String] = []) throws -> Response {
        try self.send("GET", path, headers: headers, body: [])
        return try self.receive()
    }

    /// Sends a request and does not wait for its answer.
    package mutating func send(_ method: String, _ path: String, headers: [String], body: [UInt8]) throws {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(self.host)\r\n"
        for header in headers { head += header + "\r\n" }
        if method == "POST" { head += "Content-Length: \(body.count)\r\n" }
        var bytes = Array((head + "\r\n").utf8)
        bytes += body
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(self.descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw LoadError("the connection broke while sending") }
            sent += count
        }
    }

    package mutating func receive() throws -> Response {
        let head = try self.readHead()
        let status = Int(head.dropFirst(9).prefix(3)) ?? 0
        let response = Response(status: status, head: head, body: [])
        if response.header("transfer-encoding")?.lowercased() == "chunked" {
            return Response(status: status, head: head, body: try self.readChunks())
        }
        let length = response.header("content-length").flatMap { Int($0) } ?? 0
        while self.buffer.count < length { try self.fill() }
        let body = Array(self.buffer.prefix(length))
        self.buffer.removeFirst(length)
        return Response(status: status, head: head, body: body)
    }

    /// Reads on until `text` has come, whatever stands before it.
    package mutating func wait(for text: String) throws {
        let pattern = Array(text.utf8)
        while true {
            if let end = self.buffer.firstRange(of: pattern)?.upperBound {
                self.buffer.removeFirst(end)
                return
            }
            try self.fill()
        }
    }

    private mutating func readHead() throws -> String {
        let end = Array("\r\n\r\n".utf8)
        var searched = 0
        while true {
            if let range = self.buffer[searched...].firstRange(of: end) {
                let head = String(decoding: self.buffer[..<range.lowerBound], as: UTF8.self)
                self.buffer.removeFirst(range.upperBound)
                return head
            }
            searched = max(0, self.buffer.count - 3)
            try self.fill()
        }
    }

    private mutating func readChunks() throws -> [UInt8] {
        var body: [UInt8] = []
        while true {
            let line = try self.readLine()
            guard let count = Int(line, radix: 16) else { throw LoadError("a chunk without its length") }
            while self.buffer.count < count + 2 { try self.fill() }
            body += self.buffer.prefix(count)
            self.buffer.removeFirst(count + 2)
            if count == 0 { return body }
        }
    }

    private mutating func readLine() throws -> String {
        while true {
            if let end = self.buffer.firstRange(of: Array("\r\n".utf8)) {
                let line = String(decoding: self.buffer[..<end.lowerBound], as: UTF8.self)
                self.buffer.removeFirst(end.upperBound)
                return line
            }
            try self.fill()
        }
    }

    private mutating func fill() throws {
        let old = self.buffer.count
        self.buffer += [UInt8](repeating: 0, count: 8192)
        let count = self.buffer.withUnsafeMutableBytes { recv(self.descriptor, $0.baseAddress! + old, 8192, 0) }
        self.buffer.removeLast(8192 - max(0, count))
        guard count > 0 else { throw LoadError("the connection broke while receiving") }
    }
}

/// Why a run is worth nothing.
package struct LoadError: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

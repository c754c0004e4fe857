import Glibc

/// One keep-alive connection over a blocking socket. The client does as little work as possible, because it shares the
/// cores with the measured server.
package struct HTTPConnection: ~Copyable {
    private let descriptor: Int32
    private let host: String
    private var buffer: [UInt8] = []

    /// Connects to a port of this machine, from one of its addresses if an address is given. With a small window, the
    /// connection accepts few bytes that are not read.
    package init(port: UInt16, from source: String? = nil, hasSmallWindow: Bool = false) throws {
        self.host = "localhost:\(port)"
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if hasSmallWindow {
            var bytes: Int32 = 4096
            setsockopt(self.descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        if let source { try Self.bind(self.descriptor, to: source) }
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

    private static func bind(_ descriptor: Int32, to source: String) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, source, &address.sin_addr)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw LoadError("cannot come from \(source)") }
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

        /// Returns the value of a header, by its name in any case.
        package func header(_ name: StaticString) -> String? { self.headers(name).first }

        /// Returns the values of a header that may come more than once.
        package func headers(_ name: StaticString) -> [String] {
            self.head.utf8.withContiguousStorageIfAvailable { HTTPConnection.values(of: name, in: $0) } ?? []
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
        if method != "GET" { head += "Content-Length: \(body.count)\r\n" }
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
        let count = try self.readHead()
        let (head, length, isChunked) = self.buffer.withUnsafeBufferPointer { bytes in
            let head = UnsafeBufferPointer(rebasing: bytes[..<count])
            let length = Self.values(of: "content-length", in: head).first.flatMap { Int($0) } ?? 0
            let isChunked = Self.values(of: "transfer-encoding", in: head).first == "chunked"
            return (String(decoding: head, as: UTF8.self), length, isChunked)
        }
        let status = Int(head.utf8.dropFirst(9).prefix(3).reduce(0) { $0 * 10 + Int($1) - 48 })
        if isChunked {
            self.buffer.removeFirst(count + 4)
            return Response(status: status, head: head, body: try self.readChunks())
        }
        let end = count + 4 + length
        while self.buffer.count < end { try self.fill() }
        let body = Array(self.buffer[(count + 4)..<end])
        self.buffer.removeFirst(end)
        return Response(status: status, head: head, body: body)
    }

    /// Returns the values of a header. The function reads bytes, because the letters of a text would cost more than the
    /// call.
    private static func values(of name: StaticString, in head: UnsafeBufferPointer<UInt8>) -> [String] {
        let count = name.utf8CodeUnitCount
        var values: [String] = []
        var line = 0
        while line < head.count {
            var end = line
            while end < head.count, head[end] != 0x0D { end += 1 }
            if end - line > count, head[line + count] == 0x3A,
                (0..<count).allSatisfy({ head[line + $0] | 0x20 == name.utf8Start[$0] | 0x20 })
            {
                var start = line + count + 1
                while start < end, head[start] == 0x20 { start += 1 }
                values.append(String(decoding: head[start..<end], as: UTF8.self))
            }
            line = end + 2
        }
        return values
    }

    /// Reads on until `text` has come, whatever stands before the text.
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

    /// Reads on until a head is complete. Returns its length without the empty line that ends the head.
    private mutating func readHead() throws -> Int {
        var searched = 0
        while true {
            let end = self.buffer.withUnsafeBufferPointer { bytes -> Int? in
                var index = searched
                while index + 3 < bytes.count {
                    if bytes[index] == 0x0D, bytes[index + 1] == 0x0A, bytes[index + 2] == 0x0D,
                        bytes[index + 3] == 0x0A
                    {
                        return index
                    }
                    index += 1
                }
                return nil
            }
            if let end { return end }
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
        let count = withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 1) { room in
            let count = recv(self.descriptor, room.baseAddress, 8192, 0)
            if count > 0 { self.buffer.append(contentsOf: room[..<count]) }
            return count
        }
        guard count > 0 else { throw LoadError("the connection broke while receiving") }
    }
}

/// The reason that a run is worthless.
package struct LoadError: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

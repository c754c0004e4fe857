import NIOHTTP1

/// What a connection has to know of a request until it is answered.
struct RequestShape {
    /// An answer to HEAD has no body (RFC 9110, section 9.3.2).
    var isHead = false
    /// HTTP/1.0: it knows no chunks, and its connection ends with its answer.
    var isOld = false
    /// The connection ends with its answer (RFC 9112, section 9.6).
    var isLast = false
    /// Its client waits for `100 Continue` (RFC 9110, section 10.1.1).
    var expectsContinue = false

    init() {}

    /// Reads a head, and makes it one whose fields say what they say in HTTP/1.1.
    init(_ head: inout HTTPRequestHead) {
        self.isHead = head.method == .HEAD
        self.isOld = head.version != .http1_1
        self.isLast = self.isOld || !head.isKeepAlive || head.method == .CONNECT
        var hasHost = false
        for (name, value) in head.headers {
            switch name.utf8.count {
            case 4 where name.lowercased() == "host": hasHost = true
            case 6 where name.lowercased() == "expect":
                self.expectsContinue = !self.isOld && value.lowercased() == "100-continue"
            // What comes after it would be another protocol's, which is not spoken here.
            case 7 where name.lowercased() == "upgrade": self.isLast = true
            default: break
            }
        }
        if self.isLast { head.headers.replaceOrAdd(name: "connection", value: "close") }
        // Only HTTP/1.1 must name its host (RFC 9112, section 3.2).
        if self.isOld, !hasHost { head.headers.add(name: "host", value: "localhost") }
        self.readTarget(of: &head)
    }

    /// An absolute target stands for the host that it names, and the path (RFC 9112, section 3.2.2).
    private func readTarget(of head: inout HTTPRequestHead) {
        guard head.uri.utf8.first != UInt8(ascii: "/"), head.uri != "*" else { return }
        guard let mark = head.uri.firstRange(of: "://"),
            ["http", "https"].contains(head.uri[..<mark.lowerBound].lowercased())
        else {
            // Nobody's address, whatever could be made of it.
            head.uri = ":"
            return
        }
        let rest = head.uri[mark.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        let path = rest[end...]
        let host = String(rest[..<end])
        // Two hosts stay two, which is refused.
        if head.headers["host"].count == 1 { head.headers.replaceOrAdd(name: "host", value: host) }
        head.uri = path.utf8.first == UInt8(ascii: "/") ? String(path) : "/\(path)"
    }
}

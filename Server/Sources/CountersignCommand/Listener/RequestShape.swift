import NIOHTTP1
import _Primitives

/// The facts that a connection has to know about a request until the request is answered.
struct RequestShape {
    /// `true` for HEAD: an answer to HEAD has no body (RFC 9110, section 9.3.2).
    var isHead = false
    /// `true` for HTTP/1.0: the client knows no chunks, and the connection ends with the answer.
    var isOld = false
    /// `true` if the connection ends with the request's answer (RFC 9112, section 9.6).
    var isLast = false
    /// `true` if the client waits for `100 Continue` (RFC 9110, section 10.1.1).
    var expectsContinue = false

    init() {}

    /// Reads a head, and changes the head so that its fields have the meaning of HTTP/1.1.
    ///
    /// Afterwards all fields are ASCII, and the field about the connection is in the server's own words.
    init(_ head: inout HTTPRequestHead) {
        Self.keepASCII(of: &head)
        self.isHead = head.method == .HEAD
        self.isOld = head.version != .http1_1
        self.isLast = self.isOld || !head.isKeepAlive || head.method == .CONNECT
        var hasHost = false
        for (name, value) in head.headers {
            switch name.utf8.count {
            case 4 where name.asciiLowercased.hasSameBytes(as: "host"): hasHost = true
            case 6 where name.asciiLowercased.hasSameBytes(as: "expect"):
                self.expectsContinue = value.asciiLowercased.hasSameBytes(as: "100-continue")
            // The bytes after the request would belong to another protocol, which this server does not speak.
            case 7 where name.asciiLowercased.hasSameBytes(as: "upgrade"): self.isLast = true
            default: break
            }
        }
        // The library behind compares with this one word.
        head.headers.remove(name: "connection")
        if self.isLast { head.headers.add(name: "connection", value: "close") }
        if self.isOld {
            // An expectation of HTTP/1.0 does not count (RFC 9110, section 10.1.1).
            self.expectsContinue = false
            head.headers.remove(name: "expect")
        }
        // Only HTTP/1.1 must name its host (RFC 9112, section 3.2).
        if self.isOld, !hasHost { head.headers.add(name: "host", value: "localhost") }
        self.readTarget(of: &head)
    }

    /// Keeps a head to ASCII.
    ///
    /// No field that this server reads has other characters, and a target never has. The HTTP library compares and
    /// splits both as Unicode does: the library takes the GREEK QUESTION MARK for a semicolon, and a run of combining
    /// marks costs the library the square of the run's length.
    private static func keepASCII(of head: inout HTTPRequestHead) {
        // This target is no address of the server, so that no route takes the request.
        if !Self.isASCII(head.uri) { head.uri = ":" }
        guard !head.headers.allSatisfy({ Self.isASCII($0.value) }) else { return }
        head.headers = HTTPHeaders(
            head.headers.map { name, value in
                (name, String(decoding: value.utf8.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }, as: UTF8.self))
            })
    }

    private static func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

    /// Reads an absolute target: the target gives the host and the path (RFC 9112, section 3.2.2).
    private func readTarget(of head: inout HTTPRequestHead) {
        guard head.uri.utf8.first != UInt8(ascii: "/"), !head.uri.hasSameBytes(as: "*") else { return }
        guard let mark = head.uri.firstRange(of: "://"),
            ["http", "https"].containsBytes(of: head.uri[..<mark.lowerBound].asciiLowercased)
        else {
            // This target is no address of the server, so that no route takes the request.
            head.uri = ":"
            return
        }
        let rest = head.uri[mark.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        let path = rest[end...]
        let host = String(rest[..<end])
        // Two host fields stay, and the server then refuses the request.
        if head.headers["host"].count == 1 { head.headers.replaceOrAdd(name: "host", value: host) }
        head.uri = path.utf8.first == UInt8(ascii: "/") ? String(path) : "/\(path)"
    }
}

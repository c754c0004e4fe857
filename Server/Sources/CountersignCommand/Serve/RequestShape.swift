import NIOHTTP1
import _Primitives

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

    /// Reads a head, and makes it one whose fields say what they say in HTTP/1.1, in ASCII and of the connection in the
    /// server's own words.
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
            // What comes after it would be another protocol's, which is not spoken here.
            case 7 where name.asciiLowercased.hasSameBytes(as: "upgrade"): self.isLast = true
            default: break
            }
        }
        // Whoever reads on compares with this one word.
        head.headers.remove(name: "connection")
        if self.isLast { head.headers.add(name: "connection", value: "close") }
        if self.isOld {
            // An expectation of HTTP/1.0 is none (RFC 9110, section 10.1.1).
            self.expectsContinue = false
            head.headers.remove(name: "expect")
        }
        // Only HTTP/1.1 must name its host (RFC 9112, section 3.2).
        if self.isOld, !hasHost { head.headers.add(name: "host", value: "localhost") }
        self.readTarget(of: &head)
    }

    /// Lets nothing of a head be more than ASCII. No field that is read here has anything else, a target never does, and the
    /// HTTP library compares and splits both as Unicode does: it takes the GREEK QUESTION MARK for a semicolon, and a run of
    /// combining marks costs it the square of its length.
    private static func keepASCII(of head: inout HTTPRequestHead) {
        // Nobody's address, whatever could be made of it.
        if !Self.isASCII(head.uri) { head.uri = ":" }
        guard !head.headers.allSatisfy({ Self.isASCII($0.value) }) else { return }
        head.headers = HTTPHeaders(
            head.headers.map { name, value in
                (name, String(decoding: value.utf8.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }, as: UTF8.self))
            })
    }

    private static func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

    /// An absolute target stands for the host that it names, and the path (RFC 9112, section 3.2.2).
    private func readTarget(of head: inout HTTPRequestHead) {
        guard head.uri.utf8.first != UInt8(ascii: "/"), !head.uri.hasSameBytes(as: "*") else { return }
        guard let mark = head.uri.firstRange(of: "://"),
            ["http", "https"].containsBytes(of: head.uri[..<mark.lowerBound].asciiLowercased)
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

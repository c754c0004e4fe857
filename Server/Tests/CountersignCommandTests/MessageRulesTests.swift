import Foundation
import Testing

@testable import CountersignCommand

@Suite(
    "HTTP/1.1 over a socket: whose connection ends, bodies, hosts, expectations (RFC 9110 and 9112)",
    .timeLimit(.minutes(10)))
struct MessageRulesTests {
    /// Sends a text and reads what comes until the server has closed.
    private static func exchange(_ port: Int, _ text: String) async throws -> String {
        let connection = try RawConnection(port)
        try connection.send(text)
        return try await connection.read()
    }

    private static func head(_ first: String, _ headers: String...) -> String {
        ([first] + headers).map { $0 + "\r\n" }.joined() + "\r\n"
    }

    @Test("An answer to HEAD has the length of GET's and no body, whatever it says (RFC 9110, section 9.3.2)")
    func head() async throws {
        try await Listener.run { port, _ in
            for (path, status) in [("/quick", 200), ("/nothing", 404), ("/healthz", 404), ("/token/redeem/x", 404)] {
                let got = try await Self.exchange(
                    port, Self.head("GET \(path) HTTP/1.1", "Host: a", "Connection: close"))
                let parts = try #require(got.firstRange(of: "\r\n\r\n"))
                let length = got[parts.upperBound...].utf8.count
                let answer = try await Self.exchange(
                    port, Self.head("HEAD \(path) HTTP/1.1", "Host: a", "Connection: close"))
                #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.hasSuffix("\r\n\r\n"))
                #expect(answer.lowercased().contains("\r\ncontent-length: \(length)\r\n"))
            }
            // The next answer of the same connection is where its client looks for it.
            for path in ["/nothing", "/pieces"] {
                let both = try await Self.exchange(
                    port,
                    Self.head("HEAD \(path) HTTP/1.1", "Host: a")
                        + Self.head("GET /quick HTTP/1.1", "Host: a", "Connection: close"))
                let second = try #require(both.firstRange(of: "\r\n\r\n"))
                #expect(both[second.upperBound...].hasPrefix("HTTP/1.1 200 ") && both.hasSuffix("quick"), "\(path)")
            }
        }
    }

    @Test("An answer to HEAD that says that it comes in chunks has none, and no end of them (RFC 9112, section 6.3)")
    func headOfChunks() async throws {
        try await Listener.run { port, _ in
            let connection = try RawConnection(port)
            try connection.send(Self.head("HEAD /chunks HTTP/1.1", "Host: a"))
            let first = try await connection.read(until: "\r\n\r\n")
            #expect(first.hasPrefix("HTTP/1.1 200 ") && first.components(separatedBy: "\r\n\r\n").count == 2)
            #expect(first.lowercased().contains("\r\ntransfer-encoding: chunked"))
            try connection.send(Self.head("GET /quick HTTP/1.1", "Host: a", "Connection: close"))
            let second = try await connection.read()
            #expect(second.hasPrefix("HTTP/1.1 200 ") && second.hasSuffix("quick"))
        }
    }

    @Test("A request behind HEAD is answered although the answer to HEAD has not ended (RFC 9110, section 9.3.2)")
    func requestBehindHead() async throws {
        try await Listener.run { port, _ in
            // Both requests come at once, so the second request waits before the first answer's head is written.
            let answers = try await Self.exchange(
                port,
                Self.head("HEAD /chunks HTTP/1.1", "Host: a")
                    + Self.head("GET /quick HTTP/1.1", "Host: a", "Connection: close"))
            let second = try #require(answers.firstRange(of: "\r\n\r\n"))
            #expect(answers[second.upperBound...].hasPrefix("HTTP/1.1 200 ") && answers.hasSuffix("quick"))
        }
    }

    @Test(
        "A connection ends with the answer where the client says so (RFC 9112, section 9.6)",
        arguments: ["close", "Close", "CLOSE", "keep-alive, cLoSe", "close, te"])
    func closes(value: String) async throws {
        try await Listener.run { port, _ in
            let answer = try await Self.exchange(
                port,
                Self.head("GET /quick HTTP/1.1", "Host: a", "Connection: \(value)")
                    + Self.head("GET /quick HTTP/1.1", "Host: a"))
            #expect(answer.components(separatedBy: "HTTP/1.1 200 ").count == 2, "nothing after it is answered")
            #expect(answer.lowercased().contains("\r\nconnection: close\r\n") && answer.hasSuffix("quick"))
        }
    }

    @Test(
        "Of a head nothing but ASCII is read on, and of the connection one word: what Unicode holds for a separator is none, and no letter costs more than its byte",
        arguments: [
            ("Cookie: a=b\u{37E} c=d", "cookie: a=b?? c=d"), ("Cookie: a=b;\u{301} c=d", "cookie: a=b;?? c=d"),
            ("X-Any: caf\u{E9}", "x-any: caf??"),
            (
                "X-Any: e" + String(repeating: "\u{301}\u{323}", count: 3500),
                "x-any: e" + String(repeating: "?", count: 14_000)
            ),
            ("Connection: keep-alive", nil), ("Connection: x, y", nil),
            ("Connection: e" + String(repeating: "\u{301}\u{323}", count: 3500), nil),
        ])
    func fieldsAreASCII(field: String, read: String?) async throws {
        try await Listener.run { port, _ in
            let connection = try RawConnection(port)
            try connection.send(Self.head("GET /fields HTTP/1.1", "Host: a", field))
            let body = try #require(
                try await connection.read(until: read ?? "/fields").components(separatedBy: "\r\n\r\n").last)
            #expect(body == (["/fields"] + (read.map { [$0] } ?? [])).joined(separator: "\n"))
            try connection.send(Self.head("GET /quick HTTP/1.1", "Host: a"))
            #expect(try await connection.read(until: "quick").hasPrefix("HTTP/1.1 200 "), "the connection goes on")
        }
    }

    @Test(
        "A connection that ends says so in the server's word", arguments: ["Close", "x, cLoSe", "close\u{301}, close"])
    func ownWord(value: String) async throws {
        try await Listener.run { port, _ in
            let answer = try await Self.exchange(
                port, Self.head("GET /fields HTTP/1.1", "Host: a", "Connection: \(value)"))
            #expect(answer.hasSuffix("\r\n\r\n/fields\nconnection: close"))
        }
    }

    @Test("An address that is not ASCII is nobody's (RFC 3986, section 2)")
    func addressesAreASCII() async throws {
        try await Listener.run { port, _ in
            for path in ["/quick\u{301}", "/quick?a=\u{E9}", "/e" + String(repeating: "\u{301}\u{323}", count: 1500)] {
                let answer = try await Self.exchange(port, Self.head("GET \(path) HTTP/1.1", "Host: a"))
                #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
            }
        }
    }

    @Test("HTTP/1.0 needs no host, gets no chunks, and its connection ends (RFC 9112, sections 3.2 and 9.3)")
    func oldVersion() async throws {
        try await Listener.run { port, _ in
            for header in ["Accept: */*", "Host: a", "Connection: keep-alive"] {
                let answer = try await Self.exchange(port, Self.head("GET /quick HTTP/1.0", header))
                #expect(answer.hasPrefix("HTTP/1.0 200 ") && answer.hasSuffix("\r\n\r\nquick"))
                #expect(answer.lowercased().contains("\r\nconnection: close\r\n"))
            }
            let pieces = try await Self.exchange(port, Self.head("GET /pieces HTTP/1.0"))
            #expect(pieces.hasSuffix("\r\n\r\none two"))
            #expect(!pieces.lowercased().contains("transfer-encoding"))
        }
    }

    @Test(
        "A request names one host that could be one, else it is 400 (RFC 9112, section 3.2)",
        arguments: [
            [], ["Host: a", "Host: a"], ["Host: a", "host: b"], ["Host: "], ["Host: a b"], ["Host: a/b"], ["Host: a@b"],
            ["Host: a:99999"], ["Host: a:x"], ["Host: [::1"], ["Host: [x]"], ["Host: a, b"], ["Host: a\u{e9}"],
        ])
    func hosts(headers: [String]) async throws {
        try await Listener.run { port, _ in
            for target in ["/quick", "http://a/quick"] where headers.count != 1 || target == "/quick" {
                let text = (["GET \(target) HTTP/1.1"] + headers).map { $0 + "\r\n" }.joined() + "\r\n"
                let answer = try await Self.exchange(port, text + Self.head("GET /quick HTTP/1.1", "Host: a"))
                #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
                #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2, "nothing after it is answered")
                #expect(answer.contains("urn:countersign:error:invalid-host"))
                #expect(answer.lowercased().contains("\r\nconnection: close\r\n"))
            }
        }
    }

    @Test("Hosts as they are")
    func honestHosts() async throws {
        try await Listener.run { port, _ in
            for host in ["localhost", "a.example:8443", "[::1]:80", "[2001:db8::1]", "127.0.0.1:1", "x_y", "a."] {
                let answer = try await Self.exchange(
                    port, Self.head("GET /quick HTTP/1.1", "Host: \(host)", "Connection: close"))
                #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(host)")
            }
            let absolute = try await Self.exchange(
                port, Self.head("GET http://b.example/quick?x=1 HTTP/1.1", "Host: a", "Connection: close"))
            #expect(absolute.hasPrefix("HTTP/1.1 200 "), "the target's host counts (RFC 9112, section 3.2.2)")
        }
    }

    @Test(
        "What one reader could take for a request, and another for a body, is refused, and nothing after it is answered",
        arguments: [
            ["Content-Length: 5", "Transfer-Encoding: chunked"], ["Transfer-Encoding: chunked", "Content-Length: 5"],
            ["Content-Length: 5", "Content-Length: 5"], ["Content-Length: 5", "Content-Length: 6"],
            ["Content-Length: 5, 5"], ["Content-Length: +5"], ["Content-Length: 0x5"], ["Content-Length: -5"],
            ["Transfer-Encoding: chunked, gzip"], ["Transfer-Encoding: gzip, chunked"], ["Transfer-Encoding: identity"],
            ["Transfer-Encoding: xchunked"], ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
            ["Transfer-Encoding : chunked"], ["X: a\r\n Content-Length: 5"], ["X: a\rContent-Length: 5"],
            ["X: a\nContent-Length: 5"],
        ])
    func smuggling(headers: [String]) async throws {
        try await Listener.run { port, _ in
            let text =
                (["POST /unread HTTP/1.1", "Host: a"] + headers).map { $0 + "\r\n" }.joined()
                + "\r\n0\r\n\r\n" + Self.head("GET /quick HTTP/1.1", "Host: a")
            let answer = try await Self.exchange(port, text)
            let status = answer.dropFirst("HTTP/1.1 ".count).prefix(3)
            #expect(["400", "501"].contains(status), "\(headers): \(answer)")
            #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2 && !answer.hasSuffix("quick"))
        }
    }

    @Test("A target is a path", arguments: ["example.com:443", "quick", "ftp://a/quick", "*quick"])
    func targets(target: String) async throws {
        try await Listener.run { port, _ in
            let method = target.hasSuffix(":443") ? "CONNECT" : "GET"
            let answer = try await Self.exchange(port, Self.head("\(method) \(target) HTTP/1.1", "Host: a"))
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
        }
    }

    @Test("A client that asks for another protocol is answered in this one, and the connection ends")
    func upgrade() async throws {
        try await Listener.run { port, _ in
            let answer = try await Self.exchange(
                port, Self.head("GET /quick HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: h2c"))
            #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("quick"))
        }
    }

    @Test("A client that waits to be asked for a body is asked when somebody reads it (RFC 9110, section 10.1.1)")
    func expectation() async throws {
        try await Listener.run { port, _ in
            let connection = try RawConnection(port)
            try connection.send(
                Listener.post("/token/redeem/authentication", "Content-Length: 13\r\nExpect: 100-Continue"))
            #expect(try await connection.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            try connection.send("{\"token\":\"x\"}")
            #expect(try await connection.read(until: "}").hasPrefix("HTTP/1.1 404 "))
            // It is asked in the same way again.
            try connection.send(
                Listener.post("/token/redeem/authentication", "Content-Length: 13\r\nExpect: 100-continue"))
            #expect(try await connection.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        }
    }

    @Test("A client that is refused before anybody reads a body is told at once, and is not asked for it")
    func refusedExpectation() async throws {
        try await Listener.run { port, _ in
            let large = "Content-Length: 99999999\r\nExpect: 100-continue"
            for (path, status) in [
                ("/token/redeem/authentication", 413), ("/nothing", 404), ("/admin/v1/accounts", 401),
            ] {
                let answer = try await Self.exchange(port, Listener.post(path, large))
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
                #expect(answer.lowercased().contains("\r\nconnection: close\r\n"))
            }
            for value in [
                "more", "100-continue, more", "100-continue\u{301}", String(repeating: "\u{301}", count: 7000),
            ] {
                let other = try await Self.exchange(
                    port, Listener.post("/unread", "Content-Length: 1\r\nExpect: \(value)"))
                #expect(other.hasPrefix("HTTP/1.1 417 ") && other.contains("expectation-failed"))
            }
        }
    }

    @Test("What HTTP/1.0 expects is ignored (RFC 9110, section 10.1.1)", arguments: ["more", "100-continue"])
    func oldExpectation(value: String) async throws {
        try await Listener.run { port, _ in
            let answer = try await Self.exchange(
                port, Self.head("POST /unread HTTP/1.0", "Content-Length: 1", "Expect: \(value)") + "x")
            #expect(answer.hasPrefix("HTTP/1.0 200 ") && answer.hasSuffix("unread"))
        }
    }
}

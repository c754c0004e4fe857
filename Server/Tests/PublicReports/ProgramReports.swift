import CountersignServer
import Foundation
import OAuthProvider
import Records
import Testing
import _Primitives

@testable import CountersignCommand
@testable import CountersignCommandTests

@Suite("Reports of programs: the network, messages and settings (RFC 9112, sections 6.3 and 11.2; CWE-918)")
struct ProgramReports {
    /// A right server calls no address of its own network for a stranger, whatever name the address has, and however the
    /// address is written.
    ///
    /// Source: CVE-2020-10770 (Keycloak); CWE-918 (names that lead inwards, the cloud's metadata).
    @Test("no name and no spelling leads a call into the server's own network")
    func privateNetworks() async throws {
        func isCalled(_ address: String, standingFor addresses: [String] = []) async -> Bool {
            let calls = CheckedCalls { _ in addresses }
            return (try? await calls.send(OutgoingCall(to: address, longestAnswer: 100))) != nil
        }
        for address in ["169.254.169.254", "127.0.0.1", "10.0.0.1", "::1", "::ffff:127.0.0.1", "fd00::1", "0.0.0.0"] {
            #expect(await !isCalled("https://shop.example/keys", standingFor: [address]), "\(address)")
            #expect(await !isCalled("https://shop.example/keys", standingFor: ["93.184.215.14", address]))
        }
        for address in [
            "https://127.0.0.1/", "https://2130706433/", "https://0x7f.1/", "https://127.1/",
            "https://[::ffff:127.0.0.1]/",
            "http://shop.example/", "file:///etc/passwd", "gopher://127.0.0.1:6379/_x", "https://a@169.254.169.254/",
        ] {
            #expect(await !isCalled(address), "\(address)")
        }
    }

    /// A right server refuses a message whose end two readers see at two places.
    ///
    /// Source: RFC 9112, sections 6.3 and 11.2 (request smuggling); CWE-444.
    @Test("two lengths, and a length beside chunks, end the connection")
    func smuggling() async throws {
        try await Listener.run { port, _ in
            for header in [
                "Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5",
                "Content-Length: 5\r\nContent-Length: 6", "Content-Length: +5", "Transfer-Encoding: xchunked",
                "Transfer-Encoding : chunked", "X: a\r\n Content-Length: 5",
            ] {
                let connection = try RawConnection(port)
                try connection.send(
                    Listener.post("/token/redeem/authentication", header) + "0\r\n\r\n" + Listener.get("/quick"))
                let answer = try await connection.read()
                #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2, "\(header)")
                #expect(answer.hasPrefix("HTTP/1.1 400 ") || answer.hasPrefix("HTTP/1.1 501 "), "\(header)")
            }
        }
    }

    /// A right server says what a setting takes, and names what it did not find once.
    ///
    /// Source: an operator's report of this product: a count was refused as not being seconds, a missing file was named twice.
    @Test("a wrong setting is refused by a sentence that fits it, and an address in brackets makes a right issuer")
    func settings() async throws {
        func load(_ flags: [String: String], file: String? = nil) async throws -> ServeConfiguration {
            try await ServeConfiguration.load(file: file, flags: flags, environment: ["HOME": "/home/op"])
        }
        let count = await #expect(throws: CommandFailure.self) { try await load(["limits": "codeBurst=x"]) }
        #expect("\(try #require(count))".contains("name=number"))
        let missing = await #expect(throws: CommandFailure.self) { try await load([:], file: "/nowhere/c.yaml") }
        #expect("\(try #require(missing))".components(separatedBy: "/nowhere/c.yaml").count == 2)
        let bracketed = try await load(["bind": "[::1]:8081"]).issuer
        #expect(bracketed == "http://[::1]:8081")
        await #expect(throws: CommandFailure.self) { try await load(["serviceName": "a\u{202E}b"]) }
    }
}

import Countersign
import CountersignLinux
import Foundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite("RFC 8252, section 7.3: a browser that comes back to a port of this machine")
struct LoopbackBrowserTests {
    private static let redirectURI = "http://127.0.0.1/signed-in"

    /// Asks as a browser does; the status and the text.
    private static func get(_ address: String, method: String = "GET") async throws -> (Int, String) {
        var request = URLRequest(url: URL(string: address)!)
        request.httpMethod = method
        // Beside other work the test's own tasks may wait for minutes.
        request.timeoutInterval = 3600
        let (data, response) = try await URLSession.shared.data(for: request)
        return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
    }

    /// A sign-in whose browser has been opened: somebody hears from then on, however many other tests run.
    private static func opened(
        _ page: String = "https://id.example.com",
        accepting isAnswer: @escaping @Sendable (String) -> Bool = { _ in true },
        _ show: @escaping @Sendable (URL) -> Void = { _ in }
    ) async throws -> (session: any PreparedWebAuthentication, back: Task<String, any Error>) {
        let (opened, opening) = AsyncStream<Void>.makeStream()
        let browser = LoopbackBrowser { url in
            show(url)
            opening.finish()
        }
        let session = try await browser.prepare(for: Self.redirectURI)
        let address = try #require(URL(string: page))
        let back = Task { try await session.open(address, accepting: isAnswer) }
        for await _ in opened {}
        return (session, back)
    }

    @Test("the address that was opened is the one that was asked for, and the whole answer comes back")
    func comesBack() async throws {
        let opened = Mutex<URL?>(nil)
        let page = "https://id.example.com/oauth2/authorize?state=s"
        let (session, back) = try await Self.opened(page, { url in opened.withLock { $0 = url } })
        #expect(session.redirectURI.wholeMatch(of: /http:\/\/127\.0\.0\.1:[0-9]+\/signed-in/) != nil)
        // What else is asked for there is nobody's, and ends nothing.
        let icon = session.redirectURI.replacing("/signed-in", with: "/favicon.ico")
        #expect(try await Self.get(icon).0 == 404)
        let answer = session.redirectURI + "?code=a%20b&state=s"
        let (status, text) = try await Self.get(answer)
        #expect(status == 200 && text.contains("Go back to the app"))
        #expect(try await back.value == answer)
        #expect(opened.withLock { $0?.absoluteString } == page)
    }

    @Test("an address with a port is listened to there, by one at a time, and again when that is over")
    func fixedPort() async throws {
        let browser = LoopbackBrowser { _ in }
        var first: (any PreparedWebAuthentication)? = try await browser.prepare(for: Self.redirectURI)
        let address = try #require(first).redirectURI
        await #expect(throws: WebAuthenticationError.self) { try await browser.prepare(for: address) }
        first = nil
        #expect(try await browser.prepare(for: address).redirectURI == address)
    }

    @Test("two sessions have two ports")
    func ports() async throws {
        let browser = LoopbackBrowser { _ in }
        let first = try await browser.prepare(for: Self.redirectURI)
        let second = try await browser.prepare(for: Self.redirectURI)
        #expect(first.redirectURI != second.redirectURI)
    }

    /// A connection that says nothing but what it is told to.
    private final class Peer: Sendable {
        private let file: Int32

        init(to redirectURI: String) throws {
            let port = try #require(URLComponents(string: redirectURI)?.port.flatMap(UInt16.init(exactly:)))
            #if canImport(Glibc)
                self.file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            #else
                self.file = socket(AF_INET, SOCK_STREAM, 0)
            #endif
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let file = self.file
            let isConnected = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            try #require(isConnected)
        }

        deinit { close(self.file) }

        /// Says that, and waits for nothing.
        func begin(_ text: String) {
            let bytes = Array(text.utf8)
            _ = send(self.file, bytes, bytes.count, 0)
        }

        /// Says that, and gives what comes back until the other side has no more; empty where it is cut off.
        func say(_ text: String) async -> String {
            // Not on a thread of the tasks, which the other side may be waiting for.
            await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: self.heard(after: text)) }
            }
        }

        /// Does the same as ``say(_:)``, on the caller's thread.
        func heard(after text: String) -> String {
            self.begin(text)
            var (heard, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
            while true {
                let count = recv(self.file, &buffer, buffer.count, 0)
                guard count > 0 else { return count == 0 ? String(decoding: heard, as: UTF8.self) : "" }
                heard += buffer[..<count]
            }
        }
    }

    @Test("who brings another sign-in's answer is sent away, and the wait for the right one goes on")
    func judged() async throws {
        let (session, back) = try await Self.opened(accepting: { $0.hasSuffix("state=right") })
        for query in ["?code=c&state=wrong", "?state=right&code=c", ""] {
            #expect(try await Self.get(session.redirectURI + query).0 == 400)
        }
        let answer = session.redirectURI + "?code=c&state=right"
        #expect(try await Self.get(answer).0 == 200)
        #expect(try await back.value == answer)
    }

    @Test("a request for another host, for none or for two, and one that gets nothing, is sent away")
    func hosts() async throws {
        let (session, back) = try await Self.opened()
        let port = try #require(URLComponents(string: session.redirectURI)?.port)
        func status(_ line: String, _ hosts: [String]) async throws -> String {
            let fields = hosts.map { "Host: \($0)\r\n" }.joined()
            let peer = try Peer(to: session.redirectURI)
            return String(await peer.say("\(line) HTTP/1.1\r\n\(fields)\r\n").prefix(12))
        }
        let right = "127.0.0.1:\(port)"
        let foreign = [["evil.example:\(port)"], ["127.0.0.1"], ["127.0.0.1:1"], [], [right, right]]
        for hosts in foreign { #expect(try await status("GET /signed-in?code=foreign", hosts) == "HTTP/1.1 400") }
        #expect(try await status("POST /signed-in?code=posted", [right]) == "HTTP/1.1 400")
        #expect(try await status("GET /signed-in?code=c", ["LOCALHOST:\(port)"]) == "HTTP/1.1 200")
        #expect(try await back.value == session.redirectURI + "?code=c")
    }

    @Test("a request is read to its end, so that who has more to say is told the answer all the same")
    func wholeRequest() async throws {
        let (session, back) = try await Self.opened()
        let port = try #require(URLComponents(string: session.redirectURI)?.port)
        let fields = "Host: 127.0.0.1:\(port)\r\nCookie: \(String(repeating: "c", count: 10_000))\r\n"
        let told = try await Peer(to: session.redirectURI).say("GET /signed-in?code=c HTTP/1.1\r\n\(fields)\r\n")
        #expect(told.hasSuffix("You can close this window."))
        #expect(try await back.value == session.redirectURI + "?code=c")
    }

    @Test("those who connect and say nothing keep nobody waiting, however many they are")
    func silent() async throws {
        let (session, back) = try await Self.opened()
        let peers = try (0..<30).map { _ in try Peer(to: session.redirectURI) }
        // One after the other, each would have its five seconds: two minutes and a half.
        let time = try await ContinuousClock().measure { _ = try await Self.get(session.redirectURI + "?code=c") }
        #expect(time < .seconds(140))
        #expect(try await back.value == session.redirectURI + "?code=c")
        withExtendedLifetime(peers) {}
    }

    @Test("a browser that has begun its request is heard to the end, however many connect meanwhile and say nothing")
    func begun() async throws {
        let (session, back) = try await Self.opened()
        let address = session.redirectURI
        let port = try #require(URLComponents(string: address)?.port)
        let told: String = try await withCheckedThrowingContinuation { continuation in
            // One thread does everything: a wait for the test's tasks would use up the browser's five seconds.
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        let browser = try Peer(to: address)
                        browser.begin("GET /signed-in?code=c HTTP/1.1\r\n")
                        let peers = try (0..<30).map { _ in try Peer(to: address) }
                        return withExtendedLifetime(peers) {
                            browser.heard(after: "Host: 127.0.0.1:\(port)\r\n\r\n")
                        }
                    })
            }
        }
        #expect(told.hasPrefix("HTTP/1.1 200"))
        #expect(try await back.value == address + "?code=c")
    }

    @Test("who cancels waits no longer, whether somebody is connected or not", arguments: [false, true])
    func cancelled(hasPeer: Bool) async throws {
        let (session, task) = try await Self.opened()
        let peer = hasPeer ? try Peer(to: session.redirectURI) : nil
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        withExtendedLifetime(peer) {}
    }

    @Test("a person who does not come back has given up when the time is over")
    func timeLimit() async throws {
        let session = try await LoopbackBrowser(timeLimit: .milliseconds(50)) { _ in }.prepare(for: Self.redirectURI)
        await #expect(throws: WebAuthenticationError(.cancelled)) {
            _ = try await session.open(URL(string: "https://id.example.com")!)
        }
    }

    @Test("a browser that cannot be opened is told at once")
    func noBrowser() async throws {
        let session = try await LoopbackBrowser { _ in throw WebAuthenticationError(.unavailable) }
            .prepare(for: Self.redirectURI)
        await #expect(throws: WebAuthenticationError(.unavailable)) {
            _ = try await session.open(URL(string: "https://id.example.com")!)
        }
    }

    @Test(
        "an address that is not of this machine's own is refused",
        arguments: [
            "https://127.0.0.1/x", "http://localhost/x", "http://example.com/x", "com.example.app:/x",
            "http://127.0.0.1/x?y=z",
        ])
    func otherAddresses(address: String) async throws {
        await #expect(throws: WebAuthenticationError(.unavailable)) {
            _ = try await LoopbackBrowser { _ in }.prepare(for: address)
        }
    }
}

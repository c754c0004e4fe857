import Endpoints
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTLS
import Logging
import NIOCore
import NIOSSL
import OAuthProvider
import ServiceLifecycle
import Settings
import Synchronization
import Testing
import _Primitives

@testable import CountersignCommand

/// A program behind a real socket that is called: a service's, as far as the server can tell.
enum CalledService {
    typealias Answer = @Sendable (Request, ByteBuffer) async throws -> Response

    /// Runs it while `body` runs.
    ///
    /// - Parameter reads: `false` for a program that answers without reading what it is sent.
    static func run<Value: Sendable>(
        port: Int = 0, _ identity: TLSIdentity? = nil, reads: Bool = true, answer: @escaping Answer,
        _ body: @escaping @Sendable (_ port: Int) async throws -> Value
    ) async throws -> Value {
        let router = Router()
        for (path, method) in [("/", HTTPRequest.Method.get), ("/", .post), ("**", .get), ("**", .post)]
            as [(String, HTTPRequest.Method)]
        {
            router.on(RouterPath(path), method: method) { request, _ in
                try await answer(request, reads ? try await request.body.collect(upTo: 65_536) : ByteBuffer())
            }
        }
        let (running, start) = AsyncStream.makeStream(of: Int.self)
        let tls = identity?.configuration
        let application = Application(
            router: router, server: try tls.map { try .tls(.http1(), tlsConfiguration: $0) } ?? .http1(),
            configuration: .init(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in if let port = channel.localAddress?.port { start.yield(port) } })
        let service = ServiceGroup(
            configuration: ServiceGroupConfiguration(services: [application], logger: application.logger))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await service.run()
                start.finish()
            }
            guard let port = await running.first(where: { _ in true }) else { throw RawConnection.Failure() }
            let result: Result<Value, any Error>
            do { result = .success(try await body(port)) } catch { result = .failure(error) }
            await service.triggerGracefulShutdown()
            try await group.waitForAll()
            return try result.get()
        }
    }
}

@Suite("Calls to addresses that services name: founding decision, Loopback; threat model, Calls that a service steers")
struct CheckedCallsTests {
    private static func reason(_ body: () async throws -> OutgoingAnswer) async -> String {
        do { return "answered \(try await body().status)" } catch { return "\(error)" }
    }

    /// Longer than any call of a test that holds calls, however busy the machine is.
    private static let longTime: Duration = .seconds(120)

    private static func get(_ address: String, longest: Int = 100) -> OutgoingCall {
        OutgoingCall(to: address, longestAnswer: longest)
    }

    @Test("what is sent arrives, and what comes back is told with its status, its body and how long it may be kept")
    func exchange() async throws {
        let seen = Mutex<[String]>([])
        try await CalledService.run(answer: { request, body in
            seen.withLock {
                $0.append(
                    "\(request.method) \(request.uri) \(request.headers[.contentType] ?? "-") "
                        + "\(request.headers[.authorization] ?? "-") \(String(buffer: body))")
                // GitHub refuses calls without it.
                #expect(request.headers[.userAgent]?.hasPrefix("Countersign/") == true)
            }
            return Response(
                status: .accepted, headers: [.cacheControl: "private, Max-Age=90"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: "yes")))
        }) { port async throws in
            let calls = CheckedCalls(mayCallLoopback: true)
            let base = "http://127.0.0.1:\(port)/a?b=c"
            let expected = OutgoingAnswer(status: 202, body: Array("yes".utf8), mayBeKept: .seconds(90))
            #expect(try await calls.send(Self.get(base)) == expected)
            let form = OutgoingCall(to: base, .form("x=1"), authorization: "Bearer t", longestAnswer: 3)
            #expect(try await calls.send(form) == expected)
            #expect(try await calls.send(OutgoingCall(to: base, .json(Array("{}".utf8)), longestAnswer: 3)) == expected)
        }
        #expect(
            seen.withLock { $0 } == [
                "GET /a?b=c - - ", "POST /a?b=c application/x-www-form-urlencoded Bearer t x=1",
                "POST /a?b=c application/json - {}",
            ])
    }

    @Test("a redirect is an answer, and is not followed; a longer body than is wanted is a failure")
    func bounds() async throws {
        let count = Mutex(0)
        try await CalledService.run(answer: { request, _ in
            count.withLock { $0 += 1 }
            if request.uri.path == "/long" {
                return Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(repeating: 0x61, count: 101)))
            }
            return Response(status: .found, headers: [.location: "/elsewhere"])
        }) { port async throws in
            let calls = CheckedCalls(mayCallLoopback: true)
            #expect(try await calls.send(Self.get("http://127.0.0.1:\(port)/")).status == 302)
            #expect(count.withLock { $0 } == 1)
            let long = await Self.reason { try await calls.send(Self.get("http://127.0.0.1:\(port)/long")) }
            #expect(long == "its answer has more than 100 bytes")
        }
    }

    @Test("who does not answer in time, or at all, is given up; so is a name that is not found in time")
    func times() async throws {
        var limits = Limits()
        limits.oauth.outgoingCallTime = .milliseconds(200)
        let (held, holding) = AsyncStream.makeStream(of: Void.self)
        let (heldBody, holdingBody) = AsyncStream.makeStream(of: Void.self)
        let short = limits
        try await CalledService.run(answer: { request, _ in
            if request.uri.path == "/body" {
                return Response(
                    status: .ok,
                    body: ResponseBody { writer in
                        try await writer.write(ByteBuffer(string: "{"))
                        for await _ in heldBody {}
                        try await writer.finish(nil)
                    })
            }
            // Until the test is over with it.
            for await _ in held {}
            return Response(status: .ok)
        }) { port async throws in
            let calls = CheckedCalls(mayCallLoopback: true, limits: short)
            let slow = await Self.reason { try await calls.send(Self.get("http://127.0.0.1:\(port)/")) }
            #expect(slow.hasPrefix("it does not answer"))
            // The head of an answer is none.
            let body = await Self.reason { try await calls.send(Self.get("http://127.0.0.1:\(port)/body")) }
            #expect(body.hasPrefix("it does not answer"))
            holding.finish()
            holdingBody.finish()
        }
        let closed = CheckedCalls(mayCallLoopback: true, limits: short)
        let none = await Self.reason { try await closed.send(Self.get("http://127.0.0.1:1/")) }
        #expect(none == "there is no connection to it" || none.hasPrefix("it does not answer ("))
        let looking = DispatchSemaphore(value: 0)
        let names = CheckedCalls(limits: short) { _ in
            looking.wait()
            return ["192.0.2.1"]
        }
        let late = await Self.reason { try await names.send(Self.get("https://slow.example/")) }
        #expect(late == "its host slow.example is not found in time")
        looking.signal()
    }

    private static let privateAddresses = [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.9.9.9", "169.254.169.254", "172.16.0.1",
        "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
        "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "100::1",
        "fc00::1", "fd12::1", "fe80::1", "ff02::1", "2001:db8::1", "2001::1", "2002:a00:1::1", "not an address",
    ]

    @Test("whatever name it has, a private address is not called", arguments: privateAddresses)
    func privateNames(address: String) async throws {
        // One that is public beside it changes nothing.
        for addresses in [[address], ["93.184.215.14", address]] {
            let calls = CheckedCalls { _ in addresses }
            let reason = await Self.reason { try await calls.send(Self.get("https://rp.example/")) }
            #expect(reason.hasPrefix("its host rp.example stands for \(address), which is private"))
            #expect(reason.contains("--outgoing-networks"))
        }
    }

    @Test(
        "nor is one that is written as an address, however it is written",
        arguments: [
            "https://127.0.0.1/", "https://10.0.0.1/", "https://[::1]/", "https://[fd00::1]/",
            "https://169.254.169.254/",
            "http://127.0.0.1/", "https://2130706433/", "https://127.1/", "https://0x7f.1/", "https://localhost/",
            "https://[::ffff:127.0.0.1]/",
        ])
    func privateLiterals(address: String) async throws {
        let reason = await Self.reason { try await CheckedCalls().send(Self.get(address)) }
        #expect(reason.contains("which is private") || reason.hasPrefix("its "), "\(reason)")
        #expect(!reason.hasPrefix("answered"))
    }

    @Test(
        "an address that is not https, or not plain, is not called",
        arguments: [
            "http://rp.example/", "http://10.0.0.1/", "ftp://rp.example/", "https://", "https://a@rp.example/",
            "https://rp.example/#a", "file:///etc/passwd", "com.example.app:/x", "https://r%70.example/", "",
        ])
    func otherSchemes(address: String) async throws {
        let lookedUp = Mutex(false)
        let calls = CheckedCalls(allowed: [], mayCallLoopback: true) { _ in
            lookedUp.withLock { $0 = true }
            return ["127.0.0.1"]
        }
        let reason = await Self.reason { try await calls.send(Self.get(address)) }
        #expect(reason.hasPrefix("its address is not") || reason.hasPrefix("its host has letters"), "\(reason)")
        #expect(!lookedUp.withLock { $0 })
    }

    @Test(
        "a network that the operator allows is called, at the address that was judged, and the certificate is the name's"
    )
    func names() async throws {
        let files = try IssuedFiles()
        try files.issue("right", for: "rp.example")
        try files.issue("wrong", for: "other.example")
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(files.path("authority")))]
        let trusting = tls
        let blocks = [try #require(AddressBlock("127.0.0.0/8"))]
        for name in ["right", "wrong"] {
            let identity = try TLSIdentity(certificate: files.path(name), key: files.path("\(name)-key"))
            try await CalledService.run(
                identity,
                answer: { request, _ in
                    Response(
                        status: request.head.authority?.hasPrefix("rp.example") == true ? .ok : .misdirectedRequest)
                }
            ) { port async throws in
                let count = Mutex(0)
                let calls = CheckedCalls(allowed: blocks, tls: trusting) { _ in
                    // A name that stands for another address a moment later.
                    count.withLock { count in
                        count += 1
                        return count == 1 ? ["127.0.0.1"] : ["10.0.0.1"]
                    }
                }
                let first = await Self.reason { try await calls.send(Self.get("https://RP.example:\(port)/")) }
                #expect(
                    first == (name == "right" ? "answered 200" : "its certificate is for another name than rp.example"))
                #expect(count.withLock { $0 } == 1, "looked up once")
                let second = await Self.reason { try await calls.send(Self.get("https://rp.example:\(port)/")) }
                #expect(second.contains("10.0.0.1, which is private"))
                let distrusting = CheckedCalls(allowed: blocks) { _ in ["127.0.0.1"] }
                let third = await Self.reason { try await distrusting.send(Self.get("https://rp.example:\(port)/")) }
                #expect(third.hasPrefix("its certificate is not one that this machine trusts"))
            }
        }
    }

    @Test("a host is reached at any of its addresses, each of which is judged; a call that was sent is not sent again")
    func addresses() async throws {
        let files = try IssuedFiles()
        try files.issue("right", for: "rp.example")
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(files.path("authority")))]
        let trusting = tls
        let blocks = [try #require(AddressBlock("127.0.0.0/8"))]
        let identity = try TLSIdentity(certificate: files.path("right"), key: files.path("right-key"))
        let count = Mutex(0)
        var limits = Limits()
        limits.oauth.outgoingCallTime = Self.longTime
        let patient = limits
        try await CalledService.run(
            identity,
            answer: { request, _ in
                count.withLock { $0 += 1 }
                return Response(status: request.uri.path == "/busy" ? .serviceUnavailable : .ok)
            }
        ) { port async throws in
            // Nobody listens at the first two.
            let calls = CheckedCalls(allowed: blocks, limits: patient, tls: trusting) { _ in
                ["127.0.0.2", "127.0.0.3", "127.0.0.1"]
            }
            let first = await Self.reason { try await calls.send(Self.get("https://rp.example:\(port)/")) }
            #expect(first == "answered 200")
            let twice = CheckedCalls(allowed: blocks, limits: patient, tls: trusting) { _ in ["127.0.0.1", "127.0.0.1"]
            }
            let busy = await Self.reason { try await twice.send(Self.get("https://rp.example:\(port)/busy")) }
            #expect(busy == "answered 503" && count.withLock { $0 } == 2)
            let none = CheckedCalls(allowed: blocks, limits: patient, tls: trusting) { _ in ["127.0.0.2", "127.0.0.3"] }
            let gone = await Self.reason { try await none.send(Self.get("https://rp.example:\(port)/")) }
            #expect(gone == "there is no connection to it")
            // Of many addresses the first four are tried.
            let many = CheckedCalls(allowed: blocks, limits: patient, tls: trusting) { _ in
                (2...5).map { "127.0.0.\($0)" } + ["127.0.0.1"]
            }
            #expect(
                await Self.reason { try await many.send(Self.get("https://rp.example:\(port)/")) }
                    == "there is no connection to it")
            let mixed = CheckedCalls(allowed: blocks, limits: patient, tls: trusting) { _ in ["127.0.0.1", "10.0.0.1"] }
            let refused = await Self.reason { try await mixed.send(Self.get("https://rp.example:\(port)/")) }
            #expect(refused.contains("10.0.0.1, which is private"))
        }
    }

    @Test("of one host so many calls are under way at once, and no more")
    func share() async throws {
        var limits = Limits()
        limits.oauth.outgoingCallsPerHost = 2
        limits.oauth.outgoingCallTime = Self.longTime
        let gate = Gate()
        let few = limits
        try await CalledService.run(answer: { _, _ in
            await gate.pass()
            return Response(status: .ok)
        }) { port async throws in
            let calls = CheckedCalls(mayCallLoopback: true, limits: few)
            try await withThrowingTaskGroup(of: Int.self) { group in
                var arrivals = gate.arrivals.makeAsyncIterator()
                for _ in 0..<2 {
                    group.addTask { try await calls.send(Self.get("http://127.0.0.1:\(port)/")).status }
                    _ = await arrivals.next()
                }
                let third = await Self.reason { try await calls.send(Self.get("http://127.0.0.1:\(port)/")) }
                #expect(third == "too many calls are under way, 2 to 127.0.0.1")
                await gate.open()
                for try await status in group { #expect(status == 200) }
            }
            async let again = calls.send(Self.get("http://127.0.0.1:\(port)/"))
            var arrivals = gate.arrivals.makeAsyncIterator()
            _ = await arrivals.next()
            await gate.open()
            #expect(try await again.status == 200)
        }
    }

    @Test("calls for clients' documents and calls to clients' addresses take no place of each other")
    func documentPool() async throws {
        var limits = Limits()
        (limits.oauth.outgoingCallsPerHost, limits.oauth.outgoingCalls, limits.oauth.clientDocumentCalls) = (9, 2, 1)
        limits.oauth.outgoingCallTime = Self.longTime
        let gate = Gate()
        let few = limits
        try await CalledService.run(answer: { _, _ in
            await gate.pass()
            return Response(status: .ok, headers: [.contentType: "Application/JSON; charset=utf-8"])
        }) { port async throws in
            let calls = CheckedCalls(mayCallLoopback: true, limits: few)
            let address = "http://127.0.0.1:\(port)/"
            let document = OutgoingCall(to: address, longestAnswer: 100, party: .clientDocument)
            try await withThrowingTaskGroup(of: OutgoingAnswer.self) { group in
                var arrivals = gate.arrivals.makeAsyncIterator()
                for call in [document, Self.get(address), Self.get(address)] {
                    group.addTask { try await calls.send(call) }
                    _ = await arrivals.next()
                }
                for (call, count) in [(document, 1), (Self.get(address), 2)] {
                    let refused = await Self.reason { try await calls.send(call) }
                    #expect(refused == "too many calls are under way, \(count) to 127.0.0.1")
                }
                await gate.open()
                for try await answer in group { #expect(answer.mediaType == "application/json") }
                // A call that has ended leaves its place.
                group.addTask { try await calls.send(document) }
                _ = await arrivals.next()
                await gate.open()
                for try await answer in group { #expect(answer.status == 200) }
            }
        }
    }

    @Test("calls to other providers have places of their own: clients' addresses do not use them up, nor the other way")
    func pools() async throws {
        var limits = Limits()
        (limits.oauth.outgoingCallsPerHost, limits.oauth.outgoingCalls) = (2, 2)
        limits.oauth.outgoingCallTime = Self.longTime
        let gate = Gate()
        let few = limits
        try await CalledService.run(answer: { _, _ in
            await gate.pass()
            return Response(status: .ok)
        }) { port async throws in
            let calls = CheckedCalls(mayCallLoopback: true, limits: few)
            let address = "http://127.0.0.1:\(port)/"
            let person = OutgoingCall(to: address, longestAnswer: 100, party: .provider)
            try await withThrowingTaskGroup(of: Int.self) { group in
                var arrivals = gate.arrivals.makeAsyncIterator()
                // Nine people at once, who come while both places of clients are taken.
                for call in Array(repeating: Self.get(address), count: 2) + Array(repeating: person, count: 9) {
                    group.addTask { try await calls.send(call).status }
                    _ = await arrivals.next()
                }
                let refused = await Self.reason { try await calls.send(Self.get(address)) }
                #expect(refused == "too many calls are under way, 2 to 127.0.0.1")
                await gate.open()
                for try await status in group { #expect(status == 200) }
                // Two people have left the clients' places to clients.
                for call in [person, person, Self.get(address)] {
                    group.addTask { try await calls.send(call).status }
                    _ = await arrivals.next()
                }
                await gate.open()
                for try await status in group { #expect(status == 200) }
            }
        }
    }
}

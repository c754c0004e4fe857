import ArgumentParser
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Testing
import UAFRelyingParty
import _Primitives

@testable import PhoneCommand

/// A server behind TLS that counts the bytes after its handshakes, and answers each request with the same bytes.
private final class CountingServer: Sendable {
    /// Everything that a server has counted.
    struct Counts: Equatable {
        var connections = 0
        var closed = 0
        var bytes = 0
    }

    private let counts = Mutex(Counts())
    private let answer: String
    private let channel = Mutex<(any Channel)?>(nil)

    /// The address of the server.
    var url: URL {
        get throws {
            let port = self.channel.withLock { $0?.localAddress?.port }
            return try #require(URL(string: "https://localhost:\(port ?? 0)/start"))
        }
    }

    private init(answer: String) { self.answer = answer }

    /// Runs a server while `body` runs. The server shows a chain: its own certificate and the authority's certificate.
    static func run(
        _ identity: TestAuthority.Identity, of authority: TestAuthority, answer: String = "200 OK",
        _ body: (CountingServer) async throws -> Void
    ) async throws {
        let server = CountingServer(answer: answer)
        let chain = try [identity.certificate, try authority.der].map { bytes in
            NIOSSLCertificateSource.certificate(try NIOSSLCertificate(bytes: bytes, format: .der))
        }
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: chain,
                privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem))))
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOSSLServerHandler(context: context), Counter(server: server))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.channel.withLock { $0 = channel }
        let result: Result<Void, any Error>
        do { result = .success(try await body(server)) } catch { result = .failure(error) }
        try await channel.close().get()
        try result.get()
    }

    /// Returns the counts when at least a number of connections was made, and every connection has ended.
    func settled(_ connections: Int = 2) async -> Counts {
        while true {
            let counts = self.counts.withLock { $0 }
            if counts.connections >= connections, counts.connections == counts.closed { return counts }
            await Task.yield()
        }
    }

    private final class Counter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let server: CountingServer
        private var head = ""

        init(server: CountingServer) { self.server = server }

        func channelActive(context: ChannelHandlerContext) { self.server.counts.withLock { $0.connections += 1 } }
        func channelInactive(context: ChannelHandlerContext) { self.server.counts.withLock { $0.closed += 1 } }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let buffer = self.unwrapInboundIn(data)
            self.server.counts.withLock { $0.bytes += buffer.readableBytes }
            self.head += String(buffer: buffer)
            guard self.head.hasSuffix("\r\n\r\n") else { return }
            let answer = "HTTP/1.1 \(self.server.answer)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            context.close(promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

@Suite("Operations parity 97, decision 117: the terminal phone's network enforces pins over real TLS")
struct TLSPinTests {
    /// A pin that no key of these tests has.
    private static let foreign = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    private func request(_ url: URL) -> TransportRequest {
        TransportRequest(
            method: "GET", url: url, headers: [("Authorization", "Bearer token")], body: [], timeout: .seconds(20))
    }

    /// Sends a request by both functions of a network, each over a connection of its own. Returns the errors.
    private func errors(_ network: any Transport, _ url: URL) async -> [TransportError?] {
        let request = self.request(url)
        var errors: [TransportError?] = []
        for send in [
            { _ = try await network.send(request) }, { try await network.stream(request) { _ in } },
        ] as [() async throws -> Void] {
            do {
                try await send()
                errors.append(nil)
            } catch {
                errors.append(error as? TransportError)
            }
        }
        return errors
    }

    @Test("A server with a pinned key gets the request, by a key in use and by a key in reserve")
    func pinned() async throws {
        let authority = try TestAuthority()
        let (now, reserve) = (try authority.issue(), try authority.issue())
        let pins = try TLSPins([now.pin], backupPins: [reserve.pin])
        try await authority.withFile { file in
            let network = try HTTPTransport(caFile: file).pinned(to: pins)
            for identity in [now, reserve] {
                try await CountingServer.run(identity, of: authority) { server in
                    let errors = await self.errors(network, try server.url)
                    #expect(errors == [nil, nil])
                    let counts = await server.settled()
                    #expect(counts.connections == 2 && counts.bytes > 2 * "GET /start HTTP/1.1".utf8.count)
                }
            }
        }
    }

    @Test("A server with another key gets no byte after the handshake, although the phone trusts its certificate")
    func anotherKey() async throws {
        let authority = try TestAuthority()
        let (pinned, other) = (try authority.issue(), try authority.issue())
        let pins = try TLSPins([pinned.pin], backupPins: [Self.foreign])
        try await authority.withFile { file in
            let open = try HTTPTransport(caFile: file)
            let network = try open.pinned(to: pins)
            try await CountingServer.run(other, of: authority) { server in
                let errors = await self.errors(network, try server.url)
                #expect(errors.allSatisfy { $0?.code == .tlsPinMismatch && $0?.isUnsent == true })
                #expect(await server.settled() == CountingServer.Counts(connections: 2, closed: 2, bytes: 0))
                // The same server over the network without pins: the count is able to count.
                let openErrors = await self.errors(open, try server.url)
                #expect(openErrors == [nil, nil])
                #expect(await server.settled(4).bytes > 0)
            }
        }
    }

    @Test("The key of the authority, which is in the chain and is not the server's own key, is no match")
    func authorityKey() async throws {
        let authority = try TestAuthority()
        let pins = try TLSPins([authority.pin], backupPins: [Self.foreign])
        try await authority.withFile { file in
            let network = try HTTPTransport(caFile: file).pinned(to: pins)
            try await CountingServer.run(try authority.issue(), of: authority) { server in
                let errors = await self.errors(network, try server.url)
                #expect(errors.allSatisfy { $0?.code == .tlsPinMismatch })
                #expect(await server.settled().bytes == 0)
            }
        }
    }

    @Test("Pins replace no verification: a pinned key in a certificate that is not trusted, or for another name")
    func verification() async throws {
        let (authority, stranger) = (try TestAuthority(), try TestAuthority())
        let untrusted = try stranger.issue()
        let misnamed = try authority.issue(for: "id.example.com")
        let pins = try TLSPins([untrusted.pin], backupPins: [misnamed.pin])
        try await authority.withFile { file in
            let network = try HTTPTransport(caFile: file).pinned(to: pins)
            for (identity, issuer) in [(untrusted, stranger), (misnamed, authority)] {
                try await CountingServer.run(identity, of: issuer) { server in
                    let errors = await self.errors(network, try server.url)
                    #expect(errors.allSatisfy { $0?.code == .untrustedServer })
                    #expect(await server.settled().bytes == 0)
                }
            }
        }
    }

    @Test("A redirect to another host is the answer, and the other host gets no connection")
    func redirect() async throws {
        let authority = try TestAuthority()
        let (pinned, other) = (try authority.issue(), try authority.issue())
        let pins = try TLSPins([pinned.pin], backupPins: [Self.foreign])
        try await authority.withFile { file in
            let open = try HTTPTransport(caFile: file)
            let network = try open.pinned(to: pins)
            try await CountingServer.run(other, of: authority) { target in
                let answer = "302 Found\r\nLocation: \(try target.url.absoluteString)"
                try await CountingServer.run(pinned, of: authority, answer: answer) { server in
                    let response = try await network.send(self.request(try server.url))
                    #expect(response.status == 302)
                }
                // An app that goes there itself is refused. These two are the only connections of the other host.
                let errors = await self.errors(network, try target.url)
                #expect(errors.first??.code == .tlsPinMismatch)
                #expect(await target.settled() == CountingServer.Counts(connections: 2, closed: 2, bytes: 0))
            }
        }
    }

    @Test("An address of this machine without TLS gets nothing from a network with pins")
    func withoutTLS() async throws {
        let pins = try TLSPins([Self.foreign], backupPins: ["AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="])
        let reads = Reads()
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(PlainCounter(reads))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let url = try #require(URL(string: "http://127.0.0.1:\(channel.localAddress?.port ?? 0)/"))
        let errors = await self.errors(try HTTPTransport(caFile: nil).pinned(to: pins), url)
        #expect(errors.allSatisfy { $0?.code == .tlsPinMismatch && $0?.isUnsent == true })
        try await channel.close().get()
        #expect(reads.count == 0)
    }

    @Test("A whole phone with pins enrols and signs in, and after a change to a foreign key no token leaves")
    func phone() async throws {
        let authority = try TestAuthority()
        let (now, reserve, other) = (try authority.issue(), try authority.issue(), try authority.issue())
        let front = TLSFront(now)
        try await authority.withFile { file in
            try await front.withServer(.ignore) { server, address in
                var configuration = ClientConfiguration(baseURL: address)
                configuration.facetID = "linux:program:countersign-phone"
                configuration.tlsPins = try TLSPins([now.pin], backupPins: [reserve.pin])
                let phone = try await VirtualPhone(
                    configuration: configuration, transport: try HTTPTransport(caFile: file), clock: server.clock)
                try await server.enroll(phone)
                let enrolment = try await server.assembly.ceremonies.enrolments.createEnrolmentLink(
                    username: "alice", by: "test")
                let payload = try OutOfBandPayload(link: enrolment.link)

                front.show(other)
                let reached = front.requested.count
                await #expect(throws: OperationError(.tlsPinMismatch)) { _ = try await phone.redeem(payload) }
                #expect(front.requested.count == reached)
                // The token is unused: over a key in reserve the server accepts the token.
                front.show(reserve)
                _ = try await phone.redeem(payload)
                #expect(front.requested.count > reached)
            }
        }
    }

    @Test("The terminal phone's own options: --tls-pin needs --tls-backup-pin, and ends before anything is sent")
    func options() async throws {
        let authority = try TestAuthority()
        let (pinned, other) = (try authority.issue(), try authority.issue())
        for line in [["--tls-pin", pinned.pin], ["--tls-backup-pin", pinned.pin], ["--tls-pin", "x"]] {
            #expect { _ = try HTTPTransport.network(try PhoneOptions.parse(line)) } throws: {
                ($0 as? Refusal)?.status == .usage
            }
        }
        let line = ["--tls-pin", pinned.pin, "--tls-backup-pin", Self.foreign]
        try await authority.withFile { file in
            let network = try HTTPTransport.network(try PhoneOptions.parse(line + ["--ca-file", file]))
            try await CountingServer.run(other, of: authority) { server in
                let error = await self.errors(network, try server.url).first ?? nil
                #expect(error.map(Refusal.init)?.reason == "tls-pin-mismatch")
                #expect(await server.settled().bytes == 0)
            }
            try await CountingServer.run(pinned, of: authority) { server in
                let errors = await self.errors(network, try server.url)
                #expect(errors == [nil, nil])
            }
        }
    }
}

/// The number of reads of a server.
private final class Reads: Sendable {
    private let number = Mutex(0)

    var count: Int { self.number.withLock { $0 } }
    func note() { self.number.withLock { $0 += 1 } }
}

/// Counts the reads of a connection without TLS.
private final class PlainCounter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let reads: Reads

    init(_ reads: Reads) { self.reads = reads }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { self.reads.note() }
}

import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Push
import SwiftASN1
import Synchronization
import X509

/// A certificate authority that lives as long as its test.
struct PushAuthority {
    private let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    private let name: DistinguishedName
    private let certificate: Certificate

    init() throws {
        self.name = try DistinguishedName { CommonName("Test authority") }
        self.certificate = try Self.certificate(
            self.key.publicKey, self.name, issuer: self.name, signedBy: self.key,
            try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true))
            })
    }

    /// What a client trusts that trusts this authority alone.
    func client() throws -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates([try NIOSSLCertificate(bytes: try Self.der(self.certificate), format: .der)])
        return tls
    }

    /// A server for a host.
    func server(for host: String) throws -> TLSConfiguration {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let certificate = try Self.certificate(
            key.publicKey, try DistinguishedName { CommonName(host) }, issuer: self.name, signedBy: self.key,
            try Certificate.Extensions { SubjectAlternativeNames([.dnsName(host)]) })
        return .makeServerConfiguration(
            certificateChain: [.certificate(try NIOSSLCertificate(bytes: try Self.der(certificate), format: .der))],
            privateKey: .privateKey(
                try NIOSSLPrivateKey(bytes: Array(try key.serializeAsPEM().pemString.utf8), format: .pem)))
    }

    private static func der(_ certificate: Certificate) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }

    private static func certificate(
        _ key: Certificate.PublicKey, _ subject: DistinguishedName, issuer: DistinguishedName,
        signedBy signer: Certificate.PrivateKey, _ extensions: Certificate.Extensions
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key,
            notValidBefore: Date(timeIntervalSinceNow: -3600), notValidAfter: Date(timeIntervalSinceNow: 86_400),
            issuer: issuer, subject: subject, signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions,
            issuerPrivateKey: signer)
    }
}

/// A push service over TLS on this machine that answers, or behaves as a bad network does.
final class StandIn: Sendable {
    /// What becomes of a request.
    enum Behaviour: Sendable {
        case answer(Int, body: String = "", retryAfter: String? = nil)
        /// The same, a moment later.
        case late(Int)
        /// The same answer two times for one request.
        case twice(Int)
        /// Half of an answer, and the end of the connection.
        case half
        /// A body without an end.
        case endless
        /// Nothing.
        case silence
        /// The end of the connection.
        case close
    }

    /// A request as it came.
    struct Request: Sendable {
        let path: String
        let headers: HTTPHeaders
        let body: [UInt8]
    }

    typealias Script = @Sendable (Request) -> Behaviour

    let port: Int
    private let channel: any Channel
    private let noted: Notes

    /// The requests that came.
    var requests: [Request] { self.noted.all }
    var address: String { "https://localhost:\(self.port)" }

    private final class Notes: Sendable {
        private let requests = Mutex<[Request]>([])
        var all: [Request] { self.requests.withLock { $0 } }
        func add(_ request: Request) { self.requests.withLock { $0.append(request) } }
    }

    private init(channel: any Channel, port: Int, noted: Notes) {
        self.channel = channel
        self.port = port
        self.noted = noted
    }

    /// Runs a stand-in while `body` runs.
    static func run<Value: Sendable>(
        _ tls: TLSConfiguration, _ script: @escaping Script, _ body: (StandIn) async throws -> Value
    ) async throws -> Value {
        var tls = tls
        tls.applicationProtocols = ["http/1.1"]
        let (context, notes) = (try NIOSSLContext(configuration: tls), Notes())
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                        withPipeliningAssistance: false, withErrorHandling: false)
                    try channel.pipeline.syncOperations.addHandler(Handler(script, notes))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let standIn = StandIn(channel: channel, port: channel.localAddress?.port ?? 0, noted: notes)
        let result: Result<Value, any Error>
        do { result = .success(try await body(standIn)) } catch { result = .failure(error) }
        try await channel.close()
        return try result.get()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let script: Script
        private let notes: Notes
        private var head: HTTPRequestHead?
        private var body: [UInt8] = []

        init(_ script: @escaping Script, _ notes: Notes) {
            self.script = script
            self.notes = notes
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .head(let head): (self.head, self.body) = (head, [])
            case .body(let buffer): self.body += Array(buffer.readableBytesView)
            case .end:
                guard let head else { return }
                let request = Request(path: head.uri, headers: head.headers, body: self.body)
                self.notes.add(request)
                self.behave(self.script(request), context)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func behave(_ behaviour: Behaviour, _ context: ChannelHandlerContext) {
            switch behaviour {
            case .answer(let status, let body, let retryAfter): self.write(status, body, retryAfter, context)
            case .late(let status):
                context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(50)) {
                    self.write(status, "", nil, context)
                }
            case .twice(let status):
                self.write(status, "", nil, context)
                self.write(status, "", nil, context)
            case .half:
                self.writeHead(200, length: 1000, nil, context)
                context.writeAndFlush(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: "{"))))).whenComplete {
                    [channel = context.channel] _ in channel.close(promise: nil)
                }
            case .endless:
                self.writeHead(200, length: 1 << 30, nil, context)
                let megabyte = ByteBuffer(repeating: 0x20, count: 1 << 20)
                context.writeAndFlush(self.wrapOutboundOut(.body(.byteBuffer(megabyte))), promise: nil)
            case .silence: break
            case .close: context.close(promise: nil)
            }
        }

        private func writeHead(_ status: Int, length: Int, _ retryAfter: String?, _ context: ChannelHandlerContext) {
            var headers = HTTPHeaders([("Content-Length", String(length))])
            if let retryAfter { headers.add(name: "Retry-After", value: retryAfter) }
            let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: headers)
            context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        }

        private func write(_ status: Int, _ body: String, _ retryAfter: String?, _ context: ChannelHandlerContext) {
            self.writeHead(status, length: body.utf8.count, retryAfter, context)
            context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
            context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}

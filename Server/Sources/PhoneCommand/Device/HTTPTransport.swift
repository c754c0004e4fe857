import AsyncHTTPClient
import Countersign
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization
import _Primitives

/// The phone's network: sends the SDK's requests over async-http-client, with an additional certificate authority on
/// request.
///
/// Each exchange has a separate client, and therefore a separate connection. So the certificate with an answer belongs
/// to the connection of the answer. With a pool of connections, nobody knows which connection served a request. And
/// without a connection, nothing of the request has left this machine.
struct HTTPTransport: Transport {
    private let tls: TLSConfiguration

    /// Makes the network. Throws if the file of the certificate authority cannot be read.
    init(caFile: String?) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        if let caFile { tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(caFile))] }
        self.tls = tls
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let connection = ExchangeConnection(isEncrypted: request.url.scheme?.asciiLowercased == "https")
        var configuration = self.configuration(for: request.url)
        configuration.http1_1ConnectionDebugInitializer = { connection.note($0) }
        configuration.http2ConnectionDebugInitializer = { connection.note($0) }
        return try await Self.withClient(configuration) { client in
            do {
                var response = try await Self.send(request, over: client)
                response.serverCertificate = connection.certificate
                return response
            } catch let error as TransportError {
                throw TransportError(error.code, error.reason, isUnsent: !connection.isReady)
            }
        }
    }

    func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value {
        try await Self.withClient(self.configuration(for: request.url)) { client in
            let response = try await Self.translating(request) { try await Self.execute(request, over: client) }
            return try await read(
                TransportStream(
                    status: Int(response.status.code),
                    headers: response.headers.map { (name: $0.name, value: $0.value) },
                    pieces: Pieces(body: response.body, request: request)))
        }
    }

    /// Gives a client of its own to `body`, and closes the client's connection afterwards.
    private static func withClient<Value: Sendable>(
        _ configuration: HTTPClient.Configuration, _ body: (HTTPClient) async throws -> Value
    ) async throws -> Value {
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let result: Result<Value, any Error>
        do { result = .success(try await body(client)) } catch { result = .failure(error) }
        // A client that is not shut down ends the program.
        try? await client.shutdown()
        return try result.get()
    }

    private func configuration(for url: URL) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: self.tls, redirectConfiguration: .disallow,
            timeout: .init(connect: PhoneLimits.connectTime))
        // A missing or untrusted server is reported at once, without further tries until the time is over.
        configuration.connectionPool.retryConnectionEstablishment = false
        // Names below `localhost` belong to this machine (RFC 6761, section 6.3). Not every system's resolver knows
        // this rule.
        if let host = url.host(), host.asciiLowercased.hasBytes(atEnd: ".localhost") {
            configuration.dnsOverride = [host: "127.0.0.1"]
        }
        return configuration
    }

    private static func send(_ request: TransportRequest, over client: HTTPClient) async throws -> TransportResponse {
        try await self.translating(request) {
            let response = try await self.execute(request, over: client)
            let body = try await response.body.collect(upTo: request.maximumResponseLength)
            return TransportResponse(
                status: Int(response.status.code),
                headers: response.headers.map { (name: $0.name, value: $0.value) },
                body: Array(body.readableBytesView))
        }
    }

    /// Sends a request. Returns when status and header fields of the answer have arrived.
    private static func execute(_ request: TransportRequest, over client: HTTPClient) async throws
        -> HTTPClientResponse
    {
        var outgoing = HTTPClientRequest(url: request.url.absoluteString)
        outgoing.method = HTTPMethod(rawValue: request.method)
        for header in request.headers { outgoing.headers.add(name: header.name, value: header.value) }
        if !request.body.isEmpty { outgoing.body = .bytes(request.body) }
        let timeout = TimeAmount.nanoseconds(
            request.timeout.components.seconds * 1_000_000_000 + request.timeout.components.attoseconds / 1_000_000_000)
        return try await client.execute(outgoing, timeout: timeout)
    }

    /// Runs `body`, and throws the errors of the network as the SDK knows them.
    fileprivate static func translating<Value>(
        _ request: TransportRequest, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch is NIOTooManyBytesError {
            throw TransportError(.tooLarge, "more than \(request.maximumResponseLength) bytes")
        } catch let error as HTTPClientError {
            let isTimeout = [.connectTimeout, .readTimeout, .deadlineExceeded].contains(error)
            throw TransportError(
                isTimeout ? .timedOut : .unreachable, "\(Self.place(request.url)): \(error.shortDescription)")
        } catch is NIOSSLExtraError {
            throw TransportError(.untrustedServer, "the certificate is for another name")
        } catch is NIOSSLError {
            throw TransportError(.untrustedServer, "the certificate is not trusted")
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw TransportError(.unreachable, "no connection to \(Self.place(request.url))")
        }
    }

    /// Returns the name and port of the server that an error is about. The rest of an address may be a secret.
    private static func place(_ url: URL) -> String {
        [url.host(), url.port.map(String.init)].compactMap(\.self).joined(separator: ":")
    }
}

/// The body of an answer while the body arrives. The network waits for the reader.
private struct Pieces: AsyncSequence {
    let body: HTTPClientResponse.Body
    let request: TransportRequest

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(body: self.body.makeAsyncIterator(), request: self.request)
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        var body: HTTPClientResponse.Body.AsyncIterator
        let request: TransportRequest

        mutating func next() async throws -> [UInt8]? {
            guard let piece = try await HTTPTransport.translating(self.request, { try await self.body.next() }) else {
                // The body of a cancelled task ends without an error.
                try Task.checkCancellation()
                return nil
            }
            guard piece.readableBytes <= self.request.maximumResponseLength else {
                throw TransportError(.tooLarge, "more than \(self.request.maximumResponseLength) bytes")
            }
            return Array(piece.readableBytesView)
        }
    }
}

/// The single connection of an exchange. A connection is noted after the handshake and before the request is sent. By
/// then the trust is decided, and not here.
private final class ExchangeConnection: Sendable {
    private struct State {
        var isReady = false
        var certificate: [UInt8]?
    }

    private let isEncrypted: Bool
    private let state = Mutex(State())

    init(isEncrypted: Bool) { self.isEncrypted = isEncrypted }

    /// `true` if the request may have been sent; `false` if it certainly was not.
    var isReady: Bool { self.state.withLock { $0.isReady } }
    /// The certificate that the server has shown; `nil` for an unencrypted connection.
    var certificate: [UInt8]? { self.state.withLock { $0.certificate } }

    /// Notes a connection, and its certificate over TLS. If a connection over TLS shows no certificate, fails and
    /// closes the connection.
    func note(_ channel: any Channel) -> EventLoopFuture<Void> {
        guard self.isEncrypted else {
            self.state.withLock { $0.isReady = true }
            return channel.eventLoop.makeSucceededVoidFuture()
        }
        return channel.nioSSL_peerCertificate().flatMapThrowing { certificate in
            guard let certificate else { throw TransportError(.untrustedServer, "no certificate") }
            let bytes = try certificate.toDERBytes()
            self.state.withLock { $0 = State(isReady: true, certificate: bytes) }
        }
    }
}

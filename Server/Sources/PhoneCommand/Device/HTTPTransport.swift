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
    private var pins: TLSPins?

    /// Makes the network. Throws if the file of the certificate authority cannot be read.
    init(caFile: String?) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        if let caFile { tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(caFile))] }
        self.tls = tls
    }

    /// Makes this machine's network for the options of a command: with the additional certificate authority, and with
    /// the pins. Throws ``Refusal``.
    static func network(_ options: PhoneOptions) throws -> any Transport {
        let network: HTTPTransport
        do {
            network = try HTTPTransport(caFile: options.caFile)
        } catch {
            throw Refusal.notFound("no-such-file", "There is no certificate authority in \(options.caFile ?? "").")
        }
        guard !options.tlsPin.isEmpty || !options.tlsBackupPin.isEmpty else { return network }
        let pins: TLSPins
        do throws(TLSPinsError) {
            pins = try TLSPins(options.tlsPin, backupPins: options.tlsBackupPin)
        } catch {
            throw Refusal.usage("--tls-pin and --tls-backup-pin: \(error.reason).")
        }
        return try network.pinned(to: pins)
    }

    func pinned(to pins: TLSPins) throws -> any Transport {
        var transport = self
        transport.pins = pins
        return transport
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try await self.withConnection(for: request) { client, connection in
            do {
                var response = try await Self.send(request, over: client)
                response.serverCertificate = connection.certificate
                return response
            } catch let error as TransportError {
                throw connection.refusal ?? TransportError(error.code, error.reason, isUnsent: !connection.isReady)
            }
        }
    }

    func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value {
        try await self.withConnection(for: request) { client, connection in
            let response: HTTPClientResponse
            do {
                response = try await Self.translating(request) { try await Self.execute(request, over: client) }
            } catch {
                throw connection.refusal ?? error
            }
            return try await read(
                TransportStream(
                    status: Int(response.status.code),
                    headers: response.headers.map { (name: $0.name, value: $0.value) },
                    pieces: Pieces(body: response.body, request: request)))
        }
    }

    /// Gives a client of its own to `body`, with the client's only connection, and closes the connection afterwards.
    private func withConnection<Value: Sendable>(
        for request: TransportRequest, _ body: (HTTPClient, ExchangeConnection) async throws -> Value
    ) async throws -> Value {
        let connection = ExchangeConnection(
            isEncrypted: request.url.scheme?.asciiLowercased == "https", pins: self.pins)
        var configuration = self.configuration(for: request.url)
        configuration.http1_1ConnectionDebugInitializer = { connection.note($0) }
        configuration.http2ConnectionDebugInitializer = { connection.note($0) }
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let result: Result<Value, any Error>
        do { result = .success(try await body(client, connection)) } catch { result = .failure(error) }
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
        // Over HTTP/2 a client speaks before the key of the connection is compared.
        if self.pins != nil { configuration.httpVersion = .http1Only }
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
/// then the certificate is verified. Here the certificate's key is compared with the pins.
private final class ExchangeConnection: Sendable {
    private struct State {
        var isReady = false
        var certificate: [UInt8]?
        var refusal: TransportError?
    }

    private let isEncrypted: Bool
    private let pins: TLSPins?
    private let state = Mutex(State())

    init(isEncrypted: Bool, pins: TLSPins?) {
        self.isEncrypted = isEncrypted
        self.pins = pins
    }

    /// `true` if the request may have been sent; `false` if it certainly was not.
    var isReady: Bool { self.state.withLock { $0.isReady } }
    /// The certificate that the server has shown; `nil` for an unencrypted connection.
    var certificate: [UInt8]? { self.state.withLock { $0.certificate } }

    /// The reason why the connection is not used; `nil` for a connection that is used. Nothing was sent.
    var refusal: TransportError? { self.state.withLock { $0.refusal } }

    /// Notes a connection, and its certificate over TLS. Fails and closes the connection if a connection over TLS shows
    /// no certificate, or if there are pins and the connection has no pinned key.
    func note(_ channel: any Channel) -> EventLoopFuture<Void> {
        guard self.isEncrypted else {
            guard self.pins == nil else { return self.refuse(channel, .tlsPinMismatch, "the address has no TLS") }
            self.state.withLock { $0.isReady = true }
            return channel.eventLoop.makeSucceededVoidFuture()
        }
        return channel.nioSSL_peerCertificate().flatMap { certificate in
            guard let bytes = try? certificate?.toDERBytes() else {
                return self.refuse(channel, .untrustedServer, "no certificate")
            }
            guard self.pins?.includeKey(ofCertificate: bytes) ?? true else {
                return self.refuse(channel, .tlsPinMismatch, "the server's key is not pinned")
            }
            self.state.withLock { $0 = State(isReady: true, certificate: bytes) }
            return channel.eventLoop.makeSucceededVoidFuture()
        }
    }

    private func refuse(_ channel: any Channel, _ code: TransportError.Code, _ reason: String) -> EventLoopFuture<Void>
    {
        let refusal = TransportError(code, reason, isUnsent: true)
        self.state.withLock { $0.refusal = refusal }
        channel.close(promise: nil)
        return channel.eventLoop.makeFailedFuture(refusal)
    }
}

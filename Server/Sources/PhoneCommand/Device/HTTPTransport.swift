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
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: self.tls, redirectConfiguration: .disallow,
            timeout: .init(connect: PhoneLimits.connectTime))
        // A missing or untrusted server is reported at once, without further tries until the time is over.
        configuration.connectionPool.retryConnectionEstablishment = false
        // Names below `localhost` belong to this machine (RFC 6761, section 6.3). Not every system's resolver knows
        // this rule.
        if let host = request.url.host(), host.asciiLowercased.hasBytes(atEnd: ".localhost") {
            configuration.dnsOverride = [host: "127.0.0.1"]
        }
        configuration.http1_1ConnectionDebugInitializer = { connection.note($0) }
        configuration.http2ConnectionDebugInitializer = { connection.note($0) }
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let result: Result<TransportResponse, any Error>
        do {
            var response = try await Self.send(request, over: client)
            response.serverCertificate = connection.certificate
            result = .success(response)
        } catch let error as TransportError {
            result = .failure(TransportError(error.code, error.reason, isUnsent: !connection.isReady))
        } catch { result = .failure(error) }
        // A client that is not shut down ends the program.
        try? await client.shutdown()
        return try result.get()
    }

    private static func send(_ request: TransportRequest, over client: HTTPClient) async throws -> TransportResponse {
        var outgoing = HTTPClientRequest(url: request.url.absoluteString)
        outgoing.method = HTTPMethod(rawValue: request.method)
        for header in request.headers { outgoing.headers.add(name: header.name, value: header.value) }
        if !request.body.isEmpty { outgoing.body = .bytes(request.body) }
        let timeout = TimeAmount.nanoseconds(
            request.timeout.components.seconds * 1_000_000_000 + request.timeout.components.attoseconds / 1_000_000_000)
        do {
            let response = try await client.execute(outgoing, timeout: timeout)
            let body = try await response.body.collect(upTo: request.maximumResponseLength)
            return TransportResponse(
                status: Int(response.status.code),
                headers: response.headers.map { (name: $0.name, value: $0.value) },
                body: Array(body.readableBytesView))
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

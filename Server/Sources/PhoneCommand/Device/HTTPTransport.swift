import AsyncHTTPClient
import Countersign
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL

/// The phone's network: the SDK's requests over async-http-client, with an additional certificate authority if asked.
struct HTTPTransport: Transport {
    private let client: HTTPClient

    /// Throws where the file of the certificate authority cannot be read.
    init(caFile: String?) throws {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: .init(connect: .seconds(10)))
        if let caFile {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(caFile))]
            configuration.tlsConfiguration = tls
        }
        self.client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    func shutDown() async throws { try await self.client.shutdown() }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        var outgoing = HTTPClientRequest(url: request.url.absoluteString)
        outgoing.method = HTTPMethod(rawValue: request.method)
        for header in request.headers { outgoing.headers.add(name: header.name, value: header.value) }
        if !request.body.isEmpty { outgoing.body = .bytes(request.body) }
        let timeout = TimeAmount.nanoseconds(
            request.timeout.components.seconds * 1_000_000_000 + request.timeout.components.attoseconds / 1_000_000_000)
        do {
            let response = try await self.client.execute(outgoing, timeout: timeout)
            let body = try await response.body.collect(upTo: request.maximumResponseLength)
            return TransportResponse(
                status: Int(response.status.code),
                headers: response.headers.map { (name: $0.name, value: $0.value) },
                body: Array(body.readableBytesView))
        } catch is NIOTooManyBytesError {
            throw TransportError(.tooLarge, "more than \(request.maximumResponseLength) bytes")
        } catch let error as HTTPClientError {
            let isTimeout = [.connectTimeout, .readTimeout, .deadlineExceeded].contains(error)
            throw TransportError(isTimeout ? .timedOut : .unreachable, error.shortDescription)
        } catch is NIOSSLExtraError {
            throw TransportError(.untrustedServer, "the certificate is for another name")
        } catch is NIOSSLError {
            throw TransportError(.untrustedServer, "the certificate is not trusted")
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw TransportError(.unreachable, "no connection")
        }
    }
}

import AsyncHTTPClient
import NIOCore
import NIOHTTP1
public import NIOSSL
public import Settings
import _Primitives

/// Connections to the push services that the operator's settings name. Requests share connections: by HTTP/2, one
/// connection carries them all.
///
/// The owner calls ``close()`` at the end.
public final class ProviderConnections: PushCalls {
    private let client: HTTPClient
    private let time: Duration

    /// Opens no connection before the first request.
    ///
    /// - Parameters:
    ///   - tls: The authorities that certificates of the services need.
    ///   - time: The time for a request, with its answer.
    public init(tls: TLSConfiguration = .makeClientConfiguration(), time: Duration = Limits.Push().callTime) {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(connect: .nanoseconds(time.nanoseconds)))
        // The outbox tries a message again. The client must not.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .automatic
        self.client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        self.time = time
    }

    public func post(_ request: PushRequest) async throws -> PushResponse {
        let (client, time) = (self.client, self.time)
        // The client's own time ends with the head of the answer. A body without an end would hold the call for ever.
        return try await withThrowingTaskGroup(of: PushResponse.self) { group in
            group.addTask { try await Self.send(request, over: client, within: time) }
            group.addTask {
                try await Task.sleep(for: time)
                throw PushCallError("the service does not answer in time")
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw PushCallError("the service does not answer") }
            return first
        }
    }

    /// Ends the connections. No request can follow.
    public func close() async { try? await self.client.shutdown() }

    private static func send(_ request: PushRequest, over client: HTTPClient, within time: Duration) async throws
        -> PushResponse
    {
        var call = HTTPClientRequest(url: request.address)
        call.method = .POST
        for field in request.fields { call.headers.add(name: field.name, value: field.value) }
        call.body = .bytes(ByteBuffer(bytes: request.body))
        do {
            let response = try await client.execute(call, timeout: .nanoseconds(time.nanoseconds))
            let body = try await response.body.collect(upTo: Limits.Fixed.pushAnswerBytes)
            return PushResponse(
                status: Int(response.status.code), retryAfter: response.headers.first(name: "Retry-After"),
                body: Array(body.readableBytesView))
        } catch is NIOTooManyBytesError {
            throw PushCallError("the service's answer is too long")
        } catch let error as HTTPClientError {
            throw PushCallError("the service does not answer (\(error.shortDescription))")
        } catch is NIOSSLError {
            throw PushCallError("this machine does not trust the service's certificate, or the service speaks no TLS")
        } catch is NIOSSLExtraError {
            throw PushCallError("the service's certificate is for another name")
        } catch {
            throw PushCallError("there is no connection to the service")
        }
    }
}

extension Duration {
    /// The time in nanoseconds, as the client counts time.
    fileprivate var nanoseconds: Int64 { self.milliseconds * 1_000_000 }
}

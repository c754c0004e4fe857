import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The transport over Foundation's URL loading, with the system's certificate authorities.
public final class URLSessionTransport: Transport {
    private let session: URLSession

    /// A session of its own, without cookies, credentials or cache.
    public init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        self.session = URLSession(configuration: configuration, delegate: RedirectRefusal(), delegateQueue: nil)
    }

    deinit { self.session.finishTasksAndInvalidate() }

    /// Sends one request; see ``Transport`` for what it throws.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        let seconds = Double(request.timeout.components.seconds)
        var message = URLRequest(url: request.url, timeoutInterval: max(1, seconds))
        message.httpMethod = request.method
        for field in request.headers { message.addValue(field.value, forHTTPHeaderField: field.name) }
        if !request.body.isEmpty { message.httpBody = Data(request.body) }
        let session = self.session
        let sent = message
        let (data, answer) = try await Self.limited(to: request.timeout) {
            do {
                return try await session.data(for: sent)
            } catch let error as URLError {
                throw Self.translate(error)
            }
        }
        guard let answer = answer as? HTTPURLResponse else {
            throw TransportError(.unreachable, "the answer is not HTTP")
        }
        guard data.count <= request.maximumResponseLength else {
            throw TransportError(.tooLarge, "\(data.count) bytes")
        }
        let headers = answer.allHeaderFields.compactMap { field -> (name: String, value: String)? in
            guard let name = field.key as? String, let value = field.value as? String else { return nil }
            return (name, value)
        }
        return TransportResponse(status: answer.statusCode, headers: headers, body: Array(data))
    }

    /// The time limit holds for the whole exchange, where Foundation's own holds between two packets.
    private static func limited<Result: Sendable>(
        to limit: Duration, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask(operation: body)
            group.addTask {
                try await Task.sleep(for: limit)
                throw TransportError(.timedOut, "no answer in \(limit)")
            }
            defer { group.cancelAll() }
            guard let result = try await group.next() else { throw TransportError(.unreachable, "no answer") }
            return result
        }
    }

    private static func translate(_ error: URLError) -> any Error {
        switch error.code {
        case .cancelled: CancellationError()
        case .timedOut: TransportError(.timedOut, "no answer")
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
            TransportError(.untrustedServer, "the certificate does not hold")
        default: TransportError(.unreachable, "URL error \(error.code.rawValue)")
        }
    }
}

/// Answers every redirect with "no", so that the redirect itself becomes the answer.
private final class RedirectRefusal: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }
}

import Foundation
import _Primitives

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif
#if canImport(Security)
    import Security
#endif

/// The transport over Foundation's URL loading, with the system's certificate authorities.
///
/// On Apple's systems, answers include the server's certificate, so that authenticators bind to the TLS channel.
/// Foundation on other systems does not reveal the certificate. On these systems, a server that demands a channel
/// binding refuses every message through this transport (1490), and an app brings its own transport.
///
/// On Apple's systems, an error without a connection says that the request was not sent (``TransportError/isUnsent``).
/// Foundation on other systems does not tell reliably. On these systems no error of this transport says so, and a
/// ``RetryPolicy`` never repeats a request that works only once.
///
/// On Apple's systems, the transport enforces pins (``pinned(to:)``). Foundation on other systems shows no certificate to
/// an app. On these systems, `pinned(to:)` throws `cannotPin`, and an app with pins brings its own transport.
public final class URLSessionTransport: Transport {
    private let session: URLSession
    private let exchanges: Exchanges
    private let pins: TLSPins?

    private let sleep: @Sendable (Duration) async throws -> Void

    /// Creates a transport with its own session, without cookies, credentials or cache.
    public convenience init() { self.init(sleep: { try await Task.sleep(for: $0) }) }

    /// Creates a transport whose time limits use a given clock.
    ///
    /// - Parameter sleep: Waits for the time limit of an exchange. Tests pass their own function, to control the clock.
    package convenience init(sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.init(pins: nil, sleep: sleep)
    }

    private init(pins: TLSPins?, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.sleep = sleep
        self.pins = pins
        self.exchanges = Exchanges(pins: pins)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        self.session = URLSession(configuration: configuration, delegate: self.exchanges, delegateQueue: nil)
    }

    deinit { self.session.finishTasksAndInvalidate() }

    #if canImport(Security)
        /// Returns a transport with a session of its own, which sends only to servers with pinned keys.
        ///
        /// The session compares the key of each new connection. A connection is used again only within the session, so
        /// each request goes over a connection whose key was compared.
        public func pinned(to pins: TLSPins) throws -> any Transport {
            URLSessionTransport(pins: pins, sleep: self.sleep)
        }
    #endif

    /// Sends one request. See ``Transport`` for the errors.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        try self.checkChannel(of: request)
        let seconds = Double(request.timeout.components.seconds)
        let task = self.session.dataTask(with: Self.message(request, patience: max(1, seconds)))
        let answer = self.exchanges.begin(task, limit: request.maximumResponseLength)
        return try await self.limited(to: request.timeout) {
            try await withTaskCancellationHandler {
                task.resume()
                return try await answer.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    /// Sends one request, and gives the answer to `read` while the answer arrives. See ``Transport`` for the errors.
    ///
    /// Foundation cannot be told to wait for a slow reader. If more than ``TransportRequest/maximumResponseLength``
    /// bytes wait for the reader, the stream ends with ``TransportError`` `tooLarge`.
    public func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value {
        try self.checkChannel(of: request)
        let task = self.session.dataTask(with: Self.message(request, patience: Self.streamPatience))
        let arrival = self.exchanges.beginStream(task, limit: request.maximumResponseLength)
        return try await withTaskCancellationHandler {
            task.resume()
            defer { task.cancel() }
            return try await read(try await self.limited(to: request.timeout) { try await arrival.value })
        } onCancel: {
            task.cancel()
        }
    }

    /// Throws ``TransportError`` `tlsPinMismatch` for an address without TLS if the transport has pins.
    private func checkChannel(of request: TransportRequest) throws {
        guard self.pins == nil || request.url.scheme?.asciiLowercased.hasSameBytes(as: "https") ?? false else {
            throw TransportError(.tlsPinMismatch, "the address has no TLS", isUnsent: true)
        }
    }

    /// Foundation's own limit between two packets of a stream, in seconds. The caller of a stream has a shorter limit.
    private static let streamPatience = 3600.0

    private static func message(_ request: TransportRequest, patience: Double) -> URLRequest {
        var message = URLRequest(url: request.url, timeoutInterval: patience)
        message.httpMethod = request.method
        for field in request.headers { message.addValue(field.value, forHTTPHeaderField: field.name) }
        if !request.body.isEmpty { message.httpBody = Data(request.body) }
        return message
    }

    /// Limits the time of the whole exchange, because Foundation's own limit applies between two packets.
    private func limited<Value: Sendable>(
        to limit: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask(operation: body)
            group.addTask { [sleep] in
                try await sleep(limit)
                throw TransportError(.timedOut, "no answer in \(limit)")
            }
            defer { group.cancelAll() }
            guard let result = try await group.next() else { throw TransportError(.unreachable, "no answer") }
            return result
        }
    }
}

#if canImport(Security)
    /// The certificates that servers have shown in a session and that the system trusts.
    ///
    /// The system reports the certificate of a new connection, but not of a reused connection. On a reused connection
    /// the certificate is known only if the server, by host and port, has never shown a second certificate.
    private struct ShownCertificates {
        private var byTask: [Int: [UInt8]] = [:]
        private var byServer: [ExactText: [UInt8]] = [:]
        private var serversOfSeveral: Set<ExactText> = []

        /// Notes the certificate of a new connection. Returns the certificate; `nil` if the system does not trust the
        /// certificate.
        mutating func note(_ space: URLProtectionSpace, for task: URLSessionTask) -> [UInt8]? {
            guard let trust = space.serverTrust, SecTrustEvaluateWithError(trust, nil),
                let leaf = (SecTrustCopyCertificateChain(trust) as? [SecCertificate])?.first
            else { return nil }
            let certificate = Array(SecCertificateCopyData(leaf) as Data)
            let server = ExactText("\(space.host.asciiLowercased):\(space.port)")
            if let other = self.byServer[server], other != certificate { self.serversOfSeveral.insert(server) }
            self.byServer[server] = certificate
            self.byTask[task.taskIdentifier] = certificate
            return certificate
        }

        /// Returns the certificate of the connection that a task has used. The function is called once for each task.
        mutating func take(_ task: URLSessionTask) -> [UInt8]? {
            if let certificate = self.byTask.removeValue(forKey: task.taskIdentifier) { return certificate }
            guard let url = task.originalRequest?.url, url.scheme?.asciiLowercased == "https", let host = url.host()
            else {
                return nil
            }
            let server = ExactText("\(host.asciiLowercased):\(url.port ?? 443)")
            return self.serversOfSeveral.contains(server) ? nil : self.byServer[server]
        }
    }
#endif

/// The delegate that collects the answers of running tasks up to their length limits. Every redirect is declined, so
/// that the redirect itself becomes the answer.
// Safe to share: every access to a variable is within `lock`.
private final class Exchanges: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private struct Exchange {
        let limit: Int
        let answer: Answer<TransportResponse>
        var body = Data()
    }

    /// An answer that a reader gets while the answer arrives.
    private struct StreamedExchange {
        let head: Answer<TransportStream>
        let body: ArrivedBytes
    }

    private let pins: TLSPins?
    private let lock = NSLock()
    private var running: [Int: Exchange] = [:]
    private var streaming: [Int: StreamedExchange] = [:]

    #if canImport(Security)
        private var shown = ShownCertificates()
        /// The errors of tasks that this delegate ended during the handshake.
        private var ended: [Int: TransportError] = [:]

        /// Records the certificate. The system decides whether to trust the certificate, as the system does without
        /// this method. With pins, the delegate ends a task before the request is sent, unless the certificate is
        /// trusted and has a pinned key.
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust else {
                completionHandler(.performDefaultHandling, nil)
                return
            }
            let error = self.lock.withLock { () -> TransportError? in
                let certificate = self.shown.note(challenge.protectionSpace, for: task)
                guard let pins, !(certificate.map(pins.includeKey) ?? false) else { return nil }
                let error =
                    certificate == nil
                    ? TransportError(.untrustedServer, "the certificate does not hold", isUnsent: true)
                    : TransportError(.tlsPinMismatch, "the server's key is not pinned", isUnsent: true)
                self.ended[task.taskIdentifier] = error
                return error
            }
            completionHandler(error == nil ? .performDefaultHandling : .cancelAuthenticationChallenge, nil)
        }

        /// Returns the error of a task: the delegate's own error for a task that the delegate ended.
        private func failure(of task: URLSessionTask, _ error: any Error) -> any Error {
            self.lock.withLock { self.ended.removeValue(forKey: task.taskIdentifier) } ?? Self.translate(error)
        }

        private func certificate(of task: URLSessionTask) -> [UInt8]? { self.lock.withLock { self.shown.take(task) } }
    #else
        private func certificate(of task: URLSessionTask) -> [UInt8]? { nil }
        private func failure(of task: URLSessionTask, _ error: any Error) -> any Error { Self.translate(error) }
    #endif

    init(pins: TLSPins?) { self.pins = pins }

    func begin(_ task: URLSessionTask, limit: Int) -> Answer<TransportResponse> {
        let answer = Answer<TransportResponse>()
        self.lock.withLock { self.running[task.taskIdentifier] = Exchange(limit: limit, answer: answer) }
        return answer
    }

    func beginStream(_ task: URLSessionTask, limit: Int) -> Answer<TransportStream> {
        let exchange = StreamedExchange(head: Answer(), body: ArrivedBytes(limit: limit))
        self.lock.withLock { self.streaming[task.taskIdentifier] = exchange }
        return exchange.head
    }

    private func stream(of task: URLSessionTask) -> StreamedExchange? {
        self.lock.withLock { self.streaming[task.taskIdentifier] }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let exchange = self.stream(of: dataTask) { Self.give(response, of: exchange) }
        completionHandler(.allow)
    }

    /// Gives status and header fields to the reader of a stream. A later call does nothing.
    private static func give(_ response: URLResponse?, of exchange: StreamedExchange) {
        guard let response = response as? HTTPURLResponse else {
            exchange.head.give(.failure(TransportError(.unreachable, "the answer is not HTTP")))
            return
        }
        exchange.head.give(
            .success(
                TransportStream(
                    status: response.statusCode, headers: Self.headers(of: response), pieces: exchange.body)))
    }

    private static func headers(of response: HTTPURLResponse) -> [(name: String, value: String)] {
        response.allHeaderFields.flatMap { field -> [(name: String, value: String)] in
            guard let name = field.key as? String, let value = field.value as? String else { return [] }
            let isCookie = name.asciiLowercased.hasSameBytes(as: "set-cookie")
            return (isCookie ? JoinedCookieFields.parted(value) : [value]).map { (name, $0) }
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        if let exchange = self.stream(of: dataTask) {
            Self.give(dataTask.response, of: exchange)
            guard !exchange.body.take(data) else { return }
            exchange.body.end(.failure(TransportError(.tooLarge, "the reader is too slow")))
            dataTask.cancel()
            return
        }
        let tooLong = self.lock.withLock { () -> Exchange? in
            guard let exchange = self.running[dataTask.taskIdentifier] else { return nil }
            guard exchange.body.count + data.count <= exchange.limit else { return exchange }
            self.running[dataTask.taskIdentifier]?.body.append(data)
            return nil
        }
        guard let tooLong else { return }
        tooLong.answer.give(.failure(TransportError(.tooLarge, "more than \(tooLong.limit) bytes")))
        dataTask.cancel()
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let exchange = self.lock.withLock({ self.streaming.removeValue(forKey: task.taskIdentifier) }) {
            // A stream shows no certificate: the note of the certificate goes.
            _ = self.certificate(of: task)
            if let error {
                let failure = self.failure(of: task, error)
                exchange.head.give(.failure(failure))
                exchange.body.end(.failure(failure))
            } else {
                Self.give(task.response, of: exchange)
                exchange.body.end(.success(()))
            }
            return
        }
        guard let exchange = self.lock.withLock({ self.running.removeValue(forKey: task.taskIdentifier) }) else {
            return
        }
        let certificate = self.certificate(of: task)
        if let error {
            exchange.answer.give(.failure(self.failure(of: task, error)))
        } else if let response = task.response as? HTTPURLResponse {
            exchange.answer.give(
                .success(
                    TransportResponse(
                        status: response.statusCode, headers: Self.headers(of: response), body: Array(exchange.body),
                        serverCertificate: certificate)))
        } else {
            exchange.answer.give(.failure(TransportError(.unreachable, "the answer is not HTTP")))
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }

    #if canImport(FoundationNetworking)
        /// `true` if the codes for a missing connection prove that nothing was sent.
        ///
        /// This Foundation reports `cannotConnectToHost` for any failure after an address of the host has refused the
        /// connection, even if another address took the connection and the request.
        private static let provesUnsent = false
    #else
        /// `true` if the codes for a missing connection prove that nothing was sent.
        private static let provesUnsent = true
    #endif

    private static func translate(_ error: any Error) -> any Error {
        guard let error = error as? URLError else { return TransportError(.unreachable, "\(type(of: error))") }
        switch error.code {
        case .cancelled: return CancellationError()
        case .timedOut: return TransportError(.timedOut, "no answer")
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
            return TransportError(.untrustedServer, "the certificate does not hold")
        // Without a connection, nothing was sent.
        case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost:
            return TransportError(.unreachable, "URL error \(error.code.rawValue)", isUnsent: Self.provesUnsent)
        default: return TransportError(.unreachable, "URL error \(error.code.rawValue)")
        }
    }
}

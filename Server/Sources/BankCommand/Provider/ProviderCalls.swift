import AsyncHTTPClient
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOSSL

/// The reason why the bank cannot go on with a sign-in or a transfer. The text is for the bank's log, not for the page.
struct ProviderError: Error, CustomStringConvertible {
    enum Kind {
        /// No answer, or an answer that makes no sense. Another try later may work.
        case unavailable
        /// The connection ended before the answer. As for `unavailable`, another try may work; a request that changes
        /// nothing is worth another try at once.
        case broken
        /// The provider refused, or the provider's answer does not verify.
        case refused
    }
    let kind: Kind
    let reason: String

    var description: String { self.reason }

    static func unavailable(_ reason: String) -> Self { Self(kind: .unavailable, reason: reason) }
    static func refused(_ reason: String) -> Self { Self(kind: .refused, reason: reason) }
}

/// HTTP calls from the bank's back end to the provider, with the bank's client credentials.
///
/// Redirects are not followed, answers are bounded, and every call has a deadline.
struct ProviderCalls: Sendable {
    let issuer: String
    /// Scheme, host and port of the issuer.
    let origin: String
    let clientID: String
    private let authorization: String
    private let client: HTTPClient

    init(issuer: String, clientID: String, clientSecret: String, caFile: String?) throws {
        self.issuer = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        self.origin = self.issuer.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
            .prefix(3).joined(separator: "/")
        self.clientID = clientID
        // RFC 6749, section 2.3.1: both parts are form-encoded before they are joined.
        let pair = "\(Form.encode(clientID)):\(Form.encode(clientSecret))"
        self.authorization = "Basic \(Data(pair.utf8).base64EncodedString())"
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: BankLimits.connectTime, read: BankLimits.silence))
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = BankLimits.connections
        configuration.connectionPool.retryConnectionEstablishment = false
        if let caFile {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(caFile))]
            configuration.tlsConfiguration = tls
        }
        self.client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    func shutDown() async throws { try await self.client.shutdown() }

    /// An answer's status and body.
    struct Answer {
        let status: Int
        let body: Data

        /// Returns the body, decoded as JSON. Throws ``ProviderError`` if the body is something else, or the status is
        /// no success.
        func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
            guard (200..<300).contains(self.status) else {
                throw ProviderError.refused("the provider answered \(self.status)")
            }
            do {
                return try JSONDecoder().decode(type, from: self.body)
            } catch {
                throw ProviderError.unavailable("the provider's answer is not the expected JSON")
            }
        }
    }

    /// Sends a GET, with the bearer token if there is one.
    func get(_ url: String, bearer: String? = nil) async throws -> Answer {
        var request = HTTPClientRequest(url: url)
        request.headers.add(name: "Accept", value: "application/json")
        if let bearer { request.headers.add(name: "Authorization", value: "Bearer \(bearer)") }
        return try await self.ask(request)
    }

    /// Sends a POST of a form with the client's credentials (RFC 6749, section 4.1.3).
    func post(_ url: String, form: [(String, String)], run: TracedRun?) async throws -> Answer {
        try await self.post(
            url, contentType: "application/x-www-form-urlencoded", body: Data(Form.encode(form).utf8),
            run: run)
    }

    /// Sends a POST of JSON with the client's credentials.
    func post(_ url: String, json: some Encodable, run: TracedRun?) async throws -> Answer {
        try await self.post(
            url, contentType: "application/json", body: try JSONEncoder().encode(json), run: run)
    }

    /// Sends a POST of JSON with the client's credentials. The POST is a question and changes nothing.
    func ask(_ url: String, json: some Encodable, run: TracedRun?) async throws -> Answer {
        try await self.ask(
            self.request(url, contentType: "application/json", body: try JSONEncoder().encode(json), run: run), run)
    }

    private func post(_ url: String, contentType: String, body: Data, run: TracedRun?) async throws -> Answer {
        try await self.execute(self.request(url, contentType: contentType, body: body, run: run), run)
    }

    private func request(_ url: String, contentType: String, body: Data, run: TracedRun?) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "Accept", value: "application/json")
        request.headers.add(name: "Content-Type", value: contentType)
        request.headers.add(name: "Authorization", value: self.authorization)
        if let run { request.headers.add(name: "traceparent", value: run.traceparent) }
        request.body = .bytes(body)
        return request
    }

    /// Sends a request that changes nothing, and sends the request once more if the connection broke.
    ///
    /// The other end may close a kept connection at the moment of its use (RFC 9112, section 9.5). A request that
    /// changes something is never sent twice.
    private func ask(_ request: HTTPClientRequest, _ run: TracedRun? = nil) async throws -> Answer {
        do { return try await self.execute(request, run) } catch let error as ProviderError where error.kind == .broken
        {
            return try await self.execute(request, run)
        }
    }

    private func execute(_ request: HTTPClientRequest, _ run: TracedRun?) async throws -> Answer {
        do {
            let response = try await self.client.execute(request, timeout: BankLimits.answerTime)
            run?.hear(response.headers.first(name: "traceresponse"))
            let body = try await response.body.collect(upTo: BankLimits.answerBytes)
            return Answer(status: Int(response.status.code), body: Data(body.readableBytesView))
        } catch {
            let isBroken =
                error is ChannelError || error is IOError || error as? HTTPClientError == .remoteConnectionClosed
                || error as? HTTPParserError == .invalidEOFState
            throw ProviderError(
                kind: isBroken ? .broken : .unavailable, reason: "no answer from the provider: \(error)")
        }
    }

    /// Returns the provider's event stream for one session: the `data` of each event, until the provider ends the
    /// stream.
    func events(_ url: String) async throws -> AsyncThrowingStream<Data, any Error> {
        var request = HTTPClientRequest(url: url)
        request.headers.add(name: "Accept", value: "text/event-stream")
        request.headers.add(name: "Authorization", value: self.authorization)
        let response = try await self.client.execute(request, timeout: BankLimits.eventsTime)
        guard response.status == .ok else {
            throw ProviderError.refused("the provider answered \(response.status.code) to the event stream")
        }
        return AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    var lines = EventLines()
                    for try await chunk in response.body {
                        for data in try lines.take(chunk) { continuation.yield(data) }
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}

/// Cuts an event stream into the `data` of its events (HTML, section 9.2.6). Skips comments and other fields.
struct EventLines {
    private var line: [UInt8] = []
    private var data: [UInt8] = []

    mutating func take(_ chunk: ByteBuffer) throws -> [Data] {
        var events: [Data] = []
        for byte in chunk.readableBytesView where byte != UInt8(ascii: "\r") {
            guard byte == UInt8(ascii: "\n") else {
                self.line.append(byte)
                guard self.line.count <= BankLimits.eventBytes else {
                    throw ProviderError.unavailable("an endless event")
                }
                continue
            }
            if self.line.isEmpty {
                if !self.data.isEmpty { events.append(Data(self.data)) }
                self.data = []
            } else if self.line.starts(with: "data:".utf8) {
                let value = self.line.dropFirst(5)
                self.data += value.first == UInt8(ascii: " ") ? value.dropFirst() : value
                guard self.data.count <= BankLimits.eventBytes else {
                    throw ProviderError.unavailable("an endless event")
                }
            }
            self.line = []
        }
        return events
    }
}

/// The encoding `application/x-www-form-urlencoded`, for the query of an address and the body of a form.
enum Form {
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    static func encode(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: self.unreserved) ?? ""
    }

    static func encode(_ fields: [(String, String)]) -> String {
        fields.map { "\(self.encode($0.0))=\(self.encode($0.1))" }.joined(separator: "&")
    }
}

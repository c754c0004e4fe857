import AsyncHTTPClient
import Ceremony
import CeremonyEngine
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Settings
import _Primitives

/// The server's client of the PIN service, over a socket of the same machine.
struct PinServiceClient: PinEvaluating {
    /// The path of the service's socket.
    let path: String
    let logger: Logger
    private let client: HTTPClient
    private let load = SharedLoad()
    private let capacity: Int

    /// - Parameters:
    ///   - connections: The number of questions that are on their way at a time.
    ///   - asking: The number of questions at a time, including questions that wait for a connection.
    ///   - connectTime: The time that a question waits for a connection, either a new connection or a free connection.
    init(
        path: String, logger: Logger, connections: Int = Limits.Evaluations.connections,
        asking: Int = Limits.Evaluations.asking, connectTime: Duration = Limits.Evaluations.connectTime
    ) {
        self.path = path
        self.logger = logger
        self.capacity = asking
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: .init(connect: TimeAmount(connectTime)))
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
        self.client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Ends the connections.
    func close() async { try? await self.client.shutdown() }

    func key(of activation: String) async throws(PinServiceFailure) -> [UInt8] {
        try await self.call(.GET, "/keys/\(activation.pathSegment)", nil, "key", PinQuestion.serviceKeyBytes)
    }

    func evaluate(_ blinded: [UInt8], of activation: String) async throws(PinServiceFailure) -> [UInt8] {
        try await self.call(
            .POST, "/evaluations",
            ["activation": .string(activation), "blinded": .string(Base64URL.encode(blinded))], "evaluated",
            PinQuestion.evaluatedBytes)
    }

    private func call(
        _ method: NIOHTTP1.HTTPMethod, _ path: String, _ body: JSONObject?, _ member: String, _ count: Int
    ) async throws(PinServiceFailure) -> [UInt8] {
        guard let url = URL(httpURLWithSocketPath: self.path, uri: path) else { throw .notAsked }
        guard self.load.enter(self.capacity) else {
            self.report("\(self.capacity) questions wait for it")
            throw .notAsked
        }
        defer { self.load.leave() }
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = method
        request.headers.add(name: "Host", value: "localhost")
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: JSON.object(body).serialized))
        }
        let response: HTTPClientResponse
        let bytes: ByteBuffer
        do {
            response = try await self.client.execute(request, timeout: TimeAmount(Limits.Evaluations.answerTime))
            bytes = try await response.body.collect(upTo: Limits.Evaluations.bodyBytes)
        } catch {
            let failure: PinServiceFailure = Self.isUnreached(error) ? .notAsked : .unknown
            self.report("\(error)")
            throw failure
        }
        switch response.status.code {
        case 200: break
        case 400: throw .malformed
        case 429:
            let seconds = response.headers.first(name: "Retry-After").flatMap(Int.init)
            throw .exhausted(retryAfterSeconds: seconds ?? 60)
        default:
            self.report("it answers \(response.status.code)")
            throw .notAsked
        }
        guard case .object(let object)? = try? JSON(parsing: Array(bytes.readableBytesView)),
            let text = try? object.requiredString(member), let value = Base64URL.decode(text), value.count == count
        else {
            self.report("its answer is none")
            throw .unknown
        }
        return value
    }

    /// Returns `true` if the server had no connection for the question, and so asked nothing: no connection was made,
    /// or none became free.
    private static func isUnreached(_ error: any Error) -> Bool {
        if let error = error as? HTTPClientError {
            return [.connectTimeout, .getConnectionFromPoolTimeout, .alreadyShutdown].contains(error)
        }
        // All these errors come from making or connecting a socket. A full queue of connections gives EAGAIN.
        return (error as? IOError).map {
            [ENOENT, ECONNREFUSED, EACCES, EAGAIN, EMFILE, ENFILE].contains($0.errnoCode)
        } ?? false
    }

    private func report(_ reason: String) {
        self.logger.error(
            "The PIN service does not answer: nobody can sign in with a PIN that it evaluates, or be enrolled",
            metadata: [
                "setting": "--pin-service", "socket": "\(self.path)", "reason": "\(reason)",
                "remedy": "Is `countersign pin-service` running with this socket, in a group of this user?",
            ])
    }
}

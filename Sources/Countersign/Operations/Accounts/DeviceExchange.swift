import Ceremony
import JOSE
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The exchange with an account's server about the operations that wait for this device. The device proves each request
/// with its own key for the account, and opens what is sealed to its other key.
struct DeviceExchange: Sendable {
    /// The end of a stream of lists.
    enum StreamEnd: Sendable {
        /// Another stream of this device or its account has taken the place.
        case replaced
        /// The device may ask no more: it was removed, or its account was locked.
        case ended
        /// The stream has ended or was cut. The caller may connect again after the pause.
        case interrupted(retry: Duration?)
        /// The server has refused the stream, although the server streams. The caller may connect again, later each
        /// time.
        case refused
        /// The transport cannot stream, the server has no stream, or a proxy holds the stream back.
        case noStream
    }

    /// The maximum number of bytes of a list.
    private static let maximumLength = 262_144
    /// The longest silence of a stream: three heartbeats of the server.
    private static let silence = Duration.seconds(45)

    /// The core with the account's server as its server.
    let core: ClientCore
    let account: RegisteredAccount
    let recording: Recording
    private let key: AccountKey
    private let keys: DeviceIdentityKeys
    private let identity: DeviceIdentity

    /// Creates the exchange about an account. Throws ``OperationError`` `notAuthorized` if the account's server does not
    /// know this device's keys.
    init(core: ClientCore, record: StoredAccount) throws {
        self.core = core.changed(
            baseURL: record.key.server, requestHeaders: nil, retryPolicy: nil, answerRetryPolicy: nil)
        self.account = record.account
        self.recording = core.newRecording()
        self.key = record.key
        guard case .device(let keys, _)? = self.core.caller(nil, for: record) else {
            throw OperationError(.notAuthorized, "the server does not know this device's keys")
        }
        self.keys = keys
        self.identity = try DeviceIdentity(keys, of: record.key, core.module, core.platform)
    }

    /// Fetches the list. Also returns the difference by which the server's clock is ahead of the device's clock. A
    /// server of an earlier version has no list: the list is empty.
    ///
    /// Throws ``OperationError`` and the errors of ``ClientCore/sendProven(_:by:of:_:)``.
    func pending() async throws -> (operations: [PendingOutOfBandOperation], clockOffset: Duration) {
        let request = try self.request("operations", accepting: "application/json")
        var (retries, clockOffset) = (self.core.newRetries(), Duration.zero)
        let response = try await retries.send {
            let answer = try await self.core.sendProven(request, by: self.keys, of: self.key, self.recording)
            clockOffset = answer.clockOffset
            return answer.response
        }
        try Task.checkCancellation()
        if response.status == 404 { return ([], clockOffset) }
        guard response.status == 200 else { throw AccountExchange.refused(response.status) }
        guard response.header("Content-Type")?.mediaType.hasSameBytes(as: "application/json") ?? false else {
            throw OperationError.fido(.protocolError, recovery: .updateApp, "the answer's content type")
        }
        return (try self.operations(in: response.body), clockOffset)
    }

    /// Opens a stream of lists, and gives each list to `body` until the stream ends.
    ///
    /// Throws `CancellationError` if the task is cancelled, and the errors of a list that is not of the protocol.
    func stream(
        clockOffset: Duration, _ body: @escaping @Sendable ([PendingOutOfBandOperation]) -> Void
    ) async throws -> StreamEnd {
        let clock = self.core.platform.clock
        let channel = EventChannel(self.core.channel.transport, time: TimeSource { clock.now() }) {
            try await clock.sleep(for: $0)
        }
        let request = try await self.core.proven(
            try self.request("operations/events", accepting: "text/event-stream"), by: self.keys, of: self.key,
            clockOffset: clockOffset)
        // Taken by the first event.
        let silent = OneShot()
        do {
            let end = try await channel.first(
                self.core.channel.complete(request, self.recording), silence: Self.silence
            ) { event -> StreamEnd? in
                _ = silent.take()
                if event.type.hasSameBytes(as: "replaced") { return .replaced }
                if event.type.hasSameBytes(as: "ended") { return .ended }
                if event.type.hasSameBytes(as: "operations") { body(try self.operations(in: Array(event.data.utf8))) }
                return nil
            }
            switch end {
            case .found(let end): return end
            case .ended(let retry): return .interrupted(retry: retry)
            case .refused(let status): return [404, 406].contains(status) ? .noStream : .refused
            }
        } catch let error as TransportError where [.cannotStream, .timedOut].contains(error.code) {
            try Task.checkCancellation()
            // A proxy that collects answers is silent from the beginning, and would be silent again. A stream that falls
            // silent later has lost its network.
            return silent.take() ? .noStream : .interrupted(retry: nil)
        } catch is TransportError {
            try Task.checkCancellation()
            return .interrupted(retry: nil)
        }
    }

    private func request(_ name: String, accepting type: String) throws -> TransportRequest {
        let path = self.core.configuration.deviceResourcePath
        let id = self.identity.signingKey.keyID ?? ""
        guard let url = self.core.configuration.address(path + (path.hasSuffix("/") ? "" : "/") + "\(id)/\(name)")
        else { throw OperationError(.unknown, recovery: .correctApp, "the configured path is not one") }
        return TransportRequest(
            method: "GET", url: url, headers: [("Accept", type)], body: [],
            timeout: self.core.configuration.networkTimeout, maximumResponseLength: Self.maximumLength)
    }

    private func operations(in body: [UInt8]) throws -> [PendingOutOfBandOperation] {
        let limits = JSONLimits(bytes: Self.maximumLength)
        guard case .object(let list) = try JSON(parsing: body, limits: limits),
            let values = try list.array("operations")
        else { throw JSONError(.missing, "operations") }
        return try values.map { value in
            switch value {
            case .string(let sealed): try self.operation(try self.opened(sealed))
            case .object(let object): try self.operation(object)
            default: throw JSONError(.wrongType, "an operation")
            }
        }
    }

    /// Opens an operation that is sealed to this device. Throws the FIDO error `protocolError` for an operation of
    /// another device, and for an operation that was changed.
    private func opened(_ sealed: String) throws -> JSONObject {
        let plaintext: [UInt8]
        do { plaintext = try self.identity.open(sealed) } catch let error as JOSEError {
            throw OperationError.fido(.protocolError, "an operation that does not open: \(error.code)")
        }
        guard case .object(let object) = try JSON(parsing: plaintext) else {
            throw JSONError(.wrongType, "a sealed operation")
        }
        return object
    }

    private func operation(_ object: JSONObject) throws -> PendingOutOfBandOperation {
        let id = try object.requiredString("id")
        guard AccountExchange.isIdentifier(id) else { throw JSONError(.wrongType, "id") }
        guard let payload = try? OutOfBandPayload(json: object.requiredString("payload")) else {
            throw JSONError(.wrongType, "payload")
        }
        return PendingOutOfBandOperation(
            id: id, account: self.account, service: DisplayText.line(try object.requiredString("service")),
            origin: try object.string("origin").map { DisplayText.origin($0) },
            dispatchChannel: try object.string("dispatcher").map { DisplayText.line($0) }, payload: payload,
            createdAt: try AccountExchange.date("createdAt", of: object),
            expiresAt: try AccountExchange.date("expiresAt", of: object))
    }
}

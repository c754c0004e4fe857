import Ceremony
import JOSE
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The exchange with an account's server about a new device that this device approves. This device proves each request
/// with its own key for the account.
struct DeviceApprovalExchange: Sendable {
    /// The state of an approval.
    enum State: Sendable, Equatable {
        /// The new device has not answered yet.
        case waits
        /// The new device shows its number.
        case answered(DeviceApprovalProgress.NewDevice)
        /// Nobody has used the code in time, or the number was not typed in time.
        case expired
        /// The new device gave up, or another party has ended the enrolment.
        case ended
    }

    /// The maximum number of bytes of an answer.
    private static let maximumLength = 16_384

    /// The core with the account's server as its server.
    let core: ClientCore
    private let recording: Recording
    private let caller: RequestCaller
    /// The name of this device's key, which names the device in the paths.
    private let name: String

    /// Creates the exchange about an account. Throws ``OperationError`` `notAuthorized` if the account's server does not
    /// know this device's keys.
    init(core: ClientCore, record: StoredAccount) throws {
        self.core = core.atServer(of: record)
        self.recording = core.newRecording()
        guard let caller = self.core.caller(nil, for: record), case .device(let keys, let account) = caller else {
            throw OperationError(.notAuthorized, "the server does not know this device's keys")
        }
        self.caller = caller
        self.name = try DeviceIdentity(keys, of: account, core.module, core.platform).signingKey.keyID ?? ""
    }

    /// Begins the enrolment of a new device. Throws ``OperationError`` and the errors of the transport.
    func begin() async throws -> (id: String, code: DeviceApprovalProgress.Code) {
        let answer = try await self.send("POST", "approvals", expecting: 201)
        let id = try answer.requiredString("id")
        guard AccountExchange.isIdentifier(id) else { throw JSONError(.wrongType, "id") }
        return (
            id,
            DeviceApprovalProgress.Code(
                link: try answer.requiredString("link"), qrContent: try answer.requiredString("qrContent"),
                expiresAt: try AccountExchange.date("expiresAt", of: answer))
        )
    }

    /// Fetches the state of an approval. Throws as ``begin()``.
    func state(_ id: String) async throws -> State {
        let answer = try await self.send("GET", "approvals/\(id)", expecting: 200)
        switch try answer.requiredString("state") {
        case "created", "claimed": return .waits
        case "pending-confirmation":
            let device = try answer.requiredObject("device")
            return .answered(
                DeviceApprovalProgress.NewDevice(
                    name: DisplayText.line(try device.requiredString("name")),
                    model: DisplayText.line(try device.requiredString("model")),
                    network: DisplayText.line(try device.requiredString("network"))))
        case "expired": return .expired
        default: return .ended
        }
    }

    /// Has the server make the question for this device's person, and returns the payload of the question. Throws as
    /// ``begin()``.
    func question(_ id: String) async throws -> OutOfBandPayload {
        let answer = try await self.send("POST", "approvals/\(id)/question", expecting: 201)
        guard let payload = try? OutOfBandPayload(json: answer.requiredString("payload")) else {
            throw JSONError(.wrongType, "payload")
        }
        return payload
    }

    /// Ends an enrolment, so that no number counts any more. The function ignores failures, and runs even if the task was
    /// cancelled: the enrolment ends by itself ten minutes later.
    func decline(_ id: String) async {
        guard
            let request = try? self.request(
                "DELETE", "approvals/\(id)",
                timeout: min(self.core.configuration.networkTimeout, ServerExchange.patienceForReports))
        else { return }
        await Task { _ = try? await self.core.send(request, by: self.caller, self.recording) }.value
    }

    private func request(_ method: String, _ path: String, timeout: Duration) throws -> TransportRequest {
        let base = self.core.configuration.deviceResourcePath
        guard
            let url = self.core.configuration.address(base + (base.hasSuffix("/") ? "" : "/") + "\(self.name)/\(path)")
        else { throw OperationError(.unknown, recovery: .correctApp, "the configured path is not one") }
        return TransportRequest(
            method: method, url: url, headers: [("Accept", "application/json")], body: [], timeout: timeout,
            maximumResponseLength: Self.maximumLength)
    }

    private func send(_ method: String, _ path: String, expecting status: Int) async throws -> JSONObject {
        let answer = try await self.core.sendRepeatedly(
            try self.request(method, path, timeout: self.core.configuration.networkTimeout), by: self.caller,
            self.recording)
        try Task.checkCancellation()
        let response = answer.response
        guard response.status == status else { throw Self.refused(response) }
        guard response.header("Content-Type")?.mediaType.hasSameBytes(as: "application/json") ?? false else {
            throw OperationError.fido(.protocolError, recovery: .updateApp, "the answer's content type")
        }
        guard case .object(let object) = try JSON(parsing: response.body) else {
            throw JSONError(.wrongType, "the answer is not an object")
        }
        return object
    }

    /// Returns the error of an answer that refuses.
    private static func refused(_ response: TransportResponse) -> OperationError {
        if let end = response.endOfDeviceLimit {
            return OperationError(.deviceLimited, httpStatus: response.status, limitedUntil: end, "approved lately")
        }
        switch response.status {
        case 404, 409: return OperationError(.newDeviceNotAdded, httpStatus: response.status, "the approval has ended")
        default: return AccountExchange.refused(response.status)
        }
    }
}

extension TransportResponse {
    /// The end of the time in which this device approves and removes nothing, if the server has refused for this reason.
    var endOfDeviceLimit: Date? {
        guard self.status == 403, let problem = self.problem,
            (try? problem.string("type"))?.hasSameBytes(as: "urn:countersign:error:device-limited") ?? false
        else { return nil }
        return try? AccountExchange.date("until", of: problem)
    }
}

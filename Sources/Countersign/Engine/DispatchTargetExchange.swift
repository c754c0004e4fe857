import Crypto
import JOSE
import UAF
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The exchange with an account's server about this device as a target of dispatches: translation only. The device
/// proves each request with its own key.
struct DispatchTargetExchange: Sendable {
    /// The server's data of a target.
    struct Target: Equatable, Sendable {
        let name: String
        /// The dispatcher of the push address; `nil` if the server has no push address of the device.
        let dispatcher: String?
        /// The SHA-256 of the push address, in base64url.
        let addressHash: String?
        let isPushEnabled: Bool
        /// The keys of the account that the server has of this device.
        let keys: Set<KeyName>
    }

    /// The maximum number of bytes of a target. The list of keys has up to 256 entries.
    private static let maximumLength = 65_536

    /// The core for requests to the account's server.
    private let core: ClientCore
    private let recording: Recording
    private let account: AccountKey
    private let keys: DeviceIdentityKeys
    private let timeout: Duration

    /// Creates the exchange. `nil` if the account's server does not know the device's keys.
    ///
    /// - Parameter timeout: The time limit of each request, if the limit is shorter than the configured limit.
    init?(_ core: ClientCore, _ record: StoredAccount, _ recording: Recording, timeout: Duration? = nil) {
        guard record.isIdentityKnown, let keys = record.identity else { return nil }
        self.core = core.atServer(of: record)
        self.recording = recording
        self.account = record.key
        self.keys = keys
        self.timeout = min(timeout ?? core.configuration.networkTimeout, core.configuration.networkTimeout)
    }

    /// Creates the target, or finds the target that the device already has, and tells all of the device's data. Returns
    /// the server's identifier of the device. Throws as ``change(_:_:)``.
    func create(_ device: StoredDevice) async throws -> String {
        let identity = try DeviceIdentity(self.keys, of: self.account, self.core.module, self.core.platform)
        guard let signing = identity.signingKey.publicJSON, let encryption = identity.encryptionKey.publicJSON else {
            throw EngineError(.notAuthorized, "the device's keys are none")
        }
        var body: JSONObject = [
            "name": .string(device.shownName), "push": .bool(device.isPushEnabled), "signatureKey": .object(signing),
            "encryptionKey": .object(encryption),
        ]
        body["dispatcher"] = device.pushAddress.map { .string($0.dispatcher) }
        body["target"] = device.pushAddress.map { .string($0.address) }
        let response = try await self.send("POST", nil, body)
        guard response.status == 201 else { throw await self.refused(response) }
        let id = try Self.object(in: response).requiredString("id")
        guard Self.isIdentifier(id) else { throw JSONError(.wrongType, "id") }
        return id
    }

    /// Fetches a target; `nil` if the server has no such target. Throws as ``change(_:_:)``.
    func target(_ id: String) async throws -> Target? {
        let response = try await self.send("GET", id, nil)
        if response.status == 404 { return nil }
        guard response.status == 200 else { throw await self.refused(response) }
        let body = try Self.object(in: response)
        guard try body.requiredString("id").hasSameBytes(as: id) else {
            throw EngineError(.malformed, "the server's answer is about another target")
        }
        guard let isPushEnabled = try body.bool("push"), let keys = try body.array("credentials") else {
            throw JSONError(.missing, "push or credentials")
        }
        return Target(
            name: try body.requiredString("name"), dispatcher: try body.string("dispatcher"),
            addressHash: try body.string("target"), isPushEnabled: isPushEnabled,
            keys: Set(try keys.map(Self.key)))
    }

    /// Changes a target. A push address is removed by ending the target, which leaves the device's keys and its name.
    ///
    /// Throws ``EngineError``: `nameTaken`, `dispatcherUnknown`, `targetInvalid`, `targetUnknown`, `notAuthorized` if the
    /// server does not accept the device's keys, and the causes of every exchange; the errors of the transport.
    func change(_ id: String, _ change: StoredDevice.Change) async throws {
        let members = change.members
        if !members.members.isEmpty {
            let response = try await self.send("PATCH", id, members)
            guard response.status == 204 else { throw await self.refused(response) }
        }
        guard change.pushAddress == .removed else { return }
        let response = try await self.send("DELETE", id, nil)
        guard response.status == 204 else { throw await self.refused(response) }
    }

    private func send(_ method: String, _ id: String?, _ body: JSONObject?) async throws -> TransportResponse {
        let path = self.core.configuration.dispatchTargetResourcePath
        let base = path.hasBytes(atEnd: "/") ? String(path.dropLast()) : path
        guard let url = self.core.configuration.address(id.map { "\(base)/\($0)" } ?? base) else {
            throw EngineError(.misconfigured, "the configured path is not one")
        }
        var headers = [("Accept", "application/json")]
        if body != nil { headers.append(("Content-Type", "application/json")) }
        let answer = try await self.core.sendRepeatedly(
            TransportRequest(
                method: method, url: url, headers: headers, body: body.map { JSON.object($0).serialized } ?? [],
                timeout: self.timeout, maximumResponseLength: Self.maximumLength),
            by: .device(self.keys, of: self.account), self.recording)
        try Task.checkCancellation()
        return answer.response
    }

    /// Returns the error of an answer that refuses.
    private func refused(_ response: TransportResponse) async -> EngineError {
        let status = response.status
        switch status {
        case 401: return EngineError(.notAuthorized, httpStatus: status, "the server does not accept the device")
        case 403: return EngineError(.accountLocked, httpStatus: status, "status 403")
        case 404, 405, 501: return EngineError(.targetUnknown, httpStatus: status, "status \(status)")
        case 408, 429, 500...: return EngineError(.unavailable, httpStatus: status, "status \(status)")
        case 422: break
        default: return EngineError(.malformed, httpStatus: status, "status \(status)")
        }
        if Self.isProblem("name-taken", response) {
            return EngineError(.nameTaken, httpStatus: status, "the name is taken")
        }
        if Self.isProblem("dispatcher-unknown", response) {
            return EngineError(.dispatcherUnknown, httpStatus: status, "no such dispatcher")
        }
        if Self.isProblem("target-invalid", response) {
            return EngineError(.targetInvalid, httpStatus: status, "the name or the push address is none")
        }
        guard Self.isProblem("keys-differ", response) else {
            return EngineError(.malformed, httpStatus: status, "status 422")
        }
        // If the change cannot be stored, the next request ends here again.
        try? await self.core.register.note(isKnown: false, self.keys, of: self.account)
        return EngineError(.notAuthorized, httpStatus: status, "the server knows other keys of the device")
    }

    private static func isProblem(_ name: String, _ response: TransportResponse) -> Bool {
        (try? response.problem?.string("type"))?.hasSameBytes(as: "urn:countersign:error:\(name)") ?? false
    }

    private static func object(in response: TransportResponse) throws -> JSONObject {
        guard response.header("Content-Type")?.mediaType.hasSameBytes(as: "application/json") ?? false else {
            throw EngineError(.unreadable, "the answer's content type")
        }
        let limits = JSONLimits(bytes: Self.maximumLength)
        guard case .object(let object) = try JSON(parsing: response.body, limits: limits) else {
            throw JSONError(.wrongType, "the answer is not an object")
        }
        return object
    }

    private static func key(_ value: JSON) throws -> KeyName {
        guard case .object(let key) = value else { throw JSONError(.wrongType, "a key is not an object") }
        return KeyName(
            aaid: try AAID(try key.requiredString("aaid")),
            keyID: try KeyID(base64URL: try key.requiredString("keyID")))
    }

    /// Returns `true` if a text can be a server's identifier of a device: base64url. Any other text would name a
    /// different path of the server.
    private static func isIdentifier(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

extension StoredDevice.Change {
    /// The members of a dispatch target that the change sets.
    fileprivate var members: JSONObject {
        var members: JSONObject = [:]
        members["name"] = self.name.map { .string($0) }
        if case .set(let address) = self.pushAddress {
            members["dispatcher"] = .string(address.dispatcher)
            members["target"] = .string(address.address)
        }
        members["push"] = self.isPushEnabled.map { .bool($0) }
        return members
    }
}

extension DispatchTargetExchange {
    /// The maximum time that a registration or an authentication waits for the server's answer to the creation of a
    /// dispatch target. The request is not repeated, except for a proof of another time.
    private static let patience = Duration.seconds(5)

    /// Creates the dispatch target that a registration still has to create, if the server knows the device's keys. The
    /// function ignores failures: after a transient failure the next authentication tries again, and after a refusal
    /// the check of the device's data finds the missing target.
    static func createOwedTarget(of account: AccountKey, _ core: ClientCore, _ recording: Recording) async {
        guard let record = await core.register.record(of: account), record.isTargetOwed,
            let device = await core.register.device,
            let exchange = Self(core.unrepeated, record, recording, timeout: Self.patience)
        else { return }
        do {
            try await core.register.note(targetID: try await exchange.create(device), of: account)
        } catch let error as EngineError
            where [.targetUnknown, .nameTaken, .dispatcherUnknown, .targetInvalid, .malformed].contains(error.cause)
        {
            // The same request would be refused again.
            try? await core.register.note(targetID: nil, of: account)
        } catch {}
    }
}

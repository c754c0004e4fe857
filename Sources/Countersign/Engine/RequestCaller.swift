import Ceremony
import JOSE
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Who sends a request, as the server of an account is shown it.
enum RequestCaller: Sendable {
    /// Nobody in particular.
    case anybody
    /// Whoever has what the app has given.
    case provider(any AuthorizationProvider)
    /// This device, which proves each request by its own key for the account.
    case device(IdentityKeys, of: AccountKey)
}

extension ClientCore {
    /// Who asks the server of an account for this device: who the app says, else the device itself where the server knows its
    /// keys. `nil` where there is neither.
    func caller(_ provider: (any AuthorizationProvider)?, for record: StoredAccount?) -> RequestCaller? {
        if let provider { return .provider(provider) }
        guard let record, record.key.server == self.configuration.baseURL, record.isIdentityKnown,
            let identity = record.identity
        else { return nil }
        return .device(identity, of: record.key)
    }

    /// Sends a request with what its caller shows.
    ///
    /// A device whose clock is another than the server's proves the request once more, by the server's. One that the server
    /// refuses tells its keys anew with the next authentication, and one whose keys are gone tells new ones. Throws what the
    /// transport throws, and ``EngineError``: `notAuthorized` where the device's keys do not sign, `appRenamed`.
    func send(
        _ request: TransportRequest, by caller: RequestCaller, _ recording: Recording, noting event: TraceEvent? = nil
    ) async throws -> TransportResponse {
        switch caller {
        case .anybody: return try await self.channel.send(request, recording, noting: event)
        case .provider(let provider):
            var request = request
            request.headers += provider.headers
            return try await self.channel.send(request, recording, noting: event)
        case .device(let keys, let account):
            try self.checkName(of: await self.register.record(of: account))
            var response = try await self.send(request, provenBy: keys, of: account, recording)
            if let now = Self.timeOfServer(in: response) {
                response = try await self.send(
                    request, provenBy: keys, of: account, recording, clockOffset: now - self.platform.clock.now())
            }
            // Where that cannot be written down, the next request ends here again.
            if response.status == 401 { try? await self.register.note(isKnown: false, keys, of: account) }
            return response
        }
    }

    private func send(
        _ request: TransportRequest, provenBy keys: IdentityKeys, of account: AccountKey, _ recording: Recording,
        clockOffset: Duration = .zero
    ) async throws -> TransportResponse {
        var request = request
        do {
            let proof = try await DeviceIdentity(keys, of: account, self).proof(
                method: request.method, target: request.url.absoluteString, body: request.body,
                clockOffset: clockOffset)
            request.headers.append(("Device-Proof", proof))
        } catch let error as DeviceKeyError {
            if error.isForGood { await self.forget(keys, of: account) }
            throw EngineError(.notAuthorized, "the device's keys do not sign")
        }
        return try await self.channel.send(request, recording)
    }

    /// The end of the year 9999, in milliseconds: no server's time is later, and sums with it do not overflow.
    private static let latest: Int64 = 253_402_300_799_999

    /// The server's time, where that alone is what it has against a proof.
    private static func timeOfServer(in response: TransportResponse) -> Timestamp? {
        guard response.status == 401, let problem = response.problem,
            (try? problem.string("type"))?.hasSameBytes(as: "urn:countersign:error:clock-skew") ?? false
        else { return nil }
        guard let now = try? problem.integer("now", as: Int64.self), (0...Self.latest).contains(now) else { return nil }
        return Timestamp(milliseconds: now)
    }
}

extension TransportResponse {
    /// The problem document (RFC 9457) that the answer is; `nil` where it is none.
    var problem: JSONObject? {
        guard self.header("Content-Type")?.mediaType.hasSameBytes(as: "application/problem+json") ?? false,
            case .object(let problem)? = try? JSON(parsing: self.body)
        else { return nil }
        return problem
    }
}

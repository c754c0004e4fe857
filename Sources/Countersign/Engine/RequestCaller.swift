import Ceremony
import JOSE
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The caller of a request, as the request shows the caller to an account's server.
enum RequestCaller: Sendable {
    /// An anonymous caller.
    case anybody
    /// A caller with the app's authorization provider.
    case provider(any AuthorizationProvider)
    /// This device, which proves each request with its own key for the account.
    case device(DeviceIdentityKeys, of: AccountKey)
}

/// The answer to the last try of a request that can be repeated.
struct RepeatedAnswer: Sendable {
    let response: TransportResponse
    /// `true` if an earlier try may have reached the server. The server may then have done already what it now refuses.
    let mayHaveArrivedBefore: Bool
}

extension ClientCore {
    /// Returns the caller for requests to an account's server: the app's provider, or else the device itself if the
    /// server knows its keys. `nil` if neither is available.
    func caller(_ provider: (any AuthorizationProvider)?, for record: StoredAccount?) -> RequestCaller? {
        if let provider = provider.withHeaders { return .provider(provider) }
        guard let record, record.key.server == self.configuration.baseURL, record.isIdentityKnown,
            let identity = record.identity
        else { return nil }
        return .device(identity, of: record.key)
    }

    /// Returns the caller that redeems a token: anybody for a token without the key of a device, or else this device,
    /// which proves the redemption. Throws ``EngineError`` `tokenOfOtherDevice` if no account of this device has the key.
    func redeemer(ofTokenFor deviceKey: String?) async throws(EngineError) -> RequestCaller {
        guard let deviceKey else { return .anybody }
        guard let (keys, account) = self.identities.account(ofKey: deviceKey, among: await self.register.records) else {
            throw EngineError(.tokenOfOtherDevice, "no account has the key of the token's device")
        }
        return .device(keys, of: account)
    }

    /// Returns the core for requests to the server of an account.
    func atServer(of record: StoredAccount) -> ClientCore {
        guard record.key.server != self.configuration.baseURL else { return self }
        return self.changed(
            baseURL: record.key.server, requestHeaders: nil, retryPolicy: nil, answerRetryPolicy: nil)
    }

    /// Sends a request that can be repeated without harm, and repeats it by the operation's policy. Throws as
    /// ``send(_:by:_:noting:)``.
    func sendRepeatedly(_ request: TransportRequest, by caller: RequestCaller, _ recording: Recording) async throws
        -> RepeatedAnswer
    {
        var retries = self.newRetries()
        let response = try await retries.send { try await self.send(request, by: caller, recording) }
        return RepeatedAnswer(response: response, mayHaveArrivedBefore: retries.mayHaveArrivedBefore)
    }

    /// Sends a request with the credentials of its caller, once.
    ///
    /// If the device's clock differs from the server's clock, the request is proved once more by the server's clock, and
    /// a second refusal for the time is `clockSkew`. If the server refuses the device, the next authentication announces
    /// its keys again. If the device's keys are gone, the next authentication announces new keys.
    ///
    /// Throws the errors of the transport and of the provider, and ``EngineError``: `notAuthorized` if the
    /// device's keys do not sign, `clockSkew`, `appRenamed`, `unusableHeader`.
    func send(
        _ request: TransportRequest, by caller: RequestCaller, _ recording: Recording, noting event: TraceEvent? = nil
    ) async throws -> TransportResponse {
        switch caller {
        case .anybody: return try await self.channel.send(request, recording, noting: event)
        case .provider(let provider):
            var request = request
            let fields = try provider.headers(for: request.url, at: self.platform.clock.now())
            if let flaw = HeaderFields.flaw(ofCredentials: fields) { throw EngineError(.unusableHeader, flaw) }
            request.headers += fields
            return try await self.channel.send(request, recording, noting: event)
        case .device(let keys, let account):
            return try await self.sendProven(request, by: keys, of: account, recording, noting: event).response
        }
    }

    /// Sends a request that this device proves, as ``send(_:by:_:noting:)`` does. Also returns the difference by which the
    /// server's clock is ahead of the device's clock, as far as the server has refused a proof for its time.
    func sendProven(
        _ request: TransportRequest, by keys: DeviceIdentityKeys, of account: AccountKey, _ recording: Recording,
        noting event: TraceEvent? = nil
    ) async throws -> (response: TransportResponse, clockOffset: Duration) {
        try self.checkName(of: await self.register.record(of: account))
        var clockOffset = Duration.zero
        var response = try await self.channel.send(
            try await self.proven(request, by: keys, of: account, clockOffset: clockOffset), recording, noting: event)
        if let now = Self.timeOfServer(in: response) {
            clockOffset = now - self.platform.clock.now()
            response = try await self.channel.send(
                try await self.proven(request, by: keys, of: account, clockOffset: clockOffset), recording)
        }
        // The key is good. Only the time was wrong.
        if Self.isClockSkew(response) {
            throw EngineError(.clockSkew, httpStatus: response.status, "the server refused the proof's time")
        }
        // If the change cannot be stored, the next request ends here again.
        if response.status == 401 { try? await self.register.note(isKnown: false, keys, of: account) }
        return (response, clockOffset)
    }

    /// Returns a request with this device's proof. Throws ``EngineError`` `notAuthorized` if the device's keys do not
    /// sign.
    func proven(
        _ request: TransportRequest, by keys: DeviceIdentityKeys, of account: AccountKey, clockOffset: Duration
    ) async throws -> TransportRequest {
        var request = request
        do {
            let proof = try await DeviceIdentity(keys, of: account, self.module, self.platform).proof(
                method: request.method, target: request.url.absoluteString, body: request.body,
                clockOffset: clockOffset)
            request.headers.append(("Device-Proof", proof))
        } catch let error as DeviceKeyError {
            if error.isForGood { await self.identities.forget(keys, of: account) }
            throw EngineError(.notAuthorized, "the device's keys do not sign")
        }
        return request
    }

    /// The end of the year 9999, in milliseconds: no server's time is later, and sums with it do not overflow.
    private static let latest: Int64 = 253_402_300_799_999

    /// Returns `true` if the wrong time is the only reason for refusing a proof.
    private static func isClockSkew(_ response: TransportResponse) -> Bool {
        guard response.status == 401, let type = try? response.problem?.string("type") else { return false }
        return type.hasSameBytes(as: "urn:countersign:error:clock-skew")
    }

    /// Returns the server's time, if the wrong time is the only reason for refusing a proof.
    private static func timeOfServer(in response: TransportResponse) -> Timestamp? {
        guard self.isClockSkew(response), let now = try? response.problem?.integer("now", as: Int64.self),
            (0...Self.latest).contains(now)
        else { return nil }
        return Timestamp(milliseconds: now)
    }
}

extension TransportResponse {
    /// The answer's problem document (RFC 9457); `nil` if the answer is not a problem document.
    var problem: JSONObject? {
        guard self.header("Content-Type")?.mediaType.hasSameBytes(as: "application/problem+json") ?? false,
            case .object(let problem)? = try? JSON(parsing: self.body)
        else { return nil }
        return problem
    }
}

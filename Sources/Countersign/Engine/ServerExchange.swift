import Ceremony
import UAF
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A request of the server, with the known data of its TLS channel: the answer is bound to that channel.
struct ReceivedRequest: Sendable {
    let message: ReturnUAFRequest
    let channel: ChannelBinding

    init(_ message: ReturnUAFRequest, from response: TransportResponse) {
        self.message = message
        self.channel = response.serverCertificate.map(ChannelBinding.init(serverCertificate:)) ?? ChannelBinding()
    }

    /// `true` if the request's token was made to travel in a link. A server that names no channel allows links.
    var isForLinks: Bool {
        guard let name = self.message.dispatchChannel else { return true }
        return DispatchChannel(exactly: name)?.canBeSentOn ?? false
    }

    /// Returns the header for a failure report: the header of the operation, in the highest version of the message,
    /// even if this client does not support the version. `nil` if the message cannot be read.
    func header(of operation: UAF.Operation) -> OperationHeader? {
        guard let header = self.highest?.header, header.operation == operation else { return nil }
        return header
    }

    /// The request to authenticate, in the version of ``header(of:)``; `nil` for another request, and if the message
    /// cannot be read.
    var authentication: AuthenticationRequest? {
        guard case .authentication(let request)? = self.highest else { return nil }
        return request
    }

    private var highest: UAFRequest? {
        guard let read = try? RequestMessage(parsing: (self.message.uafRequest ?? "").utf8) else { return nil }
        return try? read.request(among: Set(read.versions))
    }
}

/// The exchange of the SDK's messages with the server, and of the answers: translation only.
struct ServerExchange: Sendable {
    private static let messageType = "application/fido+uaf"
    /// The time that a server has to accept a report that no answer will come.
    static let patienceForReports = Duration.seconds(5)

    let core: ClientCore
    let recording: Recording

    /// Asks for a UAF request (GetUAFRequest). Throws ``EngineError`` and the errors of the transport; `refused` or
    /// `unknownKey` if the server returns a status other than 1200.
    func request(_ body: GetUAFRequest, path: String, by caller: RequestCaller = .anybody) async throws
        -> ReceivedRequest
    {
        let response = try await self.answer(path, body.serialized) { request in
            try await self.core.sendRepeatedly(request, by: caller, self.recording).response
        }
        let request = try ReturnUAFRequest(parsing: response.body)
        guard request.statusCode == .ok, request.uafRequest != nil else {
            throw EngineError(refusedWith: request.statusCode)
        }
        return ReceivedRequest(request, from: response)
    }

    /// Sends a UAF response (SendUAFResponse), and returns the server's judgement. The response is the given event of a
    /// run, unless it only says that no answer will come.
    func send(
        _ message: [UInt8], as event: TraceEvent?, context: JSONObject, path: String, timeout: Duration? = nil,
        by caller: RequestCaller = .anybody
    ) async throws -> ServerResponse {
        let response = try await self.answer(path, Self.body(message, context), timeout: timeout) { request in
            try await self.core.send(request, by: caller, self.recording, noting: event)
        }
        return try ServerResponse(parsing: response.body)
    }

    private static func body(_ message: [UInt8], _ context: JSONObject) -> [UInt8] {
        SendUAFResponse(
            uafResponse: String(decoding: message, as: UTF8.self), context: context.members.isEmpty ? nil : context
        ).serialized
    }

    /// Does the same as ``send(_:as:context:path:timeout:by:)``, for an answer that a key has signed: the answer is sent
    /// and judged even if the operation's task is cancelled meanwhile. If the answer were cut off on its way, its fate
    /// would be unknown.
    ///
    /// The answer is sent again, as the same bytes, if the transport says that it was not sent. An answer that may have
    /// arrived is sent again only if `asker` is given: the caller that asks for the lost judgement. A server gives the
    /// same judgement to the same bytes within the challenge's life (decision 129). A server that does not, and a
    /// challenge that is over, leave the judgement lost.
    ///
    /// Throws ``Unanswered``, and `CancellationError` if the task is cancelled between two tries of an unsent answer. If
    /// the task is cancelled while a judgement is lost, the judgement stays lost.
    func sendToTheEnd(
        _ message: [UInt8], as event: TraceEvent, context: JSONObject, path: String, retries: Retries,
        by caller: RequestCaller = .anybody, askingAgainBy asker: RequestCaller? = nil
    ) async throws -> ServerResponse {
        var (retries, event) = (retries, Optional(event))
        let body = Self.body(message, context)
        // The failure of the first try that may have arrived.
        var lost: (any Error)?
        while true {
            let (noted, sender) = (event, lost == nil ? caller : asker ?? caller)
            // The separate task is not cancelled with the operation's task. The transport's time limit bounds it.
            let (result, delay) = await Task { await self.judgement(of: body, as: noted, path: path, by: sender) }.value
            // The run's event has been recorded.
            event = nil
            switch result {
            case .success(let response):
                guard let lost, [.invalidRequest, .requestTimeout].contains(response.statusCode) else {
                    return response
                }
                throw Unanswered(cause: lost, isJudgementLost: true)
            case .failure(let error):
                let isUnsent = (error as? TransportError)?.isUnsent ?? false
                if !isUnsent { lost = lost ?? error }
                let isRepeatable = isUnsent ? lost == nil || asker != nil : asker != nil
                guard isRepeatable, Self.isTransient(error),
                    try await Self.wait(&retries, atLeast: delay, isLost: lost != nil)
                else { throw Unanswered(cause: lost ?? error, isJudgementLost: lost != nil) }
            }
        }
    }

    /// Sends a signed answer once. Returns the judgement or the failure, and the delay that the server asks for.
    private func judgement(of body: [UInt8], as event: TraceEvent?, path: String, by caller: RequestCaller) async -> (
        result: Result<ServerResponse, any Error>, delay: Duration
    ) {
        var delay = Duration.zero
        do {
            let response = try await self.answer(path, body) { request in
                let response = try await self.core.send(request, by: caller, self.recording, noting: event)
                delay = Retries.demandedDelay(of: response, at: self.core.platform.clock.now())
                return response
            }
            return (.success(try ServerResponse(parsing: response.body)), delay)
        } catch {
            return (.failure(error), delay)
        }
    }

    /// Returns `true` if a later try of a signed answer can succeed.
    private static func isTransient(_ error: any Error) -> Bool {
        if let error = error as? TransportError { return error.isTransient }
        return (error as? EngineError)?.cause == .unavailable
    }

    /// Waits before the next try of a signed answer. Returns `false` if no try is left, and if the task is cancelled
    /// while a judgement is lost. Throws `CancellationError` if the task is cancelled and nothing was sent.
    private static func wait(_ retries: inout Retries, atLeast delay: Duration, isLost: Bool) async throws -> Bool {
        do { return try await retries.wait(atLeast: delay) } catch {
            guard isLost else { throw error }
            return false
        }
    }

    /// Tells the server that no answer will come. The function ignores failures, and runs even if the task was
    /// cancelled.
    func reportFailure(_ message: [UInt8], code: ErrorCode, asmStatus: ASMStatusCode?, path: String) async {
        var context: JSONObject = ["clientErrorCode": .integer(Int64(code.rawValue))]
        context["asmStatusCode"] = asmStatus.map { .integer(Int64($0.rawValue)) }
        // The server's operator can then read which app is not listed: the failure message itself does not say.
        if code == .untrustedFacetID { context["facetId"] = .string(self.core.configuration.facetID) }
        let final = context
        // The report runs in a separate task, because the operation's task may be cancelled. The report is sent all the
        // same, and the operation ends only after the report. The report's own time limit bounds the wait, so that
        // giving up does not take long.
        let limit = min(self.timeout, Self.patienceForReports)
        await Task { _ = try? await self.send(message, as: nil, context: final, path: path, timeout: limit) }.value
    }

    /// Sends a denial that the device has signed, and returns the server's judgement. The denial is sent and judged even
    /// if the operation's task is cancelled meanwhile. Throws the errors of the transport and ``EngineError``.
    func deny(_ request: AuthenticationRequest, _ signed: String, timeout: Duration? = nil) async throws
        -> ServerResponse
    {
        let message = AuthenticationResponse(header: request.header, fcParams: "", assertions: []).serialized
        let context: JSONObject = [
            "clientErrorCode": .integer(Int64(ErrorCode.userCancelled.rawValue)), "denial": .string(signed),
        ]
        let path = self.core.configuration.authenticationResponsePath
        return try await Task {
            try await self.send(message, as: nil, context: context, path: path, timeout: timeout)
        }.value
    }

    /// Tells the server that a redeemed request will not be answered, before the person was asked.
    func decline(_ request: ReceivedRequest, as code: ErrorCode = .protocolError) async {
        let configuration = self.core.configuration
        if let header = request.header(of: .authentication) {
            await self.reportFailure(
                AuthenticationResponse(header: header, fcParams: "", assertions: []).serialized, code: code,
                asmStatus: nil, path: configuration.authenticationResponsePath)
        } else if let header = request.header(of: .registration) {
            await self.reportFailure(
                RegistrationResponse(header: header, fcParams: "", assertions: []).serialized, code: code,
                asmStatus: nil, path: configuration.registrationResponsePath)
        }
    }

    /// Checks that a token may be sent to an address. Throws ``EngineError`` (`insecureAddress`, `foreignHost`) if not.
    func checkRedeemAddress(_ url: URL) throws {
        guard SecureChannel.isSecure(url) else {
            throw EngineError(.insecureAddress, "the redeem address is not https")
        }
        guard let authority = url.authority, self.core.configuration.mayRedeem(at: authority) else {
            throw EngineError(.foreignHost, "the redeem address is at another host")
        }
    }

    /// Does the same as ``redeem(_:at:forDeviceKey:timeout:)``, and remembers that this device has redeemed the token.
    /// Throws ``EngineError`` `tokenSpentHere` in place of `tokenSpent` if this device may have redeemed the token.
    func redeemOnce(_ payload: OutOfBandPayload) async throws -> ReceivedRequest {
        let (token, url) = (payload.redeemData.token, payload.redeemData.redeemURL)
        try self.checkRedeemAddress(url)
        let redeemed = self.core.redeemed
        let wasNoted = await redeemed.note(token)
        do {
            let request = try await self.redeem(token, at: url, forDeviceKey: payload.deviceKey)
            await redeemed.confirm(token)
            return request
        } catch let error as EngineError where error.cause == .tokenSpent && wasNoted {
            throw EngineError(.tokenSpentHere, httpStatus: error.httpStatus, "redeemed by this device before")
        } catch let error as EngineError
            where [.tokenSpent, .tokenUnknown, .tokenExpired, .tokenOfOtherDevice].contains(error.cause)
        {
            await redeemed.forget(token)
            throw error
        }
    }

    /// Redeems a token. The device proves the redemption with its own key if the token is for the device of a key
    /// (``OutOfBandPayload/deviceKey``). Throws ``EngineError`` and the errors of the transport.
    func redeem(_ token: String, at url: URL, forDeviceKey deviceKey: String?, timeout: Duration? = nil) async throws
        -> ReceivedRequest
    {
        try self.checkRedeemAddress(url)
        let caller = try await self.core.redeemer(ofTokenFor: deviceKey)
        let redemption = TransportRequest(
            method: "POST", url: url, headers: [("Content-Type", "application/json"), ("Accept", Self.messageType)],
            body: JSON.object(["token": .string(token)]).serialized, timeout: timeout ?? self.timeout)
        var (retries, event) = (self.core.newRetries(), Optional(TraceEvent.tokenRedeemed))
        // A token works once: if the token may have arrived, it is not sent again.
        let response = try await retries.sendOnce {
            defer { event = nil }
            return try await self.core.send(redemption, by: caller, self.recording, noting: event)
        }
        switch response.status {
        case 200: break
        case 401: throw EngineError(.tokenOfOtherDevice, httpStatus: 401, "the server does not accept the proof")
        case 404: throw EngineError(.tokenUnknown, httpStatus: 404)
        case 409: throw EngineError(.tokenSpent, httpStatus: 409)
        case 410: throw EngineError(.tokenExpired, httpStatus: 410)
        default: throw Self.refused(httpStatus: response.status)
        }
        guard Self.isMessage(response) else {
            throw EngineError(.unreadable, "the answer's content type")
        }
        let request = try ReturnUAFRequest(parsing: response.body)
        // A deregistration that found nothing to delete has no message.
        guard request.statusCode == .ok, request.uafRequest != nil || request.operation == .deregistration else {
            throw EngineError(.refused, status: request.statusCode, "UAF status \(request.statusCode)")
        }
        return ReceivedRequest(request, from: response)
    }

    /// Returns the address that the server asks the app to open, if the address is secure and at a host of this server.
    func continuation(_ location: String?) -> URL? {
        guard let url = location.flatMap({ URL(string: $0) }), SecureChannel.isSecure(url),
            let authority = url.authority, self.core.configuration.mayRedeem(at: authority)
        else { return nil }
        return url
    }

    /// Returns the error of an answer without a message, for a cause without a name of its own.
    private static func refused(httpStatus status: Int) -> EngineError {
        switch status {
        case 408, 429, 500...: EngineError(.unavailable, httpStatus: status, "status \(status)")
        default: EngineError(.malformed, httpStatus: status, "status \(status)")
        }
    }

    var timeout: Duration { self.core.configuration.networkTimeout }

    /// Returns the answer to a message that `send` sends to a configured path. Throws ``EngineError`` for an answer
    /// that is not a message, and the errors of `send`.
    private func answer(
        _ path: String, _ body: [UInt8], timeout: Duration? = nil,
        _ send: (TransportRequest) async throws -> TransportResponse
    ) async throws -> TransportResponse {
        guard let url = self.core.configuration.address(path) else {
            throw EngineError(.misconfigured, "the configured path is not one")
        }
        let headers = [("Content-Type", Self.messageType + ";charset=UTF-8"), ("Accept", Self.messageType)]
        let response = try await send(
            TransportRequest(method: "POST", url: url, headers: headers, body: body, timeout: timeout ?? self.timeout))
        switch response.status {
        case 200: break
        case 403 where Self.isLock(response): throw EngineError(.accountLocked, httpStatus: 403, "status 403")
        case 401, 403:
            throw EngineError(.notAuthorized, httpStatus: response.status, "status \(response.status)")
        default: throw Self.refused(httpStatus: response.status)
        }
        guard Self.isMessage(response) else {
            throw EngineError(.unreadable, "the answer's content type")
        }
        return response
    }

    private static func isMessage(_ response: TransportResponse) -> Bool {
        response.header("Content-Type")?.mediaType.hasSameBytes(as: self.messageType) ?? false
    }

    /// Returns `true` if a problem document (RFC 9457) says that the account is locked: a new authentication would not
    /// help.
    private static func isLock(_ response: TransportResponse) -> Bool {
        (try? response.problem?.string("type"))?.hasSameBytes(as: "urn:countersign:error:locked") ?? false
    }
}

import Ceremony
import Countersign
import Foundation
import _Primitives

/// Records the steps that the phone takes, from the messages that it sends.
struct RecordedTransport: Transport {
    let transport: any Transport
    let recorder: TraceRecorder
    private let trace = TraceID()

    init(transport: any Transport, recorder: TraceRecorder) {
        self.transport = transport
        self.recorder = recorder
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        var request = request
        for event in Self.events(of: request) { self.recorder.record(event, trace: self.trace) }
        request.headers.append((name: "traceparent", value: self.trace.traceparent()))
        return try await self.transport.send(request)
    }

    static func events(of request: TransportRequest) -> [TraceEvent] {
        switch request.url.path.split(separator: "/").prefix(3).joined(separator: "/") {
        case "token/redeem/authentication", "token/redeem/registration": [.tokenRedeemed]
        case "uaf/1.1/authentication" where !self.isFailureReport(request): [.personVerified, .authenticationSent]
        case "uaf/1.1/registration" where !self.isFailureReport(request): [.personVerified, .registrationSent]
        default: []
        }
    }

    /// Whether the message only says that there will be no answer: nobody was verified for it.
    private static func isFailureReport(_ request: TransportRequest) -> Bool {
        guard case .object(let message)? = try? JSON(parsing: request.body),
            let context = try? message.string("context"),
            case .object(let members)? = try? JSON(parsing: context)
        else { return false }
        return members["clientErrorCode"] != nil
    }
}

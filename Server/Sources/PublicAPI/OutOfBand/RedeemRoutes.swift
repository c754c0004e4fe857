import Ceremony
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import NIOCore
import Settings
import UAF
import _Primitives

/// The routes on which a phone exchanges a one-time token for a UAF request.
struct RedeemRoutes: Sendable {
    let redemptions: Redemptions
    let limits: Limits
    let trace: TraceRecorder?

    /// The endpoints of one-time tokens.
    var endpoints: [Endpoint] {
        RedeemPath.allCases.map { path in
            Endpoint(
                method: .post, path: path.rawValue, id: "redeem-\(path.operation.rawValue)",
                summary: "What a one-time token stands for.",
                effect: path.operation == .deregistration ? .takesAway : .none,
                body: (.json, [.required("token", "From a link or a QR code, or typed.")]),
                answers: [.init(status: 200, meaning: "A UAF request.", type: BodyType.uaf.rawValue)],
                refusing: [
                    (403, "Not now."), (404, "There is no such token."), (409, "Redeemed before."),
                    (410, "Its time is over."), Endpoint.tooMany,
                ]
            ) { try await self.redeem(path.operation, $0, $1) }
        }
    }

    private func redeem(_ operation: UAF.Operation, _ request: Request, _ context: ServerContext) async throws
        -> Response
    {
        let body = try await request.jsonObject(limit: self.limits.bodyBytes)
        var reason: String?
        let answer = try await self.redemptions.redeem(
            token: try body.requiredString("token"), operation: operation, source: context.source
        ) { reason = $0 }
        context.notes.note(answer.statusCode, reason)
        self.trace?.record(.requestAnswered, in: request.trace, context)
        return Response(
            status: .ok,
            headers: [.contentType: BodyType.uaf.headerValue, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: answer.serialized)))
    }
}

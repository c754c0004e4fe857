import Ceremony
import CeremonyEngine
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

    func mount(on router: ServerRouter) {
        for path in RedeemPath.allCases {
            router.endpoint(
                RouterPath(path.rawValue), [.post: { try await self.redeem(path.operation, $0, $1) }])
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
            headers: [.contentType: MediaType.uaf.headerValue, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: answer.serialized)))
    }
}

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
    let devices: DeviceAuthorization
    let limits: Limits
    let trace: TraceRecorder?

    /// The endpoints of one-time tokens.
    var endpoints: [Endpoint] {
        RedeemPath.allCases.map { path in
            Endpoint(
                method: .post, path: path.rawValue, id: "redeem-\(path.operation.rawValue)",
                summary: "What a one-time token stands for.",
                effect: path.operation == .deregistration ? .takesAway : .none,
                headers: [
                    .optional(DeviceProofField.text, "Of the device, for what was dispatched to one, as a JWT.")
                ],
                body: (.json, [.required("token", "From a link, a QR code or a message, or typed.")]),
                answers: [.init(status: 200, meaning: "A UAF request.", type: BodyType.uaf.rawValue)],
                refusing: [
                    (401, "The token is another device's, or the proof does not count."), (403, "Not now."),
                    (404, "There is no such token."), (409, "Redeemed before."),
                    (410, "Its time is over."), Endpoint.tooMany,
                ]
            ) { try await self.redeem(path, $0, $1) }
        }
    }

    private func redeem(_ path: RedeemPath, _ request: Request, _ context: ServerContext) async throws -> Response {
        let bytes = Array(try await request.body(of: [.json], limit: self.limits.bodyBytes).readableBytesView)
        guard case .object(let body) = try JSON(parsing: bytes, limits: JSONLimits(bytes: self.limits.bodyBytes)) else {
            throw JSONError(.wrongType, "the body is not an object")
        }
        let token = try body.requiredString("token")
        // A removed device is told once more what a deregistration has deleted.
        let prover =
            DeviceAuthorization.isProof(in: request)
            ? try await self.devices.prover(of: request, at: path.rawValue, body: bytes, context) : nil
        try prover.map { try DeviceAuthorization.checkUse(of: $0) }
        var reason: String?
        let answer = try await self.redemptions.redeem(
            token: token, operation: path.operation, by: prover, source: context.source
        ) { reason = $0 }
        context.notes.note(answer.statusCode, reason)
        self.trace?.record(.requestAnswered, in: request.trace, context)
        return Response(
            status: .ok,
            headers: [.contentType: BodyType.uaf.headerValue, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: answer.serialized)))
    }
}

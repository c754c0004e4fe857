import Ceremony
import CeremonyEngine
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Settings
import _Primitives

/// The PIN service at its socket: JSON in, JSON out.
///
///     GET  /keys/{activation}                         {"key": …}
///     POST /evaluations {"activation", "blinded"}     {"evaluated": …}
///     429 for an activation that has used up its day's evaluations, with Retry-After; 400 for a malformed question;
///     503 if the service cannot count, or has too much to do.
struct PinServiceRoutes: Sendable {
    let service: PinService
    let logger: Logger

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.get("/healthz") { _, _ in "alive\n" }
        router.get("/keys/{activation}") { _, context in
            let activation = try context.parameters.require("activation")
            return try await self.answer { () async throws(PinServiceFailure) in
                ["key": .string(Base64URL.encode(try await self.service.key(of: activation)))]
            }
        }
        router.post("/evaluations") { request, _ in
            let body = try await request.body.collect(upTo: Limits.Evaluations.bodyBytes)
            guard let (activation, blinded) = Self.question(Array(body.readableBytesView)) else {
                return Self.response(.badRequest, [:])
            }
            return try await self.answer(of: activation) { () async throws(PinServiceFailure) in
                let evaluated = try await self.service.evaluate(blinded, of: activation)
                return ["evaluated": .string(Base64URL.encode(evaluated))]
            }
        }
        return router
    }

    private static func question(_ body: [UInt8]) -> (activation: String, blinded: [UInt8])? {
        guard case .object(let object)? = try? JSON(parsing: body), object.members.count == 2,
            let activation = try? object.requiredString("activation"),
            let blinded = try? Base64URL.decode(object.requiredString("blinded"))
        else { return nil }
        return (activation, blinded)
    }

    private func answer(
        of activation: String = "", _ body: () async throws(PinServiceFailure) -> JSONObject
    ) async throws -> Response {
        do throws(PinServiceFailure) {
            return Self.response(.ok, try await body())
        } catch {
            switch error {
            case .malformed: return Self.response(.badRequest, [:])
            case .exhausted(let seconds):
                self.logger.notice(
                    "An activation has had all the evaluations that there are in a day",
                    metadata: [
                        "activation": "\(DisplayText.line(activation, maximumLength: 64))",
                        "setting": "--evaluations-per-day",
                    ])
                return Self.response(.tooManyRequests, [:], retryAfter: seconds)
            case .notAsked, .unknown:
                self.logger.error(
                    "Nothing was evaluated: the count cannot be written, or too much is asked at once",
                    metadata: ["setting": "--data"])
                return Self.response(.serviceUnavailable, [:])
            }
        }
    }

    private static func response(_ status: HTTPResponse.Status, _ object: JSONObject, retryAfter: Int? = nil)
        -> Response
    {
        var headers: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
        if let retryAfter { headers[.retryAfter] = String(retryAfter) }
        return Response(
            status: status, headers: headers,
            body: .init(byteBuffer: ByteBuffer(bytes: JSON.object(object).serialized)))
    }
}

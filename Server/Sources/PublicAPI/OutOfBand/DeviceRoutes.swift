import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import Settings
import _Primitives

/// The routes by which a device reads the operations that wait for it: as a list, and as a stream of lists (decision
/// 115).
///
/// A device proves each request with its own key, and reads nothing of another device: `{id}` is the device's own
/// identifier, or the name of the key that proves the request.
struct DeviceRoutes: Sendable {
    let operations: DeviceOperations
    let authorization: DeviceAuthorization
    let channels: EventChannels
    let limits: Limits

    private static let members: [DescribedField] = [
        .required(
            "operations", .strings,
            "What waits, the newest first: compact JWEs to the device's encryption key, whose `kid` names the key. Inside: "
                + "id, operation, service, payload, createdAt, expiresAt, and origin where the service has one.")
    ]

    /// The endpoints for a device.
    var endpoints: [Endpoint] {
        let refusing: [(status: Int, meaning: String)] = [
            (403, "The account is locked."), (404, "The identifier is another device's."), Endpoint.tooMany,
        ]
        return [
            Endpoint(
                method: .get, path: "/devices/{id}/operations", id: "deviceOperations",
                summary: "What waits for a device, by the device's own proof.", effect: .none, caller: .deviceByProof,
                answers: [
                    .init(status: 200, meaning: "Operations.", type: "application/json", members: Self.members)
                ], refusing: refusing, handler: self.list),
            Endpoint(
                method: .get, path: "/devices/{id}/operations/events", id: "deviceOperationEvents",
                summary: "The same as server-sent events: `operations` with each list, `replaced` where another stream "
                    + "has taken the place, `ended` where the device may ask no more.",
                effect: .none, caller: .deviceByProof,
                answers: [.init(status: 200, meaning: "Lists of operations.", type: "text/event-stream")],
                refusing: refusing, handler: self.events),
        ]
    }

    @Sendable private func list(_ request: Request, _ context: ServerContext) async throws -> Response {
        let prover = try await self.prover(of: request, below: "operations", context)
        return .json(try self.document(of: try await self.operations.pending(for: prover), for: prover))
    }

    @Sendable private func events(_ request: Request, _ context: ServerContext) async throws -> Response {
        let prover = try await self.prover(of: request, below: "operations/events", context)
        return .serverSentEvents(
            to: context, try await self.operations.events(for: prover), in: self.channels,
            heartbeat: self.limits.heartbeat,
            owner: .device(id: prover.device.deviceID, accountID: prover.device.accountID), replacedEvent: "replaced"
        ) { state in
            switch state {
            case .operations(let operations): ("operations", try self.document(of: operations, for: prover))
            case .ended: ("ended", [:])
            }
        }
    }

    private func document(of operations: [PendingOperation], for prover: DeviceProofs.Prover) throws -> JSONObject {
        ["operations": .array(try operations.map { try self.operations.sealed($0, for: prover) })]
    }

    /// Returns the device that has proved a request about itself. Throws a ``Problem``: 401, 403, 429, and 404 for the
    /// identifier of another device.
    private func prover(of request: Request, below name: String, _ context: ServerContext) async throws
        -> DeviceProofs.Prover
    {
        let id = try context.pathParameter("id")
        let prover = try await self.authorization.presentProver(of: request, at: "/devices/\(id)/\(name)", context)
        guard prover.isNamed(id) else {
            throw Problem(.notFound, Problem.Name.notFound, "The proof is of another device.")
        }
        return prover
    }
}

import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import Records
import _Primitives

/// The routes by which a device has another device of its person enrolled, and approves the other device (decision 127).
///
/// A device proves each request with its own key, and sees only the approvals that it began: `{id}` is the device's own
/// identifier, or the name of the key that proves the request.
struct DeviceApprovalRoutes: Sendable {
    let approvals: DeviceApprovals
    let authorization: DeviceAuthorization

    /// The endpoints for a device.
    var endpoints: [Endpoint] {
        let refused = (status: 403, meaning: "The account is locked, or another device approved this device lately.")
        let unknown = (status: 404, meaning: "There is no such approval of this device.")
        return [
            Endpoint(
                method: .post, path: "/devices/{id}/approvals", id: "beginDeviceApproval",
                summary: "Begin the enrolment of another device, which this device approves.", effect: .none,
                caller: .deviceByProof,
                answers: [
                    .init(
                        status: 201, meaning: "The code for the other device.", type: "application/json",
                        members: [
                            .required("id", "The approval."), .required("link", "For the other device, to be opened."),
                            .required("qrContent", "For the other device, to be scanned."),
                            .required("expiresAt", "When the code ends, RFC 3339."),
                        ])
                ], refusing: [refused, (404, "The identifier is another device's."), Endpoint.tooMany],
                handler: self.begin),
            Endpoint(
                method: .get, path: "/devices/{id}/approvals/{approval}", id: "deviceApproval",
                summary: "How far the other device is.", effect: .none, caller: .deviceByProof,
                answers: [
                    .init(
                        status: 200, meaning: "The state.", type: "application/json",
                        members: [
                            .required("id", "The approval."),
                            .required(
                                "state",
                                "created, claimed, pending-confirmation, succeeded, denied, failed, expired or cancelled."
                            ),
                            .required("expiresAt", "When the state ends, RFC 3339."),
                            .optional(
                                "device", .object,
                                "The other device while it waits for the number: its name, its model and its network."),
                        ])
                ], refusing: [refused, unknown, Endpoint.tooMany], handler: self.state),
            Endpoint(
                method: .delete, path: "/devices/{id}/approvals/{approval}", id: "cancelDeviceApproval",
                summary: "Do not add the other device.", effect: .takesAway, caller: .deviceByProof,
                answers: [.init(status: 204, meaning: "The other device is not added.")],
                refusing: [refused, unknown, (409, "The enrolment has ended."), Endpoint.tooMany],
                handler: self.cancel),
            Endpoint(
                method: .post, path: "/devices/{id}/approvals/{approval}/question", id: "askDeviceApproval",
                summary: "Have the person asked on this device: the answer signs the other device's number and keys.",
                effect: .none, caller: .deviceByProof,
                answers: [
                    .init(
                        status: 201, meaning: "The question.", type: "application/json",
                        members: [
                            .required("payload", "What this device redeems, once: an out-of-band payload."),
                            .required("expiresAt", "Until when, RFC 3339."),
                        ])
                ], refusing: [refused, unknown, (409, "No device waits for its number."), Endpoint.tooMany],
                handler: self.question),
        ]
    }

    @Sendable private func begin(_ request: Request, _ context: ServerContext) async throws -> Response {
        let link = try await self.approvals.begin(by: try await self.approver(of: request, below: "", context))
        return .json(
            [
                "id": .string(link.id), "link": .string(link.link), "qrContent": .string(link.qrContent),
                "expiresAt": .string(link.expiresAt.description),
            ], status: .created)
    }

    @Sendable private func state(_ request: Request, _ context: ServerContext) async throws -> Response {
        let id = try context.pathParameter("approval")
        let approver = try await self.approver(of: request, below: "/\(id)", context)
        let view = try await self.approvals.state(id, for: approver)
        var document: JSONObject = [
            "id": .string(view.id), "state": .string(view.state.rawValue),
            "expiresAt": .string(view.expiresAt.description),
        ]
        document["device"] = view.asking.map { asking in
            .object([
                "name": .string(asking.name), "model": .string(asking.model), "network": .string(asking.network),
            ])
        }
        return .json(document)
    }

    @Sendable private func cancel(_ request: Request, _ context: ServerContext) async throws -> Response {
        let id = try context.pathParameter("approval")
        try await self.approvals.cancel(id, for: try await self.approver(of: request, below: "/\(id)", context))
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }

    @Sendable private func question(_ request: Request, _ context: ServerContext) async throws -> Response {
        let id = try context.pathParameter("approval")
        let approver = try await self.approver(of: request, below: "/\(id)/question", context)
        let question = try await self.approvals.question(id, for: approver)
        return .json(
            ["payload": .string(question.payload), "expiresAt": .string(question.expiresAt.description)],
            status: .created)
    }

    /// Returns the device that has proved a request about its approvals. Throws a ``Problem``: 401, 403, 429, and 404 for
    /// the identifier of another device.
    private func approver(of request: Request, below path: String, _ context: ServerContext) async throws
        -> ApprovingDevice
    {
        let id = try context.pathParameter("id")
        let prover = try await self.authorization.presentProver(
            of: request, at: "/devices/\(id)/approvals\(path)", context)
        guard prover.isNamed(id) else {
            throw Problem(.notFound, Problem.Name.notFound, "The proof is of another device.")
        }
        return ApprovingDevice(device: prover.device, keyName: prover.keyName)
    }
}

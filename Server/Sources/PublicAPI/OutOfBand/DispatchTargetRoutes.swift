import CeremonyEngine
import Crypto
import Endpoints
import HTTPTypes
import Hummingbird
import JOSE
import OAuth
import OAuthProvider
import Records
import UAF
import _Primitives

/// The routes by which a device makes itself known as a target of dispatches, reads, changes and ends its target
/// (operations parity, section 2.6; decision 114).
///
/// The device proves each request by its own key (`Device-Proof`). A device has the target of its own identifier, and no
/// other.
struct DispatchTargetRoutes: Sendable {
    let targets: DeviceTargets
    let authorization: DeviceAuthorization
    let bodyLimit: Int

    private static let path = "/token/dispatch/targets"

    /// The members of a target that a device can change.
    private static func changeable(nameIsRequired: Bool) -> [DescribedField] {
        let name = "What people call the device; no other phone of the person has the name."
        return [
            nameIsRequired ? .required("name", name) : .optional("name", name),
            .optional("dispatcher", "Which dispatcher reaches it."),
            .optional("target", "Where the dispatcher's provider reaches it."),
            .optional("push", .boolean, "Whether it wants to be pushed to."),
        ]
    }

    private static let created =
        Self.changeable(nameIsRequired: true) + [
            .required("signatureKey", .object, "The signing key that its authenticator has told, as a JWK."),
            .required("encryptionKey", .object, "The encryption key that its authenticator has told, as a JWK."),
        ]

    private static let changed = Self.changeable(nameIsRequired: false)

    private static let refusing: [(status: Int, meaning: String)] = [
        (403, "The account is locked."), Endpoint.tooMany,
    ]

    /// The endpoints for devices.
    var endpoints: [Endpoint] {
        let gone = (status: 404, meaning: "The device has no such target.")
        return [
            Endpoint(
                method: .post, path: Self.path, id: "createTarget", summary: "Make a device known as a target.",
                effect: .none, caller: .deviceByProof, body: (.json, Self.created), isBodyClosed: true,
                answers: [
                    .init(
                        status: 201, meaning: "It is known.", type: "application/json",
                        members: [.required("id", "The target, the same for each call of this device.")])
                ],
                refusing: [(422, "The name is taken, the dispatcher is unknown, or the keys are others.")]
                    + Self.refusing, handler: self.create),
            Endpoint(
                method: .get, path: "\(Self.path)/{id}", id: "target", summary: "What is known of the device.",
                effect: .none, caller: .deviceByProof,
                answers: [
                    .init(
                        status: 200, meaning: "The target.", type: "application/json",
                        members: [
                            .required("id", "The target."), .required("name", "What people call the device."),
                            .optional("dispatcher", "Which dispatcher reaches it."),
                            .optional("target", "The SHA-256 of where it is reached, as base64url."),
                            .required("push", .boolean, "Whether it wants to be pushed to."),
                            .required(
                                "credentials",
                                .objects([
                                    .required("aaid", "The model."), .required("keyID", "The key's name, base64url."),
                                ]), "Its registered keys."),
                        ])
                ], refusing: [gone] + Self.refusing, handler: self.information),
            Endpoint(
                method: .patch, path: "\(Self.path)/{id}", id: "changeTarget",
                summary: "Change what a device has told of itself.", effect: .none, caller: .deviceByProof,
                body: (.json, Self.changed), isBodyClosed: true,
                answers: [.init(status: 204, meaning: "It is changed.")],
                refusing: [gone, (422, "The name is taken, or the dispatcher is unknown.")] + Self.refusing,
                handler: self.change),
            Endpoint(
                method: .delete, path: "\(Self.path)/{id}", id: "endTarget",
                summary: "Have nothing pushed to a device any more; its keys stay.", effect: .takesAway,
                caller: .deviceByProof, answers: [.init(status: 204, meaning: "It has ended.")],
                refusing: [gone] + Self.refusing, handler: self.end),
        ]
    }

    @Sendable private func create(_ request: Request, _ context: ServerContext) async throws -> Response {
        let bytes = Array(try await request.body(of: [.json], limit: self.bodyLimit).readableBytesView)
        let device = try await self.authorization.provenDevice(of: request, at: Self.path, body: bytes, context)
        let body = try self.object(bytes, of: Self.created)
        let id = try await self.targets.create(
            DeviceTargets.Statement(
                name: try body.requiredString("name"), dispatcher: try body.string("dispatcher"),
                address: try body.string("target"), isPushWanted: try body.bool("push") ?? true,
                keys: (
                    signing: Self.thumbprint(try body.requiredObject("signatureKey")),
                    encryption: Self.thumbprint(try body.requiredObject("encryptionKey"))
                )), by: device)
        return .json(["id": .string(id)], status: .created)
    }

    @Sendable private func information(_ request: Request, _ context: ServerContext) async throws -> Response {
        let device = try await self.device(of: request, context)
        let information = try await self.targets.information(of: device)
        let target = information.target
        var document: JSONObject = ["id": .string(target.deviceID), "name": .string(target.name)]
        document["dispatcher"] = target.dispatcher.map(JSON.string)
        document["target"] = target.address.map {
            .string(Base64URL.encode(Array(SHA256.hash(data: Array($0.utf8)))))
        }
        document["push"] = .bool(target.isPushWanted)
        document["credentials"] = .array(
            information.credentials.map {
                .object(["aaid": .string($0.aaid.text), "keyID": .string(Base64URL.encode($0.keyID.bytes))])
            })
        return .json(document)
    }

    @Sendable private func change(_ request: Request, _ context: ServerContext) async throws -> Response {
        let bytes = Array(try await request.body(of: [.json], limit: self.bodyLimit).readableBytesView)
        let device = try await self.device(of: request, body: bytes, context)
        let body = try self.object(bytes, of: Self.changed)
        try await self.targets.change(
            of: device, name: try body.string("name"), dispatcher: try Self.member("dispatcher", of: body),
            address: try Self.member("target", of: body), isPushWanted: try body.bool("push"))
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }

    @Sendable private func end(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await self.targets.end(of: try await self.device(of: request, context))
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }

    /// Returns the device that the path names and that has proved the request. Throws a ``Problem`` as
    /// ``DeviceAuthorization/provenDevice(of:at:body:_:)``, 401 if the path names another device, and 404 if the path
    /// names none.
    private func device(of request: Request, body: [UInt8] = [], _ context: ServerContext) async throws
        -> AuthenticatedDevice
    {
        let id = try context.pathParameter("id")
        let device = try await self.authorization.provenDevice(
            of: request, at: "\(Self.path)/\(id)", body: body, context)
        guard device.deviceID.hasSameBytes(as: id) else {
            guard try await self.targets.isDevice(id) else {
                throw Problem(.notFound, Problem.Name.notFound, "The device has no such target.")
            }
            throw DeviceAuthorization.notProven
        }
        return device
    }

    /// Reads a body after its proof. Throws `JSONError`, and a ``Problem`` for a member that the server would pass over.
    private func object(_ bytes: [UInt8], of fields: [DescribedField]) throws -> JSONObject {
        guard case .object(let object) = try JSON(parsing: bytes, limits: JSONLimits(bytes: self.bodyLimit)) else {
            throw JSONError(.wrongType, "the body is not an object")
        }
        guard object.unknownMember(among: fields) == nil else {
            throw Problem(
                .badRequest, "invalid-request",
                "The members of a target are \(fields.map(\.name).joined(separator: ", ")).")
        }
        return object
    }

    /// Reads a member that a device can keep or change. A device removes both by ending its target.
    private static func member(_ name: String, of body: JSONObject) throws -> DispatchTargetChange.Member {
        try body.string(name).map { .changed(to: $0) } ?? .kept
    }

    /// Returns the name of a public key on P-256; `nil` for every other object.
    private static func thumbprint(_ json: JSONObject) -> String? {
        guard let key = try? JWK(publicJSON: json), case .p256 = key.material else { return nil }
        return key.thumbprint
    }
}

/// The route by which a back end learns to which devices of a person it can dispatch, on the listener that the public
/// does not reach.
struct ClientTargetRoutes: Sendable {
    /// The client's own scope with which a client reads the names of devices. An operator gives the scope.
    static let namesScope = "countersign.device-names"

    let targets: DispatchTargets
    let clients: ClientAuthorization

    /// The endpoints for back ends.
    var endpoints: [Endpoint] {
        [
            Endpoint(
                method: .get, path: "/token/dispatch/targets", id: "targets",
                summary: "The devices of a person to which the client can dispatch.", effect: .none,
                caller: .clientByHeader, query: [.required("username", "The subject.")],
                answers: [
                    .init(
                        status: 200, meaning: "The devices.", type: "application/json",
                        members: [
                            .required(
                                "dispatchTargets",
                                .objects([
                                    .required("id", "For dispatchTargetId of this client."),
                                    .optional("name", "What the person calls the device."),
                                    .required("dispatcher", "Which dispatcher reaches it."),
                                ]), "The oldest first.")
                        ])
                ], refusing: [(404, "The client knows nobody by that subject.")], handler: self.list)
        ]
    }

    /// Returns the only parameter of a request: the name by which the client knows the person.
    private static func subject(of request: Request) throws -> String {
        guard let parameters = try? OAuth.Parameters(parsing: request.uri.query ?? ""), parameters.members.count == 1,
            let subject = parameters["username"], !subject.isEmpty
        else { throw Problem(.badRequest, "invalid-request", "The query names nothing but a username.") }
        return subject
    }

    @Sendable private func list(_ request: Request, _ context: ServerContext) async throws -> Response {
        let client = try await self.clients.client(of: request)
        context.notes.note(client: client.id)
        let subject = try Self.subject(of: request)
        let targets = try await self.targets.list(
            ofSubject: subject, client: DispatchingClient(client),
            withNames: client.scopes.containsBytes(of: Self.namesScope))
        return .json([
            "dispatchTargets": .array(
                targets.map { target in
                    var object: JSONObject = ["id": .string(target.id)]
                    object["name"] = target.name.map(JSON.string)
                    object["dispatcher"] = .string(target.dispatcher)
                    return .object(object)
                })
        ])
    }
}

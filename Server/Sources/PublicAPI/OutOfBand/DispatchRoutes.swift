import Ceremony
package import CeremonyEngine
import Endpoints
import Foundation
import HTTPTypes
import Hummingbird
package import OAuthProvider
import Pages
import Records
import Settings
import UAF
import _Primitives

/// The routes for back ends of relying parties: a back end lets a person confirm something on the phone, and asks for
/// the result. Each client sees only its own sessions.
struct DispatchRoutes: Sendable {
    let dispatches: Dispatches
    let sessions: DispatchedSessions
    let enrolments: Enrolments
    let documents: SessionStatusDocuments
    let clients: ClientAuthorization
    let channels: EventChannels
    let limits: Limits
    let trace: TraceRecorder?

    /// The members of a request for a UAF request (HTTPS transport profile), as documents describe the members.
    static let requestFields: [DescribedField] = [
        .optional(
            "op", .choice([UAF.Operation.registration, .authentication, .deregistration].map(\.rawValue)),
            "The operation."),
        .optional("previousRequest", "The request before."), .optional("context", "An object as JSON."),
    ]

    /// The members of a dispatch to the server's dispatchers. A dispatch with another member is refused.
    private var dispatchFields: [DescribedField] {
        let dispatchers = self.dispatches.dispatchers
        var fields: [DescribedField] = [
            .required("dispatcher", .choice(dispatchers.names), "In which form."),
            .required("getUafRequest", .closed(Self.requestFields), "What is asked."),
        ]
        if dispatchers.haveTargets {
            fields.append(.optional("dispatchTargetId", "The device, for a dispatcher that sends to one."))
        }
        if dispatchers.takeInformation {
            fields.append(.optional("dispatchInformation", .object, "Data for a dispatcher that takes some."))
        }
        return fields
    }

    /// The endpoints for back ends.
    var endpoints: [Endpoint] {
        // A waiting request keeps the function that writes the events: a reference to the routes, and no copy of the
        // routes' values.
        let document = self.document(of:_:_:_:)
        return [
            self.endpoint("authentication", .authentication, .none),
            self.endpoint("deregistration", .deregistration, .takesAway),
            self.endpoint("registration", .registration, .gives),
            self.confirmation,
            Endpoint(
                method: .post, path: "/status", id: "status", summary: "How far a dispatched session is.",
                effect: .none,
                caller: .clientByHeader, body: (.json, [.required("sessionId", "From the dispatch.")]),
                answers: [
                    .init(
                        status: 200, meaning: "Its state.", type: "application/json",
                        members: [
                            .required(
                                "status", .choice(CeremonyStatus.State.allCases.map(\.rawValue)), "In a word."),
                            .required("timestamp", "RFC 3339."), .optional("subject", "Who answered."),
                            .optional(
                                "refusal", .choice(CeremonyStatus.Refusal.allCases.map(\.rawValue)),
                                "How the person refused."),
                            .optional("result", "What was confirmed, signed."),
                        ])
                ], handler: self.status),
            Endpoint(
                method: .get, path: "/status/{session}/events", id: "statusEvents",
                summary: "The states of a dispatched session, as they come.", effect: .none, caller: .clientByHeader,
                answers: [
                    .init(status: 200, meaning: "States.", type: "text/event-stream"),
                    .init(status: 204, meaning: "The last state is the one that Last-Event-ID names."),
                ],
                refusing: [(404, "There is no such thing.")]
            ) { try await self.events($0, $1, document) },
        ]
    }

    /// The endpoint that confirms a dispatched registration.
    private var confirmation: Endpoint {
        let fields: [DescribedField] = [
            .required("sessionId", "From the dispatch."), .required("number", "What the new phone shows."),
        ]
        return Endpoint(
            method: .post, path: "/token/dispatch/registration/confirm", id: "confirm-registration",
            summary: "Let a new phone authenticate.", effect: .gives, caller: .clientByHeader, body: (.json, fields),
            isBodyClosed: true,
            answers: [
                .init(
                    status: 200, meaning: "The phone may authenticate.", type: "application/json",
                    members: [.required("deviceName", "What the phone calls itself.")])
            ],
            refusing: [
                (403, "Not for this client."), (404, "The client has no such session."),
                (409, "Nothing waits for a number."), (422, "The number is wrong, and the registration has ended."),
            ]
        ) { try await self.confirm(fields, $0, $1) }
    }

    private func confirm(
        _ fields: [DescribedField], _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        let client = try await self.clients.client(of: request)
        context.notes.note(client: client.id)
        let body = try await request.jsonObject(limit: self.limits.bodyBytes)
        try Self.refuseOthers(in: body, than: fields, of: "a confirmation")
        let view = try await self.enrolments.confirmEnrolment(
            id: try body.requiredString("sessionId"), number: try body.requiredString("number"),
            client: DispatchingClient(client))
        return .json(["deviceName": .string(view.deviceName ?? "")])
    }

    /// Returns the endpoint that dispatches an operation to a phone.
    private func endpoint(_ name: String, _ operation: UAF.Operation, _ effect: Endpoint.Effect) -> Endpoint {
        let fields = self.dispatchFields
        return Endpoint(
            method: .post, path: "/token/dispatch/\(name)", id: "dispatch-\(name)",
            summary: "Have something asked on a phone.", effect: effect, caller: .clientByHeader,
            body: (.json, fields), isBodyClosed: true,
            answers: [
                .init(
                    status: 200, meaning: "What became of it.", type: "application/json",
                    members: [
                        .required(
                            "dispatchResult", .choice(self.dispatches.dispatchers.results.map(\.rawValue)),
                            "In a word."),
                        .optional("sessionId", "To ask for its status with."),
                        .optional("token", "For a phone. Missing for a dispatch to a device."),
                        .optional("link", "For the phone."),
                        .optional("expiresAt", "RFC 3339."),
                        .optional("number", "To show to the person, who types it on the phone."),
                    ])
            ], refusing: [(403, "Not for this client."), (422, "No phone can show it."), Endpoint.tooMany]
        ) { try await self.dispatch(operation, fields, $0, $1) }
    }

    private func dispatch(
        _ operation: UAF.Operation, _ fields: [DescribedField], _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        let client = try await self.clients.client(of: request)
        context.notes.note(client: client.id)
        let body = try await request.jsonObject(limit: self.limits.bodyBytes)
        try Self.refuseOthers(in: body, than: fields, of: "a dispatch")
        let message: GetUAFRequest
        do {
            let asked = try body.requiredObject("getUafRequest")
            try Self.refuseOthers(in: asked, than: Self.requestFields, of: "getUafRequest")
            message = try GetUAFRequest(json: asked)
        } catch let error as UAFError {
            throw Problem(.badRequest, "invalid-request", "getUafRequest is not one (\(error.code)).")
        }
        guard message.operation == nil || message.operation == operation else {
            throw Problem(.badRequest, "invalid-request", "This address dispatches another operation.")
        }
        let answer = try await self.dispatches.dispatch(
            DispatchRequest(
                dispatcher: try body.requiredString("dispatcher"), target: try body.string("dispatchTargetId"),
                information: try body.object("dispatchInformation"), operation: operation, context: message.context),
            client: DispatchingClient(client))
        if let reason = answer.result.reason {
            context.notes.note(RequestRefusal(code: answer.result.rawValue, reason: reason))
        }
        return .json(try self.document(of: answer))
    }

    /// Refuses a member that this server would pass over: the back end would wait for an effect that never comes.
    private static func refuseOthers(
        in object: JSONObject, than fields: [DescribedField], of whose: String
    ) throws(Problem) {
        guard let name = object.unknownMember(among: fields) else { return }
        let reason = Self.unsupported.first { $0.name.hasSameBytes(as: name) }?.reason
        let known = fields.map(\.name).joined(separator: ", ")
        let shown = DisplayText.line(name, maximumLength: 64)
        throw Problem(
            .badRequest, "invalid-request",
            reason.map { "\(shown) is not supported: \($0)" }
                ?? "There is no member \"\(shown)\": the members of \(whose) are \(known).")
    }

    /// The members that dispatches to other dispatchers have, each with the reason for the refusal.
    private static let unsupported = [
        (name: "dispatchTargetId", reason: "no dispatcher sends to a single device, or encrypts to its key."),
        (name: "dispatchInformation", reason: "no dispatcher takes data of its own."),
    ]

    private func document(of answer: DispatchAnswer) throws -> JSONObject {
        var document: JSONObject = ["dispatchResult": .string(answer.result.rawValue)]
        document["sessionId"] = answer.sessionID.map(JSON.string)
        document["token"] = answer.token.map(JSON.string)
        document["link"] = answer.link.map(JSON.string)
        document["expiresAt"] = answer.expiresAt.map { .string($0.description) }
        document["number"] = answer.number.map(JSON.string)
        var response = answer.response ?? answer.link
        if let content = answer.qrContent {
            let code = try QRCode(text: content)
            document["qrCodeSvg"] = .string(code.svg(label: "QR code to confirm with your phone"))
            if answer.response == nil {
                response = "data:image/png;base64,\(Data(try code.png()).base64EncodedString())"
            }
        }
        if response != nil || answer.channelLinking != nil {
            var information: JSONObject = ["name": .string(answer.dispatcher)]
            information["response"] = response.map { .string($0) }
            information["channelLinking"] = answer.channelLinking.map { .string($0) }
            document["dispatcherInformation"] = .object(information)
        }
        if !answer.transaction.isEmpty {
            document["transaction"] = .array(
                answer.transaction.map { .object($0.json) })
        }
        return document
    }

    @Sendable private func status(_ request: Request, _ context: ServerContext) async throws -> Response {
        let client = try await self.clients.client(of: request)
        let body = try await request.jsonObject(limit: self.limits.bodyBytes)
        let status = try await self.sessions.status(
            sessionID: try body.requiredString("sessionId"), clientID: client.id)
        return .json(try self.document(of: status, client, request, context))
    }

    private func events(
        _ request: Request, _ context: ServerContext,
        _ document:
            @escaping @Sendable (CeremonyStatus, AuthenticatedClient, Request, ServerContext) throws -> JSONObject
    ) async throws -> Response {
        let client = try await self.clients.client(of: request)
        let session = try context.pathParameter("session")
        let last = Self.lastEventID.flatMap { request.headers[$0] }
        // A reader that has the last state is told to ask no more (HTML, section 9.2): else it comes back for ever.
        if let last {
            let status = try await self.sessions.status(sessionID: session, clientID: client.id)
            if status.isFinal, status.eventID.hasSameBytes(as: last) { return Response(status: .noContent) }
        }
        let events = self.sessions.statusEvents(sessionID: session, clientID: client.id)
        return .serverSentEvents(
            name: "status", to: context, events, in: self.channels, heartbeat: self.limits.heartbeat,
            resumption: EventResumption(after: last) { $0.eventID }
        ) {
            try document($0, client, request, context)
        }
    }

    /// The header field in which a reader names the last event that the reader has (HTML, section 9.2).
    private static let lastEventID = HTTPField.Name("Last-Event-ID")

    @Sendable private func document(
        of status: CeremonyStatus, _ client: AuthenticatedClient, _ request: Request, _ context: ServerContext
    ) throws -> JSONObject {
        let document = try self.documents.document(of: status, for: client.id)
        if status.confirmation != nil { self.trace?.record(.resultSigned, in: request.trace, context) }
        return document
    }
}

extension DispatchResult {
    /// The reason why nothing was dispatched, for the log; `nil` after a dispatch.
    fileprivate var reason: String? {
        switch self {
        case .dispatched: nil
        case .dispatchError: "The person has no key that could answer."
        case .dispatchTargetExpired: "The target receives no messages any more."
        case .dispatchTargetNotFound: "The person has no such target."
        case .dispatcherNotFound: "There is no dispatcher of that name."
        case .userNotFound: "The client knows nobody by that subject."
        case .internalError: "The dispatcher failed."
        }
    }
}

extension DispatchingClient {
    /// The client's own scope with which a client has devices of people enrolled. An operator gives the scope.
    private static let enrolmentScope = "countersign.enrolments"

    /// Creates the client as the engine knows the client.
    package init(_ client: AuthenticatedClient) {
        self.init(
            id: client.id, name: client.name, origin: client.origin, mayDeregister: client.mayDeregister,
            mayEnrol: client.scopes.containsBytes(of: Self.enrolmentScope), matchesNumbers: client.matchesNumbers,
            linksChannels: client.linksChannels)
    }
}

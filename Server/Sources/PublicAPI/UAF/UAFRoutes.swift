import Ceremony
import CeremonyEngine
import Crypto
import Endpoints
import HTTPTypes
import Hummingbird
import NIOCore
import OAuthProvider
import Settings
import UAF
import _Primitives

/// FIDO UAF over HTTPS (UAF Architectural Overview and HTTPS transport profile): requests and answers of phones.
///
/// A message that the engine refuses is answered 200 with the message's UAF status code. HTTP error codes are for
/// requests that are no UAF message at all.
struct UAFRoutes: Sendable {
    let ceremonies: CeremonyEngine
    let provider: OpenIDProvider
    let devices: DeviceAuthorization
    let clients: ClientAuthorization
    let sessions: SessionHolders
    let limits: Limits
    let trace: TraceRecorder?

    private static let deregistration = "/uaf/1.1/request/deregistration"
    private static let authentication = "/uaf/1.1/authentication"

    /// The endpoints for phones.
    var endpoints: [Endpoint] {
        let response: [DescribedField] = [
            .required("uafResponse", "A UAF response as JSON."), .optional("context", "An object as JSON."),
        ]
        return [
            Self.endpoint(
                "/uaf/1.1/request/registration", "requestRegistration", "A further authenticator of a device.", .none,
                DispatchRoutes.requestFields, caller: .token, handler: self.requestRegistration),
            Self.endpoint(
                "/uaf/1.1/request/authentication", "requestAuthentication", "An authentication in an app.", .none,
                DispatchRoutes.requestFields, caller: .anybodyOrClient, handler: self.requestAuthentication),
            Self.endpoint(
                Self.deregistration, "requestDeregistration", "Have keys deleted.", .takesAway,
                DispatchRoutes.requestFields,
                caller: .clientOrDevice, handler: self.requestDeregistration),
            Self.endpoint(
                "/uaf/1.1/registration", "answerRegistration", "A phone's registration.", .gives, response,
                caller: .anybody, handler: self.answerRegistration),
            Self.endpoint(
                Self.authentication, "answerAuthentication", "A phone's assertion.", .signsIn, response,
                caller: .anybody,
                headers: [.optional(DeviceProofField.text, "Of the device that asks for a lost answer, as a JWT.")],
                refusing: [(401, "The proof does not count.")], handler: self.answerAuthentication),
            Endpoint(
                method: .get, path: "/uaf/1.1/facets", id: "facets", summary: "The apps that may answer.",
                effect: .none,
                headers: [.optional("If-None-Match", "The tag of a list that is there.")],
                answers: [
                    .init(
                        status: 200, meaning: "The list.", type: "application/fido.trusted-apps+json",
                        members: [
                            .required(
                                "trustedFacets", .objects([.required("ids", .strings, "Apps.")]), "A version each.")
                        ]), .init(status: 304, meaning: "It is the same."),
                ], get: .reads, handler: self.facets),
        ]
    }

    /// Returns the endpoint of a UAF message. A refused UAF message gets status 200 and a code of its own.
    private static func endpoint(
        _ path: String, _ id: String, _ summary: String, _ effect: Endpoint.Effect, _ body: [DescribedField],
        caller: Endpoint.Caller, headers: [DescribedField] = [], refusing: [(status: Int, meaning: String)] = [],
        handler: @escaping ServerRouter.Handler
    ) -> Endpoint {
        Endpoint(
            method: .post, path: path, id: id, summary: summary, effect: effect, caller: caller, headers: headers,
            body: (.uaf, body),
            answers: [
                .init(
                    status: 200, meaning: "A UAF message with its own status.", type: BodyType.uaf.rawValue)
            ], refusing: refusing + [(403, "Not for this caller."), Endpoint.tooMany], handler: handler)
    }

    /// Starts the in-app registration of a further authenticator. The phone proves itself by the token of an
    /// authentication.
    @Sendable private func requestRegistration(_ request: Request, _ context: ServerContext) async throws -> Response {
        let device = try await self.devices.device(of: request).device
        let policy: String?
        do {
            let message = try await self.read(request, GetUAFRequest.init(parsing:))
            guard message.operation == nil || message.operation == .registration else {
                return self.badRequest("another operation", context)
            }
            policy = try message.context?.string("policy")
        } catch let error as UAFError {
            return self.badRequest(error.description, context)
        } catch let error as JSONError {
            return self.badRequest(error.reason, context)
        }
        var reason: String?
        let answer = try await self.ceremonies.requests.registration(of: device, policy: policy) { reason = $0 }
        return self.answer(answer, reason, context)
    }

    /// Starts an in-app authentication.
    ///
    /// Anybody may ask. A relying party that proves its identity may name a policy. A person can confirm here only text
    /// that the server itself has (threat model, Policy downgrade by the caller).
    @Sendable private func requestAuthentication(_ request: Request, _ context: ServerContext) async throws
        -> Response
    {
        let isClient = ClientAuthorization.isClaimed(by: request)
        if isClient { context.notes.note(client: try await self.clients.client(of: request).id) }
        let members: JSONObject
        let (username, policy, session): (String?, String?, String?)
        do {
            let message = try await self.read(request, GetUAFRequest.init(parsing:))
            members = message.context ?? [:]
            guard message.operation == nil || message.operation == .authentication, members["transaction"] == nil,
                isClient ? members["session"] == nil : members["policy"] == nil
            else { return self.badRequest("another operation, or a member that its caller may not send", context) }
            (username, policy) = (try members.string("username"), try members.string("policy"))
            session = try members.string("session")
        } catch let error as UAFError {
            return self.badRequest(error.description, context)
        } catch let error as JSONError {
            return self.badRequest(error.reason, context)
        }
        var reason: String?
        if let session {
            guard let username, let form = SessionHolders.Form(rawValue: session) else {
                return self.badRequest("a session of no known form, or a session without a name", context)
            }
            guard let shown = try await self.sessions.session(form, of: request) else {
                return self.answer(
                    ReturnUAFRequest(statusCode: .unauthorized, operation: .authentication),
                    "the session is not shown, or has ended", context)
            }
            let answer = try await self.ceremonies.requests.authentication(
                username: username, in: shown, source: context.source
            ) { reason = $0 }
            return self.answer(answer, reason, context)
        }
        let answer =
            isClient
            ? try await self.ceremonies.requests.authentication(username: username, policy: policy) { reason = $0 }
            : try await self.ceremonies.requests.authentication(username: username, source: context.source)
        return self.answer(answer, reason, context)
    }

    /// Starts a deregistration: by the person's own device, or by a relying party for a person whom the relying party
    /// knows.
    @Sendable private func requestDeregistration(_ request: Request, _ context: ServerContext) async throws
        -> Response
    {
        if ClientAuthorization.isClaimed(by: request) {
            let client = try await self.clients.client(of: request)
            context.notes.note(client: client.id)
            return try await self.deregister(request, context) {
                try await self.ceremonies.deregistrations.deregister(
                    $0, client: DispatchingClient(client), refused: $1)
            }
        }
        // A token outlives its device, and so does a device's key here: a phone that asks again after a lost answer is
        // told the same.
        guard DeviceAuthorization.isProof(in: request) else {
            let device = try self.devices.holder(of: request)
            return try await self.deregister(request, context) {
                try await self.ceremonies.deregistrations.deregister($0, askedBy: device, refused: $1)
            }
        }
        let body = try await self.bytes(of: request)
        let prover = try await self.devices.prover(of: request, at: Self.deregistration, body: Array(body), context)
        return try await self.deregister(body, context) {
            try await self.ceremonies.deregistrations.deregister(
                $0, askedBy: prover.device, alone: true, refused: $1)
        }
    }

    private func deregister(
        _ request: Request, _ context: ServerContext,
        _ deregister: (GetUAFRequest, _ refused: (String) -> Void) async throws -> ReturnUAFRequest
    ) async throws -> Response {
        try await self.deregister(try await self.bytes(of: request), context, deregister)
    }

    private func deregister(
        _ body: ByteBufferView, _ context: ServerContext,
        _ deregister: (GetUAFRequest, _ refused: (String) -> Void) async throws -> ReturnUAFRequest
    ) async throws -> Response {
        do {
            let message = try GetUAFRequest(parsing: body)
            var reason: String?
            let answer = try await deregister(message) { reason = $0 }
            return self.answer(answer, reason, context)
        } catch let error as UAFError {
            return self.badRequest(error.description, context)
        }
    }

    @Sendable private func answerRegistration(_ request: Request, _ context: ServerContext) async throws -> Response {
        let message: SendUAFResponse
        do {
            message = try await self.read(request, SendUAFResponse.init(parsing:))
        } catch let error as UAFError {
            return self.answer(ServerResponse(statusCode: .badRequest), error.description, context)
        }
        var reason: String?
        let answer = try await self.ceremonies.registrationAnswers.judge(message, source: context.source) {
            reason = $0
        }
        if answer.confirmation != nil { self.trace?.record(.confirmationNumberShown, in: request.trace, context) }
        return self.answer(answer, reason, context)
    }

    /// Judges a phone's assertion. A phone that has lost the answer sends the same bytes again, with its own proof if the
    /// server knows the phone's keys: only with the proof the phone gets a token or a continuation again.
    @Sendable private func answerAuthentication(_ request: Request, _ context: ServerContext) async throws -> Response {
        let body = try await self.bytes(of: request)
        let message: SendUAFResponse
        do {
            message = try SendUAFResponse(parsing: body)
        } catch {
            return self.answer(ServerResponse(statusCode: .badRequest), error.description, context)
        }
        let prover =
            DeviceAuthorization.isProof(in: request)
            ? try await self.devices.prover(of: request, at: Self.authentication, body: Array(body), context) : nil
        var reason: String?
        let answer = try await self.ceremonies.authenticationAnswers.judge(
            message, source: context.source, sessions: try await self.sessions.sessions(of: request),
            provedBy: prover
        ) { reason = $0 }
        var response = answer.response
        if let bound = answer.bound, let device = answer.authenticated {
            switch try await self.sessions.renewed(bound, of: device, shownIn: request) {
            case .cookie(let token): response.additionalTokens.append(token)
            case .unchanged: break
            case .ended:
                return self.answer(ServerResponse(statusCode: .unauthorized), "the session has ended", context)
            }
        }
        if response.statusCode == .ok {
            if !answer.isRepeated { self.trace?.record(.authenticationAccepted, in: request.trace, context) }
            if let device = answer.authenticated {
                if !answer.isRepeated { context.count(.signIns, "app") }
                let token = try self.provider.tokens.deviceToken(
                    for: DeviceTokenHolder(account: device.accountID, device: device.deviceID))
                response.additionalTokens.append(Token(kind: .jwt, value: token))
            }
        }
        return self.answer(response, reason, context)
    }

    /// Returns the apps that may answer (FIDO AppID and Facets 1.1 §3.1.3).
    @Sendable private func facets(_ request: Request, _ context: ServerContext) async throws -> Response {
        let ids = JSON.array(self.ceremonies.configuration.trustedFacets.map { .string($0.text) })
        let document: JSONObject = [
            "trustedFacets": .array(
                self.ceremonies.versions.map { version in
                    .object([
                        "version": .object([
                            "major": .integer(Int64(version.major)), "minor": .integer(Int64(version.minor)),
                        ]), "ids": ids,
                    ])
                })
        ]
        let tag = "\"\(Base64URL.encode(Array(SHA256.hash(data: JSON.object(document).serialized).prefix(16))))\""
        let headers: HTTPFields = [
            .cacheControl: "public, max-age=\(Limits.Fixed.facetListLifetime.components.seconds)", .eTag: tag,
        ]
        if request.headers[.ifNoneMatch]?.hasSameBytes(as: tag) ?? false {
            return Response(status: .notModified, headers: headers)
        }
        return .json(document, contentType: "application/fido.trusted-apps+json", headers: headers)
    }

    private func read<Message>(_ request: Request, _ parse: (ByteBufferView) throws -> Message) async throws
        -> Message
    {
        try parse(try await self.bytes(of: request))
    }

    private func bytes(of request: Request) async throws -> ByteBufferView {
        try await request.body(of: [.uaf], limit: self.limits.uafResponseBytes).readableBytesView
    }

    // MARK: - Answers

    private func badRequest(_ reason: String, _ context: ServerContext) -> Response {
        self.answer(ReturnUAFRequest(statusCode: .badRequest), reason, context)
    }

    private func answer(_ request: ReturnUAFRequest, _ reason: String?, _ context: ServerContext) -> Response {
        self.answer(request.serialized, request.statusCode, reason, context)
    }

    private func answer(_ response: ServerResponse, _ reason: String?, _ context: ServerContext) -> Response {
        self.answer(response.serialized, response.statusCode, reason, context)
    }

    /// Returns an answer to a UAF message. This function makes every such answer.
    private func answer(
        _ bytes: [UInt8], _ statusCode: UAFStatusCode, _ reason: String?, _ context: ServerContext
    ) -> Response {
        context.notes.note(statusCode, reason)
        return Response(
            status: .ok,
            headers: [.contentType: BodyType.uaf.headerValue, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

import Ceremony
import CeremonyEngine
import Crypto
import HTTPTypes
import Hummingbird
import NIOCore
import OAuthProvider
import Store
import UAF
import _Primitives

/// FIDO UAF over HTTPS (UAF Architectural Overview and HTTPS transport profile): requests and answers of phones.
///
/// A message that the engine refuses is answered 200 with its UAF status code; HTTP codes are for what is no UAF
/// message at all.
struct UAFRoutes: Sendable {
    let ceremonies: CeremonyEngine
    let provider: OpenIDProvider
    let devices: DeviceAuthorization
    let clients: ClientAuthorization
    let limits: Limits
    let trace: TraceRecorder?
    let metrics: ServerMetrics

    func mount(on router: ServerRouter) {
        router.endpoint("/uaf/1.1/request/registration", [.post: self.requestRegistration])
        router.endpoint("/uaf/1.1/request/authentication", [.post: self.requestAuthentication])
        router.endpoint("/uaf/1.1/request/deregistration", [.post: self.requestDeregistration])
        router.endpoint("/uaf/1.1/registration", [.post: self.answerRegistration])
        router.endpoint("/uaf/1.1/authentication", [.post: self.answerAuthentication])
        router.endpoint("/uaf/1.1/facets", [.get: self.facets])
    }

    /// In-app registration of a further authenticator. The phone proves itself by the token of an authentication.
    @Sendable private func requestRegistration(_ request: Request, _ context: ServerContext) async throws -> Response {
        let device = try await self.devices.device(of: request).device
        let policy: String?
        do {
            let message = try await self.read(request, GetUAFRequest.init(parsing:))
            guard message.operation == nil || message.operation == .registration else { return Self.badRequest }
            policy = try message.context?.string("policy")
        } catch is UAFError {
            return Self.badRequest
        } catch is JSONError {
            return Self.badRequest
        }
        return Self.message(try await self.ceremonies.requests.registration(of: device, policy: policy).serialized)
    }

    /// In-app authentication. Anybody may ask; a relying party that proves who it is may name a policy. Only text that
    /// the server itself has can be confirmed here (threat model, Policy downgrade by the caller).
    @Sendable private func requestAuthentication(_ request: Request, _ context: ServerContext) async throws
        -> Response
    {
        let isClient = ClientAuthorization.isClaimed(by: request)
        if isClient { _ = try await self.clients.client(of: request) }
        let members: JSONObject
        let (username, policy): (String?, String?)
        do {
            let message = try await self.read(request, GetUAFRequest.init(parsing:))
            members = message.context ?? [:]
            guard message.operation == nil || message.operation == .authentication, members["transaction"] == nil,
                isClient || members["policy"] == nil
            else { return Self.badRequest }
            (username, policy) = (try members.string("username"), try members.string("policy"))
        } catch is UAFError {
            return Self.badRequest
        } catch is JSONError {
            return Self.badRequest
        }
        let answer =
            isClient
            ? try await self.ceremonies.requests.authentication(username: username, policy: policy)
            : try await self.ceremonies.requests.authentication(username: username, source: context.source)
        return Self.message(answer.serialized)
    }

    /// Deregistration: by the person's own device, or by a relying party for a person whom it knows.
    @Sendable private func requestDeregistration(_ request: Request, _ context: ServerContext) async throws
        -> Response
    {
        if ClientAuthorization.isClaimed(by: request) {
            let client = try await self.clients.client(of: request)
            return try await self.deregister(request) {
                try await self.ceremonies.deregistrations.deregister($0, client: DispatchingClient(client))
            }
        }
        // A token outlives its device: a phone that asks again after a lost answer is told the same.
        let device = try self.devices.holder(of: request)
        return try await self.deregister(request) {
            try await self.ceremonies.deregistrations.deregister($0, askedBy: device)
        }
    }

    private func deregister(
        _ request: Request, _ deregister: (GetUAFRequest) async throws -> ReturnUAFRequest
    ) async throws -> Response {
        do {
            return Self.message(
                try await deregister(try await self.read(request, GetUAFRequest.init(parsing:))).serialized)
        } catch is UAFError {
            return Self.message(ReturnUAFRequest(statusCode: .badRequest).serialized)
        }
    }

    @Sendable private func answerRegistration(_ request: Request, _ context: ServerContext) async throws -> Response {
        let message: SendUAFResponse
        do {
            message = try await self.read(request, SendUAFResponse.init(parsing:))
        } catch is UAFError {
            return Self.message(ServerResponse(statusCode: .badRequest).serialized)
        }
        let answer = try await self.ceremonies.registrationAnswers.judge(message, source: context.source)
        self.note(answer.statusCode, context)
        if answer.confirmation != nil { self.trace?.record(.confirmationNumberShown, in: request.trace, context) }
        return Self.message(answer.serialized)
    }

    @Sendable private func answerAuthentication(_ request: Request, _ context: ServerContext) async throws -> Response {
        let message: SendUAFResponse
        do {
            message = try await self.read(request, SendUAFResponse.init(parsing:))
        } catch is UAFError {
            return Self.message(ServerResponse(statusCode: .badRequest).serialized)
        }
        let answer = try await self.ceremonies.authenticationAnswers.judge(message, source: context.source)
        var response = answer.response
        self.note(response.statusCode, context)
        if response.statusCode == .ok {
            self.trace?.record(.authenticationAccepted, in: request.trace, context)
            if let device = answer.authenticated {
                self.metrics.signedIn(by: .app)
                let token = try self.provider.deviceToken(
                    for: DeviceTokenHolder(account: device.accountID, device: device.deviceID))
                response.additionalTokens.append(Token(kind: .jwt, value: token))
            }
        }
        return Self.message(response.serialized)
    }

    /// An answer that is refused is one to HTTP all the same: what it says is in its code.
    private func note(_ statusCode: UAFStatusCode, _ context: ServerContext) {
        guard statusCode.rawValue >= UAFStatusCode.badRequest.rawValue else { return }
        context.notes.note(RequestRefusal(code: String(statusCode.rawValue), reason: statusCode.description))
    }

    /// The apps that may answer (FIDO AppID and Facets 1.1 §3.1.3).
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
        let bytes = try await request.body(of: [.uaf], limit: self.limits.uafResponseBytes)
        return try parse(bytes.readableBytesView)
    }

    private static var badRequest: Response { self.message(ReturnUAFRequest(statusCode: .badRequest).serialized) }

    private static func message(_ bytes: [UInt8]) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: MediaType.uaf.headerValue, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

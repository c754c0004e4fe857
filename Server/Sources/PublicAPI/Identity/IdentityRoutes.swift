import Ceremony
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import NIOCore
import Settings
import _Primitives

/// Personalised identities over HTTP: JSON in, signed answers out.
///
/// Each decision of the server is a signed answer of status 200. A request without a proof gets 401. A network that
/// sends such requests too often, and a device that proves too many requests, get 429. A request that is no phone's
/// request at all gets a problem document.
struct IdentityRoutes: Sendable {
    let identities: Identities
    let limits: Limits
    let trace: TraceRecorder?

    /// A function that answers a call.
    private typealias Answering = @Sendable (IdentityCall) async throws -> IdentityReply
    /// A function that answers a call about the object in the address.
    private typealias AnsweringAbout = @Sendable (_ id: String, IdentityCall) async throws -> IdentityReply

    /// The endpoints for phones of personalised identities.
    var endpoints: [Endpoint] { self.beginnings + self.activations + self.sessions }

    private static let version = DescribedField.required("version", .integer, "The version of the protocol: 1.")
    private static let claim = DescribedField.required("claim", "What the secret of the code gives, as base64url.")
    private static let blinded = DescribedField.required(
        "blinded", "The PIN, blinded (RFC 9497): 49 bytes as base64url.")
    private static let security = DescribedField.optional(
        "security", .object, "What the device says of its own soundness.")

    private var beginnings: [Endpoint] {
        [
            // The first request for the keys makes the server make the keys.
            Endpoint(
                method: .get, path: "/identity/keys", id: "identityKeys",
                summary: "The keys that phones trust and seal to, signed by the root that apps are configured with.",
                effect: .none,
                answers: [.init(status: 200, meaning: "A JWT.", type: "application/jwt")], handler: self.keys),
            self.call(
                .get, "/identity/activation", "activation", "What the server has of the activation.", .none, nil,
                self.identities.activations.record),
            self.call(
                .delete, "/identity/activation", "endActivation", "Take the activation back.", .takesAway, nil,
                self.identities.activations.remove),
            self.call(
                .post, "/identity/in-app", "beginInApp", "An app signs its own person in.", .none,
                [
                    Self.version, .required("clientID", "The service."),
                    .required("redirectURI", "One of its addresses."),
                    .required("scope", "What is asked for."), .optional("state", "Comes back with the code."),
                    .optional("nonce", "Comes back in the ID token."),
                    .required("codeChallenge", "RFC 7636, by S256."),
                ], self.identities.appSessions.inApp),
            self.call(
                .post, "/identity/api-access", "beginAccess", "An app wants something done with its own account.",
                .none,
                [
                    Self.version, .required("purpose", "What."),
                    .optional("token", "To merge: what the PIN has earned."),
                    .optional("invitation", "To merge: the invitation's activation."),
                ], self.identities.appSessions.access),
            self.step(
                "/identity/api-access", "complete", "completeAccess", "Do what a session has granted, once.", .gives,
                [.required("completion", .object, "What is to be done, sealed.")],
                self.identities.grantedActions.complete),
        ]
    }

    private var activations: [Endpoint] {
        let path = "/identity/activations"
        return [
            self.step(
                path, "open", "openActivation", "An app has read an activation's code.", .none,
                [Self.version, Self.claim, Self.security], recording: .activationDescribed,
                self.identities.openings.open),
            self.step(
                path, "prove", "proveActivation", "Somebody has typed its PIN.", .none,
                [
                    Self.claim,
                    .required("device", "The thumbprint of the key of the device that will enrol, or merge."),
                    .required("proof", .object, "A signature by the key of the PIN, sealed."),
                ], recording: .activationProofJudged, self.identities.openings.prove),
            self.step(
                path, "pin-evaluation", "evaluateFirstPin",
                "Have the PIN service evaluate the new activation's PIN.", .none,
                [
                    Self.blinded, Self.claim, .required("token", "What the proof has earned, as base64url."),
                    .required("signingKey", .object, "The key that the proof has named, which proves the request."),
                    Self.security,
                ], recording: .pinEvaluated, self.identities.pinEvaluations.ofActivation),
            self.step(
                path, "enroll", "enrollActivation", "The keys of a new activation.", .gives,
                [.required("enrolment", .object, "The keys, sealed.")], recording: .activationEnrolled,
                self.identities.enrolments.enroll),
        ]
    }

    private var sessions: [Endpoint] {
        let path = "/identity/sessions"
        return [
            self.step(
                path, "start", "startSession", "An activation claims a session.", .none,
                [Self.version, Self.claim, Self.security], recording: .sessionDescribed,
                self.identities.binding.start),
            self.step(
                path, "prepare", "prepareSession", "What the person has said.", .none,
                [
                    .optional("role", "As what they come."), .required("answers", .objects([]), "To the attributes."),
                    Self.security,
                ], recording: .answersJudged, self.identities.binding.prepare),
            self.step(
                path, "pin-evaluation", "evaluatePin",
                "Have the PIN service evaluate a PIN: an attempt, once for each document.", .none,
                [Self.blinded, Self.security], recording: .pinEvaluated, self.identities.pinEvaluations.ofSession),
            self.step(
                path, "finish", "finishSession", "The factors.", .signsIn,
                [.required("factors", .object, "The factors, sealed."), Self.security], recording: .factorsJudged,
                self.identities.judgement.finish),
            self.step(
                path, "code", "sessionCode", "The authorization code, once.", .lasts, [], self.identities.control.code),
            self.step(
                path, "abort", "abortSession", "Give the session up.", .takesAway, [], self.identities.control.abort),
            self.step(
                path, "prolong", "prolongSession", "Ask for more time.", .none, [], self.identities.control.prolong),
        ]
    }

    /// Returns the endpoint of a call that names no object.
    private func call(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, _ summary: String, _ effect: Endpoint.Effect,
        _ body: [DescribedField]?, _ answering: @escaping Answering
    ) -> Endpoint {
        Self.endpoint(method, path, id, summary, effect, body) { request, context in
            try await self.reply(request, context, at: path, answering)
        }
    }

    /// Returns the endpoint of a step of an object, with the event of the step's answer in a recorded run.
    private func step(
        _ path: String, _ name: String, _ id: String, _ summary: String, _ effect: Endpoint.Effect,
        _ body: [DescribedField], recording event: TraceEvent? = nil, _ answering: @escaping AnsweringAbout
    ) -> Endpoint {
        Self.endpoint(.post, "\(path)/{id}/\(name)", id, summary, effect, body) { request, context in
            let object = try context.pathParameter("id")
            return try await self.reply(request, context, at: "\(path)/\(object)/\(name)", recording: event) {
                try await answering(object, $0)
            }
        }
    }

    /// Returns an endpoint whose answers the server signs.
    private static func endpoint(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, _ summary: String, _ effect: Endpoint.Effect,
        _ body: [DescribedField]?, handler: @escaping ServerRouter.Handler
    ) -> Endpoint {
        Endpoint(
            method: method, path: path, id: id, summary: summary, effect: effect,
            headers: [.optional(DeviceProofField.text, "That the device itself asks, as a JWT.")],
            body: body.map { (.json, $0) },
            answers: [
                .init(
                    status: 200, meaning: "A JWS of the type identity-response+jwt: the message, or a refusal.",
                    type: "application/jose"),
                .init(status: 401, meaning: "Nothing was proved; a JWS, too.", type: "application/jose"),
                .init(status: 429, meaning: "Nothing was proved too often; a JWS, too.", type: "application/jose"),
            ], handler: handler)
    }

    /// - Parameters:
    ///   - path: The path below the issuer, as the phone has proved the path.
    ///   - event: The event of the answer in a recorded run. A refusal records no event.
    private func reply(
        _ request: Request, _ context: ServerContext, at path: String, recording event: TraceEvent? = nil,
        _ answering: Answering
    ) async throws -> Response {
        let body = try await request.body(
            of: [.json], limit: self.limits.bodyBytes, orNone: request.method != .post)
        let reply = try await answering(
            IdentityCall(
                method: request.method.rawValue, path: path, body: Array(body.readableBytesView),
                proof: DeviceProofField.name.flatMap { request.headers[$0] }, source: context.source))
        if let refusal = reply.refusal {
            context.notes.note(RequestRefusal(code: refusal, reason: "A phone's request was refused."))
        } else if let event {
            self.trace?.record(event, in: request.trace, context)
        }
        var headers: HTTPFields = [.contentType: "application/jose", .cacheControl: "no-store"]
        let status: HTTPResponse.Status
        switch reply.status {
        case .answered: status = .ok
        case .notProven:
            status = .unauthorized
            headers[.wwwAuthenticate] = DeviceProofField.text
        case .tooMany(let seconds):
            status = .tooManyRequests
            headers[.retryAfter] = String(seconds)
        }
        return Response(
            status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: reply.body)))
    }

    @Sendable private func keys(_ request: Request, _ context: ServerContext) async throws -> Response {
        let keySet = try await self.identities.keys.keySet()
        return Response(
            status: .ok, headers: [.contentType: "application/jwt", .cacheControl: "no-cache"],
            body: .init(byteBuffer: ByteBuffer(string: keySet)))
    }
}

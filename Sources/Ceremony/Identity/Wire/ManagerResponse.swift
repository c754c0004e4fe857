import Crypto
public import JOSE
public import _Primitives

/// An answer of a server that manages identities, as it is sent: a JWT of the type `identity-response+jwt`, signed with
/// ES256 by one of the server's keys (``ManagerKeySet/signingKeys``).
///
/// It names the request that it answers (`rto`), so that no answer can stand in the place of another's, and the server's
/// time (`now`), by which the phone knows how wrong its own clock is. The message is the member `body`, or `error` for a
/// refusal.
public struct ManagerResponse: Sendable {
    /// What the server says: a message, or why there is none.
    public enum Content: Sendable {
        /// The message, to be read by its type.
        case message(JSONObject)
        /// A refusal.
        case refusal(IdentityProblem)
    }

    /// What the server says.
    public let content: Content
    /// The server's time.
    public let now: Timestamp

    private static let type = "identity-response+jwt"

    /// What an answer names its request by: the SHA-256 of the request's ``DeviceProof`` or, where no device is known yet,
    /// of its body.
    public static func name(ofRequest request: some Collection<UInt8>) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(request))))
    }

    /// Signs an answer.
    ///
    /// - Throws: `JOSEError` where the key cannot sign.
    public static func signed(
        _ content: Content, server: String, request: String, at now: Timestamp, by key: SigningKey
    ) throws(JOSEError) -> String {
        var payload: JSONObject = ["iss": .string(server), "rto": .string(request), "now": .moment(now)]
        switch content {
        case .message(let body): payload["body"] = .object(body)
        case .refusal(let problem): payload["error"] = .object(problem.json)
        }
        return try JWS.sign(JSON.object(payload).serialized, type: Self.type, with: key)
    }

    /// Reads the answer to a request.
    ///
    /// Throws ``IdentityMessageError``: `malformed`, `wrongSignature`, `wrongReceiver` for the answer to another request
    /// or of another server.
    public init(verifying compact: String, server: String, request: String, keys: JWKSet) throws(IdentityMessageError) {
        let payload = try Self.payload(of: compact, type: Self.type, keys: keys)
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            guard case .object(let object) = try JSON(parsing: payload, limits: IdentityMessageError.limits) else {
                throw JSONError(.wrongType, "payload")
            }
            return (
                server: try object.requiredString("iss"), request: try object.requiredString("rto"),
                now: try object.requiredMoment("now"), body: try object.object("body"),
                error: try object.object("error")
            )
        }
        guard read.server.hasSameBytes(as: server), read.request.hasSameBytes(as: request) else {
            throw IdentityMessageError(.wrongReceiver, "rto")
        }
        switch (read.body, read.error) {
        case (let body?, nil): self.content = .message(body)
        case (nil, let error?): self.content = .refusal(try IdentityProblem(json: error))
        default: throw IdentityMessageError(.malformed, "body")
        }
        self.now = read.now
    }

    /// The payload of a JWT of a type that one of the keys has signed.
    static func payload(of compact: String, type: String, keys: JWKSet) throws(IdentityMessageError) -> [UInt8] {
        let token: UnverifiedJWS
        do throws(JOSEError) {
            token = try UnverifiedJWS(
                compact: compact,
                limits: JOSELimits(compactLength: IdentityMessageError.maximumBytes * 3 / 2, headerLength: 1024))
        } catch {
            throw IdentityMessageError(.malformed, error.code.description)
        }
        guard token.header.hasType(type), token.header.keyID != nil else {
            throw IdentityMessageError(.malformed, "typ")
        }
        do throws(JOSEError) {
            return try token.verified(by: keys, allowing: [.es256]).payload
        } catch {
            throw IdentityMessageError(.wrongSignature, error.code.description)
        }
    }
}

/// Why a server that manages identities refuses. It never says which factor was wrong: that is no refusal but the result
/// of an attempt (``FinishResponse/lockout(_:)``).
public struct IdentityProblem: IdentityMessage, Hashable, Error {
    /// What is wrong, for code that has to choose.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// What was sent is not acceptable.
        case invalidRequest
        /// The request's proof is not the activation's, or there is none.
        case notProven
        case serviceInactive
        case originRefused
        case activationDisabled
        case activationUnknown
        case activationDataExpired
        case activationDataConsumed
        case sessionUnknown
        case sessionExpired
        case sessionConsumed
        case sessionAborted
        case sessionSuperseded
        /// A lockout runs; ``IdentityProblem/lockout`` says until when.
        case lockedOut
        /// The device is not as sound as the server wants it; ``IdentityProblem/reasons`` says in what.
        case securityInsufficient
        case membershipRequired
        case invitationRequired
        case noRole
        case roleNotSelected
        case correctionLimitExceeded
        case grantExpired
        /// The new PIN is not taken. The grant is still good for another one, a few times.
        case pinRefused
        case factorAlreadyEnrolled
        case mergeConflict
        /// The person has to agree to something first, in a browser: the server's terms, or what the service is to get.
        case consentRequired
        /// What the person confirmed cannot be handed over any more: a value is gone, or there is no room for another. The
        /// factors were not wrong.
        case answersOutdated
        /// The operator has not listed the app that has signed (FIDO AppID and Facets, §3.1). Nothing is said of the factors,
        /// and nothing was counted.
        case untrustedFacetId
        /// The identifier of a request that was answered, with other bytes.
        case replayRefused
        /// It belongs to another state of the session.
        case outOfOrder
        /// The PIN service was asked about another PIN for what is to be signed, and is asked about no further one: whoever
        /// has corrected it begins anew.
        case pinAlreadyAsked
        /// The clocks are too far apart. The answer has the server's time: correct it and send the request again.
        case clockSkew
        case protocolVersionUnsupported
        /// Too many requests; ``IdentityProblem/retryAfter`` says when to come back.
        case tooManyRequests
        /// Nothing that the caller did.
        case serverError
        /// A code of a later version of the server. No server sends it.
        case unknown
    }

    /// What is wrong.
    public var code: Code
    /// With ``Code/lockedOut``.
    public var lockout: LockoutNotice?
    /// With ``Code/securityInsufficient``: in what, by names.
    public var reasons: [String]
    /// With ``Code/tooManyRequests``: seconds.
    public var retryAfter: Int?

    /// Describes a refusal.
    public init(_ code: Code, lockout: LockoutNotice? = nil, reasons: [String] = [], retryAfter: Int? = nil) {
        self.code = code
        self.lockout = lockout
        self.reasons = reasons
        self.retryAfter = retryAfter
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (
                code: try object.requiredText("code", 1...64), lockout: try object.object("lockout"),
                reasons: try object.strings("reasons") ?? [], retry: try object.integer("retryAfter", as: Int.self)
            )
        }
        self.init(
            Code(exactly: read.code) ?? .unknown,
            lockout: try read.lockout.map { json throws(IdentityMessageError) in try LockoutNotice(json: json) },
            reasons: Array(read.reasons.prefix(16)), retryAfter: read.retry.map { max(0, $0) })
    }

    public var json: JSONObject {
        var object: JSONObject = ["code": .string(self.code.rawValue)]
        object["lockout"] = self.lockout.map { .object($0.json) }
        if !self.reasons.isEmpty { object["reasons"] = .array(self.reasons.map { .string($0) }) }
        object["retryAfter"] = self.retryAfter.map { .integer(Int64($0)) }
        return object
    }
}

/// How long an activation rests.
public struct LockoutNotice: IdentityMessage, Hashable {
    /// Until when nothing is judged, by the server's clock; `nil` where it never ends and the activation is disabled.
    public var lockedUntil: Timestamp?
    /// Whether the activation is disabled for good.
    public var isPermanent: Bool { self.lockedUntil == nil }

    /// Describes a rest.
    public init(lockedUntil: Timestamp?) { self.lockedUntil = lockedUntil }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        self.lockedUntil = try IdentityMessageError.reading { () throws(JSONError) in
            try object.requiredBool("permanent") ? nil : try object.requiredMoment("until")
        }
    }

    public var json: JSONObject {
        var object: JSONObject = ["permanent": .bool(self.isPermanent)]
        object["until"] = self.lockedUntil.map { .moment($0) }
        return object
    }
}

extension JSONObject {
    /// A truth value that has to be there.
    func requiredBool(_ name: String) throws(JSONError) -> Bool {
        guard let value = try self.bool(name) else { throw JSONError(.missing, name) }
        return value
    }
}

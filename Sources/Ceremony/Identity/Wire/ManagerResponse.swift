import Crypto
public import JOSE
public import _Primitives

/// An answer of an identity server in its signed form: a JWT of the type `identity-response+jwt`, signed with ES256 by
/// one of the server's keys (``ManagerKeySet/signingKeys``).
///
/// The answer names its request (`rto`), so no answer can replace the answer to another request. The answer also has
/// the server's time (`now`), from which the phone learns the error of its own clock. The message is the member `body`,
/// or `error` for a refusal.
public struct ManagerResponse: Sendable {
    /// The content of an answer: a message, or a refusal.
    public enum Content: Sendable {
        /// The message, as the JSON object for the message's type.
        case message(JSONObject)
        /// A refusal.
        case refusal(IdentityProblem)
    }

    /// The content of the answer.
    public let content: Content
    /// The server's time.
    public let now: Timestamp

    private static let type = "identity-response+jwt"

    /// Returns the name by which an answer refers to its request.
    ///
    /// The name is the SHA-256 of the request's ``DeviceProof``, or of the request's body if the server knows no device
    /// yet.
    public static func name(ofRequest request: some Collection<UInt8>) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(request))))
    }

    /// Signs an answer.
    ///
    /// - Throws: `JOSEError` if the key cannot sign.
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

    /// Reads and verifies the answer to a request.
    ///
    /// Throws ``IdentityMessageError``: `malformed`, `wrongSignature`, `wrongReceiver` for the answer to another
    /// request or of another server.
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

    /// Returns the payload of a JWT of the given type that one of the keys has signed.
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

/// The reason why an identity server refuses a request.
///
/// A refusal never names a wrong factor. A wrong factor is the result of an attempt, not a refusal
/// (``FinishResponse/lockout(_:)``).
public struct IdentityProblem: IdentityMessage, Hashable, Error {
    /// The kind of refusal, for code that has to choose.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The content of the request is not acceptable.
        case invalidRequest
        /// The request's proof is missing or does not belong to the activation.
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
        /// A lockout is in force; ``IdentityProblem/lockout`` has its end.
        case lockedOut
        /// The device is less sound than the server requires; ``IdentityProblem/reasons`` has the reasons.
        case securityInsufficient
        case membershipRequired
        case invitationRequired
        case noRole
        case roleNotSelected
        case correctionLimitExceeded
        case grantExpired
        /// The new PIN is refused. The grant stays valid for another PIN, a few times.
        case pinRefused
        case factorAlreadyEnrolled
        case mergeConflict
        /// The person first has to agree to something in a browser: the server's terms, or the data for the service.
        case consentRequired
        /// The server cannot deliver the attributes that the person confirmed any more: a value is gone, or a new value
        /// has no room. The factors were not wrong.
        case answersOutdated
        /// The operator has not listed the app that signed (FIDO AppID and Facets, §3.1). The refusal says nothing
        /// about the factors, and the server counted no attempt.
        case untrustedFacetId
        /// The identifier of this request was already used for a request with other bytes.
        case replayRefused
        /// The request belongs to another state of the session.
        case outOfOrder
        /// The PIN service already answered a question about another PIN for this document, and answers no further
        /// question. A person who corrects the PIN has to begin again.
        case pinAlreadyAsked
        /// The clocks differ too much. The answer has the server's time: correct the clock and send the request again.
        case clockSkew
        case protocolVersionUnsupported
        /// The client sent too many requests; ``IdentityProblem/retryAfter`` has the time to wait.
        case tooManyRequests
        /// The server failed, through no fault of the caller.
        case serverError
        /// The code belongs to a later version of the server. No server sends this code itself.
        case unknown
    }

    /// The kind of refusal.
    public var code: Code
    /// With ``Code/lockedOut``: the lockout.
    public var lockout: LockoutNotice?
    /// With ``Code/securityInsufficient``: the names of the reasons.
    public var reasons: [String]
    /// With ``Code/tooManyRequests``: the time to wait, in seconds.
    public var retryAfter: Int?

    /// Creates a refusal.
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

/// The lockout of an activation: a time in which the server judges no attempt.
public struct LockoutNotice: IdentityMessage, Hashable {
    /// The end of the lockout, by the server's clock; `nil` if the lockout never ends and the activation is disabled.
    public var lockedUntil: Timestamp?
    /// `true` if the activation is disabled permanently.
    public var isPermanent: Bool { self.lockedUntil == nil }

    /// Creates a lockout.
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
    /// Returns a truth value. Throws if the member is missing.
    func requiredBool(_ name: String) throws(JSONError) -> Bool {
        guard let value = try self.bool(name) else { throw JSONError(.missing, name) }
        return value
    }
}

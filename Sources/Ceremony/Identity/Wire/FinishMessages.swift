public import _Primitives

/// `POST /identity/sessions/{id}/finish`: a phone sends the factors, sealed to the server.
public struct FinishRequest: IdentityMessage {
    /// ``Factors``, sealed for ``SealedMessage/Place/factors(session:challenge:)``.
    public var factors: SealedMessage
    /// The device's report about itself, as in ``StartRequest``.
    public var security: SecurityReport?

    /// Creates a request with factors.
    public init(factors: SealedMessage, security: SecurityReport?) {
        self.factors = factors
        self.security = security
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (factors: try object.requiredObject("factors"), security: try object.object("security"))
        }
        self.factors = try SealedMessage(json: read.factors)
        self.security = try read.security.map { json throws(IdentityMessageError) in try SecurityReport(json: json) }
    }

    public var json: JSONObject {
        var object: JSONObject = ["factors": .object(self.factors.json)]
        object["security"] = self.security.map { .object($0.json) }
        return object
    }

    /// The sealed content: a UAF authentication response with the assertions of one alternative.
    public struct Factors: IdentityMessage {
        /// The `uafProtocolMessage`: a JSON array of one response of version 1.1.
        public var response: String
        /// The number of padding letters. The padding hides the length of the message, which would reveal the factors
        /// that signed.
        private var padding: Int

        /// The number of bytes of every message of factors, unless the response alone is longer.
        private static let fullLength = 4096

        /// Creates the content from a response.
        public init(response: String) {
            self.response = response
            // The serialized length counts: each quotation mark takes two letters in the message, and each factor has
            // several quotation marks.
            self.padding = max(0, Self.fullLength - JSON.string(response).serialized.count)
        }

        public init(json object: JSONObject) throws(IdentityMessageError) {
            (self.response, self.padding) = try IdentityMessageError.reading { () throws(JSONError) in
                (
                    try object.requiredText("response", 1...24 * 1024),
                    try object.text("padding", 0...Self.fullLength)?.utf8.count ?? 0
                )
            }
        }

        /// Returns a text of `count` spaces. The standard library would write the spaces one by one.
        private static func spaces(_ count: Int) -> String {
            String(unsafeUninitializedCapacity: count) { buffer in
                buffer.initialize(repeating: UInt8(ascii: " "))
                return count
            }
        }

        public var json: JSONObject {
            [
                "response": .string(self.response),
                "padding": .string(Self.spaces(self.padding)),
            ]
        }
    }
}

/// The answer to a ``FinishRequest``.
public enum FinishResponse: IdentityMessage {
    /// All factors of one alternative were right.
    case accepted(AcceptedSession)
    /// An attempt that was wrong, without a hint at the wrong factor. The session goes on after the lockout, with
    /// the document in ``RefusedAttempt/next``, or ends if no document is there.
    case lockout(RefusedAttempt)

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (accepted: try object.object("accepted"), lockout: try object.object("lockout"))
        }
        switch (read.accepted, read.lockout) {
        case (let accepted?, nil): self = .accepted(try AcceptedSession(json: accepted))
        case (nil, let lockout?): self = .lockout(try RefusedAttempt(json: lockout))
        default: throw IdentityMessageError(.malformed, "accepted")
        }
    }

    public var json: JSONObject {
        switch self {
        case .accepted(let accepted): ["accepted": .object(accepted.json)]
        case .lockout(let lockout): ["lockout": .object(lockout.json)]
        }
    }
}

/// A session whose factors were accepted. The purpose decides the next step.
public struct AcceptedSession: IdentityMessage, Hashable {
    /// The purpose of the session.
    public var purpose: SessionDocument.Purpose
    /// The service that asked.
    public var service: SessionDocument.Service
    /// The name of the role in which the person uses the service.
    public var roleName: String
    /// The moment at which the server accepted the factors.
    public var finishedAt: Timestamp
    /// The end of the time for the next step; `nil` if no step follows.
    public var continuesUntil: Timestamp?
    /// The address to open in the device's browser, for a login that began with a link in this browser. A link from
    /// another person leads to nothing, because the other person's browser is another browser.
    public var location: String?

    /// Creates a session.
    public init(
        purpose: SessionDocument.Purpose, service: SessionDocument.Service, roleName: String, finishedAt: Timestamp,
        continuesUntil: Timestamp?, location: String? = nil
    ) {
        self.purpose = purpose
        self.service = service
        self.roleName = roleName
        self.finishedAt = finishedAt
        self.continuesUntil = continuesUntil
        self.location = location
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            let service = try object.requiredObject("service")
            let continues = object["continuesUntil"] != nil
            return (
                purpose: try object.requiredText("purpose", 1...32),
                service: SessionDocument.Service(
                    name: try service.requiredText("name"), origin: try service.requiredText("origin")),
                role: try object.requiredText("roleName"), at: try object.requiredMoment("finishedAt"),
                until: continues ? try object.requiredMoment("continuesUntil") : nil,
                location: try object.text("location", 1...2048)
            )
        }
        guard let purpose = SessionDocument.Purpose(exactly: read.purpose) else {
            throw IdentityMessageError(.unsupported, "purpose")
        }
        self.init(
            purpose: purpose, service: read.service, roleName: read.role, finishedAt: read.at,
            continuesUntil: read.until, location: read.location)
    }

    public var json: JSONObject {
        var object: JSONObject = [
            "purpose": .string(self.purpose.rawValue),
            "service": .object(["name": .string(self.service.name), "origin": .string(self.service.origin)]),
            "roleName": .string(self.roleName), "finishedAt": .moment(self.finishedAt),
        ]
        object["continuesUntil"] = self.continuesUntil.map { .moment($0) }
        object["location"] = self.location.map { .string($0) }
        return object
    }
}

/// An attempt that the server refused.
public struct RefusedAttempt: IdentityMessage {
    /// The lockout of the activation.
    public var lockout: LockoutNotice
    /// The next document to sign, after the lockout: the same document with another nonce. `nil` if the session cannot
    /// go on, because the lockout is permanent or longer than the session lives.
    public var next: PreparedSession?

    /// Creates a refusal.
    public init(lockout: LockoutNotice, next: PreparedSession?) {
        self.lockout = lockout
        self.next = next
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (lockout: try object.requiredObject("notice"), next: try object.object("next"))
        }
        self.lockout = try LockoutNotice(json: read.lockout)
        self.next = try read.next.map { json throws(IdentityMessageError) in try PreparedSession(json: json) }
    }

    public var json: JSONObject {
        var object: JSONObject = ["notice": .object(self.lockout.json)]
        object["next"] = self.next.map { .object($0.json) }
        return object
    }
}

/// The answer to `POST /identity/sessions/{id}/code`.
public struct CodeResponse: IdentityMessage, Hashable {
    /// The authorization code (RFC 6749, section 4.1.2), for the app's back end. It works once.
    public var code: SecretBytes
    /// The `state` of the app's request.
    public var state: String?
    /// The provider's identifier (RFC 9207).
    public var issuer: String

    /// Creates an answer.
    public init(code: SecretBytes, state: String?, issuer: String) {
        self.code = code
        self.state = state
        self.issuer = issuer
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        (self.code, self.state, self.issuer) = try IdentityMessageError.reading { () throws(JSONError) in
            (
                SecretBytes(Array(try object.requiredText("code").utf8)), try object.text("state", 0...2048),
                try object.requiredText("iss")
            )
        }
    }

    public var json: JSONObject {
        var object: JSONObject = [
            "code": .string(self.code.withBytes { String(decoding: $0, as: UTF8.self) }), "iss": .string(self.issuer),
        ]
        object["state"] = self.state.map { .string($0) }
        return object
    }

    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { self.issuer.hashBytes(into: &hasher) }
}

public import _Primitives

/// `POST /identity/sessions/{id}/finish`: the factors, sealed to the server.
public struct FinishRequest: IdentityMessage {
    /// ``Factors``, sealed for ``SealedMessage/Place/factors(session:challenge:)``.
    public var factors: SealedMessage
    /// As in ``StartRequest``.
    public var security: SecurityReport?

    /// Sends factors.
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

    /// What is sealed: a UAF authentication response whose assertions are one alternative.
    public struct Factors: IdentityMessage {
        /// The `uafProtocolMessage`: a JSON array of one response of version 1.1.
        public var response: String
        /// Fills the message up, so that its length does not tell which factors signed.
        private var padding: Int

        /// The bytes that every message of factors has, unless the response alone is longer.
        private static let fullLength = 4096

        /// Puts factors together.
        public init(response: String) {
            self.response = response
            // As it is written in the message: each quotation mark in it takes two letters, and each factor has some.
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

        /// So many spaces. The library's own way writes them one letter at a time.
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
    /// Something was not; what, nobody says. The session goes on after the rest, with another document.
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

/// A session whose factors were accepted. What comes next its purpose says.
public struct AcceptedSession: IdentityMessage, Hashable {
    /// What it was for.
    public var purpose: SessionDocument.Purpose
    /// Who asked.
    public var service: SessionDocument.Service
    /// As what the person came.
    public var roleName: String
    /// When the server accepted the factors.
    public var finishedAt: Timestamp
    /// Until when what comes next can be done; `nil` where nothing does.
    public var continuesUntil: Timestamp?
    /// Where the device's browser has to be led: for a login that was begun by a link, in the browser that has shown it. A
    /// link that somebody else has sent leads to nothing, because that browser is another one.
    public var location: String?

    /// Describes a session.
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

/// An attempt that was refused.
public struct RefusedAttempt: IdentityMessage {
    /// How long the activation rests.
    public var lockout: LockoutNotice
    /// What to sign after the rest: the same document with another nonce. `nil` where the session cannot go on: the rest
    /// is for ever, or longer than the session lives.
    public var next: PreparedSession?

    /// Describes a refusal.
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
    /// What the app gave with the request.
    public var state: String?
    /// The provider (RFC 9207).
    public var issuer: String

    /// Describes a code.
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

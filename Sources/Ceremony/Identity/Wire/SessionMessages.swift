public import PersonalInformation
public import _Primitives

/// A device's report about its own soundness. A server uses the report for a decision, and never trusts the report
/// alone.
public struct SecurityReport: IdentityMessage, Hashable {
    /// The moment of the device's check, by its own clock.
    public var date: Timestamp
    /// The version of the check.
    public var checkVersion: Int
    /// The operating system and its version.
    public var osVersion: String
    /// `true` if the protection of the operating system was removed.
    public var isRooted: Bool
    /// `true` if other code has entered the app.
    public var isHooked: Bool

    /// Creates a report.
    public init(date: Timestamp, checkVersion: Int, osVersion: String, isRooted: Bool, isHooked: Bool) {
        self.date = date
        self.checkVersion = checkVersion
        self.osVersion = osVersion
        self.isRooted = isRooted
        self.isHooked = isHooked
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        (self.date, self.checkVersion, self.osVersion, self.isRooted, self.isHooked) =
            try IdentityMessageError.reading { () throws(JSONError) in
                (
                    try object.requiredMoment("date"), Int(try object.requiredInteger("checkVersion", as: Int32.self)),
                    try object.requiredText("osVersion", 1...128), try object.requiredBool("isRooted"),
                    try object.requiredBool("isHooked")
                )
            }
    }

    public var json: JSONObject {
        [
            "date": .moment(self.date), "checkVersion": .integer(Int64(self.checkVersion)),
            "osVersion": .string(self.osVersion), "isRooted": .bool(self.isRooted), "isHooked": .bool(self.isHooked),
        ]
    }
}

/// The deadlines of a session, by the server's clock.
public struct SessionDeadlines: IdentityMessage, Hashable {
    /// The latest moment for the next request or a prolongation.
    public var nextRequestUntil: Timestamp
    /// The moment after which no prolongation is possible.
    public var lastRequestBefore: Timestamp

    /// Creates deadlines.
    public init(nextRequestUntil: Timestamp, lastRequestBefore: Timestamp) {
        self.nextRequestUntil = nextRequestUntil
        self.lastRequestBefore = lastRequestBefore
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        (self.nextRequestUntil, self.lastRequestBefore) = try IdentityMessageError.reading { () throws(JSONError) in
            (try object.requiredMoment("nextRequestUntil"), try object.requiredMoment("lastRequestBefore"))
        }
    }

    public var json: JSONObject {
        ["nextRequestUntil": .moment(self.nextRequestUntil), "lastRequestBefore": .moment(self.lastRequestBefore)]
    }
}

/// A session that an app has begun itself. The server's offer replaces a code.
public struct SessionOffer: IdentityMessage, Hashable {
    /// The session.
    public var session: String
    /// The claim of the session (``ProcessCode/claim``).
    public var claim: SecretBytes
    /// The end of the time in which the app can claim the session.
    public var expiresAt: Timestamp

    /// Creates an offer.
    public init(session: String, claim: SecretBytes, expiresAt: Timestamp) {
        self.session = session
        self.claim = claim
        self.expiresAt = expiresAt
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        (self.session, self.claim, self.expiresAt) = try IdentityMessageError.reading { () throws(JSONError) in
            (
                try object.requiredText("session", 1...64), SecretBytes(try object.requiredBytes("claim", 32...32)),
                try object.requiredMoment("expiresAt")
            )
        }
    }

    public var json: JSONObject {
        [
            "session": .string(self.session), "claim": .string(self.claim.withBytes { Base64URL.encode($0) }),
            "expiresAt": .moment(self.expiresAt),
        ]
    }

    public static func == (left: Self, right: Self) -> Bool { left.session.hasSameBytes(as: right.session) }
    public func hash(into hasher: inout Hasher) { self.session.hashBytes(into: &hasher) }
}

/// `POST /identity/sessions/{id}/start`: an activation claims a session.
public struct StartRequest: IdentityMessage {
    /// The version of the protocol that the phone speaks.
    public var version: Int
    /// The claim from the code's secret.
    public var claim: SecretBytes
    /// The device's report about itself; `nil` if the app checks nothing.
    public var security: SecurityReport?

    /// Creates a request that claims a session.
    public init(version: Int = ManagerKeySet.version, claim: SecretBytes, security: SecurityReport?) {
        self.version = version
        self.claim = claim
        self.security = security
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let security: JSONObject?
        (self.version, self.claim, security) = try IdentityMessageError.reading { () throws(JSONError) in
            (
                try object.requiredInteger("version", as: Int.self),
                SecretBytes(try object.requiredBytes("claim", 32...32)), try object.object("security")
            )
        }
        self.security = try security.map { json throws(IdentityMessageError) in try SecurityReport(json: json) }
    }

    public var json: JSONObject {
        var object: JSONObject = [
            "version": .integer(Int64(self.version)), "claim": .string(self.claim.withBytes { Base64URL.encode($0) }),
        ]
        object["security"] = self.security.map { .object($0.json) }
        return object
    }
}

/// The answer to a ``StartRequest``: the service, the possible roles, and the requested attributes. The answer contains
/// no value of an account.
public struct RequestDocument: IdentityMessage, Hashable {
    /// A role in which the person can use the service.
    public struct Role: Hashable, Sendable {
        /// The server's identifier of the role.
        public var id: String
        /// The name, for display.
        public var name: String
        /// The alternatives of factors to sign with, each a list of authenticator types by name.
        ///
        /// The list has the alternatives that the activation can meet, or all alternatives if it can meet none. Never
        /// empty.
        public var alternatives: [[String]]
        /// The names of the types that the activation lacks; empty if the activation can meet an alternative.
        public var missing: [String]

        /// Creates a role.
        public init(id: String, name: String, alternatives: [[String]], missing: [String]) {
            self.id = id
            self.name = name
            self.alternatives = alternatives
            self.missing = missing
        }
    }

    /// The purpose of the session.
    public var purpose: SessionDocument.Purpose
    /// The service that asks.
    public var service: SessionDocument.Service
    /// The roles in which the person can use the service; at least one.
    public var roles: [Role]
    /// The requested attributes.
    public var attributes: RequestedInformation
    /// The bounds of the values that a person can type.
    public var bounds: ValidatorBounds
    /// The deadlines of the session.
    public var deadlines: SessionDeadlines
    /// `true` if the claimed code was made for a link, which is bound to a browser of this device. If a code was made
    /// for scanning but arrived in a link, another person sent the link, and the other person's browser waits.
    public var isForLinks: Bool

    /// Creates a document.
    public init(
        purpose: SessionDocument.Purpose, service: SessionDocument.Service, roles: [Role],
        attributes: RequestedInformation, bounds: ValidatorBounds, deadlines: SessionDeadlines, isForLinks: Bool
    ) {
        self.isForLinks = isForLinks
        self.purpose = purpose
        self.service = service
        self.roles = roles
        self.attributes = attributes
        self.bounds = bounds
        self.deadlines = deadlines
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            let service = try object.requiredObject("service")
            return (
                purpose: try object.requiredText("purpose", 1...32),
                service: SessionDocument.Service(
                    name: try service.requiredText("name"), origin: try service.requiredText("origin")),
                roles: try object.objects("roles").map { role throws(JSONError) in
                    Role(
                        id: try role.requiredText("id", 1...64), name: try role.requiredText("name"),
                        alternatives: try role.textLists("alternatives"), missing: try role.strings("missing") ?? [])
                },
                attributes: try object.objects("attributes"), bounds: try object.requiredObject("bounds"),
                deadlines: try object.requiredObject("deadlines"), isForLinks: try object.requiredBool("forLinks")
            )
        }
        guard let purpose = SessionDocument.Purpose(exactly: read.purpose) else {
            throw IdentityMessageError(.unsupported, "purpose")
        }
        guard !read.roles.isEmpty else { throw IdentityMessageError(.malformed, "roles") }
        self.init(
            purpose: purpose, service: read.service, roles: read.roles,
            attributes: RequestedInformation(
                try read.attributes.map { json throws(IdentityMessageError) in try RequestedAttribute(json: json) }),
            bounds: try ValidatorBounds(json: read.bounds), deadlines: try SessionDeadlines(json: read.deadlines),
            isForLinks: read.isForLinks)
    }

    public var json: JSONObject {
        [
            "purpose": .string(self.purpose.rawValue),
            "service": .object(["name": .string(self.service.name), "origin": .string(self.service.origin)]),
            "roles": .array(
                self.roles.map {
                    .object([
                        "id": .string($0.id), "name": .string($0.name), "alternatives": .textLists($0.alternatives),
                        "missing": .array($0.missing.map { .string($0) }),
                    ])
                }),
            "attributes": .array(self.attributes.attributes.map { .object($0.json) }),
            "bounds": .object(self.bounds.json), "deadlines": .object(self.deadlines.json),
            "forLinks": .bool(self.isForLinks),
        ]
    }
}

extension RequestedAttribute {
    fileprivate init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (
                name: try object.requiredText("name", 1...32), isRequired: try object.requiredBool("required"),
                isSuppliable: try object.requiredBool("suppliable"),
                aliases: try object.objects("aliases").map { alias throws(JSONError) in
                    PersonalInformationAlias(
                        id: try alias.requiredText("id", 1...64), alias: try alias.requiredText("alias"),
                        isPrimary: try alias.requiredBool("primary"))
                }
            )
        }
        guard let attribute = PersonalAttribute(exactly: read.name) else {
            // The phone could neither show nor confirm an attribute of a later server.
            throw IdentityMessageError(.unsupported, "attributes")
        }
        self.init(
            attribute, isRequired: read.isRequired, isSuppliable: read.isSuppliable, aliases: Set(read.aliases))
    }

    fileprivate var json: JSONObject {
        [
            "name": .string(self.attribute.rawValue), "required": .bool(self.isRequired),
            "suppliable": .bool(self.isSuppliable),
            "aliases": .array(
                self.aliases.sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }.map {
                    .object([
                        "id": .string($0.id), "alias": .string($0.alias), "primary": .bool($0.isPrimary),
                    ])
                }),
        ]
    }
}

/// `POST /identity/sessions/{id}/prepare`: the person's role, and the answers to the attributes.
public struct PrepareRequest: IdentityMessage {
    /// The role, by the server's identifier; `nil` if the person chose none.
    public var role: String?
    /// The person's answers.
    public var answers: [PersonalAttribute: AttributeAnswer]
    /// The device's report about itself, as in ``StartRequest``.
    public var security: SecurityReport?

    /// Creates a request with a person's answers.
    public init(role: String?, answers: [PersonalAttribute: AttributeAnswer], security: SecurityReport?) {
        self.role = role
        self.answers = answers
        self.security = security
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (
                role: try object.text("role", 1...64), security: try object.object("security"),
                answers: try object.objects("answers").map { answer throws(JSONError) in
                    (
                        name: try answer.requiredText("name", 1...32), alias: try answer.text("alias", 1...64),
                        value: try answer.text("value", 0...4096)
                    )
                }
            )
        }
        var answers: [PersonalAttribute: AttributeAnswer] = [:]
        for answer in read.answers {
            guard let attribute = PersonalAttribute(exactly: answer.name), answers[attribute] == nil else {
                throw IdentityMessageError(.malformed, "answers")
            }
            switch (answer.alias, answer.value) {
            case (let id?, nil): answers[attribute] = .alias(id: id)
            case (nil, let text?): answers[attribute] = .value(text)
            default: throw IdentityMessageError(.malformed, "answers")
            }
        }
        self.init(
            role: read.role, answers: answers,
            security: try read.security.map { json throws(IdentityMessageError) in try SecurityReport(json: json) })
    }

    public var json: JSONObject {
        let answers = PersonalAttribute.allCases.compactMap { attribute in
            self.answers[attribute].map { answer -> JSON in
                switch answer {
                case .alias(let id): .object(["name": .string(attribute.rawValue), "alias": .string(id)])
                case .value(let text): .object(["name": .string(attribute.rawValue), "value": .string(text)])
                }
            }
        }
        var object: JSONObject = [:]
        object["role"] = self.role.map { .string($0) }
        object["answers"] = .array(answers)
        object["security"] = self.security.map { .object($0.json) }
        return object
    }
}

/// The answer to a ``PrepareRequest``.
public enum PrepareResponse: IdentityMessage {
    /// All errors of the answers at once. The phone can send corrected answers, a few times.
    case errors([PersonalAttribute: AuthenticationInformationErrorCode], deadlines: SessionDeadlines)
    /// The document to sign.
    case prepared(PreparedSession)

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (
                errors: try object.object("errors"), deadlines: try object.object("deadlines"),
                prepared: try object.object("prepared")
            )
        }
        switch (read.errors, read.deadlines, read.prepared) {
        case (let errors?, let deadlines?, nil):
            var codes: [PersonalAttribute: AuthenticationInformationErrorCode] = [:]
            for (name, value) in errors.members {
                guard let attribute = PersonalAttribute(exactly: name), case .string(let code) = value,
                    let code = AuthenticationInformationErrorCode(exactly: code)
                else { throw IdentityMessageError(.unsupported, "errors") }
                codes[attribute] = code
            }
            self = .errors(codes, deadlines: try SessionDeadlines(json: deadlines))
        case (nil, _, let prepared?): self = .prepared(try PreparedSession(json: prepared))
        default: throw IdentityMessageError(.malformed, "prepared")
        }
    }

    public var json: JSONObject {
        switch self {
        case .errors(let codes, let deadlines):
            var errors: JSONObject = [:]
            for attribute in PersonalAttribute.allCases {
                errors[attribute.rawValue] = codes[attribute].map { .string($0.rawValue) }
            }
            return ["errors": .object(errors), "deadlines": .object(deadlines.json)]
        case .prepared(let prepared): return ["prepared": .object(prepared.json)]
        }
    }
}

/// A document to sign, for one attempt.
public struct PreparedSession: IdentityMessage {
    /// The bytes of the ``SessionDocument``.
    public var document: [UInt8]
    /// The salts of the typed values' digests, by attribute.
    public var salts: [PersonalAttribute: SuppliedValueSalt]
    /// The factors to sign with, as in ``RequestDocument/Role/alternatives``.
    public var alternatives: [[String]]
    /// The names of the types that the activation lacks, as in ``RequestDocument/Role/missing``.
    public var missing: [String]
    /// The AppID of the UAF assertions.
    public var appID: String
    /// The number of the activation's PIN that is in force; `nil` if the activation has no PIN.
    public var pinVersion: UInt32?
    /// The deadlines of the session.
    public var deadlines: SessionDeadlines

    /// Creates a document to sign.
    public init(
        document: [UInt8], salts: [PersonalAttribute: SuppliedValueSalt], alternatives: [[String]], missing: [String],
        appID: String, pinVersion: UInt32?, deadlines: SessionDeadlines
    ) {
        self.document = document
        self.salts = salts
        self.alternatives = alternatives
        self.missing = missing
        self.appID = appID
        self.pinVersion = pinVersion
        self.deadlines = deadlines
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (
                document: try object.requiredBytes("document", 1...SessionDocument.maximumBytes),
                salts: try object.requiredObject("salts"), alternatives: try object.textLists("alternatives"),
                missing: try object.strings("missing") ?? [], appID: try object.requiredText("appID"),
                pinVersion: try object.integer("pinVersion", as: UInt32.self),
                deadlines: try object.requiredObject("deadlines")
            )
        }
        var salts: [PersonalAttribute: SuppliedValueSalt] = [:]
        for (name, value) in read.salts.members {
            guard let attribute = PersonalAttribute(exactly: name), case .string(let text) = value,
                let salt = SuppliedValueSalt(base64URL: text)
            else { throw IdentityMessageError(.malformed, "salts") }
            salts[attribute] = salt
        }
        guard !read.alternatives.isEmpty else { throw IdentityMessageError(.malformed, "alternatives") }
        self.init(
            document: read.document, salts: salts, alternatives: read.alternatives, missing: read.missing,
            appID: read.appID, pinVersion: read.pinVersion, deadlines: try SessionDeadlines(json: read.deadlines))
    }

    public var json: JSONObject {
        var salts: JSONObject = [:]
        for attribute in PersonalAttribute.allCases {
            salts[attribute.rawValue] = self.salts[attribute].map { .string($0.base64URL) }
        }
        var object: JSONObject = [
            "document": .bytes(self.document), "salts": .object(salts), "alternatives": .textLists(self.alternatives),
            "missing": .array(self.missing.map { .string($0) }), "appID": .string(self.appID),
        ]
        object["pinVersion"] = self.pinVersion.map { .integer(Int64($0)) }
        object["deadlines"] = .object(self.deadlines.json)
        return object
    }
}

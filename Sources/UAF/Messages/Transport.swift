public import _Primitives

// The bodies of the HTTPS transport (§6.2). Messages and contexts are members of a body, as strings that contain JSON.

/// A client's call for a request (GetUAFRequest, §6.2).
public struct GetUAFRequest: Hashable, Sendable {
    /// `op`: the operation; may be missing if the address determines the operation.
    public var operation: Operation?
    /// `context`: further data for the server, by the server's own rules.
    public var context: JSONObject?

    /// Creates a body. This product neither sends nor reads the standard's `previousRequest`.
    public init(operation: Operation?, context: JSONObject? = nil) {
        self.operation = operation
        self.context = context
    }

    /// Reads a body that is one dictionary.
    public init(parsing bytes: some Collection<UInt8>) throws(UAFError) {
        try self.init(try MemberReader(body: bytes, "getUAFRequest"))
    }

    /// Reads the dictionary from a member of another body.
    public init(json object: JSONObject) throws(UAFError) { try self.init(MemberReader(object, "getUAFRequest")) }

    private init(_ members: MemberReader) throws(UAFError) {
        self.operation = try members.string("op").map(Operation.init(rawValue:))
        self.context = try members.stringifiedObject("context")
    }

    /// The dictionary of the body.
    public var json: JSONObject {
        var object = JSONObject()
        object["op"] = self.operation.map { .string($0.rawValue) }
        object["context"] = self.context.map { .string(JSON.object($0).text) }
        return object
    }

    /// The body, UTF-8.
    public var serialized: [UInt8] { JSON.object(self.json).serialized }
}

/// The server's request for a client (ReturnUAFRequest, §6.2), with this product's additions for the person to see.
public struct ReturnUAFRequest: Hashable, Sendable {
    /// `statusCode`
    public var statusCode: UAFStatusCode
    /// `op`: may differ from the operation in the client's call.
    public var operation: Operation?
    /// `uafRequest`: the message, an array of one dictionary. Present unless the status is a refusal.
    public var uafRequest: String?
    /// `lifetimeMillis`: a hint; the server measures the time itself.
    public var lifetimeMilliseconds: Int64?
    /// `requester`: the party that started the operation, and its place.
    public var requester: Requester?
    /// `dispatchChannel`: the way of the token to the phone, the name of a ``DispatchChannel``. Another server may have
    /// names of its own.
    public var dispatchChannel: String?
    /// `numberLength`: the number of digits that the person has to type, from 1 to ``maximumNumberLength``; `nil` if the
    /// server asks for no number. A key signs the typed number.
    public var numberLength: Int?
    /// `appAttestation`: the server's wish that the app proves itself with the registration; `nil` if the server wants
    /// no evidence.
    public var appAttestation: AppAttestationWish?

    /// The largest number of digits that a server can ask for.
    public static let maximumNumberLength = 12

    /// Creates a body.
    public init(
        statusCode: UAFStatusCode, operation: Operation? = nil, uafRequest: String? = nil,
        lifetimeMilliseconds: Int64? = nil, requester: Requester? = nil, dispatchChannel: String? = nil
    ) {
        self.statusCode = statusCode
        self.operation = operation
        self.uafRequest = uafRequest
        self.lifetimeMilliseconds = lifetimeMilliseconds
        self.requester = requester
        self.dispatchChannel = dispatchChannel
    }

    /// Reads a body that is one dictionary. `uafRequest` is not decoded.
    public init(parsing bytes: some Collection<UInt8>) throws(UAFError) {
        let members = try MemberReader(body: bytes, "returnUAFRequest")
        self.statusCode = UAFStatusCode(rawValue: try members.requiredInteger("statusCode"))
        self.operation = try members.string("op").map(Operation.init(rawValue:))
        self.uafRequest = try members.string("uafRequest")
        self.lifetimeMilliseconds = try members.integer("lifetimeMillis")
        if let requester = try members.members("requester") { self.requester = try Requester(requester) }
        self.dispatchChannel = try members.string("dispatchChannel", 1...64)
        self.numberLength = try members.integer("numberLength")
        guard (1...Self.maximumNumberLength).contains(self.numberLength ?? 1) else {
            throw UAFError(.outOfRange, "\(members.place).numberLength")
        }
        if let wish = try members.members("appAttestation") { self.appAttestation = try AppAttestationWish(wish) }
    }

    /// The body, UTF-8.
    public var serialized: [UInt8] {
        var object: JSONObject = ["statusCode": .whole(self.statusCode.rawValue)]
        object["op"] = self.operation.map { .string($0.rawValue) }
        object["lifetimeMillis"] = self.lifetimeMilliseconds.map { .integer($0) }
        object["uafRequest"] = self.uafRequest.map { .string($0) }
        object["requester"] = self.requester.map { .object($0.json) }
        object["dispatchChannel"] = self.dispatchChannel.map { .string($0) }
        object["numberLength"] = self.numberLength.map { .whole($0) }
        object["appAttestation"] = self.appAttestation.map { .object($0.json) }
        return JSON.object(object).serialized
    }
}

extension ReturnUAFRequest {
    /// The party that started an operation, for the person to compare with the browser. All members may be missing.
    public struct Requester: Hashable, Sendable {
        /// `service`: the relying party's name.
        public var service: String?
        /// `origin`: the relying party's web origin.
        public var origin: String?
        /// `address`: the network address of the browser.
        public var address: String?
        /// `browser`: the browser and its system, in words.
        public var browser: String?
        /// `browserId`: an identifier that stays the same for the same browser, so the phone can notice a new browser.
        public var browserID: String?
        /// `channelLinking`: a text of at most 16 bytes that the requester's page shows too, for a comparison by the
        /// person.
        public var channelLinking: String?

        /// Creates a requester.
        public init(
            service: String? = nil, origin: String? = nil, address: String? = nil, browser: String? = nil,
            browserID: String? = nil, channelLinking: String? = nil
        ) {
            self.channelLinking = channelLinking
            self.service = service
            self.origin = origin
            self.address = address
            self.browser = browser
            self.browserID = browserID
        }

        init(_ members: MemberReader) throws(UAFError) {
            self.service = try members.string("service", 1...512)
            self.origin = try members.string("origin", 1...512)
            self.address = try members.string("address", 1...512)
            self.browser = try members.string("browser", 1...512)
            self.browserID = try members.string("browserId", 1...512)
            self.channelLinking = try members.string("channelLinking", 1...16)
        }

        var json: JSONObject {
            var object = JSONObject()
            object["service"] = self.service.map { .string($0) }
            object["origin"] = self.origin.map { .string($0) }
            object["address"] = self.address.map { .string($0) }
            object["browser"] = self.browser.map { .string($0) }
            object["browserId"] = self.browserID.map { .string($0) }
            object["channelLinking"] = self.channelLinking.map { .string($0) }
            return object
        }
    }
}

/// A client's answer for the server (SendUAFResponse, §6.2).
public struct SendUAFResponse: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// `uafResponse`: the message, an array of one dictionary.
    public var uafResponse: String
    /// `context`: data that the phone's UAF client sends the server beside `uafResponse`, such as the device's name or
    /// the reason why the client failed; in the body a string that contains JSON. May hold the secret of an enrolment.
    public var context: JSONObject?

    /// Creates a body.
    public init(uafResponse: String, context: JSONObject? = nil) {
        self.uafResponse = uafResponse
        self.context = context
    }

    /// Reads a body that is one dictionary. `uafResponse` is not decoded.
    public init(parsing bytes: some Collection<UInt8>) throws(UAFError) {
        let members = try MemberReader(body: bytes, "sendUAFResponse")
        self.uafResponse = try members.requiredString("uafResponse")
        self.context = try members.stringifiedObject("context")
    }

    /// The body, UTF-8.
    public var serialized: [UInt8] {
        var object: JSONObject = ["uafResponse": .string(self.uafResponse)]
        object["context"] = self.context.map { .string(JSON.object($0).text) }
        return JSON.object(object).serialized
    }

    /// Lengths and names alone, because a context can hold the secret of an enrolment.
    public var description: String {
        "SendUAFResponse(\(self.uafResponse.utf8.count) bytes, \((self.context?.members ?? []).map(\.name)))"
    }
    public var customMirror: Mirror { Mirror(self, children: ["bytes": self.uafResponse.utf8.count]) }
}

/// The server's judgement of an answer (ServerResponse, §6.2), with this product's additions.
public struct ServerResponse: Hashable, Sendable, CustomDebugStringConvertible, CustomReflectable {
    /// `statusCode`
    public var statusCode: UAFStatusCode
    /// `description`: for a developer, not for a person.
    public var description: String?
    /// `additionalTokens`
    public var additionalTokens: [Token]
    /// `location`: an address to open on the same device, with a secret in it.
    public var location: String?
    /// `newUAFRequest`: a further message for the client.
    public var newUAFRequest: String?
    /// `confirmation`: the number that the person reads out or types at the place that asked for the registration.
    public var confirmation: Confirmation?
    /// `deviceKey`: the server's name for the device's new signing key (``DeviceKeyAnnouncement``), 1 to 128
    /// characters. If missing, the server has no such key.
    public var deviceKey: String?
    /// `wrongNumber`: `true` if the server refused the answer because of the number that the person has typed.
    public var isNumberWrong = false
    /// `appRefused`: `true` if the server refused the answer because of the evidence about the app, or because the
    /// evidence is missing.
    public var isAppRefused = false

    /// Creates a body.
    public init(
        statusCode: UAFStatusCode, description: String? = nil, additionalTokens: [Token] = [],
        location: String? = nil, newUAFRequest: String? = nil, confirmation: Confirmation? = nil,
        deviceKey: String? = nil
    ) {
        self.deviceKey = deviceKey
        self.statusCode = statusCode
        self.description = description
        self.additionalTokens = additionalTokens
        self.location = location
        self.newUAFRequest = newUAFRequest
        self.confirmation = confirmation
    }

    /// Reads a body that is one dictionary.
    public init(parsing bytes: some Collection<UInt8>) throws(UAFError) {
        let members = try MemberReader(body: bytes, "serverResponse")
        self.statusCode = UAFStatusCode(rawValue: try members.requiredInteger("statusCode"))
        self.description = try members.string("description")
        self.additionalTokens =
            try members.list("additionalTokens") { (element) throws(UAFError) in try Token(element) } ?? []
        self.location = try members.string("location")
        self.newUAFRequest = try members.string("newUAFRequest")
        if let confirmation = try members.members("confirmation") {
            self.confirmation = try Confirmation(confirmation)
        }
        self.deviceKey = try members.string("deviceKey", 1...128)
        self.isNumberWrong = try members.bool("wrongNumber") ?? false
        self.isAppRefused = try members.bool("appRefused") ?? false
    }

    /// The body, UTF-8.
    public var serialized: [UInt8] {
        var object: JSONObject = ["statusCode": .whole(self.statusCode.rawValue)]
        object["description"] = self.description.map { .string($0) }
        if !self.additionalTokens.isEmpty { object["additionalTokens"] = .array(self.additionalTokens.map(\.json)) }
        object["location"] = self.location.map { .string($0) }
        object["newUAFRequest"] = self.newUAFRequest.map { .string($0) }
        object["confirmation"] = self.confirmation.map { .object($0.json) }
        object["deviceKey"] = self.deviceKey.map { .string($0) }
        if self.isNumberWrong { object["wrongNumber"] = .bool(true) }
        if self.isAppRefused { object["appRefused"] = .bool(true) }
        return JSON.object(object).serialized
    }

    /// The status alone, because the address and the tokens are secrets.
    public var debugDescription: String { "ServerResponse(\(self.statusCode))" }
    public var customMirror: Mirror { Mirror(self, children: ["statusCode": self.statusCode]) }

    /// A number that confirms a registration out of band.
    public struct Confirmation: Hashable, Sendable {
        /// `number`: 1 to 32 decimal digits, ASCII.
        public var number: String
        /// `expiresInSeconds`: the time in which the number can be given, from 0 to ``maximumLifetime``.
        public var expiresInSeconds: Int

        /// The longest time in which a number can be given: a day, in seconds.
        public static let maximumLifetime = 86_400

        /// Creates a confirmation.
        public init(number: String, expiresInSeconds: Int) {
            self.number = number
            self.expiresInSeconds = expiresInSeconds
        }

        init(_ members: MemberReader) throws(UAFError) {
            self.number = try members.requiredString("number", 1...32)
            guard self.number.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                throw UAFError(.invalidValue, "\(members.place).number is not decimal digits")
            }
            self.expiresInSeconds = try members.requiredInteger("expiresInSeconds")
            guard (0...Self.maximumLifetime).contains(self.expiresInSeconds) else {
                throw UAFError(.outOfRange, "\(members.place).expiresInSeconds")
            }
        }

        var json: JSONObject {
            ["number": .string(self.number), "expiresInSeconds": .whole(self.expiresInSeconds)]
        }
    }
}

/// A token that a client receives after a successful operation (Token, §6.2).
public struct Token: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The kind of a token.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The name on the wire.
        public let rawValue: String
        /// Creates a kind from any name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// `JWT`
        public static let jwt = Self(rawValue: "JWT")
        /// `HTTP_COOKIE`
        public static let httpCookie = Self(rawValue: "HTTP_COOKIE")
        /// `OAUTH2`
        public static let oauth2 = Self(rawValue: "OAUTH2")
    }

    /// `type`
    public var kind: Kind
    /// `value`: a secret.
    public var value: String

    /// Creates a token.
    public init(kind: Kind, value: String) {
        self.kind = kind
        self.value = value
    }

    init(_ members: MemberReader) throws(UAFError) {
        self.kind = Kind(rawValue: try members.requiredString("type"))
        self.value = try members.requiredString("value")
    }

    var json: JSON { .object(["type": .string(self.kind.rawValue), "value": .string(self.value)]) }

    /// The kind alone, because the value is a secret.
    public var description: String { "Token(\(self.kind.rawValue))" }
    public var customMirror: Mirror { Mirror(self, children: ["kind": self.kind]) }
}

extension MemberReader {
    /// Returns the JSON object in a string member; `nil` if the member is missing.
    func stringifiedObject(_ name: String) throws(UAFError) -> JSONObject? {
        guard let text = try self.string(name) else { return nil }
        return try MemberReader(body: text.utf8, "\(self.place).\(name)").object
    }
}

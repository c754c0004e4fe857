public import UAF
public import _Primitives

/// A UAF client's response with the server's data at its arrival, and with the verdict that the standard requires.
///
/// In a file, a vector is one JSON object with the members of this type. ``UAFScenario`` or any other program can make
/// vectors.
public struct TestVector: Sendable {
    /// A registered key of any account.
    public struct RegisteredKey: Hashable, Sendable {
        /// The model.
        public var aaid: AAID
        /// The key's name.
        public var keyID: KeyID
        /// The public key in ``publicKeyFormat``.
        public var publicKey: [UInt8]
        /// The format of the public key.
        public var publicKeyFormat: PublicKeyFormat
        /// The algorithm of the registration.
        public var signatureAlgorithm: SignatureAlgorithm
        /// The highest accepted counter.
        public var signCounter: UInt32
        /// The owner of the key.
        public var account: String
    }

    /// The file's name without `.json`.
    public var id: String
    /// A description in words.
    public var title: String
    /// Registration or authentication.
    public var operation: UAF.Operation
    /// The name of the single ``Damage``; `nil` for an undamaged vector.
    public var damage: String?

    /// The server's metadata statements.
    public var metadata: [JSONObject]
    /// The models that the server refuses.
    public var revoked: [AAID]
    /// The server's further revocations, in the form of an operator's list; `nil` for none.
    public var revocations: JSONObject?
    /// The facets that may call the client for the application.
    public var trustedFacets: [String]
    /// The accepted values of `serverEndPoint`; `nil` if the server ignores the channel.
    public var serverEndPoints: [String]?
    /// The time at which certificates must be valid, RFC 3339.
    public var time: String
    /// The name of the person who authenticates or registers.
    public var account: String
    /// The registered keys.
    public var registered: [RegisteredKey]

    /// The server's request: the dictionary of the message.
    public var request: JSONObject
    /// The client's response, letter by letter.
    public var response: String

    /// The verdict (§5.1).
    public var status: UAFStatusCode
    /// The rule that refuses the response, by the names of this product's server; `nil` if no rule does.
    public var step: String?

    /// The file's content: one line, and a line feed.
    public var serialized: [UInt8] {
        var server: JSONObject = [
            "metadata": .array(self.metadata.map { .object($0) }),
            "revoked": .array(self.revoked.map { .string($0.text) }),
            "trustedFacets": .array(self.trustedFacets.map { .string($0) }), "time": .string(self.time),
            "account": .string(self.account), "registered": .array(self.registered.map { .object($0.json) }),
        ]
        server["revocations"] = self.revocations.map { .object($0) }
        server["serverEndPoints"] = self.serverEndPoints.map { .array($0.map { .string($0) }) }
        var expected: JSONObject = ["status": .integer(Int64(self.status.rawValue))]
        expected["step"] = self.step.map { .string($0) }
        var object: JSONObject = [
            "id": .string(self.id), "title": .string(self.title), "operation": .string(self.operation.rawValue),
        ]
        object["damage"] = self.damage.map { .string($0) }
        object["expected"] = .object(expected)
        object["server"] = .object(server)
        object["request"] = .array([.object(self.request)])
        object["response"] = .string(self.response)
        return JSON.object(object).serialized + [0x0A]
    }
}

extension TestVector {
    /// Reads a file's content. Throws `JSONError` and `UAFError`.
    public init(parsing bytes: some Collection<UInt8>) throws {
        guard case .object(let object) = try JSON(parsing: bytes) else { throw UAFError(.wrongType, "vector") }
        let server = try object.requiredObject("server")
        let expected = try object.requiredObject("expected")
        guard case .object(let request)? = try object.array("request")?.first else {
            throw UAFError(.missingMember, "request")
        }
        func objects(_ name: String) throws -> [JSONObject] {
            try (try server.array(name) ?? []).map { value in
                guard case .object(let object) = value else { throw UAFError(.wrongType, name) }
                return object
            }
        }
        self.id = try object.requiredString("id")
        self.title = try object.requiredString("title")
        self.operation = UAF.Operation(rawValue: try object.requiredString("operation"))
        self.damage = try object.string("damage")
        self.metadata = try objects("metadata")
        self.revoked = try (server.strings("revoked") ?? []).map { try AAID($0) }
        self.revocations = try server.object("revocations")
        self.trustedFacets = try server.strings("trustedFacets") ?? []
        self.serverEndPoints = try server.strings("serverEndPoints")
        self.time = try server.requiredString("time")
        self.account = try server.requiredString("account")
        self.registered = try objects("registered").map { try RegisteredKey($0) }
        self.request = request
        self.response = try object.requiredString("response")
        self.status = UAFStatusCode(rawValue: try expected.requiredInteger("status"))
        self.step = try expected.string("step")
    }
}

extension TestVector.RegisteredKey {
    init(_ object: JSONObject) throws {
        guard let key = Base64URL.decode(try object.requiredString("publicKey")) else {
            throw UAFError(.invalidBase64URL, "publicKey")
        }
        self.init(
            aaid: try AAID(try object.requiredString("aaid")),
            keyID: try KeyID(base64URL: try object.requiredString("keyID")), publicKey: key,
            publicKeyFormat: PublicKeyFormat(rawValue: try object.requiredInteger("publicKeyFormat")),
            signatureAlgorithm: SignatureAlgorithm(rawValue: try object.requiredInteger("signatureAlgorithm")),
            signCounter: try object.requiredInteger("signCounter"), account: try object.requiredString("account"))
    }

    var json: JSONObject {
        [
            "aaid": .string(self.aaid.text), "keyID": .string(self.keyID.base64URL),
            "publicKey": .string(Base64URL.encode(self.publicKey)),
            "publicKeyFormat": .integer(Int64(self.publicKeyFormat.rawValue)),
            "signatureAlgorithm": .integer(Int64(self.signatureAlgorithm.rawValue)),
            "signCounter": .integer(Int64(self.signCounter)), "account": .string(self.account),
        ]
    }
}

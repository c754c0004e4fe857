public import UAF
public import _Primitives

/// The state of an operation, sealed, which the client carries for the server (§8.6).
///
/// The type is for callers that the server does not know yet: the server keeps no row until they answer. The sealed
/// state can be used several times: the caller consumes the challenge when an answer comes.
public struct SealedServerData: Hashable, Sendable {
    /// The operation of the request.
    public var operation: UAF.Operation
    /// The request's challenge.
    public var challenge: Challenge
    /// The user name that the caller gave; `nil` if the caller gave none.
    public var username: String?
    /// The name of the server's policy for the request.
    public var policy: String
    /// The device registration that made the request; `nil` for a request without a device.
    public var device: String?
    /// The session that the answer has to show, by a digest of its secret in base64url; `nil` for a request without a
    /// session.
    public var session: String?
    /// The moment from which an answer is too late.
    public var expiresAt: Timestamp

    /// The label that is bound to the sealed text beside the key. Other sealed text does not open with this label, and
    /// this text does not open with another label.
    public static let label = "countersign server data 1"

    /// Keeps the state of an operation.
    public init(
        operation: UAF.Operation, challenge: Challenge, username: String?, policy: String, device: String? = nil,
        session: String? = nil, expiresAt: Timestamp
    ) {
        self.operation = operation
        self.challenge = challenge
        self.username = username
        self.policy = policy
        self.device = device
        self.session = session
        self.expiresAt = expiresAt
    }

    /// Returns the text for the header's `serverData`. `seal` makes bytes unreadable and unchangeable for everybody
    /// else, bound to ``label``.
    ///
    /// Throws ``RequestError/Code/outOfRange`` if the text would be longer than the 1536 characters of §1, and if
    /// `seal` throws.
    public func sealed(by seal: ([UInt8]) throws -> [UInt8]) throws(RequestError) -> String {
        var object: JSONObject = [
            "op": .string(self.operation.rawValue), "challenge": .string(self.challenge.text),
            "policy": .string(self.policy), "exp": .integer(self.expiresAt.milliseconds),
        ]
        object["user"] = self.username.map { .string($0) }
        object["device"] = self.device.map { .string($0) }
        object["session"] = self.session.map { .string($0) }
        guard let sealed = try? seal(JSON.object(object).serialized) else { throw RequestError(code: .outOfRange) }
        let text = Base64URL.encode(sealed)
        guard text.utf8.count <= VerificationLimits.serverDataCharacters else { throw RequestError(code: .outOfRange) }
        return text
    }

    /// Opens the text that a client returned. `open` returns the sealed bytes, or `nil` for a text that this server did
    /// not seal. Throws a ``UAFRefusal`` 1491 for such a text and for a late text.
    public init(opening text: String, by open: ([UInt8]) -> [UInt8]?, now: Timestamp) throws(UAFRefusal) {
        guard text.utf8.count <= VerificationLimits.serverDataCharacters, let sealed = Base64URL.decode(text),
            let bytes = open(sealed), let value = try? JSON(parsing: bytes), case .object(let object) = value
        else { throw UAFRefusal(.invalidRequest, .serverData, "not sealed by this server") }
        do {
            self.operation = UAF.Operation(rawValue: try object.requiredString("op"))
            self.challenge = try Challenge(try object.requiredString("challenge"))
            self.username = try object.string("user")
            self.policy = try object.requiredString("policy")
            self.device = try object.string("device")
            self.session = try object.string("session")
            self.expiresAt = Timestamp(milliseconds: try object.requiredInteger("exp"))
        } catch { throw UAFRefusal(.invalidRequest, .serverData, "not the state of an operation") }
        guard now < self.expiresAt else { throw UAFRefusal(.invalidRequest, .serverData, "too late") }
    }
}

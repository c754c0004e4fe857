public import UAF
public import _Primitives

/// The state of an operation that the client carries for the server, sealed (§8.6).
///
/// For callers whom nobody knows yet: the server keeps no row until they answer. It is not single-use by itself: the
/// caller consumes the challenge when an answer comes.
public struct SealedServerData: Hashable, Sendable {
    /// What the request wants.
    public var operation: UAF.Operation
    /// The request's challenge.
    public var challenge: Challenge
    /// Whom the caller named; `nil` where they named nobody.
    public var username: String?
    /// Which of the server's policies the request was made by.
    public var policy: String
    /// The device registration that has asked, where one has.
    public var device: String?
    /// From when on an answer is too late.
    public var expiresAt: Timestamp

    /// What is bound to the sealed text beside the key: it opens nothing else, and nothing else opens as it.
    public static let label = "countersign server data 1"

    /// Keeps the state of an operation.
    public init(
        operation: UAF.Operation, challenge: Challenge, username: String?, policy: String, device: String? = nil,
        expiresAt: Timestamp
    ) {
        self.operation = operation
        self.challenge = challenge
        self.username = username
        self.policy = policy
        self.device = device
        self.expiresAt = expiresAt
    }

    /// The text for the header's `serverData`. `seal` makes bytes unreadable and unchangeable for everybody else, bound to
    /// ``label``.
    ///
    /// Throws ``RequestError/Code/outOfRange`` where it would be longer than the 1536 characters of §1.
    public func sealed(by seal: ([UInt8]) throws -> [UInt8]) throws(RequestError) -> String {
        var object: JSONObject = [
            "op": .string(self.operation.rawValue), "challenge": .string(self.challenge.text),
            "policy": .string(self.policy), "exp": .integer(self.expiresAt.milliseconds),
        ]
        object["user"] = self.username.map { .string($0) }
        object["device"] = self.device.map { .string($0) }
        guard let sealed = try? seal(JSON.object(object).serialized) else { throw RequestError(code: .outOfRange) }
        let text = Base64URL.encode(sealed)
        guard text.utf8.count <= VerificationLimits.serverDataCharacters else { throw RequestError(code: .outOfRange) }
        return text
    }

    /// Opens what a client returned. `open` gives what was sealed, and `nil` for what this server did not seal: that is
    /// refused, and what is too late, by a ``UAFRefusal`` 1491.
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
            self.expiresAt = Timestamp(milliseconds: try object.requiredInteger("exp"))
        } catch { throw UAFRefusal(.invalidRequest, .serverData, "not the state of an operation") }
        guard now < self.expiresAt else { throw UAFRefusal(.invalidRequest, .serverData, "too late") }
    }
}

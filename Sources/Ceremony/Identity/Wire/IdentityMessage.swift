import UAF
public import _Primitives

/// A message between a phone and its server about a personalised identity: a JSON object.
///
/// A reader ignores unknown members, so either side can be newer within a protocol version
/// (``ManagerKeySet/versions``). A known member must have its type and keep to its bounds.
public protocol IdentityMessage: Sendable {
    /// Reads a message. Throws ``IdentityMessageError``.
    init(json: JSONObject) throws(IdentityMessageError)
    /// The JSON object of the message.
    var json: JSONObject { get }
}

extension IdentityMessage {
    /// Reads the bytes of a body or a payload: one JSON object of at most ``IdentityMessageError/maximumBytes``.
    ///
    /// Throws ``IdentityMessageError``: `malformed`, `unsupported`.
    public init(parsing bytes: some Collection<UInt8>) throws(IdentityMessageError) {
        let object = try IdentityMessageError.reading { () throws(JSONError) in
            guard case .object(let object) = try JSON(parsing: bytes, limits: IdentityMessageError.limits) else {
                throw JSONError(.wrongType, "not an object")
            }
            return object
        }
        try self.init(json: object)
    }

    /// The bytes of a body or a payload.
    public var serialized: [UInt8] { JSON.object(self.json).serialized }
}

/// The reason why a message cannot be read. Two errors are equal if their codes are equal.
public struct IdentityMessageError: CodedError {
    /// The kind of error, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case malformed, unsupported, wrongSignature, wrongReceiver, expired, notSealed }
        private let base: Base
        /// The bytes are not JSON, or a member is missing, of another type or outside its bounds.
        public static let malformed = Self(base: .malformed)
        /// The message has a value that only another version knows, such as a new purpose, or has a PIN's parameters
        /// that this version does not accept.
        public static let unsupported = Self(base: .unsupported)
        /// No trusted key has signed the message, or the secret of a code does not belong to the signed part.
        public static let wrongSignature = Self(base: .wrongSignature)
        /// The message answers another request, or comes from another server.
        public static let wrongReceiver = Self(base: .wrongReceiver)
        /// The message has expired.
        public static let expired = Self(base: .expired)
        /// The message was not sealed to this server, or was sealed for another place. For a sender: the key to seal to
        /// is invalid, or the encapsulation is for another purpose.
        public static let notSealed = Self(base: .notSealed)
        public var description: String { self.base.rawValue }
    }

    /// The most bytes of a message.
    public static let maximumBytes = 65_536
    static let limits = JSONLimits(bytes: maximumBytes, depth: 8, values: 4096)

    /// The kind of error.
    public let code: Code
    /// A text for the log: a member's name, never a value.
    public let reason: String

    /// Creates an error with the code; `reason` must hold no value of the message.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    /// Reads members, and turns every JSON error into `malformed`.
    static func reading<Value>(_ read: () throws(JSONError) -> Value) throws(IdentityMessageError) -> Value {
        do throws(JSONError) { return try read() } catch { throw Self(.malformed, error.description) }
    }
}

extension JSONObject {
    /// Returns the bytes of a base64url member; the number of bytes must be within the bounds.
    func requiredBytes(_ name: String, _ bounds: ClosedRange<Int>) throws(JSONError) -> [UInt8] {
        guard let bytes = Base64URL.decode(try self.requiredString(name)), bounds.contains(bytes.count) else {
            throw JSONError(.wrongType, name)
        }
        return bytes
    }

    /// Returns a key's name from a base64url member; `nil` if the member is missing.
    func keyID(_ name: String) throws(JSONError) -> KeyID? {
        guard let text = try self.string(name) else { return nil }
        do throws(UAFError) { return try KeyID(base64URL: text) } catch { throw JSONError(.wrongType, name) }
    }

    /// Returns a text; the number of its bytes must be within the bounds.
    func requiredText(_ name: String, _ bounds: ClosedRange<Int> = 1...512) throws(JSONError) -> String {
        let text = try self.requiredString(name)
        guard bounds.contains(text.utf8.count) else { throw JSONError(.wrongType, name) }
        return text
    }

    /// Returns a text whose number of bytes is within the bounds; `nil` if the member is missing.
    func text(_ name: String, _ bounds: ClosedRange<Int> = 1...512) throws(JSONError) -> String? {
        guard let text = try self.string(name) else { return nil }
        guard bounds.contains(text.utf8.count) else { throw JSONError(.wrongType, name) }
        return text
    }

    /// Returns a moment from a number of milliseconds since 1970.
    func requiredMoment(_ name: String) throws(JSONError) -> Timestamp {
        let milliseconds = try self.requiredInteger(name, as: Int64.self)
        guard (0..<253_402_300_800_000).contains(milliseconds) else { throw JSONError(.wrongType, name) }
        return Timestamp(milliseconds: milliseconds)
    }

    /// Returns the objects of an array; an empty array if the member is missing. Throws for more than `limit` objects.
    func objects(_ name: String, limit: Int = 64) throws(JSONError) -> [JSONObject] {
        let values = try self.array(name) ?? []
        guard values.count <= limit else { throw JSONError(.wrongType, name) }
        var objects: [JSONObject] = []
        for value in values {
            guard case .object(let object) = value else { throw JSONError(.wrongType, name) }
            objects.append(object)
        }
        return objects
    }

    /// Returns the lists of texts of an array; an empty array if the member is missing. Throws for more than `limit`
    /// lists, or for a list of more than `limit` texts.
    func textLists(_ name: String, limit: Int = 16) throws(JSONError) -> [[String]] {
        let values = try self.array(name) ?? []
        guard values.count <= limit else { throw JSONError(.wrongType, name) }
        var lists: [[String]] = []
        for value in values {
            guard case .array(let texts) = value, texts.count <= limit else { throw JSONError(.wrongType, name) }
            var list: [String] = []
            for text in texts {
                guard case .string(let text) = text else { throw JSONError(.wrongType, name) }
                list.append(text)
            }
            lists.append(list)
        }
        return lists
    }
}

extension JSON {
    static func moment(_ moment: Timestamp) -> JSON { .integer(moment.milliseconds) }
    static func bytes(_ bytes: some Collection<UInt8>) -> JSON { .string(Base64URL.encode(bytes)) }
    static func textLists(_ lists: [[String]]) -> JSON { .array(lists.map { .array($0.map { .string($0) }) }) }
}

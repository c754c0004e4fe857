import _Primitives

/// The server's request to delete keys (DeregistrationRequest, §2.5). The client sends no answer.
public struct DeregistrationRequest: Hashable, Sendable {
    /// `header`, of operation `Dereg`.
    public var header: OperationHeader
    /// `authenticators`: the keys to delete, at least one entry.
    public var authenticators: [DeregisterAuthenticator]

    /// Creates a request. The reader checks the rules.
    public init(header: OperationHeader, authenticators: [DeregisterAuthenticator]) {
        self.header = header
        self.authenticators = authenticators
    }

    /// Reads the message: an array of exactly one dictionary of operation `Dereg`.
    ///
    /// An entry with an empty member must be the only entry and needs UAF 1.1. Otherwise the initializer throws
    /// ``UAFError/Code/invalidValue``.
    public init(parsing bytes: some Collection<UInt8>) throws(UAFError) {
        try self.init(try MemberReader(message: bytes, "deregistrationRequest"))
    }

    init(_ members: MemberReader) throws(UAFError) {
        self.header = try OperationHeader(members, expecting: .deregistration)
        self.authenticators = try members.requiredList("authenticators") { (element) throws(UAFError) in
            try DeregisterAuthenticator(element)
        }
        if self.authenticators.contains(where: { $0.keyID == nil }) {
            guard self.authenticators.count == 1 else {
                throw UAFError(.invalidValue, "an entry with an empty member is not the only one")
            }
            guard self.header.version >= .uaf11 else {
                throw UAFError(.invalidValue, "an entry with an empty member before UAF 1.1")
            }
        }
    }

    /// The message, UTF-8.
    public var serialized: [UInt8] {
        JSON.message([
            "header": self.header.json, "authenticators": .array(self.authenticators.map(\.json)),
        ]).serialized
    }
}

/// An entry of keys to delete (DeregisterAuthenticator, §2.5).
public struct DeregisterAuthenticator: Hashable, Sendable {
    /// `aaid`; `nil` (an empty string on the wire) for all authenticators.
    public let aaid: AAID?
    /// `keyID`; `nil` (an empty string on the wire) for all keys of the model, or of all models if `aaid` is `nil`,
    /// under this AppID.
    public let keyID: KeyID?

    private init(aaid: AAID?, keyID: KeyID?) {
        self.aaid = aaid
        self.keyID = keyID
    }

    /// Returns an entry for one key.
    public static func key(_ aaid: AAID, _ keyID: KeyID) -> Self { Self(aaid: aaid, keyID: keyID) }
    /// Returns an entry for all keys of one model.
    public static func allKeys(of aaid: AAID) -> Self { Self(aaid: aaid, keyID: nil) }
    /// The entry for all keys of the AppID.
    public static let everything = Self(aaid: nil, keyID: nil)

    init(_ members: MemberReader) throws(UAFError) {
        let aaid = try members.requiredString("aaid", 0...9)
        let keyID = try members.requiredString("keyID", 0...Int.max)
        guard !aaid.isEmpty || keyID.isEmpty else { throw UAFError(.invalidValue, "a keyID without aaid") }
        self.aaid = aaid.isEmpty ? nil : try AAID(aaid)
        self.keyID = keyID.isEmpty ? nil : try KeyID(base64URL: keyID)
    }

    var json: JSON {
        .object(["aaid": .string(self.aaid?.text ?? ""), "keyID": .string(self.keyID?.base64URL ?? "")])
    }
}

/// Any request, for a client that does not know the operation in advance.
public enum UAFRequest: Hashable, Sendable {
    case registration(RegistrationRequest)
    case authentication(AuthenticationRequest)
    case deregistration(DeregistrationRequest)

    /// Reads the header, and then the message of the header's operation. Throws ``UAFError/Code/wrongOperation`` for
    /// another operation.
    public init(parsing bytes: some Collection<UInt8>) throws(UAFError) {
        try self.init(try MemberReader(message: bytes, "request"))
    }

    init(_ members: MemberReader) throws(UAFError) {
        switch try OperationHeader(try members.requiredMembers("header")).operation {
        case .registration: self = .registration(try RegistrationRequest(members))
        case .authentication: self = .authentication(try AuthenticationRequest(members))
        case .deregistration: self = .deregistration(try DeregistrationRequest(members))
        default: throw UAFError(.wrongOperation, "request of an unknown operation")
        }
    }

    /// The header of the request.
    public var header: OperationHeader {
        switch self {
        case .registration(let request): request.header
        case .authentication(let request): request.header
        case .deregistration(let request): request.header
        }
    }
}

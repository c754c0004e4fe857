import _Primitives

/// The header of every UAF message (OperationHeader, §2.1).
public struct OperationHeader: Hashable, Sendable {
    /// `upv`: the protocol version of the message.
    public var version: Version
    /// `op`: the operation of the message.
    public var operation: Operation
    /// `appID`, at most 512 characters. Empty if the member is missing; the client then uses its facetID.
    public var appID: String
    /// `serverData`: the server's own state, 1 to 1536 characters. The client returns the text unchanged.
    public var serverData: String?
    /// `exts`
    public var extensions: [Extension]

    /// Creates a header of UAF 1.1. The reader of a message checks the limits.
    public init(
        version: Version = .uaf11, operation: Operation, appID: String = "", serverData: String? = nil,
        extensions: [Extension] = []
    ) {
        self.version = version
        self.operation = operation
        self.appID = appID
        self.serverData = serverData
        self.extensions = extensions
    }

    init(_ members: MemberReader) throws(UAFError) {
        self.version = try Version(try members.requiredMembers("upv"))
        self.operation = Operation(rawValue: try members.requiredString("op"))
        self.appID = try members.string("appID", 0...512) ?? ""
        self.serverData = try members.string("serverData", 1...1536)
        self.extensions = try Extension.list(members)
    }

    /// Reads the header of a message. The operation must be the expected operation.
    init(_ members: MemberReader, expecting operation: Operation) throws(UAFError) {
        self = try OperationHeader(try members.requiredMembers("header"))
        guard self.operation == operation else {
            throw UAFError(.wrongOperation, "\(members.place) is not of operation \(operation)")
        }
    }

    var json: JSON {
        var object: JSONObject = ["upv": self.version.json, "op": .string(self.operation.rawValue)]
        if !self.appID.isEmpty { object["appID"] = .string(self.appID) }
        if let serverData { object["serverData"] = .string(serverData) }
        object["exts"] = Extension.json(self.extensions)
        return .object(object)
    }
}

/// The dictionary Version (§2.1).
extension Version {
    init(_ members: MemberReader) throws(UAFError) {
        self.init(
            major: try members.requiredInteger("major"), minor: try members.requiredInteger("minor"))
    }

    var json: JSON { .object(["major": .integer(Int64(self.major)), "minor": .integer(Int64(self.minor))]) }
}

/// An extension of the standard (Extension, §2.1).
public struct Extension: Hashable, Sendable {
    /// `id`: 1 to 32 characters.
    public var id: String
    /// `data`: text, or base64url for a binary extension. May be empty.
    public var data: String
    /// `fail_if_unknown`: `true` if a receiver that does not know the extension must refuse the message.
    public var failIfUnknown: Bool

    /// Creates an extension. The reader of a message checks the limits.
    public init(id: String, data: String, failIfUnknown: Bool) {
        self.id = id
        self.data = data
        self.failIfUnknown = failIfUnknown
    }

    init(_ members: MemberReader) throws(UAFError) {
        self.id = try members.requiredString("id", 1...32)
        self.data = try members.requiredString("data", 0...Int.max)
        self.failIfUnknown = try members.requiredBool("fail_if_unknown")
    }

    static func list(_ members: MemberReader) throws(UAFError) -> [Extension] {
        try members.list("exts") { (element) throws(UAFError) in try Extension(element) } ?? []
    }

    /// Returns the member `exts`; `nil` for an empty list, which the wire format does not allow.
    static func json(_ extensions: [Extension]) -> JSON? {
        guard !extensions.isEmpty else { return nil }
        return .array(
            extensions.map {
                .object([
                    "id": .string($0.id), "data": .string($0.data), "fail_if_unknown": .bool($0.failIfUnknown),
                ])
            })
    }
}

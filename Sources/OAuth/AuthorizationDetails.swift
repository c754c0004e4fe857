public import _Primitives

/// What one type of authorization details consists of (RFC 9396, section 5: what does not conform to its type is refused).
public struct AuthorizationDetailsType: Hashable, Sendable {
    /// The value of `type`.
    public let name: String
    /// The members that have to be there.
    public let required: [String]
    /// Other members that may be there; `nil` lets all be.
    public let optional: [String]?

    /// A type of that name. `type` itself need not be listed.
    public init(_ name: String, required: [String] = [], optional: [String]? = nil) {
        self.name = name
        self.required = required
        self.optional = optional
    }
}

/// What a client asks a person for, one object a thing: a payment, the sight of an account (`authorization_details`, RFC
/// 9396, section 2).
public struct AuthorizationDetails: Hashable, Sendable, CustomStringConvertible {
    /// How much is taken before it is refused.
    public struct Limits: Sendable {
        /// Bytes of the JSON.
        public var bytes: Int
        /// How many objects there may be.
        public var count: Int

        /// The defaults: 8 KiB and 16 objects.
        public init(bytes: Int = 8192, count: Int = 16) {
            self.bytes = bytes
            self.count = count
        }
    }

    /// The objects in the order they came; each has a `type`.
    public let objects: [JSONObject]

    /// Reads the value of the parameter: a list of one object or more, each of a known type.
    ///
    /// The members that section 2.2 defines for all types, `locations`, `actions`, `datatypes`, `privileges` and
    /// `identifier`, are lists of texts, and a text.
    ///
    /// Throws ``OAuthError`` `invalid_authorization_details`.
    public init(_ text: String, types: [AuthorizationDetailsType], limits: Limits = Limits()) throws(OAuthError) {
        let document: JSON
        do {
            document = try JSON(parsing: text, limits: JSONLimits(bytes: limits.bytes, depth: 8, values: 1024))
        } catch {
            throw Self.refusal("are no JSON that is taken here", detail: error.reason)
        }
        try self.init(json: document, types: types, limits: limits)
    }

    /// As ``init(_:types:limits:)``, from JSON that was read already.
    public init(json: JSON, types: [AuthorizationDetailsType], limits: Limits = Limits()) throws(OAuthError) {
        guard case .array(let values) = json, !values.isEmpty else { throw Self.refusal("are no list of objects") }
        guard values.count <= limits.count else { throw Self.refusal("are too many") }
        var objects: [JSONObject] = []
        for value in values {
            guard case .object(let object) = value else { throw Self.refusal("are no list of objects") }
            try Self.check(object, types: types)
            objects.append(object)
        }
        self.objects = objects
    }

    /// The values of `type`, in their order.
    public var types: [String] {
        self.objects.compactMap { object in
            if case .string(let name) = object["type"] { name } else { nil }
        }
    }

    /// The list for an answer or a token, members in the order they came.
    public var json: JSON { .array(self.objects.map(JSON.object)) }

    /// The list as JSON for a record, members in the order of their names' bytes: the same details are the same text.
    public var text: String { self.json.orderedText }

    /// Whether all of these are among the others, member for member: what a later request may ask for once those were
    /// granted (section 6).
    public func areContained(in granted: AuthorizationDetails) -> Bool {
        self.objects.allSatisfy(granted.objects.contains)
    }

    /// The types alone: the rest is what a person is asked about.
    public var description: String { "AuthorizationDetails(\(self.types.joined(separator: ", ")))" }

    private static func check(_ object: JSONObject, types: [AuthorizationDetailsType]) throws(OAuthError) {
        guard case .string(let name) = object["type"] else { throw Self.refusal("have an object without a type") }
        guard let type = types.first(where: { $0.name.hasSameBytes(as: name) }) else {
            throw Self.refusal("have a type that is not known here", detail: String(name.prefix(64)))
        }
        for name in type.required where object[name] == nil {
            throw Self.refusal("lack a member that their type requires", detail: name)
        }
        if let optional = type.optional {
            for member in object.members {
                guard
                    ["type"].containsBytes(of: member.name) || type.required.containsBytes(of: member.name)
                        || optional.containsBytes(of: member.name)
                else {
                    throw Self.refusal(
                        "have a member that their type does not know", detail: String(member.name.prefix(64)))
                }
            }
        }
        do {
            for name in ["locations", "actions", "datatypes", "privileges"] { _ = try object.strings(name) }
            _ = try object.string("identifier")
        } catch {
            throw Self.refusal("have a common member of another kind", detail: error.reason)
        }
    }

    private static func refusal(_ reason: String, detail: String? = nil) -> OAuthError {
        OAuthError(.invalidAuthorizationDetails, "The authorization_details \(reason).", detail: detail)
    }
}

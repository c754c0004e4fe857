public import _Primitives

/// A type of authorization details, with its members (RFC 9396, section 5: the server refuses details that do not
/// conform to their type).
public struct AuthorizationDetailsType: Hashable, Sendable {
    /// The value of `type`.
    public let name: String
    /// The required members.
    public let required: [String]
    /// The optional members; `nil` allows all members.
    public let optional: [String]?

    /// Creates a type with the name. The lists need not contain `type` itself.
    public init(_ name: String, required: [String] = [], optional: [String]? = nil) {
        self.name = name
        self.required = required
        self.optional = optional
    }
}

/// The details of a client's request to a person, one object for each permission, such as a payment or access to an
/// account (`authorization_details`, RFC 9396, section 2).
public struct AuthorizationDetails: Hashable, Sendable, CustomStringConvertible {
    /// The limits of the details that are accepted.
    public struct Limits: Sendable {
        /// The most bytes of the JSON.
        public var bytes: Int
        /// The most objects.
        public var count: Int

        /// Creates limits, by default of 8 KiB and 16 objects.
        public init(bytes: Int = 8192, count: Int = 16) {
            self.bytes = bytes
            self.count = count
        }
    }

    /// The objects in the order of the request; each has a `type`.
    public let objects: [JSONObject]

    /// Reads the value of the parameter: a list of one object or more, each of a known type.
    ///
    /// Section 2.2 defines members for all types: `locations`, `actions`, `datatypes` and `privileges` are lists of
    /// texts, and `identifier` is a text.
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

    /// Reads the details from parsed JSON, otherwise as ``init(_:types:limits:)``. The limit of bytes does not apply.
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

    /// The values of `type`, in the order of the objects.
    public var types: [String] {
        self.objects.compactMap { object in
            if case .string(let name) = object["type"] { name } else { nil }
        }
    }

    /// The list for an answer or a token, with the members in their original order.
    public var json: JSON { .array(self.objects.map(JSON.object)) }

    /// The list as JSON for a record, with the members in the order of their names' bytes. The same details always give
    /// the same text.
    public var text: String { self.json.orderedText }

    /// Returns `true` if all objects are among the objects of `granted`, member for member. A later request may ask for
    /// such details after the grant (section 6).
    public func areContained(in granted: AuthorizationDetails) -> Bool {
        self.objects.allSatisfy(granted.objects.contains)
    }

    /// The types alone, because the other members are the person's private matter.
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

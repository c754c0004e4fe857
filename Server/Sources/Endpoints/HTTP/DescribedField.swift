package import _Primitives

/// A parameter or a member of a body, as an OpenAPI document describes it.
package struct DescribedField: Sendable {
    package indirect enum Kind: Sendable {
        case string, boolean, integer, strings
        /// A list of lists of texts.
        case lists
        /// A text with one of these values.
        case choice([String])
        /// An object of a standard, with the members of the standard.
        case object
        /// An object with these members.
        case members([DescribedField])
        /// An object with these members and no others.
        case closed([DescribedField])
        case objects([DescribedField])
    }

    package let name: String
    let kind: Kind
    package let isRequired: Bool
    package let summary: String

    package static func required(_ name: String, _ summary: String) -> Self { .required(name, .string, summary) }

    package static func required(_ name: String, _ kind: Kind, _ summary: String) -> Self {
        Self(name: name, kind: kind, isRequired: true, summary: summary)
    }

    package static func optional(_ name: String, _ summary: String) -> Self { .optional(name, .string, summary) }

    package static func optional(_ name: String, _ kind: Kind, _ summary: String) -> Self {
        Self(name: name, kind: kind, isRequired: false, summary: summary)
    }

    /// The JSON schema of the field's values.
    package var schema: JSONObject {
        switch self.kind {
        case .string: ["type": .string("string")]
        case .boolean: ["type": .string("boolean")]
        case .integer: ["type": .string("integer")]
        case .object: ["type": .string("object")]
        case .choice(let texts): ["type": .string("string"), "enum": .array(texts.map(JSON.string))]
        case .strings: ["type": .string("array"), "items": .object(["type": .string("string")])]
        case .lists:
            [
                "type": .string("array"),
                "items": .object(["type": .string("array"), "items": .object(["type": .string("string")])]),
            ]
        case .members(let inner): Self.schema(inner)
        case .closed(let inner): Self.schema(inner, isClosed: true)
        case .objects(let inner): ["type": .string("array"), "items": .object(Self.schema(inner))]
        }
    }

    /// Returns the field as a parameter of a request.
    package func parameter(in place: String) -> JSON {
        var parameter: JSONObject = ["name": .string(self.name), "in": .string(place)]
        if self.isRequired { parameter["required"] = .bool(true) }
        parameter["description"] = .string(self.summary)
        parameter["schema"] = .object(self.schema)
        return .object(parameter)
    }

    /// Returns the JSON schema of an object with these members.
    ///
    /// - Parameter isClosed: `true` if the object has no other members.
    package static func schema(_ fields: [DescribedField], isClosed: Bool = false) -> JSONObject {
        var properties: JSONObject = [:]
        for field in fields {
            var property = field.schema
            property["description"] = .string(field.summary)
            properties[field.name] = .object(property)
        }
        var schema: JSONObject = ["type": .string("object"), "properties": .object(properties)]
        let required = fields.filter(\.isRequired).map { JSON.string($0.name) }
        if !required.isEmpty { schema["required"] = .array(required) }
        if isClosed { schema["additionalProperties"] = .bool(false) }
        return schema
    }
}

extension JSONObject {
    /// Returns the name of the first member that no field describes; `nil` if the fields describe all members.
    package func unknownMember(among fields: [DescribedField]) -> String? {
        self.members.first { member in !fields.contains { $0.name.hasSameBytes(as: member.name) } }?.name
    }
}

extension Problem {
    /// The JSON schema of a problem document.
    package static let schema: JSONObject = [
        "type": .string("object"),
        "required": .array([.string("type"), .string("title"), .string("status")]),
        "properties": .object([
            "type": .object(["type": .string("string"), "format": .string("uri")]),
            "title": .object(["type": .string("string")]), "status": .object(["type": .string("integer")]),
            "detail": .object(["type": .string("string")]),
        ]),
    ]
}

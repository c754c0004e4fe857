/// A JSON value of this product: without null, with members in their original order (RFC 8259).
///
/// Texts, and the names of members, are equal if their UTF-8 bytes are equal.
public enum JSON: Hashable, Sendable {
    /// A text.
    case string(String)
    /// A number without fraction or exponent that fits 64 bits.
    case integer(Int64)
    /// Any other number. It must be finite: JSON has no spelling for infinity and NaN.
    case number(Double)
    /// True or false.
    case bool(Bool)
    /// Values in an order.
    case array([JSON])
    /// Named members.
    case object(JSONObject)

    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.integer(let left), .integer(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.bool(let left), .bool(let right)): left == right
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .string(let text): text.hashBytes(into: &hasher)
        case .integer(let number): hasher.combine(number)
        case .number(let number): hasher.combine(number)
        case .bool(let flag): hasher.combine(flag)
        case .array(let values): hasher.combine(values)
        case .object(let object): hasher.combine(object)
        }
    }
}

/// A JSON object.
///
/// No member name occurs twice; names are compared by their bytes. The order of members is kept.
public struct JSONObject: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// The members in their original order.
    public private(set) var members: [(name: String, value: JSON)]

    /// Creates an object from members. If a name occurs twice, the last value counts.
    public init(_ members: [(name: String, value: JSON)] = []) {
        self.members = []
        for member in members { self[member.name] = member.value }
    }

    /// Creates an object from a dictionary literal.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self.init(elements.map { (name: $0.0, value: $0.1) })
    }

    /// Creates an object for the reader, which has already refused repeated names.
    init(uncheckedMembers: [(name: String, value: JSON)]) { self.members = uncheckedMembers }

    /// The member with the name. Setting `nil` removes the member.
    public subscript(name: String) -> JSON? {
        get { self.members.first { $0.name.hasSameBytes(as: name) }?.value }
        set {
            if let index = self.members.firstIndex(where: { $0.name.hasSameBytes(as: name) }) {
                if let newValue { self.members[index].value = newValue } else { self.members.remove(at: index) }
            } else if let newValue {
                self.members.append((name, newValue))
            }
        }
    }

    /// Returns `true` if both objects have the same members, in any order.
    public static func == (left: Self, right: Self) -> Bool {
        guard left.members.count == right.members.count else { return false }
        return left.sortedMembers.elementsEqual(right.sortedMembers) { $0.name == $1.name && $0.value == $1.value }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.members.count)
        for member in self.sortedMembers {
            hasher.combine(member.name)
            hasher.combine(member.value)
        }
    }

    /// The members in the order of their names' bytes. With this order, comparing two large objects does not take the
    /// square of the number of members.
    private var sortedMembers: [(name: ExactText, value: JSON)] {
        self.members.map { (ExactText($0.name), $0.value) }.sorted { $0.name < $1.name }
    }
}

/// The reason why a text is not the expected JSON. Two errors are equal if their codes are equal.
public struct JSONError: CodedError {
    /// The kind of error, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case malformed, null, duplicateName, tooLarge, tooDeep, missing, wrongType }
        private let base: Base
        /// The text is not JSON by RFC 8259, is not UTF-8, or continues after the value.
        public static let malformed = Self(base: .malformed)
        /// The text has a null, which no message of this product knows.
        public static let null = Self(base: .null)
        /// A member name occurs twice in one object.
        public static let duplicateName = Self(base: .duplicateName)
        /// The text has more bytes or values than the reader's limit, too long a name, or too many combining marks in a
        /// row.
        public static let tooLarge = Self(base: .tooLarge)
        /// The nesting is deeper than the reader's limit.
        public static let tooDeep = Self(base: .tooDeep)
        /// A required member is missing.
        public static let missing = Self(base: .missing)
        /// A member has another type.
        public static let wrongType = Self(base: .wrongType)
        public var description: String { self.base.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A text for the log: a place or a member's name, never a value.
    public let reason: String

    /// Creates an error with the code; `reason` must hold no value of the text.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}

// MARK: - Taking members

extension JSONObject {
    /// Returns the text of a member; `nil` if the member is missing. Throws ``JSONError/Code/wrongType``.
    public func string(_ name: String) throws(JSONError) -> String? {
        guard let value = self[name] else { return nil }
        guard case .string(let text) = value else { throw JSONError(.wrongType, "\(name) is not a string") }
        return text
    }

    /// Returns the text of a required member.
    public func requiredString(_ name: String) throws(JSONError) -> String {
        guard let text = try self.string(name) else { throw JSONError(.missing, name) }
        return text
    }

    /// Returns a whole number within the range of its type; `nil` if the member is missing.
    public func integer<Value: FixedWidthInteger>(_ name: String, as type: Value.Type = Value.self) throws(JSONError)
        -> Value?
    {
        guard let value = self[name] else { return nil }
        guard case .integer(let number) = value, let result = Value(exactly: number) else {
            throw JSONError(.wrongType, "\(name) is not a whole number of its range")
        }
        return result
    }

    /// Returns the whole number of a required member.
    public func requiredInteger<Value: FixedWidthInteger>(_ name: String, as type: Value.Type = Value.self)
        throws(JSONError) -> Value
    {
        guard let number = try self.integer(name, as: type) else { throw JSONError(.missing, name) }
        return number
    }

    /// Returns a truth value; `nil` if the member is missing.
    public func bool(_ name: String) throws(JSONError) -> Bool? {
        guard let value = self[name] else { return nil }
        guard case .bool(let flag) = value else { throw JSONError(.wrongType, "\(name) is not a boolean") }
        return flag
    }

    /// Returns an array; `nil` if the member is missing.
    public func array(_ name: String) throws(JSONError) -> [JSON]? {
        guard let value = self[name] else { return nil }
        guard case .array(let values) = value else { throw JSONError(.wrongType, "\(name) is not an array") }
        return values
    }

    /// Returns an array of strings; `nil` if the member is missing.
    public func strings(_ name: String) throws(JSONError) -> [String]? {
        guard let values = try self.array(name) else { return nil }
        var texts: [String] = []
        for value in values {
            guard case .string(let text) = value else { throw JSONError(.wrongType, "\(name) holds no strings") }
            texts.append(text)
        }
        return texts
    }

    /// Returns an object; `nil` if the member is missing.
    public func object(_ name: String) throws(JSONError) -> JSONObject? {
        guard let value = self[name] else { return nil }
        guard case .object(let object) = value else { throw JSONError(.wrongType, "\(name) is not an object") }
        return object
    }

    /// Returns the object of a required member.
    public func requiredObject(_ name: String) throws(JSONError) -> JSONObject {
        guard let object = try self.object(name) else { throw JSONError(.missing, name) }
        return object
    }
}

/// A JSON value as this product reads it: without null, members in the order they came (RFC 8259).
///
/// Texts, and the names of members, are the same when their bytes of UTF-8 are.
public enum JSON: Hashable, Sendable {
    /// A text.
    case string(String)
    /// A number without fraction or exponent that fits 64 bits.
    case integer(Int64)
    /// Any other number. It must be finite: JSON has no spelling for infinity and NaN.
    case number(Double)
    /// True or false.
    case bool(Bool)
    /// Values in their order.
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

/// A JSON object. No member name occurs twice, each told by its bytes; the order is kept.
public struct JSONObject: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// The members in the order they came.
    public private(set) var members: [(name: String, value: JSON)]

    /// An object of these members; of a name that occurs twice the last value counts.
    public init(_ members: [(name: String, value: JSON)] = []) {
        self.members = []
        for member in members { self[member.name] = member.value }
    }

    /// An object written as a dictionary literal.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self.init(elements.map { (name: $0.0, value: $0.1) })
    }

    /// For the reader, which has already refused a name that occurs twice.
    init(uncheckedMembers: [(name: String, value: JSON)]) { self.members = uncheckedMembers }

    /// The member of that name. Setting `nil` removes it.
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

    /// Whether both have the same members, in any order.
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

    /// The members in the order of their names' bytes, so that comparing two objects of many members takes no square of
    /// them.
    private var sortedMembers: [(name: ExactText, value: JSON)] {
        self.members.map { (ExactText($0.name), $0.value) }.sorted { $0.name < $1.name }
    }
}

/// Why a text is not the JSON that was expected. Two are equal when their codes are.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case malformed, null, duplicateName, tooLarge, tooDeep, missing, wrongType }
        private let base: Base
        /// Not JSON by RFC 8259, not UTF-8, or something follows the value.
        public static let malformed = Self(base: .malformed)
        /// A null, which no message of this product knows.
        public static let null = Self(base: .null)
        /// A member name that occurs twice in one object.
        public static let duplicateName = Self(base: .duplicateName)
        /// More bytes or values than the reader's limit, a longer name, or more combining marks in a row.
        public static let tooLarge = Self(base: .tooLarge)
        /// Nested more deeply than the reader's limit.
        public static let tooDeep = Self(base: .tooDeep)
        /// A required member is not there.
        public static let missing = Self(base: .missing)
        /// A member is there with another type.
        public static let wrongType = Self(base: .wrongType)
        public var description: String { self.base.rawValue }
    }

    /// What is wrong.
    public let code: Code
    /// For the log: a place or a member's name, never a value.
    public let reason: String

    /// An error with that code; `reason` must hold no value of the text.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public var description: String { "JSONError.\(self.code): \(self.reason)" }
    /// By code alone, so that a test can write the error that it expects.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}

// MARK: - Taking members

extension JSONObject {
    /// The text of a member; `nil` where there is none. Throws ``JSONError/Code/wrongType``.
    public func string(_ name: String) throws(JSONError) -> String? {
        guard let value = self[name] else { return nil }
        guard case .string(let text) = value else { throw JSONError(.wrongType, "\(name) is not a string") }
        return text
    }

    /// The text of a member that must be there.
    public func requiredString(_ name: String) throws(JSONError) -> String {
        guard let text = try self.string(name) else { throw JSONError(.missing, name) }
        return text
    }

    /// A member that is a whole number within `range`; `nil` where there is none.
    public func integer<Value: FixedWidthInteger>(_ name: String, as type: Value.Type = Value.self) throws(JSONError)
        -> Value?
    {
        guard let value = self[name] else { return nil }
        guard case .integer(let number) = value, let result = Value(exactly: number) else {
            throw JSONError(.wrongType, "\(name) is not a whole number of its range")
        }
        return result
    }

    /// A whole number that must be there.
    public func requiredInteger<Value: FixedWidthInteger>(_ name: String, as type: Value.Type = Value.self)
        throws(JSONError) -> Value
    {
        guard let number = try self.integer(name, as: type) else { throw JSONError(.missing, name) }
        return number
    }

    /// A member that is true or false; `nil` where there is none.
    public func bool(_ name: String) throws(JSONError) -> Bool? {
        guard let value = self[name] else { return nil }
        guard case .bool(let flag) = value else { throw JSONError(.wrongType, "\(name) is not a boolean") }
        return flag
    }

    /// A member that is an array; `nil` where there is none.
    public func array(_ name: String) throws(JSONError) -> [JSON]? {
        guard let value = self[name] else { return nil }
        guard case .array(let values) = value else { throw JSONError(.wrongType, "\(name) is not an array") }
        return values
    }

    /// A member that is an array of strings; `nil` where there is none.
    public func strings(_ name: String) throws(JSONError) -> [String]? {
        guard let values = try self.array(name) else { return nil }
        var texts: [String] = []
        for value in values {
            guard case .string(let text) = value else { throw JSONError(.wrongType, "\(name) holds no strings") }
            texts.append(text)
        }
        return texts
    }

    /// A member that is an object; `nil` where there is none.
    public func object(_ name: String) throws(JSONError) -> JSONObject? {
        guard let value = self[name] else { return nil }
        guard case .object(let object) = value else { throw JSONError(.wrongType, "\(name) is not an object") }
        return object
    }

    /// An object that must be there.
    public func requiredObject(_ name: String) throws(JSONError) -> JSONObject {
        guard let object = try self.object(name) else { throw JSONError(.missing, name) }
        return object
    }
}

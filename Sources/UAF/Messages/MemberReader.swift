import _Primitives

/// Reads the members of one dictionary by the rules of §1: required or optional, never empty unless stated, and within
/// limits.
struct MemberReader {
    let object: JSONObject
    /// The name of the dictionary, for the log. The name is a literal, so reading creates no text.
    let place: String

    init(_ object: JSONObject, _ place: String) {
        self.object = object
        self.place = place
    }

    /// Reads the single dictionary of a message (§2.6).
    init(message bytes: some Collection<UInt8>, _ place: String) throws(UAFError) {
        let value: JSON
        do { value = try JSON(parsing: bytes) } catch { throw UAFError(error, place) }
        guard case .array(let dictionaries) = value else { throw UAFError(.wrongType, "\(place) is not an array") }
        guard dictionaries.count == 1 else {
            throw UAFError(.wrongArraySize, "\(place) has \(dictionaries.count) dictionaries")
        }
        guard case .object(let object) = dictionaries[0] else {
            throw UAFError(.wrongType, "\(place) holds no dictionary")
        }
        self.init(object, place)
    }

    /// Reads a body that is one dictionary (§6.2).
    init(body bytes: some Collection<UInt8>, _ place: String, limits: JSONLimits = JSONLimits()) throws(UAFError) {
        let value: JSON
        do { value = try JSON(parsing: bytes, limits: limits) } catch { throw UAFError(error, place) }
        guard case .object(let object) = value else { throw UAFError(.wrongType, "\(place) is not a dictionary") }
        self.init(object, place)
    }

    private func taking<Value>(_ take: () throws(JSONError) -> Value?) throws(UAFError) -> Value? {
        do { return try take() } catch { throw UAFError(error, self.place) }
    }

    private func required<Value>(_ name: String, _ value: Value?) throws(UAFError) -> Value {
        guard let value else { throw UAFError(.missingMember, "\(self.place).\(name)") }
        return value
    }

    /// Returns a string whose number of characters (Unicode scalars, §1) is within `length`; `nil` if the member is
    /// missing.
    func string(_ name: String, _ length: ClosedRange<Int> = 1...Int.max) throws(UAFError) -> String? {
        guard let text = try self.taking({ () throws(JSONError) in try self.object.string(name) }) else { return nil }
        guard text.hasLength(in: length) else { throw UAFError(.outOfRange, "\(self.place).\(name)") }
        return text
    }

    func requiredString(_ name: String, _ length: ClosedRange<Int> = 1...Int.max) throws(UAFError) -> String {
        try self.required(name, try self.string(name, length))
    }

    /// Returns the bytes of a base64url member; `nil` if the member is missing.
    func bytes(_ name: String, _ length: ClosedRange<Int>, reading: LenientReadings = LenientReadings())
        throws(UAFError) -> [UInt8]?
    {
        guard let text = try self.string(name) else { return nil }
        guard let bytes = reading.base64URL(text) else { throw UAFError(.invalidBase64URL, "\(self.place).\(name)") }
        guard length.contains(bytes.count) else { throw UAFError(.outOfRange, "\(self.place).\(name)") }
        return bytes
    }

    func requiredBytes(_ name: String, _ length: ClosedRange<Int>, reading: LenientReadings = LenientReadings())
        throws(UAFError) -> [UInt8]
    { try self.required(name, try self.bytes(name, length, reading: reading)) }

    func integer<Value: FixedWidthInteger>(_ name: String, as type: Value.Type = Value.self) throws(UAFError) -> Value?
    {
        try self.taking { () throws(JSONError) in try self.object.integer(name, as: type) }
    }

    func requiredInteger<Value: FixedWidthInteger>(_ name: String, as type: Value.Type = Value.self) throws(UAFError)
        -> Value
    { try self.required(name, try self.integer(name, as: type)) }

    func bool(_ name: String) throws(UAFError) -> Bool? {
        try self.taking { () throws(JSONError) in try self.object.bool(name) }
    }

    func requiredBool(_ name: String) throws(UAFError) -> Bool { try self.required(name, try self.bool(name)) }

    func members(_ name: String) throws(UAFError) -> MemberReader? {
        guard let object = try self.taking({ () throws(JSONError) in try self.object.object(name) }) else { return nil }
        return MemberReader(object, name)
    }

    func requiredMembers(_ name: String) throws(UAFError) -> MemberReader {
        try self.required(name, try self.members(name))
    }

    /// Returns the values of an array, which must not be empty unless `allowsEmpty`; `nil` if the member is missing.
    func values(_ name: String, allowsEmpty: Bool = false) throws(UAFError) -> [JSON]? {
        guard let values = try self.taking({ () throws(JSONError) in try self.object.array(name) }) else { return nil }
        guard allowsEmpty || !values.isEmpty else { throw UAFError(.outOfRange, "\(self.place).\(name) is empty") }
        return values
    }

    /// Returns the elements made from the dictionaries of an array; `nil` if the member is missing.
    func list<Element>(
        _ name: String, allowsEmpty: Bool = false, _ make: (MemberReader) throws(UAFError) -> Element
    ) throws(UAFError) -> [Element]? {
        guard let values = try self.values(name, allowsEmpty: allowsEmpty) else { return nil }
        var elements: [Element] = []
        elements.reserveCapacity(values.count)
        for value in values {
            guard case .object(let object) = value else {
                throw UAFError(.wrongType, "\(self.place).\(name) holds no dictionaries")
            }
            elements.append(try make(MemberReader(object, name)))
        }
        return elements
    }

    func requiredList<Element>(
        _ name: String, allowsEmpty: Bool = false, _ make: (MemberReader) throws(UAFError) -> Element
    ) throws(UAFError) -> [Element] { try self.required(name, try self.list(name, allowsEmpty: allowsEmpty, make)) }

    /// Returns the elements made from the strings of an array, without an empty string; `nil` if the member is missing.
    func strings<Element>(_ name: String, _ make: (String) throws(UAFError) -> Element) throws(UAFError) -> [Element]? {
        guard let values = try self.values(name) else { return nil }
        var elements: [Element] = []
        for value in values {
            guard case .string(let text) = value else {
                throw UAFError(.wrongType, "\(self.place).\(name) holds no strings")
            }
            guard !text.isEmpty else { throw UAFError(.outOfRange, "\(self.place).\(name) holds an empty string") }
            elements.append(try make(text))
        }
        return elements
    }

    /// Returns the elements made from the 16-bit numbers of an array; `nil` if the member is missing.
    func numbers<Element>(_ name: String, _ make: (UInt16) -> Element) throws(UAFError) -> [Element]? {
        guard let values = try self.values(name) else { return nil }
        var elements: [Element] = []
        for value in values {
            guard case .integer(let number) = value, let number = UInt16(exactly: number) else {
                throw UAFError(.wrongType, "\(self.place).\(name) holds no numbers of 16 bits")
            }
            elements.append(make(number))
        }
        return elements
    }
}

extension UAFError {
    init(_ error: JSONError, _ place: String) {
        let code: Code =
            switch error.code {
            case .missing: .missingMember
            case .wrongType: .wrongType
            default: .malformedJSON
            }
        self.init(code, "\(place): \(error.code) (\(error.reason))")
    }
}

extension JSON {
    /// Returns a message: the array of one dictionary (§2.6).
    static func message(_ object: JSONObject) -> JSON { .array([.object(object)]) }
    static func whole(_ value: some FixedWidthInteger) -> JSON { .integer(Int64(value)) }
    static func strings(_ texts: some Sequence<String>) -> JSON { .array(texts.map { .string($0) }) }
}

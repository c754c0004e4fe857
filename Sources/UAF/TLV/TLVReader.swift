/// A TLV item from the input (§3).
public struct TLVField: Hashable, Sendable {
    /// The tag.
    public let tag: TLVTag
    /// The value, without tag and length.
    public let value: ArraySlice<UInt8>
    /// Tag, length and value exactly as received. A signature covers these bytes.
    public let encoded: ArraySlice<UInt8>
}

/// Reads a sequence of TLV items: tag and length of 16 bits each, little-endian (§3).
///
/// A reader cannot be copied. The caller must consume the reader with ``finish()``, which refuses remaining bytes.
public struct TLVReader: ~Copyable {
    private var bytes: ArraySlice<UInt8>

    /// Creates a reader at the beginning of `bytes`.
    public init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// `true` if the reader has read all bytes.
    public var isAtEnd: Bool { self.bytes.isEmpty }

    /// Returns the next item with any tag; `nil` at the end. Throws ``UAFError/Code/truncatedField``.
    public mutating func readNext() throws(UAFError) -> TLVField? {
        guard !self.bytes.isEmpty else { return nil }
        guard self.bytes.count >= 4 else { throw UAFError(.truncatedField, "\(self.bytes.count) bytes for a head") }
        let start = self.bytes.startIndex
        let tag = TLVTag(rawValue: UInt16(self.bytes[start]) | UInt16(self.bytes[start + 1]) << 8)
        let length = Int(self.bytes[start + 2]) | Int(self.bytes[start + 3]) << 8
        guard self.bytes.count - 4 >= length else {
            throw UAFError(.truncatedField, "\(tag): need \(length), have \(self.bytes.count - 4)")
        }
        let end = start + 4 + length
        let field = TLVField(tag: tag, value: self.bytes[(start + 4)..<end], encoded: self.bytes[start..<end])
        self.bytes = self.bytes[end...]
        return field
    }

    /// Returns the next item, which must have this tag. Throws `truncatedField`, `missingTag` and `unexpectedTag`.
    public mutating func readField(expecting tag: TLVTag) throws(UAFError) -> TLVField {
        guard let field = try self.readNext() else { throw UAFError(.missingTag, "\(tag)") }
        guard field.tag == tag else { throw UAFError(.unexpectedTag, "expected \(tag), found \(field.tag)") }
        return field
    }

    /// Ends the reading. Throws ``UAFError/Code/trailingBytes``.
    public consuming func finish() throws(UAFError) {
        guard self.bytes.isEmpty else { throw UAFError(.trailingBytes, "\(self.bytes.count) bytes left") }
    }
}

/// The items of a composite, in any order (§3): single values at most once, and arrays in their order. Unknown items
/// are skipped if their tags allow skipping.
///
/// A composite has few items, so a search through the items costs less than a table.
struct TLVComposite {
    private(set) var fields: [TLVField] = []

    /// Reads the items of a composite.
    ///
    /// Throws `truncatedField`, `duplicateTag` and `unknownCriticalTag`. Tags in `skipping` are never unknown.
    init(
        _ value: ArraySlice<UInt8>, single: [TLVTag], repeatable: [TLVTag] = [], skipping: Set<TLVTag> = []
    ) throws(UAFError) {
        var reader = TLVReader(value)
        self.fields.reserveCapacity(single.count)
        while let field = try reader.readNext() {
            if single.contains(field.tag) {
                guard self[field.tag] == nil else { throw UAFError(.duplicateTag, "\(field.tag)") }
                self.fields.append(field)
            } else if repeatable.contains(field.tag) {
                self.fields.append(field)
            } else if field.tag.isCritical, !skipping.contains(field.tag) {
                throw UAFError(.unknownCriticalTag, "\(field.tag)")
            }
        }
        try reader.finish()
    }

    subscript(tag: TLVTag) -> TLVField? { self.fields.first { $0.tag == tag } }

    func required(_ tag: TLVTag) throws(UAFError) -> TLVField {
        guard let field = self[tag] else { throw UAFError(.missingTag, "\(tag)") }
        return field
    }

    func value(_ tag: TLVTag, _ length: ClosedRange<Int>) throws(UAFError) -> ArraySlice<UInt8>? {
        guard let field = self[tag] else { return nil }
        guard length.contains(field.value.count) else {
            throw UAFError(.invalidLength, "\(tag) of \(field.value.count) bytes")
        }
        return field.value
    }

    func requiredValue(_ tag: TLVTag, _ length: ClosedRange<Int>) throws(UAFError) -> ArraySlice<UInt8> {
        guard let value = try self.value(tag, length) else { throw UAFError(.missingTag, "\(tag)") }
        return value
    }
}

extension ArraySlice<UInt8> {
    /// Returns the little-endian number at `offset` from the beginning. The caller has checked the length.
    func littleEndian<Value: FixedWidthInteger & UnsignedInteger>(at offset: Int, as type: Value.Type = Value.self)
        -> Value
    {
        var value: Value = 0
        for index in 0..<(Value.bitWidth / 8) {
            value |= Value(self[self.startIndex + offset + index]) << Value(8 * index)
        }
        return value
    }
}

/// Writes TLV items one after another (§3).
public struct TLVWriter: Sendable {
    /// The written bytes.
    public private(set) var bytes: [UInt8] = []

    /// Creates an empty writer.
    public init() {}

    /// Appends one item. Throws ``UAFError/Code/invalidLength`` for more than 65,535 bytes.
    public mutating func append(_ tag: TLVTag, _ value: some Collection<UInt8>) throws(UAFError) {
        guard let length = UInt16(exactly: value.count) else {
            throw UAFError(.invalidLength, "\(tag) of \(value.count) bytes")
        }
        self.append(tag.rawValue)
        self.append(length)
        self.bytes.append(contentsOf: value)
    }

    /// Appends a composite with the items that `body` writes.
    public mutating func append(_ tag: TLVTag, _ body: (inout TLVWriter) throws(UAFError) -> Void) throws(UAFError) {
        var inner = TLVWriter()
        try body(&inner)
        try self.append(tag, inner.bytes)
    }

    /// Appends items that are already encoded.
    public mutating func append(encoded: some Collection<UInt8>) { self.bytes.append(contentsOf: encoded) }

    private mutating func append(_ number: UInt16) {
        self.bytes.append(UInt8(truncatingIfNeeded: number))
        self.bytes.append(UInt8(truncatingIfNeeded: number >> 8))
    }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// The number's bytes, lowest first.
    var littleEndianBytes: [UInt8] { (0..<(Self.bitWidth / 8)).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) } }
}

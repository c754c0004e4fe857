/// Reads the forms of CBOR (RFC 8949) that attestations and assertions of apps have: byte strings, text strings, arrays
/// and maps with definite lengths below 65,536, each length in its shortest form (section 4.2.1).
///
/// Every other form is refused. Nothing is nested by the input: the caller names each item, so the caller's code bounds
/// the depth.
struct CBORReader {
    /// The types of items, by the three leading bits of an item's first byte (RFC 8949, section 3.1).
    enum MajorType: UInt8 {
        case byteString = 2
        case textString = 3
        case array = 4
        case map = 5
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.rest = bytes[...] }

    /// Reads the head of an item. Returns the number of bytes of a string, of items of an array, or of pairs of a map.
    mutating func count(of type: MajorType) throws(AppAttestationRefusal) -> Int {
        guard let first = self.rest.popFirst(), first >> 5 == type.rawValue else { throw .malformed }
        switch first & 0b1_1111 {
        case let short where short < 24: return Int(short)
        case 24:
            guard let value = self.rest.popFirst(), value >= 24 else { throw .malformed }
            return Int(value)
        case 25:
            guard let high = self.rest.popFirst(), let low = self.rest.popFirst(), high > 0 else { throw .malformed }
            return Int(high) << 8 | Int(low)
        default: throw .malformed
        }
    }

    /// Reads a byte string.
    mutating func byteString() throws(AppAttestationRefusal) -> [UInt8] {
        let count = try self.count(of: .byteString)
        guard count <= self.rest.count else { throw .malformed }
        defer { self.rest = self.rest.dropFirst(count) }
        return Array(self.rest.prefix(count))
    }

    /// Reads a text string, which has to be this text.
    mutating func expect(_ text: String) throws(AppAttestationRefusal) {
        let count = try self.count(of: .textString)
        guard self.rest.prefix(count).elementsEqual(text.utf8) else { throw .malformed }
        self.rest = self.rest.dropFirst(count)
    }

    /// Reads the head of an array or a map, which has to have this many items or pairs.
    mutating func expect(_ type: MajorType, of count: Int) throws(AppAttestationRefusal) {
        guard try self.count(of: type) == count else { throw .malformed }
    }

    /// Checks that no byte is left.
    func expectEnd() throws(AppAttestationRefusal) {
        guard self.rest.isEmpty else { throw .malformed }
    }
}

/// The limits of a JSON reader.
public struct JSONLimits: Sendable {
    /// The longest text, in bytes.
    public var bytes: Int
    /// The deepest nesting of objects and arrays.
    public var depth: Int
    /// The most values in all, including the values of members.
    public var values: Int
    /// `true` if texts may contain the character U+0000.
    ///
    /// Databases and C treat this character as the end of a text, so they would look up, compare or store another text.
    /// The default refuses the character.
    public var takesNUL: Bool
    /// The longest name of a member, in UTF-8 bytes: longer than any name of a message or of a registered claim.
    public static let nameBytes = 256

    /// Creates limits. The defaults of 64 KiB, 16 levels and 10,000 values are enough for every message of the product.
    public init(bytes: Int = 65_536, depth: Int = 16, values: Int = 10_000, takesNUL: Bool = false) {
        self.bytes = bytes
        self.depth = depth
        self.values = values
        self.takesNUL = takesNUL
    }
}

extension JSON {
    /// Reads one value, with nothing after the value.
    ///
    /// - Parameter leavesOutNull: `true` if a member or element that is null counts as absent. Use this for messages of
    ///   other parties' specifications, which often allow null. No message of this product does.
    /// - Throws: ``JSONError``: `malformed`, `null`, `duplicateName`, `tooLarge`, `tooDeep`.
    public init(
        parsing bytes: some Collection<UInt8>, limits: JSONLimits = JSONLimits(), leavesOutNull: Bool = false
    ) throws(JSONError) {
        guard bytes.count <= limits.bytes else { throw JSONError(.tooLarge, "\(bytes.count) bytes") }
        var reader = JSONReader(bytes: Array(bytes), limits: limits, leavesOutNull: leavesOutNull)
        self = try reader.readDocument()
    }

    /// Reads one value from a text, otherwise as ``init(parsing:limits:)``.
    public init(parsing text: String, limits: JSONLimits = JSONLimits()) throws(JSONError) {
        try self.init(parsing: text.utf8, limits: limits)
    }

    /// The value as compact UTF-8 text, with the members in their order.
    public var serialized: [UInt8] {
        var bytes: [UInt8] = []
        self.append(to: &bytes)
        return bytes
    }

    /// ``serialized`` as a string.
    public var text: String { String(decoding: self.serialized, as: UTF8.self) }

    private func append(to bytes: inout [UInt8]) {
        switch self {
        case .string(let text): Self.append(text, to: &bytes)
        case .integer(let number): bytes.append(contentsOf: String(number).utf8)
        case .number(let number): bytes.append(contentsOf: String(number).utf8)
        case .bool(let flag): bytes.append(contentsOf: (flag ? "true" : "false").utf8)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in object.members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.append(member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        defer { bytes.append(UInt8(ascii: "\"")) }
        var text = text
        text.withUTF8 { utf8 in
            // Letters without an escape are copied in runs. Nearly every text of this product is a single run.
            var start = 0
            while true {
                let (end, _) = PlainLetters.end(in: utf8, from: start)
                bytes.append(contentsOf: utf8[start..<end])
                guard end < utf8.count else { return }
                self.appendEscaped(utf8[end], to: &bytes)
                start = end + 1
            }
        }
    }

    private static func appendEscaped(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0..<0x20:
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(self.hexDigits[Int(byte >> 4)])
            bytes.append(self.hexDigits[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }
}

/// The names of an object's members, while the object is read.
///
/// Names are compared by their bytes. A few names are compared one by one, which costs less than hashing.
private struct MemberNames {
    /// The hash table, for many members.
    ///
    /// An entry has half of the hash of a member's name and, in the lower half, the member's place, from 1 on. A
    /// growing table hashes no name again, and names are compared only if these halves of their hashes are equal.
    private var table: [UInt64] = []
    private static let half: UInt64 = 0xFFFF_FFFF_0000_0000

    /// Adds the name of the next member. Returns `true` if the name is new.
    mutating func insert(_ name: String, after members: [(name: String, value: JSON)]) -> Bool {
        guard members.count >= 16 else { return !members.contains { $0.name.hasSameBytes(as: name) } }
        if self.table.isEmpty {
            self.table = [UInt64](repeating: 0, count: 64)
            for (index, member) in members.enumerated() { self.add(Self.hash(member.name) | UInt64(index + 1)) }
        } else if members.count * 4 > self.table.count * 3 {
            self.grow()
        }
        let hash = Self.hash(name)
        var slot = self.slot(of: hash)
        while self.table[slot] != 0 {
            let entry = self.table[slot]
            if entry & Self.half == hash, members[Int(entry & ~Self.half) - 1].name.hasSameBytes(as: name) {
                return false
            }
            slot = self.slot(after: slot)
        }
        self.table[slot] = hash | UInt64(members.count + 1)
        return true
    }

    /// Returns a hash that no outsider can predict.
    private static func hash(_ name: String) -> UInt64 {
        var hasher = Hasher()
        name.hashBytes(into: &hasher)
        return UInt64(truncatingIfNeeded: hasher.finalize()) & self.half
    }

    private func slot(of entry: UInt64) -> Int { Int(entry >> 32) & (self.table.count - 1) }
    private func slot(after slot: Int) -> Int { (slot + 1) & (self.table.count - 1) }

    private mutating func add(_ entry: UInt64) {
        var slot = self.slot(of: entry)
        while self.table[slot] != 0 { slot = self.slot(after: slot) }
        self.table[slot] = entry
    }

    private mutating func grow() {
        let entries = self.table
        self.table = [UInt64](repeating: 0, count: entries.count * 2)
        for entry in entries where entry != 0 { self.add(entry) }
    }
}

/// Finds letters that need no escape in a string: no quotation mark, no backslash and no control character.
private enum PlainLetters {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Returns the end of the plain letters from a place on, and `true` if all of them are ASCII. The function reads
    /// eight bytes at a time, because nearly every text is plain throughout.
    static func end(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> (end: Int, isASCII: Bool) {
        var end = start
        var seen: UInt64 = 0
        let raw = UnsafeRawBufferPointer(bytes)
        while end + 8 <= bytes.count {
            let eight = raw.loadUnaligned(fromByteOffset: end, as: UInt64.self)
            guard !self.hasOther(eight) else { break }
            seen |= eight
            end += 8
        }
        while end < bytes.count, bytes[end] >= 0x20, bytes[end] != UInt8(ascii: "\""), bytes[end] != UInt8(ascii: "\\")
        {
            seen |= UInt64(bytes[end])
            end += 1
        }
        return (end, seen & self.highBits == 0)
    }

    /// Returns `true` if one of eight bytes is below 0x20, a quotation mark or a backslash.
    ///
    /// In the subtraction, a byte borrows from the next byte only if the byte is smaller itself. The first hit is
    /// therefore always right, and later hits do not matter.
    private static func hasOther(_ eight: UInt64) -> Bool {
        func zero(_ value: UInt64) -> UInt64 { (value &- self.ones) & ~value }
        let control = (eight &- self.ones &* 0x20) & ~eight
        let quotation = zero(eight ^ (self.ones &* UInt64(UInt8(ascii: "\""))))
        let backslash = zero(eight ^ (self.ones &* UInt64(UInt8(ascii: "\\"))))
        return (control | quotation | backslash) & self.highBits != 0
    }
}

/// Reads JSON from bytes by recursive descent. The limits bound memory and stack.
private struct JSONReader {
    let bytes: [UInt8]
    let limits: JSONLimits
    let leavesOutNull: Bool
    var position = 0
    var values = 0

    init(bytes: [UInt8], limits: JSONLimits, leavesOutNull: Bool) {
        self.bytes = bytes
        self.limits = limits
        self.leavesOutNull = leavesOutNull
    }

    mutating func readDocument() throws(JSONError) -> JSON {
        let value = try self.readValue(depth: 0)
        self.skipWhitespace()
        guard self.position == self.bytes.count else { throw self.malformed("something follows the value") }
        return value
    }

    private func malformed(_ what: String) -> JSONError { JSONError(.malformed, "\(what), at byte \(self.position)") }

    private mutating func skipWhitespace() {
        while self.position < self.bytes.count {
            switch self.bytes[self.position] {
            case 0x20, 0x09, 0x0A, 0x0D: self.position += 1
            default: return
            }
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard self.position < self.bytes.count, self.bytes[self.position] == byte else { return false }
        self.position += 1
        return true
    }

    private mutating func take(_ word: StaticString) -> Bool {
        let end = self.position + word.utf8CodeUnitCount
        guard end <= self.bytes.count else { return false }
        for offset in 0..<word.utf8CodeUnitCount where word.utf8Start[offset] != self.bytes[self.position + offset] {
            return false
        }
        self.position = end
        return true
    }

    /// Reads a member's value or an element; `nil` for a null that is left out.
    private mutating func readInnerValue(depth: Int) throws(JSONError) -> JSON? {
        self.skipWhitespace()
        if self.leavesOutNull, self.take("null") {
            self.values += 1
            guard self.values <= self.limits.values else { throw JSONError(.tooLarge, "too many values") }
            return nil
        }
        return try self.readValue(depth: depth)
    }

    private mutating func readValue(depth: Int) throws(JSONError) -> JSON {
        self.values += 1
        guard self.values <= self.limits.values else { throw JSONError(.tooLarge, "too many values") }
        self.skipWhitespace()
        guard self.position < self.bytes.count else { throw self.malformed("a value is missing") }
        switch self.bytes[self.position] {
        case UInt8(ascii: "{"): return .object(try self.readObject(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try self.readArray(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try self.readString())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try self.readNumber()
        default:
            if self.take("true") { return .bool(true) }
            if self.take("false") { return .bool(false) }
            if self.take("null") { throw JSONError(.null, "at byte \(self.position)") }
            throw self.malformed("no value begins so")
        }
    }

    private mutating func readObject(depth: Int) throws(JSONError) -> JSONObject {
        guard depth <= self.limits.depth else { throw JSONError(.tooDeep, "at byte \(self.position)") }
        self.position += 1
        var members: [(name: String, value: JSON)] = []
        var names = MemberNames()
        // Nulls keep their places while the object is read, because their names count.
        var nulls: Set<Int> = []
        self.skipWhitespace()
        if self.take(UInt8(ascii: "}")) { return JSONObject(uncheckedMembers: members) }
        while true {
            self.skipWhitespace()
            guard self.position < self.bytes.count, self.bytes[self.position] == UInt8(ascii: "\"") else {
                throw self.malformed("a member's name is missing")
            }
            let name = try self.readString()
            guard name.utf8.count <= JSONLimits.nameBytes else {
                throw JSONError(.tooLarge, "a member's name of \(name.utf8.count) bytes")
            }
            guard names.insert(name, after: members) else {
                throw JSONError(.duplicateName, "at byte \(self.position)")
            }
            self.skipWhitespace()
            guard self.take(UInt8(ascii: ":")) else { throw self.malformed("a colon is missing") }
            let value = try self.readInnerValue(depth: depth)
            if value == nil { nulls.insert(members.count) }
            members.append((name, value ?? .bool(false)))
            self.skipWhitespace()
            if self.take(UInt8(ascii: "}")) {
                guard !nulls.isEmpty else { return JSONObject(uncheckedMembers: members) }
                return JSONObject(
                    uncheckedMembers: members.indices.filter { !nulls.contains($0) }.map { members[$0] })
            }
            guard self.take(UInt8(ascii: ",")) else { throw self.malformed("a comma is missing") }
        }
    }

    private mutating func readArray(depth: Int) throws(JSONError) -> [JSON] {
        guard depth <= self.limits.depth else { throw JSONError(.tooDeep, "at byte \(self.position)") }
        self.position += 1
        var values: [JSON] = []
        self.skipWhitespace()
        if self.take(UInt8(ascii: "]")) { return values }
        while true {
            if let value = try self.readInnerValue(depth: depth) { values.append(value) }
            self.skipWhitespace()
            if self.take(UInt8(ascii: "]")) { return values }
            guard self.take(UInt8(ascii: ",")) else { throw self.malformed("a comma is missing") }
        }
    }

    private mutating func readString() throws(JSONError) -> String {
        self.position += 1
        var text: [UInt8] = []
        while true {
            let (end, isASCII) = self.endOfRun()
            let run = self.position..<end
            guard run.upperBound < self.bytes.count else { throw self.malformed("a string does not end") }
            self.position = run.upperBound + 1
            switch self.bytes[run.upperBound] {
            case UInt8(ascii: "\""):
                // Most strings have no escape and are taken unchanged; most of these strings are ASCII and need no
                // validation.
                if text.isEmpty, isASCII { return self.string(ofASCII: run) }
                if !text.isEmpty { text += self.bytes[run] }
                let string =
                    text.isEmpty
                    ? String(validating: self.bytes[run], as: UTF8.self) : String(validating: text, as: UTF8.self)
                guard let string else { throw self.malformed("not UTF-8") }
                // With this limit, comparing or normalising the text later costs its length, not the square of its
                // length.
                guard string.isStreamSafe else {
                    throw JSONError(
                        .tooLarge, "more combining marks in a row than a text has, at byte \(self.position)")
                }
                return string
            case UInt8(ascii: "\\"):
                text += self.bytes[run]
                try self.readEscape(into: &text)
            default: throw self.malformed("a control character in a string")
            }
        }
    }

    /// Returns the end of the plain letters: at a quotation mark, an escape, a control character or the end. Also
    /// returns `true` if all of them are ASCII.
    private func endOfRun() -> (end: Int, isASCII: Bool) {
        self.bytes.withUnsafeBufferPointer { PlainLetters.end(in: $0, from: self.position) }
    }

    private func string(ofASCII run: Range<Int>) -> String {
        self.bytes.withUnsafeBufferPointer { String(decoding: UnsafeBufferPointer(rebasing: $0[run]), as: UTF8.self) }
    }

    private mutating func readEscape(into text: inout [UInt8]) throws(JSONError) {
        guard self.position < self.bytes.count else { throw self.malformed("a string does not end") }
        let letter = self.bytes[self.position]
        self.position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(letter)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var code = UInt32(try self.readHex())
            if (0xD800..<0xDC00).contains(code) {
                guard self.take("\\u") else { throw self.malformed("half a surrogate pair") }
                let low = UInt32(try self.readHex())
                guard (0xDC00..<0xE000).contains(low) else { throw self.malformed("half a surrogate pair") }
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw self.malformed("half a surrogate pair") }
            guard code != 0 || self.limits.takesNUL else { throw self.malformed("U+0000") }
            text.append(contentsOf: UTF8.encode(scalar)!)
        default: throw self.malformed("an unknown escape")
        }
    }

    private mutating func readHex() throws(JSONError) -> UInt16 {
        guard self.position + 4 <= self.bytes.count else { throw self.malformed("a short escape") }
        var value: UInt16 = 0
        for byte in self.bytes[self.position..<self.position + 4] {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: throw self.malformed("an escape that is not hexadecimal")
            }
            value = value << 4 | UInt16(digit)
        }
        self.position += 4
        return value
    }

    private mutating func readNumber() throws(JSONError) -> JSON {
        let start = self.position
        var isWhole = true
        _ = self.take(UInt8(ascii: "-"))
        guard let first = self.digit() else { throw self.malformed("a number without digits") }
        if first != UInt8(ascii: "0") { while self.digit() != nil {} }
        if self.take(UInt8(ascii: ".")) {
            isWhole = false
            guard self.digit() != nil else { throw self.malformed("a fraction without digits") }
            while self.digit() != nil {}
        }
        if self.take(UInt8(ascii: "e")) || self.take(UInt8(ascii: "E")) {
            isWhole = false
            if !self.take(UInt8(ascii: "+")) { _ = self.take(UInt8(ascii: "-")) }
            guard self.digit() != nil else { throw self.malformed("an exponent without digits") }
            while self.digit() != nil {}
        }
        guard self.position - start <= 32 else { throw self.malformed("a number of too many digits") }
        if isWhole, let number = Int64(digits: self.bytes[start..<self.position]) { return .integer(number) }
        let text = String(decoding: self.bytes[start..<self.position], as: UTF8.self)
        guard let number = Double(text), number.isFinite else { throw self.malformed("a number out of range") }
        return .number(number)
    }

    private mutating func digit() -> UInt8? {
        guard self.position < self.bytes.count,
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self.bytes[self.position])
        else { return nil }
        defer { self.position += 1 }
        return self.bytes[self.position]
    }
}

extension Int64 {
    /// Reads the number of ASCII digits, with or without a minus sign; `nil` if the number does not fit.
    fileprivate init?(digits: ArraySlice<UInt8>) {
        let isNegative = digits.first == UInt8(ascii: "-")
        var number: Int64 = 0
        for digit in isNegative ? digits.dropFirst() : digits {
            let value = Int64(digit - UInt8(ascii: "0"))
            let (tens, isTooLong) = number.multipliedReportingOverflow(by: 10)
            // The range has one more negative number than positive numbers.
            let (sum, isTooLarge) =
                isNegative ? tens.subtractingReportingOverflow(value) : tens.addingReportingOverflow(value)
            guard !isTooLong, !isTooLarge else { return nil }
            number = sum
        }
        self = number
    }
}

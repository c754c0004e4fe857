import Testing
import _Primitives

@Suite("RFC 8259: reading and writing JSON text")
struct JSONTextTests {
    private func code(_ text: String, limits: JSONLimits = JSONLimits()) -> JSONError.Code? {
        do throws(JSONError) {
            _ = try JSON(parsing: text, limits: limits)
            return nil
        } catch { return error.code }
    }

    @Test(
        "Section 3: reads each kind of value",
        arguments: [
            (#""a""#, JSON.string("a")),
            (#""""#, .string("")),
            ("true", .bool(true)),
            ("false", .bool(false)),
            ("[]", .array([])),
            ("{}", .object([:])),
            (" [ 1 ,\t2\r\n] ", .array([.integer(1), .integer(2)])),
            (#"{"a":{"b":[true]}}"#, .object(["a": .object(["b": .array([.bool(true)])])])),
        ])
    func reads(text: String, value: JSON) throws { #expect(try JSON(parsing: text) == value) }

    @Test(
        "Section 6: reads numbers",
        arguments: [
            ("0", JSON.integer(0)),
            ("-0", .integer(0)),
            ("-1", .integer(-1)),
            ("9223372036854775807", .integer(.max)),
            ("-9223372036854775808", .integer(.min)),
            ("-9223372036854775809", .number(-9_223_372_036_854_775_808)),
            ("18446744073709551617", .number(18_446_744_073_709_551_616)),
            ("-92233720368547758080", .number(-92_233_720_368_547_758_080)),
            ("9223372036854775808", .number(9_223_372_036_854_775_808)),
            ("1.0", .number(1)),
            ("-0.5", .number(-0.5)),
            ("1e3", .number(1000)),
            ("1E+3", .number(1000)),
            ("25e-1", .number(2.5)),
        ])
    func readsNumbers(text: String, value: JSON) throws { #expect(try JSON(parsing: text) == value) }

    @Test(
        "Section 6: refuses what is not a number, and numbers out of range",
        arguments: [
            "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "0x10", "1_000", "Infinity", "NaN", "1e999", "-1e999",
            "123456789012345678901234567890123", "1 2", "--1", "1.e3",
        ])
    func refusesNumbers(text: String) { #expect(self.code(text) == .malformed) }

    @Test(
        "Section 7: reads escapes",
        arguments: [
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
            (#""\u0041\u00e9\u00E9""#, "Aéé"),
            (#""\ud83d\ude00""#, "😀"),
            (#""\u0001""#, "\u{1}"),
            (#""\uFFFF""#, "\u{FFFF}"),
            (#""😀é""#, "😀é"),
        ])
    func readsEscapes(text: String, value: String) throws {
        #expect(Array(try #require(try JSON(parsing: text).stringValue).unicodeScalars) == Array(value.unicodeScalars))
    }

    @Test(
        "Sections 7 and 8.2: refuses half surrogate pairs, unknown escapes and control characters",
        arguments: [
            #""\ud83d""#, #""\ud83dx""#, #""\ud83d\u0041""#, #""\ud83d\ud83d""#, #""\ude00""#, #""\ude00\ud83d""#,
            #""\x41""#, #""\u12""#, #""\u12g4""#, #""\u+123""#, #""\U0041""#, #""\"#, #"""#, #""abc"#,
            "\"a\nb\"", "\"a\tb\"", "\"\u{0}\"", #""\u0000""#, #""a\u0000b""#, "\"\u{1F}\"", "'a'",
        ])
    func refusesStrings(text: String) { #expect(self.code(text) == .malformed) }

    @Test(
        "Section 8.1: refuses bytes that are not UTF-8",
        arguments: [
            [0x80], [0xC0, 0xAF], [0xC3], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF],
        ] as [[UInt8]])
    func refusesBytes(content: [UInt8]) {
        let text = [UInt8(ascii: "\"")] + content + [UInt8(ascii: "\"")]
        #expect(throws: JSONError(.malformed, "")) { try JSON(parsing: text) }
        #expect(throws: JSONError(.malformed, "")) { try JSON(parsing: content) }
    }

    @Test(
        "Section 2: refuses what the grammar does not know",
        arguments: [
            "", " ", "tru", "truex", "True", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{", "}", "{]", #"{"a"}"#,
            #"{"a":}"#, #"{"a":1,}"#, #"{"a":1 "b":2}"#, "{a:1}", "{1:1}", #"{"a":1}x"#, "{}{}", "[]]", "// c\n1",
            "/* c */1", "1//", "\u{FEFF}{}", "\u{A0}1",
        ])
    func refusesGrammar(text: String) { #expect(self.code(text) == .malformed) }

    @Test("Section 4: each of many names is told from the others, and one that occurs twice is refused")
    func manyNames() throws {
        let names = (0..<1500).map { "n\($0)" }
        func text(_ names: [String]) -> String { "{" + names.map { "\"\($0)\":1" }.joined(separator: ",") + "}" }
        let read = try JSON(parsing: text(names))
        guard case .object(let object) = read else { throw JSONError(.wrongType, "no object") }
        #expect(object.members.map(\.name) == names)
        for place in [0, 1, 15, 16, 17, 47, 48, 49, 750, 1499] {
            for count in [16, 17, 18, 49, 50, 1500] where place < count {
                let twice = text(names.prefix(count) + [names[place]])
                #expect(self.code(twice) == .duplicateName, "\(place) of \(count)")
            }
        }
    }

    @Test("Section 4: a name whose null is left out counts as one that occurs")
    func namesOfNulls() throws {
        let many = (0..<40).map { "\"n\($0)\":\($0 % 3 == 0 ? "null" : "\($0)")" }
        for members in [Array(many.prefix(5)), many] {
            let read = try JSON(parsing: Array("{\(members.joined(separator: ","))}".utf8), leavesOutNull: true)
            let left = members.indices.filter { $0 % 3 != 0 }.map { (name: "n\($0)", value: JSON.integer(Int64($0))) }
            guard case .object(let object) = read else { throw JSONError(.wrongType, "no object") }
            #expect(object.members.map(\.name) == left.map(\.name))
            #expect(object == JSONObject(left))
            for twice in ["n0", "n1"] {
                let text = "{\(members.joined(separator: ",")),\"\(twice)\":null}"
                #expect(throws: JSONError(.duplicateName, "")) {
                    try JSON(parsing: Array(text.utf8), leavesOutNull: true)
                }
            }
        }
    }

    @Test("Refuses null wherever it stands", arguments: ["null", "[null]", #"{"a":null}"#, #"{"a":[1,{"b":null}]}"#])
    func refusesNull(text: String) { #expect(self.code(text) == .null) }

    @Test(
        "Section 4: refuses a name that occurs twice, told by its bytes",
        arguments: [
            #"{"a":1,"a":1}"#, #"{"a":1,"b":2,"a":3}"#, #"{"a":1,"\u0061":2}"#, #"[{"x":{"a":1,"a":2}}]"#,
            #"{"\u00e9":1,"é":2}"#, #"{"":1,"":2}"#,
        ])
    func refusesDuplicates(text: String) { #expect(self.code(text) == .duplicateName) }

    @Test(
        "Decision 2: names whose bytes differ are different names, whatever Unicode calls equivalent",
        arguments: [
            // é as one scalar and as two, K and the KELVIN SIGN, a semicolon and the GREEK QUESTION MARK.
            ("\u{E9}", "e\u{301}"), ("K", "\u{212A}"), (";", "\u{37E}"),
        ])
    func namesAreTheirBytes(one: String, other: String) throws {
        let filler = (0..<20).map { ",\"n\($0)\":0" }.joined()
        for text in ["{\"\(one)\":1,\"\(other)\":2}", "{\"\(one)\":1\(filler),\"\(other)\":2}"] {
            guard case .object(let object) = try JSON(parsing: text) else { throw JSONError(.wrongType, "no object") }
            #expect(object[one] == .integer(1))
            #expect(object[other] == .integer(2))
        }
        let (left, right): (JSONObject, JSONObject) = ([one: .bool(true)], [other: .bool(true)])
        #expect(left != right)
        #expect(left[other] == nil)
        #expect(JSON.string(one) != JSON.string(other))
        #expect(Set([JSON.string(one), .string(other)]).count == 2)
    }

    @Test func theLimitOfANameIsExact() {
        func named(_ letters: Int, _ letter: String = "n") -> String {
            "{\"\(String(repeating: letter, count: letters))\":1}"
        }
        #expect(self.code(named(256)) == nil)
        #expect(self.code(named(257)) == .tooLarge)
        // It counts bytes, not letters.
        #expect(self.code(named(128, "é")) == nil)
        #expect(self.code(named(129, "é")) == .tooLarge)
    }

    @Test(
        "UAX #15, section 13: no text has more than 30 combining marks in a row, as name or as value",
        arguments: ["\u{301}", "\u{323}", "\u{F73}", "\u{1D165}"])
    func combiningMarksAreBounded(mark: String) {
        func marked(_ count: Int) -> String { "e" + String(repeating: mark, count: count) }
        #expect(self.code("[\"\(marked(30))\"]") == nil)
        #expect(self.code("[\"\(marked(31))\"]") == .tooLarge)
        #expect(self.code("{\"\(marked(30))\":1}") == nil)
        #expect(self.code("{\"\(marked(31))\":1}") == .tooLarge)
        // Each letter begins anew.
        #expect(self.code("[\"\(marked(30))\(marked(30))\"]") == nil)
    }

    @Test func oneNameMayOccurInSeveralObjects() throws {
        let value = try JSON(parsing: #"{"a":{"a":1},"b":{"a":2}}"#)
        #expect(value == .object(["a": .object(["a": .integer(1)]), "b": .object(["a": .integer(2)])]))
    }

    @Test func membersKeepTheirOrder() throws {
        let text = #"{"z":1,"a":2,"m":3}"#
        guard case .object(let object) = try JSON(parsing: text) else { throw JSONError(.wrongType, "no object") }
        #expect(object.members.map(\.name) == ["z", "a", "m"])
        #expect(JSON.object(object).text == text)
    }

    @Test func theLimitOfBytesIsExact() {
        let limits = JSONLimits(bytes: 10)
        #expect(self.code(#""12345678""#, limits: limits) == nil)
        #expect(self.code(#""123456789""#, limits: limits) == .tooLarge)
    }

    @Test func theLimitOfDepthIsExact() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(self.code(nested(16)) == nil)
        #expect(self.code(nested(17)) == .tooDeep)
        #expect(self.code(#"{"a":{"b":{}}}"#, limits: JSONLimits(depth: 3)) == nil)
        #expect(self.code(#"{"a":{"b":{"c":[]}}}"#, limits: JSONLimits(depth: 3)) == .tooDeep)
        // Far past the limit nothing is read any more, so that no stack is used up.
        #expect(self.code(String(repeating: "[", count: 60_000)) == .tooDeep)
        #expect(self.code(String(repeating: #"{"a":"#, count: 12_000)) == .tooDeep)
    }

    @Test func theLimitOfValuesIsExact() {
        #expect(self.code("[1,2,3]", limits: JSONLimits(values: 4)) == nil)
        #expect(self.code("[1,2,3]", limits: JSONLimits(values: 3)) == .tooLarge)
        #expect(self.code(#"{"a":1,"b":2}"#, limits: JSONLimits(values: 2)) == .tooLarge)
    }

    @Test(
        "Writes the shortest escapes and nothing else escaped",
        arguments: [
            ("\"\\/", #""\"\\/""#),
            ("\n\r\t\u{8}\u{0}\u{1F}\u{7F}", "\"\\n\\r\\t\\u0008\\u0000\\u001f\u{7F}\""),
            ("é😀\u{2028}", "\"é😀\u{2028}\""),
        ])
    func writes(value: String, text: String) { #expect(JSON.string(value).text == text) }

    @Test func whateverIsWrittenIsReadBackTheSame() throws {
        var builder = RandomValues(random: .repeatable(seed: 8259))
        for _ in 0..<500 {
            let value = builder.value(depth: 0)
            let text = value.serialized
            #expect(try JSON(parsing: text, limits: JSONLimits(takesNUL: true)) == value)
            #expect(try JSON(parsing: text, limits: JSONLimits(takesNUL: true)).serialized == text)
        }
    }

    @Test("A letter that is no plain one is seen wherever it stands, whatever stands beside it")
    func letters() throws {
        for count in [1, 7, 8, 9, 16, 23] {
            for place in 0..<count {
                for neighbour in ["a", " ", "!", "#", "[", "]", "é", "\u{7F}"] {
                    var letters = Array(repeating: neighbour, count: count)
                    for (letter, escaped) in [("\"", #"\""#), ("\\", #"\\"#), ("\n", #"\n"#), ("\u{1F}", #"\u001f"#)] {
                        letters[place] = letter
                        let text = letters.joined()
                        let written = JSON.string(text).text
                        letters[place] = escaped
                        #expect(written == "\"" + letters.joined() + "\"")
                        #expect(try JSON(parsing: written) == .string(text))
                    }
                    letters[place] = "\u{1F}"
                    #expect(throws: JSONError(.malformed, "")) {
                        try JSON(parsing: "\"" + letters.joined() + "\"")
                    }
                }
            }
        }
    }

    @Test func randomBytesNeverCrashTheReader() {
        let random = RandomSource.repeatable(seed: 1)
        let letters = Array(#"{}[]":,\u0123456789aeftrulns-+. é"#.utf8)
        var read = 0
        for round in 0..<20_000 {
            let count = Int(random.number(below: 40))
            let bytes = random.bytes(count).map { round % 2 == 0 ? $0 : letters[Int($0) % letters.count] }
            if (try? JSON(parsing: bytes)) != nil { read += 1 }
        }
        // Some short texts are valid by chance: the reader was reached.
        #expect(read > 100)
    }

    @Test func everyTruncationOfATextIsRefused() throws {
        let text = Array(#"{"name":"a\u00e9\n","list":[1,-2.5e3,true,{"x":false}]}"#.utf8)
        _ = try JSON(parsing: text)
        for count in 0..<text.count {
            #expect(throws: JSONError(.malformed, "")) { try JSON(parsing: text.prefix(count)) }
        }
    }

    @Test func noErrorRepeatsTheText() {
        for text in [#"{"pin":"8264""#, #"["8264",nul]"#, #"{"8264":1,"8264":2}"#, #""8264\q""#] {
            do throws(JSONError) {
                _ = try JSON(parsing: text)
                Issue.record("\(text) was read")
            } catch { #expect(!error.description.contains("8264")) }
        }
    }
}

extension JSON {
    fileprivate var stringValue: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }
}

/// Makes values of every kind.
private struct RandomValues {
    let random: RandomSource

    mutating func value(depth: Int) -> JSON {
        switch self.random.number(below: depth < 4 ? 6 : 4) {
        case 0: return .string(self.string())
        case 1: return .integer(Int64(bitPattern: self.random.number(below: .max)))
        case 2: return .number(self.double())
        case 3: return .bool(self.random.number(below: 2) == 0)
        case 4: return .array((0..<self.random.number(below: 5)).map { _ in self.value(depth: depth + 1) })
        default:
            let members = (0..<self.random.number(below: 5)).map { _ in
                (name: self.string(), value: self.value(depth: depth + 1))
            }
            return .object(JSONObject(members))
        }
    }

    private func string() -> String {
        let scalars = (0..<self.random.number(below: 8)).compactMap { _ in
            Unicode.Scalar(UInt32(self.random.number(below: self.random.number(below: 2) == 0 ? 0x80 : 0x11_0000)))
        }
        return String(String.UnicodeScalarView(scalars))
    }

    private func double() -> Double {
        while true {
            let number = Double(bitPattern: self.random.number(below: .max))
            if number.isFinite { return number }
        }
    }
}

@Suite("RFC 8259: what others say may have nulls")
struct JSONNullTests {
    @Test("a null that is left out is as good as none, and is counted as any other value")
    func nullsThatAreLeftOut() throws {
        let text = #"{"a":null,"b":[null,1,null],"c":{"d":null},"e":"null"}"#
        #expect(throws: JSONError(.null, "")) { try JSON(parsing: Array(text.utf8)) }
        let read = try JSON(parsing: Array(text.utf8), leavesOutNull: true)
        #expect(read.text == #"{"b":[1],"c":{},"e":"null"}"#)
        #expect(throws: JSONError(.null, "")) { try JSON(parsing: Array("null".utf8), leavesOutNull: true) }
        #expect(throws: JSONError(.duplicateName, "")) {
            try JSON(parsing: Array(#"{"a":null,"a":1}"#.utf8), leavesOutNull: true)
        }
        #expect(throws: JSONError(.malformed, "")) { try JSON(parsing: Array(#"{"a":nul}"#.utf8), leavesOutNull: true) }
        let many = Array("[null,null,null]".utf8)
        #expect(throws: JSONError(.tooLarge, "")) {
            try JSON(parsing: many, limits: JSONLimits(values: 3), leavesOutNull: true)
        }
        #expect(try JSON(parsing: many, limits: JSONLimits(values: 4), leavesOutNull: true) == .array([]))
    }
}

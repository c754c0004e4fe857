import Testing
import _Primitives

@Suite("Decision 2: what names something is compared by its bytes")
struct ExactTextTests {
    @Test(
        "Texts that Unicode calls equivalent are different names",
        arguments: [
            ("K", "\u{212A}"), (";", "\u{37E}"), ("\u{E9}", "e\u{301}"), ("\u{C5}", "\u{212B}"), ("`", "\u{1FEF}"),
        ])
    func equivalents(one: String, other: String) {
        // That Swift's strings are equal is why the type is there.
        #expect(one == other)
        #expect(!one.hasSameBytes(as: other))
        #expect(ExactText(one) != ExactText(other))
        #expect(Set([ExactText(one), ExactText(other)]).count == 2)
        #expect(["a", one].containsBytes(of: one))
        #expect(!["a", one].containsBytes(of: other))
        #expect(!"\(other)/path".hasBytes(atStart: one))
    }

    @Test func theSameBytesAreOneNameHoweverTheyAreStored() {
        let text = "a name that is longer than a small string: é"
        #expect(text.hasSameBytes(as: text.dropFirst(0)))
        #expect("x\(text)".dropFirst().hasSameBytes(as: text))
        #expect(Set([ExactText(text), ExactText(String(decoding: Array(text.utf8), as: UTF8.self))]).count == 1)
        #expect(ExactText("a") < ExactText("b"))
        #expect(text.hasBytes(atStart: "a name"))
        #expect(!"a".hasBytes(atStart: "a name"))
    }

    @Test func onlyLettersOfASCIIChangeCase() {
        #expect("AZaz09-ÄK\u{212A}\u{130}".asciiLowercased.utf8.elementsEqual("azaz09-Äk\u{212A}\u{130}".utf8))
        #expect("AZaz09-äk\u{17F}\u{131}".asciiUppercased.utf8.elementsEqual("AZAZ09-äK\u{17F}\u{131}".utf8))
    }

    @Test(
        "A media type ends at the semicolon, and at no letter that only passes for one",
        arguments: [
            ("application/json", "application/json"), (" Application/JSON ; charset=UTF-8;x", "application/json"),
            ("application/json;\u{301}x", "application/json"), ("a/b\u{37E}c", "a/b\u{37E}c"), ("", ""), (";", ""),
        ])
    func mediaTypes(header: String, type: String) { #expect(header.mediaType.hasSameBytes(as: type)) }

    private enum Word: String { case known = "K" }

    @Test func aRegisteredWordIsReadInItsOwnSpellingAlone() {
        #expect(Word(exactly: "K") == .known)
        #expect(Word(rawValue: "\u{212A}") == .known)
        #expect(Word(exactly: "\u{212A}") == nil)
        #expect(Word(exactly: "k") == nil)
    }

    @Test("A text is split where the byte of a separator is, and nowhere else")
    func splits() {
        #expect("a;b;;c;".splitBytes(at: ";") == ["a", "b", "", "c", ""])
        #expect("a=b=c".splitBytes(at: "=", maxSplits: 1) == ["a", "b=c"])
        #expect("".splitBytes(at: ";") == [""])
        // The GREEK QUESTION MARK is none, and a mark behind a semicolon does not make it another letter.
        #expect("a\u{37E}b".splitBytes(at: ";").count == 1)
        let parts = "a;\u{301}b".splitBytes(at: ";")
        #expect(parts.map { Array($0.utf8) } == [[0x61], [0xCC, 0x81, 0x62]])
    }

    @Test("A text ends with the bytes of its end, in that spelling")
    func ends() {
        #expect("/status/x/events".hasBytes(atEnd: "/events") && "a".hasBytes(atEnd: ""))
        #expect(!"events".hasBytes(atEnd: "/events") && !"\u{212A}".hasBytes(atEnd: "K"))
    }
}

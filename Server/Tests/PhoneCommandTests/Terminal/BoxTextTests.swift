import Testing

@testable import PhoneCommand

@Suite("Text is laid out for a terminal")
struct BoxTextTests {
    @Test("Lines break at spaces, words that are too long break anywhere, line feeds stay")
    func wrapping() {
        #expect(BoxText.wrap("pay the gardener", width: 9) == ["pay the", "gardener"])
        #expect(BoxText.wrap("DE89370400440532013000", width: 10) == ["DE89370400", "4405320130", "00"])
        #expect(BoxText.wrap("one\n\ntwo", width: 10) == ["one", "", "two"])
    }

    @Test("No letter of a text is lost by wrapping", arguments: [1, 2, 3, 7, 20, 80])
    func nothingLost(width: Int) {
        let text = "Transfer EUR 120.00 to Jo Gardener, IBAN DE89370400440532013000"
        let wrapped = BoxText.wrap(text, width: width)
        #expect(wrapped.joined().filter { $0 != " " } == text.filter { $0 != " " })
        #expect(wrapped.allSatisfy { BoxText.columns($0) <= width })
    }

    @Test("Wide letters take two columns and marks none")
    func columns() {
        #expect(BoxText.columns("日本") == 4)
        #expect(BoxText.columns("e\u{301}") == 1)
        #expect(BoxText.columns("Grüße") == 5)
    }

    @Test("Every line of a box is as wide as asked, whatever it holds", arguments: ["short", "日本語のテキスト", "a\nb"])
    func box(text: String) {
        let lines = BoxText.box(title: "Confirm", text: text, width: 40)
        #expect(lines.allSatisfy { BoxText.columns($0) == 40 })
        #expect(lines.first?.hasPrefix("╭─ Confirm ") == true)
    }

    @Test("Every line of a table is as wide as asked, and a long value stays in its column")
    func table() {
        let rows = [(name: "Amount", value: "EUR 1.00"), (name: "To", value: "日本語の とても 長い 名前の 人")]
        let lines = BoxText.table(title: "Pay", rows: rows, width: 30)
        #expect(lines.allSatisfy { BoxText.columns($0) == 30 })
        #expect(lines[1] == "│ Amount │ EUR 1.00          │")
        #expect(lines[2].hasPrefix("│ To     │ 日本語の"))
        #expect(lines.count == 5 && lines[3].hasPrefix("│        │ "))
        #expect(lines.first?.hasPrefix("╭─ Pay ") == true && lines.last == "╰────────┴───────────────────╯")
    }
}

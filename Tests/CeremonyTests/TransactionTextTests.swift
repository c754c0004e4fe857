import Ceremony
import Testing
import _Primitives

@Suite("FIDO UAF Protocol 1.1, dictionary Transaction: the text that is shown is the text that is signed")
struct TransactionTextTests {
    @Test("brings a text into Normalization Form C and its line ends into line feeds")
    func normalizes() throws {
        let text = try TransactionText(normalizing: "Cafe\u{301}\r\n12 EUR\rthanks")
        #expect(text.bytes == Array("Caf\u{E9}\n12 EUR\nthanks".utf8))
    }

    @Test("what the server normalised, the phone takes unchanged")
    func roundTrips() throws {
        let text = try TransactionText(normalizing: "Pay 120.00 EUR to Zoe\u{308}\nReference 7")
        #expect(try TransactionText(received: text.bytes) == text)
    }

    @Test("the phone refuses a text that it would have to rewrite")
    func refusesOtherForms() {
        #expect(throws: TransactionTextError(.notNormalized)) {
            try TransactionText(received: Array("Cafe\u{301}".utf8))
        }
    }

    @Test("refuses bytes that are not UTF-8")
    func refusesOtherEncodings() {
        #expect(throws: TransactionTextError(.notUTF8)) { try TransactionText(received: [0x50, 0xFF, 0x51]) }
    }

    @Test(
        "refuses characters that hide, reorder or have no agreed picture, on both sides",
        arguments: [
            "\u{0}", "\u{7}", "\t", "\r", "\u{1B}", "\u{85}", "\u{AD}", "\u{34F}", "\u{61C}", "\u{115F}", "\u{200B}",
            "\u{200D}", "\u{200E}", "\u{202E}", "\u{2028}", "\u{2029}", "\u{2066}", "\u{3164}", "\u{FEFF}", "\u{E000}",
            "\u{FFFE}", "\u{378}", "\u{E0041}", "\u{10FFFF}",
        ])
    func refusesForbiddenCharacters(character: String) {
        let text = "Pay 1\(character)0 EUR"
        #expect(throws: TransactionTextError(.forbiddenCharacter)) { try TransactionText(received: Array(text.utf8)) }
        if character != "\r" {
            #expect(throws: TransactionTextError(.forbiddenCharacter)) { try TransactionText(normalizing: text) }
        }
    }

    @Test(
        "takes letters of any script, signs, emoji and line feeds", arguments: ["Überweisung 12 €", "支払い\n1", "Да ✔️"])
    func takesOrdinaryText(text: String) throws {
        #expect(try TransactionText(normalizing: text).text == text)
    }

    @Test("refuses a text without anything to read", arguments: ["", " ", "\n \n"])
    func refusesEmptyText(text: String) {
        #expect(throws: TransactionTextError(.empty)) { try TransactionText(normalizing: text) }
    }

    @Test("takes 200 characters and refuses one more")
    func boundsTheLength() throws {
        #expect(try TransactionText(normalizing: String(repeating: "é", count: 200)).text.count == 200)
        #expect(throws: TransactionTextError(.tooLong)) {
            try TransactionText(normalizing: String(repeating: "a", count: 201))
        }
    }

    @Test("bounds a text before it is brought into its normal form, in characters and in bytes")
    func boundsBeforeNormalizing() throws {
        // Four characters that become one are within the bound, as they are one for a reader.
        let composed = String(repeating: "\u{3B1}\u{313}\u{300}\u{345}", count: 200)
        #expect(try TransactionText(normalizing: composed).text.unicodeScalars.count == 200)
        let marks = "e" + String(repeating: "\u{301}\u{323}", count: 30_000)
        #expect(throws: TransactionTextError(.tooLong)) { try TransactionText(normalizing: marks) }
        #expect(throws: TransactionTextError(.tooLong)) { try TransactionText(received: marks.utf8) }
    }

    @Test("of ASCII the same is taken, refused and shown whether or not something else is beside it")
    func plain() {
        func verdict(_ text: String) -> TransactionTextError? {
            do throws(TransactionTextError) {
                let made = try TransactionText(normalizing: text, maximumLength: 8)
                #expect(made.text == text || text.contains("\r"))
                return nil
            } catch {
                return error
            }
        }
        for value in UInt8.min...0x7F {
            let letter = String(UnicodeScalar(value))
            for text in [letter, "a\(letter)", "\(letter)\(letter)b", String(repeating: letter, count: 8)] {
                let mixed = verdict(text.dropLast() + "é")
                // With a letter beside it, it is never empty.
                #expect(verdict("a" + text.dropFirst()) == verdict("é" + text.dropFirst()), "\(value)")
                if text.count > 1 { #expect((mixed == nil) == (verdict(text.dropLast() + "e") == nil), "\(value)") }
                let shown = DisplayText.line(text, maximumLength: 4)
                #expect(DisplayText.line("é" + text, maximumLength: 5) == "é" + shown, "\(value)")
            }
        }
        #expect(verdict("123456789")?.code == .tooLong && verdict("12345678") == nil)
        #expect(verdict("12345678é")?.code == .tooLong)
    }

    @Test("never shows the text in a description")
    func describesTheLengthAlone() throws {
        let text = try TransactionText(normalizing: "to Eve")
        #expect("\(text)" == "TransactionText(6 characters)")
        let error = #expect(throws: TransactionTextError.self) { try TransactionText(normalizing: "to\u{202E} Eve") }
        #expect(error?.description == "TransactionTextError.forbiddenCharacter: U+202E")
    }
}

@Suite("Text from elsewhere on a terminal")
struct DisplayTextTests {
    @Test(
        "takes escape sequences out whole",
        arguments: [
            ("\u{1B}[31mred\u{1B}[0m", "red"), ("a\u{1B}]0;title\u{7}b", "ab"), ("a\u{1B}]8;;http://x\u{1B}\\b", "ab"),
            ("a\u{9B}2Jb", "ab"), ("a\u{1B}Pq#0\u{1B}\\b", "ab"), ("a\u{1B}cb", "ab"), ("a\u{1B}", "a"),
            ("a\u{1B}[", "a"), ("a\u{1B}]0;no end", "a"),
        ])
    func stripsEscapes(text: String, shown: String) { #expect(DisplayText.line(text) == shown) }

    @Test("replaces what hides or reorders, line feeds included")
    func replacesForbiddenCharacters() {
        #expect(DisplayText.line("a\u{202E}b\nc\u{200B}d") == "a\u{FFFD}b\u{FFFD}c\u{FFFD}d")
        #expect(DisplayText.lines("a\nb\rc") == ["a", "b\u{FFFD}c"])
        // A line ends at the byte, whatever stands beside it.
        #expect(DisplayText.lines("a\r\nb\n\u{301}c") == ["a\u{FFFD}", "b", "\u{301}c"])
    }

    @Test("ends a long line with an ellipsis")
    func bounds() { #expect(DisplayText.line("abcdef", maximumLength: 3) == "abc…") }

    @Test("whatever comes in, nothing forbidden comes out")
    func neverShowsForbiddenCharacters() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let scalars = (0..<40).compactMap { _ in
                Unicode.Scalar(UInt32.random(in: 0..<(Bool.random() ? 0x100 : 0x3000), using: &generator))
            }
            let shown = DisplayText.line(String(String.UnicodeScalarView(scalars)))
            #expect(!shown.unicodeScalars.contains(where: DisplayText.isForbidden))
        }
    }

    @Test(
        "writes host labels outside ASCII in their xn-- form (RFC 3492)",
        arguments: [
            ("https://bücher.example", "https://xn--bcher-kva.example"),
            ("https://b\u{430}nk.example:8443", "https://xn--bnk-6cd.example:8443"),
            ("https://他们为什么不说中文.example", "https://xn--ihqwcrb4cv8a8dqg056pqjye.example"),
            ("https://bank.example", "https://bank.example"), ("http://127.0.0.1:8081", "http://127.0.0.1:8081"),
            ("not an origin\u{1B}[2J", "not an origin"),
            // A slash and a dot are bytes, also where a combining mark makes other characters of them.
            ("https://bank.example/\u{301}x/y", "https://bank.example"),
            ("https://bank.\u{301}b.example", "https://bank.xn--b-wbb.example"),
        ])
    func showsOrigins(origin: String, shown: String) { #expect(DisplayText.origin(origin) == shown) }

    private static func label(_ letter: String, _ count: Int) -> String { String(repeating: letter, count: count) }
    private static let longestHost = [63, 63, 63, 61].map { Self.label("a", $0) }.joined(separator: ".")

    @Test(
        "shows nothing of a host that is too long to be one",
        arguments: [
            (label("a", 64), nil), ("bank.example." + label("a", 64), nil), (label("a", 63) + ".example", ""),
            (longestHost, ""), (longestHost + ":65535", ""), (longestHost + "a", nil), ("a." + longestHost, nil),
            // What is short only before it is encoded.
            (label("\u{430}", 57), "xn--80a" + label("a", 56)), (label("\u{430}", 58), nil),
            (label("字", 65_000), nil), (label("字.", 30_000), nil), (label("a", 100_000), nil),
        ] as [(String, String?)])
    func boundsOrigins(host: String, shown: String?) {
        let expected = shown.map { $0.isEmpty ? host : $0 } ?? "\u{FFFD}"
        #expect(DisplayText.origin("https://\(host)") == "https://\(expected)")
    }

    @Test("writes JSON that reads the same, without what hides or steers")
    func json() throws {
        let hostile: JSON = .object(["a\u{9B}2J": .string("\u{1B}[2J\u{7F}\u{202E}\u{E0041}\"字\\\n")])
        let shown = DisplayText.json(hostile.text)
        #expect(!shown.unicodeScalars.contains(where: DisplayText.isForbidden) && shown.contains("字"))
        #expect(try JSON(parsing: shown.utf8) == hostile)
    }
}

import Testing
import Texts

@Suite("The choice of a person's language (decision 101)")
struct LanguagesTests {
    private let languages = Languages(English(), English(tag: "de"), English(tag: "zh-Hant"))

    @Test(
        "A browser's languages are read with their qualities",
        arguments: [
            ("en", ["en"]), ("de-CH, en", ["de-CH", "en"]), ("en;q=0.5, de", ["de", "en"]),
            ("en;q=0.5,de;q=0.501", ["de", "en"]), ("en; q=0.7 , de ;Q=0.8\t", ["de", "en"]),
            ("fr;q=0, en", ["en"]), ("fr;q=0.000, en", ["en"]), ("a;q=0.3, b;q=0.3, c;q=1.000", ["c", "a", "b"]),
            ("en;q=0.", []), ("en;q=1., de;q=0.1", ["en", "de"]), ("*", ["*"]),
            ("*;q=0.1, zh-Hant-TW", ["zh-Hant-TW", "*"]),
            (", ,en,,", ["en"]), ("", []), (" ", []),
        ])
    func acceptLanguage(header: String, ranges: [String]) {
        #expect(LanguageWishes(acceptLanguage: header).ranges == ranges)
    }

    @Test(
        "A header outside the grammar is no wish",
        arguments: [
            "en;", "en;q", "en;q=", "en;q=2", "en;q=1.001", "en;q=0.1234", "en;q=.5", "en;q=-1", "en;q= 1", "en;q =1",
            "en;q=1;q=1", "en;level=1", "en q=1", "en_US", "-en", "en-", "e--n", "1n", "abcdefghi", "en-abcdefghi", "é",
            "en\u{301}", "**", "*-CH", "en, é", "en\0", "en\r\n, de", "\"en\"",
        ])
    func malformed(header: String) {
        #expect(LanguageWishes(acceptLanguage: header).ranges.isEmpty)
        #expect(LanguageWishes(acceptLanguage: "de, \(header)").ranges.isEmpty)
    }

    @Test("At most 20 ranges in 1,000 bytes are read, and no part of a longer header")
    func bounds() {
        let most = Array(repeating: "en", count: 20).joined(separator: ",")
        #expect(LanguageWishes(acceptLanguage: most).ranges.count == 20)
        #expect(LanguageWishes(acceptLanguage: most + ",en").ranges.isEmpty)
        #expect(LanguageWishes(acceptLanguage: most + ",").ranges.isEmpty)
        let padded = String(repeating: " ", count: 998) + "en"
        #expect(LanguageWishes(acceptLanguage: padded).ranges == ["en"])
        #expect(LanguageWishes(acceptLanguage: " " + padded).ranges.isEmpty)
        let tags = Array(repeating: "en", count: 20).joined(separator: " ")
        #expect(LanguageWishes(uiLocales: tags).ranges.count == 20)
        #expect(LanguageWishes(uiLocales: tags + " en").ranges.isEmpty)
        let long = Array(repeating: "abcdefgh", count: 111).joined(separator: "-")
        #expect(LanguageWishes(uiLocales: long + "-").ranges.isEmpty)
        #expect(LanguageWishes(uiLocales: long).ranges == [long])
        #expect(LanguageWishes(uiLocales: long + "-a").ranges == [long + "-a"])
        #expect(LanguageWishes(uiLocales: long + "-ab").ranges.isEmpty)
    }

    @Test(
        "A request's languages are tags with a space between",
        arguments: [
            ("en", ["en"]), ("fr-CA fr en", ["fr-CA", "fr", "en"]), ("", []), ("en  fr", []), ("*", []), ("en,fr", []),
            ("en;q=1", []), ("en fr_CA", []),
        ])
    func uiLocales(text: String, ranges: [String]) {
        #expect(LanguageWishes(uiLocales: text).ranges == ranges)
    }

    @Test("Nothing at all is no wish")
    func nothing() {
        #expect(LanguageWishes(acceptLanguage: nil).ranges.isEmpty)
        #expect(LanguageWishes(uiLocales: nil).ranges.isEmpty)
        #expect(self.languages.tag(for: LanguageWishes(uiLocales: nil)) == nil)
    }

    @Test("Any bytes at all are read without an error, and give ranges of the header alone")
    func property() {
        let letters = Array("ena-zDE*;q=01.9, \t_é\0")
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let header = String(
                (0..<Int.random(in: 0...40, using: &random)).map { _ in letters.randomElement() ?? "e" })
            let wishes = LanguageWishes(acceptLanguage: header)
            #expect(wishes.ranges.count <= LanguageWishes.mostRanges, "\(header)")
            for range in wishes.ranges { #expect(header.contains(range), "\(header)") }
            // The ranges in their order are a header of the same wishes.
            let written = wishes.ranges.joined(separator: ", ")
            #expect(LanguageWishes(acceptLanguage: written) == wishes, "\(header)")
            let tag = self.languages.tag(for: wishes)
            #expect(tag == nil || ["en", "de", "zh-Hant"].contains(tag), "\(header)")
        }
    }

    @Test(
        "The first range counts that finds a language, part after part from its end",
        arguments: [
            ("en", "en"), ("EN-us", "en"), ("fr, de;q=0.1", "de"), ("de-CH-1996", "de"), ("zh-hant-TW", "zh-Hant"),
            ("zh", nil), ("zh-Hans", nil), ("de-x-private", "de"), ("*", nil), ("*, en;q=0.5", "en"), ("fr", nil),
            ("deu", nil), ("", nil),
        ])
    func lookup(header: String, tag: String?) {
        #expect(self.languages.tag(for: LanguageWishes(acceptLanguage: header)) == tag)
    }

    @Test("The languages of the request come before those of the browser")
    func order() {
        let browser = LanguageWishes(acceptLanguage: "en")
        #expect(self.languages.tag(for: LanguageWishes(uiLocales: "de"), browser) == "de")
        #expect(self.languages.tag(for: LanguageWishes(uiLocales: "fr"), browser) == "en")
        #expect(self.languages.tag(for: LanguageWishes(uiLocales: "d;e"), browser) == "en")
        #expect(self.languages.tag(for: LanguageWishes(uiLocales: nil), browser) == "en")
    }

    @Test("A person of an unknown language gets the usual one", arguments: [("de", "de"), ("fr", "en"), (nil, "en")])
    func unknown(tag: String?, found: String) {
        #expect(self.languages.language(tagged: tag).tag == found)
    }

    @Test("The catalogue has English first, and each language once")
    func catalogue() {
        let tags = Languages.catalogue.all.map(\.tag)
        #expect(tags.first == "en" && Set(tags).count == tags.count)
    }
}

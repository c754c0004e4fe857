import Passwords
import Testing
import _Primitives

@Suite("Decisions 27 and 128: recovery codes have 65 bits and are read as people write them")
struct RecoveryCodeTests {
    private func letters(_ code: RecoveryCode?) -> String? {
        code.map { $0.withBytes { String(decoding: $0, as: UTF8.self) } }
    }

    /// A code of the letters with these numbers.
    private func code(_ numbers: [UInt8]) -> RecoveryCode {
        RecoveryCode(random: RandomSource { Array(numbers.prefix($0)) })
    }

    @Test("Each letter carries five bits, whatever the byte's others are")
    func alphabet() {
        #expect(self.code([0, 9, 10, 17, 18, 19, 20, 21, 22, 26, 27, 31, 9]).shownOnce == "09AH-JKMN-PTVZ9")
        #expect(
            self.code([0, 9, 10, 17, 18, 19, 20, 21, 22, 26, 27, 31, 9].map { $0 | 0xE0 }).shownOnce
                == "09AH-JKMN-PTVZ9")
        var seen: Set<ExactText> = []
        for number in UInt8(0)..<32 {
            seen.insert(ExactText(self.code([UInt8](repeating: number, count: 13)).shownOnce))
        }
        #expect(seen.count == 32)
        for letter in "ILOU" { #expect(!seen.contains { $0.text.contains(letter) }) }
    }

    @Test("A person gets ten, each another, even where chance repeats itself")
    func set() {
        let codes = RecoveryCode.set(random: .system)
        #expect(codes.count == 10)
        #expect(Set(codes.map { ExactText($0.shownOnce) }).count == 10)
        let calls = Calls()
        let repeating = RecoveryCode.set(random: RandomSource { [UInt8](repeating: calls.next() / 3, count: $0) })
        #expect(Set(repeating.map { ExactText($0.shownOnce) }).count == 10)
    }

    @Test("What is shown is what is read, however it is written")
    func readsWhatItShows() throws {
        var random = SystemRandomNumberGenerator()
        for code in (0..<50).flatMap({ _ in RecoveryCode.set(random: .system) }) {
            var typed = ""
            for letter in code.shownOnce.unicodeScalars {
                let spellings: [String] =
                    switch letter {
                    case "0": ["0", "o", "O"]
                    case "1": ["1", "i", "I", "l", "L"]
                    case "-": ["-", "", " ", "\u{2011}", "\u{2013}", " - ", "\u{A0}"]
                    default: [String(letter), String(letter).asciiLowercased]
                    }
                typed += spellings.randomElement(using: &random)!
            }
            let read = try #require(RecoveryCode(typed: typed))
            #expect(read == code)
            #expect(self.letters(read) == self.letters(code))
        }
    }

    @Test("A code from before, of twelve letters, is read, and a code of thirteen letters is another one")
    func formerCodes() throws {
        let former = try #require(RecoveryCode(typed: "09AH-JKMN-PTVZ"))
        #expect(self.letters(former) == "09AHJKMNPTVZ")
        #expect(former.shownOnce == "09AH-JKMN-PTVZ")
        #expect(former != RecoveryCode(typed: "09AH-JKMN-PTVZ0"))
        #expect(RecoveryCode.set(random: .system).allSatisfy { self.letters($0)?.utf8.count == 13 })
    }

    @Test(
        "Anything else is no code",
        arguments: [
            "", "09AH-JKMN-PTV", "09AH-JKMN-PTVZ-99", "09AH-JKMN-PTVU", "09AH-JKMN-PTV*", "09AH_JKMN_PTVZ",
            "09AH-JKMN-PTVZ\n",
            "09AH-JKMN-PTV\u{FF3A}", "09AH-\u{212A}KMN-PTVZ", "09AH-JKMN-PTVZ\u{301}", "09AH-JKMN-PTV\u{1F600}",
            "09AH-JKMN-PTVZ" + String(repeating: "-", count: 51), String(repeating: "0", count: 100_000),
        ])
    func refused(typed: String) {
        #expect(RecoveryCode(typed: typed) == nil)
    }

    @Test("Codes that differ in a letter are not equal, and nothing that prints one shows it")
    func showsNothing() throws {
        let code = try #require(RecoveryCode(typed: "09ah-jkmn-ptvz"))
        #expect(code != RecoveryCode(typed: "09ah-jkmn-ptvy"))
        #expect(code == RecoveryCode(typed: "O9AHJKMNPTVZ"))
        var dumped = ""
        dump(code, to: &dumped)
        for text in ["\(code)", String(reflecting: code), dumped] {
            #expect(!text.contains("09AH") && !text.contains("JKMN"))
        }
    }
}

/// Counts how often it was asked.
private final class Calls: @unchecked Sendable {
    // Safe to share: one test asks, one call after another.
    private var count: UInt8 = 0
    func next() -> UInt8 {
        defer { self.count += 1 }
        return self.count
    }
}

import Passwords
import Testing
import _Primitives

@Suite("RFC 8265 §4.2: a password has one spelling, and never shows it")
struct PasswordTests {
    private func bytes(_ text: String, limits: PasswordLimits = PasswordLimits()) throws -> [UInt8] {
        try Password(typed: text, limits: limits).withBytes { Array($0) }
    }

    private func refusal(_ text: String, limits: PasswordLimits = PasswordLimits()) -> PasswordRefusal.Code? {
        do throws(PasswordRefusal) {
            _ = try Password(typed: text, limits: limits)
            return nil
        } catch { return error.code }
    }

    @Test(
        "What the RFC takes (§4.3), as it takes it",
        arguments: [
            ("correct horse battery staple", "correct horse battery staple"),
            ("Correct Horse Battery Staple", "Correct Horse Battery Staple"),
            ("\u{3C0}\u{DF}\u{E5}", "\u{3C0}\u{DF}\u{E5}"),
            ("Jack of \u{2666}s", "Jack of \u{2666}s"),
            ("foo\u{1680}bar", "foo bar"),
        ])
    func examples(typed: String, hashed: String) throws {
        #expect(try self.bytes(typed) == Array(hashed.utf8))
    }

    @Test("What keyboards compose and what they do not is the same password")
    func composed() throws {
        #expect(try self.bytes("Fu\u{308}\u{DF}e") == Array("F\u{FC}\u{DF}e".utf8))
        // ANGSTROM SIGN, and a syllable of Hangul as its letters.
        #expect(try self.bytes("\u{212B}") == [0xC3, 0x85])
        #expect(try self.bytes("\u{1112}\u{1161}\u{11AB}") == Array("\u{D55C}".utf8))
        #expect(try Password(typed: "e\u{301}") == Password(typed: "\u{E9}"))
        // Compatibility and case are not touched.
        #expect(try Password(typed: "\u{FB01}") != Password(typed: "fi"))
        #expect(try Password(typed: "A") != Password(typed: "a"))
        #expect(try self.bytes("a\u{A0}\u{3000}b") == Array("a  b".utf8))
        #expect(try self.bytes("\u{915}\u{94D}\u{200D}").count == 9)
    }

    @Test(
        "What nobody sees or Unicode does not know is refused",
        arguments: [
            "my cat is a \u{9}by", "a\u{0}", "\u{7F}", "a\u{200B}b", "a\u{200D}b", "a\u{202E}b", "\u{FEFF}", "a\u{AD}b",
            "a\u{2028}b", "\u{E000}", "\u{378}", "\u{FFFE}", "\u{FE0F}", "\u{1160}", "\u{1100}", "\u{640}", "\u{3031}",
            "\u{E0041}", "\u{A}",
        ])
    func forbidden(typed: String) {
        #expect(self.refusal(typed) == .forbiddenCharacter)
    }

    @Test("A password has a length, counted in characters after composing")
    func lengths() throws {
        var limits = PasswordLimits()
        limits.fewestCharacters = 3
        limits.mostCharacters = 4
        #expect(self.refusal("", limits: limits) == .empty)
        #expect(self.refusal("12345", limits: limits) == .tooLong)
        let four = try Password(typed: "\u{1112}\u{1161}\u{11AB}u\u{308}12", limits: limits)
        #expect(four.characterCount == 4)
        try four.checkAsNew(limits: limits)
        // It may have been set elsewhere; it may not be set here.
        let short = try Password(typed: "e\u{301}1", limits: limits)
        #expect(throws: PasswordRefusal(.tooShort)) { try short.checkAsNew(limits: limits) }
        // Bounded before any work: by bytes, and by marks in a row.
        #expect(self.refusal(String(repeating: "a", count: 1_000_000), limits: limits) == .tooLong)
        #expect(self.refusal("a" + String(repeating: "\u{301}\u{323}", count: 20)) == .tooLong)
    }

    @Test("Nothing that prints it shows it")
    func showsNothing() throws {
        let password = try Password(typed: "hunter2hunter2")
        var dumped = ""
        dump(password, to: &dumped)
        for text in [
            "\(password)", String(reflecting: password), dumped, "\([password])", "\(PasswordRefusal(.breached))",
        ] {
            #expect(!text.contains("hunter2"), "\(text)")
        }
    }

    @Test("Whatever is typed, its one spelling is its own one spelling")
    func idempotent() throws {
        var random = SystemRandomNumberGenerator()
        let pieces: [ClosedRange<UInt32>] = [
            0x20...0x7E, 0x20...0x7E, 0xA0...0x24F, 0x300...0x36F, 0x370...0x5FF, 0x900...0x97F, 0x1100...0x11FF,
            0x1E00...0x206F,
            0x2F00...0x30FF, 0xAC00...0xACFF, 0xF900...0xFAFF, 0x1F300...0x1F6FF,
        ]
        var taken = 0
        for _ in 0..<4000 {
            var scalars = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                let value = UInt32.random(in: pieces.randomElement(using: &random)!, using: &random)
                if let scalar = Unicode.Scalar(value) { scalars.append(scalar) }
            }
            let typed = String(scalars)
            guard let password = try? Password(typed: typed) else { continue }
            taken += 1
            let once = password.withBytes { Array($0) }
            let spelling = try #require(String(validating: once, as: UTF8.self))
            let twice = try Password(typed: spelling)
            if twice != password || twice.characterCount != password.characterCount {
                Issue.record("\(typed.unicodeScalars.map { String($0.value, radix: 16) })")
            }
        }
        #expect(taken > 400)
    }
}

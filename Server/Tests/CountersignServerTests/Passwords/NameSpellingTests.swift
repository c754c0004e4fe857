import Accounts
import CountersignServer
import HTTPTypes
import HummingbirdTesting
import Settings
import Testing
import _Primitives

@Suite("A name has one key before every counter and look-up, whatever its spelling (threat model: enumeration)")
struct NameSpellingTests {
    /// Spellings of a name of five letters: letters of either case, and white space at the ends.
    static func spellings(of name: String) -> [String] {
        let letters = Array(name.unicodeScalars)
        let cases = (0..<32).map { pattern in
            String(
                String.UnicodeScalarView(
                    letters.enumerated().map { index, letter in
                        pattern >> index & 1 == 1 ? Unicode.Scalar(UInt8(letter.value) & 0xDF) : letter
                    }))
        }
        let spaces = [" ", "\t", "\n", "\u{A0}", "\u{2003}", "\u{3000}"]
        return cases + spaces.flatMap { ["\($0)\(name)", "\(name)\($0)", "\($0)\(name.asciiUppercased)\($0)"] }
    }

    @Test("50 spellings of a known and of an unknown name get the same pages, and wrong ones count for one name")
    func knownAndUnknown() async throws {
        var limits = Limits()
        limits.passwords.passwordAttempts = 3
        try await PasswordPlace.run(limits: limits) { place in
            let (known, unknown) = (Self.spellings(of: "alice"), Self.spellings(of: "nobod"))
            #expect(known.count == 50)
            func statuses(_ names: [String]) async throws -> [HTTPResponse.Status] {
                var found: [HTTPResponse.Status] = []
                for name in names {
                    let request = try await place.begin()
                    found.append(try await place.show("wrong", as: name, request).status)
                }
                return found
            }
            #expect(try await statuses(known) == statuses(unknown))
            // The wrong ones of all spellings were the account's: the right password rests with them, in each spelling.
            for name in ["alice", "ALICE", " Alice"] {
                let request = try await place.begin()
                #expect(try await place.show(PasswordPlace.password, as: name, request).status != .seeOther, "\(name)")
            }
        }
    }

    @Test("the right password signs in by every spelling, to the one account")
    func signsIn() async throws {
        try await PasswordPlace.run { place in
            for name in ["ALICE", " alice\u{A0}", "aLiCe"] {
                let browser = TestBrowser(place.client)
                let request = try await place.begin(browser)
                #expect(try await place.show(PasswordPlace.password, as: name, request, browser).status == .seeOther)
            }
            let refused = try await place.begin()
            #expect(try await place.show(PasswordPlace.password, as: "al\u{130}ce", refused).status != .seeOther)
        }
    }
}

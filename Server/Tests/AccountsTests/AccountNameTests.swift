import Accounts
import Foundation
import FreshStores
import Records
import SQLStore
import Sealing
import Settings
import Testing
import _Primitives

@Suite("User names are bounded and brought into their one spelling where they enter, and are bytes from there on")
struct AccountNameTests {
    private static let limits = Limits()

    @Test("Two spellings are one name, of the same bytes; a name of other letters is another one")
    func spellings() throws {
        let names = try ["zoe\u{308}", "zo\u{EB}"].map { try #require(AccountName($0, limits: Self.limits)) }
        #expect(names[0] == names[1] && Set(names).count == 1)
        #expect(names.allSatisfy { $0.text.utf8.elementsEqual("zo\u{EB}".utf8) && $0 == "zoe\u{308}" })
        // The KELVIN SIGN is not the same letter as K, but its one spelling is.
        #expect(AccountName("\u{212A}im", limits: Self.limits) == "Kim")
        #expect(AccountName("kim", limits: Self.limits) != "Kim")
        // As a store gives it back nothing is composed any more.
        #expect(AccountName(stored: "zoe\u{308}") != names[0])
    }

    @Test("A to Z have no case and white space at the ends counts for nothing; other letters are as they are")
    func keys() throws {
        for written in ["kim", "KIM", "Kim", " kim", "kim\u{A0}", "\u{2003}kIm\n", "\u{212A}im"] {
            #expect(try #require(AccountName(written, limits: Self.limits)).key == "kim", "\(written)")
        }
        #expect(AccountName(" Kim ", limits: Self.limits)?.text == "Kim", "the spelling stays")
        #expect(AccountName("\u{130}", limits: Self.limits)?.key == "\u{130}")
        #expect(AccountName(" \u{A0}\n", limits: Self.limits) == nil)
        for (written, hasOthers) in [
            ("KIM", false), ("ZOE\u{308}", true), ("zo\u{EB}", false), ("\u{130}da", true), ("\u{1E9E}", true),
            ("stra\u{DF}e", false), ("\u{416}", true), ("\u{436}", false),
        ] {
            #expect(AccountName(written, limits: Self.limits)?.hasOtherCapitals == hasOthers, "\(written)")
        }
    }

    @Test("What is too long as it was written is no name, however short its one spelling is")
    func bounds() {
        let most = Self.limits.usernameCharacters
        for (text, isName) in [
            ("", false), ("a", true), (String(repeating: "a", count: most), true),
            (String(repeating: "a", count: most + 1), false), (String(repeating: "e\u{301}", count: most / 2), true),
            (String(repeating: "e\u{301}", count: most / 2 + 1), false),
            (String(repeating: "\u{1F600}", count: most), true),
            ("e" + String(repeating: "\u{301}", count: 60_000), false),
        ] {
            #expect(
                (AccountName(text, limits: Self.limits) != nil) == isName, "\(text.unicodeScalars.count) characters")
        }
    }

    @Test("An account that is added or renamed by one spelling is found, and is in the way, by another one")
    func directory() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let database = try FreshStore.open(in: folder, key: KeyEncryptionKey())
        let directory = AccountDirectory(store: database, endOfSessions: { _ in { _ in nil } })
        let zoe = try await directory.create(username: "zoe\u{308}", displayName: nil, by: "operator")
        #expect(zoe.reference.text.utf8.elementsEqual("zo\u{EB}".utf8))
        for written in ["zoe\u{308}", "zo\u{EB}"] {
            #expect(try await directory.account(written: written) == zoe)
            await #expect(throws: AccountError(.conflict)) {
                try await directory.create(username: written, displayName: nil, by: "operator")
            }
        }
        let jose = try await directory.rename("zoe\u{308}", username: "jose\u{301}", by: "operator")
        #expect(jose.id == zoe.id && jose.reference.text.utf8.elementsEqual("jos\u{E9}".utf8))
        #expect(try await directory.account(written: "jose\u{301}") == jose)
        // The same name in another spelling is no change, and leaves no entry.
        let entries = try await database.auditEntries(after: 0, limit: 99).count
        #expect(try await directory.rename("jos\u{E9}", username: "jose\u{301}", by: "operator") == jose)
        #expect(try await database.auditEntries(after: 0, limit: 99).count == entries)
        for written in ["JOS\u{C9}", "\u{130}da"] {
            await #expect(throws: AccountError(.invalidRequest)) {
                try await directory.create(username: written, displayName: nil, by: "operator")
            }
        }
        // Whoever has a name keeps the spelling that was written last.
        let shown = try await directory.rename("jos\u{E9}", username: "Jos\u{E9}", by: "operator")
        #expect(shown.reference.text == "Jos\u{E9}")
        #expect(try await directory.account(written: " JOS\u{E9} ") == shown)
        for written in ["", "zo\u{EB}", String(repeating: "e\u{301}", count: 65)] {
            await #expect(throws: AccountError(.notFound)) { try await directory.account(written: written) }
        }
        await database.close()
    }
}

import Ceremony
import CeremonyEngine
import Testing
import _Primitives

@Suite("The text of a change of an account: ours but for a quoted name")
struct AccountChangeTextTests {
    private static let names = [
        "", "Staff", "Zoë", "a\u{201D} and give everything away. \u{201C}", "\"x\"", "two\nlines", "\u{202E}evil",
        "\u{0}",
        "e\u{301}\u{301}\u{301}", String(repeating: "x", count: 10_000), String(repeating: "\u{1F600}", count: 500),
        String(repeating: "e\u{301}", count: 300), "\u{1B}[2Jhidden",
    ]

    private static func changes(_ name: String) -> [AccountChange] {
        [
            .endOfDevice(id: "id", name: name), .provider(name: "staff", title: name), .email(name), .phone(name),
            .returnOfDevice(id: "id", name: name), .device, .password, .secondFactor, .recoveryCodes,
        ]
    }

    @Test("is a transaction's text of at most 200 characters, whatever the name is", arguments: Self.names)
    func text(name: String) throws {
        for change in Self.changes(name) {
            let text = try TransactionText(normalizing: change.text)
            #expect(text.text.unicodeScalars.count <= TransactionText.maximumLength)
            #expect(text.text.hasPrefix("Change your account: "))
            #expect(text.text.hasSuffix("Decline unless you asked for this in your own browser just now."))
        }
    }

    @Test("quotes at most 32 characters of a name, which cannot end the quotation", arguments: Self.names)
    func quotation(name: String) throws {
        for change in Self.changes(name).prefix(5) {
            let parts = change.text.split(omittingEmptySubsequences: false) { $0 == "\u{201C}" || $0 == "\u{201D}" }
            #expect(parts.count == 3 && parts[1].unicodeScalars.count <= 32, "\(change.text)")
        }
    }

    @Test("shows of a long address where it begins and where it ends: whose the address is stands at the end")
    func address() {
        let text = AccountChange.email("alice.alice.alice.alice@" + String(repeating: "a", count: 40) + ".evil.example")
            .text
        #expect(text.contains("\u{201C}alice.alice.ali…aaa.evil.example\u{201D}"), "\(text)")
    }
}

import Ceremony
import CeremonyEngine
import Testing
import _Primitives

@Suite("Names from elsewhere, as they are kept and signed")
struct ShownLineTests {
    private static func name(_ letter: String, _ count: Int, _ ending: String = "") -> String {
        String(repeating: letter, count: count) + ending
    }

    /// Compared by its bytes: strings are the same where they look the same.
    private func expect(_ shown: String, _ expected: String, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(Array(shown.utf8) == Array(expected.utf8), sourceLocation: sourceLocation)
    }

    @Test(
        "A name is as long as it can be, and one that is longer ends in an ellipsis within that length",
        arguments: [
            ("abcdefg", "abcdefg"), ("abcdefgh", "abcdefgh"), ("abcdefghi", "abcdefg…"),
            (name("a", 9000), name("a", 7, "…")), (name("é", 8), name("é", 8)), (name("é", 9), name("é", 7, "…")),
        ])
    func cuts(name: String, shown: String) { self.expect(DisplayText.name(name, length: 8), shown) }

    @Test(
        "Characters are counted in the normal form, whether that is shorter or longer, and no letter loses its marks",
        arguments: [
            // Composed: one character each.
            (name("e\u{301}", 8), name("é", 8)), (name("e\u{301}", 9), name("é", 7, "…")),
            // Never composed: two each.
            (name("\u{958}", 4), name("\u{915}\u{93C}", 4)), (name("\u{958}", 5), name("\u{915}\u{93C}", 3, "…")),
            ("a" + name("\u{958}", 4), "a" + name("\u{915}\u{93C}", 3, "…")),
            // The mark would be the eighth, and the ninth.
            ("abcdefx\u{301}ghi", "abcdef…"), ("abcdefgx\u{301}", "abcdefg…"), ("abcdefx\u{301}", "abcdefx\u{301}"),
            // Nothing but marks.
            (name("\u{301}", 9), "…"),
        ])
    func countsTheNormalForm(name: String, shown: String) { self.expect(DisplayText.name(name, length: 8), shown) }

    @Test("Of what is shown nothing is longer than it may be, and nothing forbidden")
    func isNeverLonger() {
        let scalars: [Unicode.Scalar] = ["a", "é", "\u{301}", "\u{958}", "\u{1D160}", "\u{202E}", "\u{1B}", "字"]
        for _ in 0..<2000 {
            let text = (0..<Int.random(in: 0..<40)).compactMap { _ in scalars.randomElement() }
            let shown = DisplayText.name(String(String.UnicodeScalarView(text)), length: 16)
            #expect(shown.unicodeScalars.count <= 16, "\(text)")
            #expect(!shown.unicodeScalars.contains(where: DisplayText.isForbidden), "\(text)")
        }
    }

    @Test(
        "A service with the longest name that a client can have is signed in to",
        arguments: [name("a", 128), name("é", 128), name("e\u{301}", 64), name("\u{958}", 128), name("a", 129)])
    func theLongestNameIsSigned(name: String) async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode(named: name)
        _ = try await phone.start(code)
        let prepared = try await phone.prepared(code.id)
        let document = try SessionDocument(parsing: prepared.document)
        self.expect(document.service.name, DisplayText.name(name, length: SessionDocument.maximumNameLength))
        guard case .accepted = try await phone.finish(code.id, prepared) else {
            Issue.record("refused")
            return
        }
    }

    @Test("A server whose own name is too long for a document says as much of it as fits")
    func aLongNameOfTheServer() async throws {
        let server = try TestServer { $0.serviceName = Self.name("a", 500) }
        let (_, phone) = try await server.personalise()
        let (_, prepared) = try await phone.granted(.changePin)
        self.expect(try SessionDocument(parsing: prepared.document).service.name, Self.name("a", 127, "…"))
    }
}

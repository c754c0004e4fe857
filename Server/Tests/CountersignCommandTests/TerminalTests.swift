import Testing

@testable import CountersignCommand

@Suite("countersign: what a terminal shows")
struct TerminalTests {
    @Test("columns are aligned, and escape sequences of others are taken out")
    func table() {
        #expect(Terminal.table([["a", "b"], ["lo\u{1B}[31mng", "c"]]) == "a     b\nlong  c")
    }

    @Test("lines of a server's words stay lines, and nothing in them steers the terminal")
    func safe() {
        #expect(Terminal.safe("a\u{1B}[2Jb\n\u{9B}1mc\u{202E}") == "ab\nc\u{FFFD}")
        #expect(Terminal.safe(String(repeating: "x", count: 5000)).count == 5000)
    }

    @Test(
        "a name becomes one segment of a path",
        arguments: [("alice", "alice"), ("a/b?c", "a%2Fb%3Fc"), ("é", "%C3%A9")])
    func segments(name: String, segment: String) { #expect(name.pathSegment == segment) }
}

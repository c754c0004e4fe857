import Countersign
import Foundation
import Testing

@testable import PhoneCommand

@Suite("countersign-phone: nothing of a server's steers or hides on the terminal")
struct PhoneTerminalTests {
    private static let hostile = "a\u{1B}]0;title\u{7}\u{1B}[2J\u{9B}1m\u{202E}b\u{200B}\r\u{8}c\u{1B}"

    /// What a terminal was given.
    private static func written(isColoured: Bool = false, _ body: (PhoneTerminal) -> Void) throws -> String {
        let pipe = Pipe()
        body(PhoneTerminal(writingTo: pipe.fileHandleForWriting, isColoured: isColoured))
        try pipe.fileHandleForWriting.close()
        return String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    }

    private static func steers(_ text: String) -> Bool {
        text.unicodeScalars.contains { scalar in
            switch scalar.properties.generalCategory {
            case .control: scalar != "\n"
            case .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: true
            default: false
            }
        }
    }

    static let ways: [@Sendable (PhoneTerminal, String) -> Void] = [
        { $0.print($1) }, { $0.print($1, .bold) }, { $0.success($1) }, { $0.failure($1) }, { $0.notice($1) },
        { $0.list([(name: $1, value: $1)]) }, { $0.box(title: $1, text: $1) },
        { $0.table(title: $1, rows: [(name: $1, value: $1)]) },
        { $0.failure(Refusal(OperationError(.unknown, $1)).sentence) },
        { $0.failure(Refusal(OperationError.fido(.protocolError, $1)).sentence) },
        { $0.failure(Refusal(TransportError(.unreachable, $1)).sentence) },
    ]

    @Test("Whatever is written, in whichever way", arguments: ways.indices)
    func everyWay(index: Int) throws {
        let plain = try Self.written { Self.ways[index]($0, Self.hostile) }
        #expect(!Self.steers(plain) && plain.contains("a") && plain.hasSuffix("\n"))
        let coloured = try Self.written(isColoured: true) { Self.ways[index]($0, Self.hostile) }
        // The looks of this program itself.
        let left = coloured.replacing(#/\u{1B}\[(?:0|(?:1|2|31|32|33|36)(?:;1)?)m/#, with: "")
        #expect(!Self.steers(left))
    }

    @Test("A sentence is one line, whatever is in it")
    func oneLine() throws {
        let shown = try Self.written { $0.failure("no\n✓ Approved.") }
        #expect(shown == "✗ no\u{FFFD}✓ Approved.\n")
    }

    @Test("Lines of a text stay lines, and a payment's values stay whole")
    func lines() throws {
        #expect(try Self.written { $0.list([(name: "n", value: "a\nb")]) } == "  n  a\n     b\n")
        let table = try Self.written { $0.table(title: "t", rows: [(name: "To", value: "\u{FF9E}Jo")]) }
        #expect(table.unicodeScalars.contains("\u{FF9E}"))
    }
}

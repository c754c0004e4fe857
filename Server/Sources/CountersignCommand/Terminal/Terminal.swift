import Ceremony
import Foundation
import _Primitives

/// The terminal that a command runs in, if the command runs in a terminal.
enum Terminal {
    /// `true` if a person reads the output.
    static var isInteractive: Bool { isatty(1) == 1 }

    /// Prints lines at once, because a reader of a pipe or a file waits for the lines as a person does. The function
    /// makes every text safe for a terminal, whatever the text's source.
    static func standardOutput(_ text: String, terminator: String = "\n") {
        try? FileHandle.standardOutput.write(contentsOf: Data((self.safe(text) + terminator).utf8))
    }

    /// Prints JSON in a line, for scripts, and safe for a terminal.
    static func standardOutput(json: JSON) {
        try? FileHandle.standardOutput.write(contentsOf: Data((DisplayText.json(json.text) + "\n").utf8))
    }

    static func standardError(_ text: String) {
        FileHandle.standardError.write(Data((self.safe(text) + "\n").utf8))
    }

    /// Asks for a line; `nil` at the end of input.
    static func ask(_ question: String) -> String? {
        FileHandle.standardError.write(Data(self.safe(question).utf8))
        return readLine()
    }

    /// Returns the lines of a text without escape sequences, and without characters that hide or reorder text.
    static func safe(_ text: String) -> String {
        DisplayText.lines(text, maximumLength: .max).joined(separator: "\n")
    }

    /// Returns the first line of standard input, for a secret that must not stand on a command line.
    static func secretFromStandardInput() throws -> String {
        guard let line = readLine(), !line.isEmpty else {
            throw CommandFailure(.usage, "nothing came on standard input")
        }
        return line
    }

    /// Returns a table whose columns are as wide as their widest entry, with two blanks between columns. Texts are safe
    /// for a terminal.
    static func table(_ rows: [[String]]) -> String {
        let shown = rows.map { $0.map { DisplayText.line($0) } }
        let columns = shown.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in shown.compactMap { $0.dropFirst(column).first?.count }.max() ?? 0 }
        return shown.map { row in
            zip(row, widths).map { $0.padding(toLength: max($1, $0.count), withPad: " ", startingAt: 0) }
                .joined(separator: "  ")
                .replacing(#/ +$/#, with: "")
        }.joined(separator: "\n")
    }
}

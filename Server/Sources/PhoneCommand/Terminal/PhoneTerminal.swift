import Ceremony
import Foundation
import _Primitives

/// The terminal that a person at the keyboard reads and types at.
///
/// Every text goes through `DisplayText` here, whatever its source: no escape sequence and no invisible character of a
/// server reaches the terminal. Only this file writes escape sequences.
struct PhoneTerminal: Sendable {
    /// The styles of a piece of text.
    enum Style: String {
        case bold = "1"
        case dim = "2"
        case good = "32"
        case warning = "33"
        case bad = "31"
        case accent = "36"
    }

    /// `true` if somebody can answer questions.
    let isInteractive: Bool
    private let isColoured: Bool
    private let width: Int
    /// The stream for words: the standard error stream while the standard output carries JSON.
    private let output: FileHandle

    /// Makes a terminal without a person, which writes to a file.
    init(writingTo output: FileHandle, isColoured: Bool = false) {
        self.isInteractive = false
        self.isColoured = isColoured
        self.width = PhoneLimits.usualColumns
        self.output = output
    }

    /// Makes the terminal of this process. With `machineReadable`, words go to the standard error stream, and nothing
    /// is asked.
    init(machineReadable: Bool) {
        let descriptor: Int32 = machineReadable ? 2 : 1
        self.isInteractive = !machineReadable && isatty(0) == 1 && isatty(1) == 1
        self.isColoured = isatty(descriptor) == 1 && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
        self.output = machineReadable ? .standardError : .standardOutput
        var size = winsize()
        let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        let columns = isKnown ? Int(size.ws_col) : PhoneLimits.usualColumns
        self.width = min(max(columns, PhoneLimits.columns.lowerBound), PhoneLimits.columns.upperBound)
    }

    /// Returns a line that is safe to display, in a style.
    private func styled(_ text: String, _ styles: Style...) -> String { self.styled(text, styles) }

    private func styled(_ text: String, _ styles: [Style]) -> String {
        let shown = DisplayText.line(text, maximumLength: PhoneLimits.lineCharacters)
        guard self.isColoured, !styles.isEmpty else { return shown }
        return "\u{1B}[\(styles.map(\.rawValue).joined(separator: ";"))m\(shown)\u{1B}[0m"
    }

    /// Prints a line.
    func print(_ text: String = "", _ styles: Style...) { self.write(self.styled(text, styles) + "\n") }

    /// Writes to the terminal. All output goes through this function, and its argument is already safe.
    private func write(_ text: String) { try? self.output.write(contentsOf: Data(text.utf8)) }

    /// Prints a line about a success.
    func success(_ text: String) { self.write("\(self.styled("✓", .good, .bold)) \(self.styled(text))\n") }
    /// Prints a line about a failure.
    func failure(_ text: String) { self.write("\(self.styled("✗", .bad, .bold)) \(self.styled(text))\n") }
    /// Prints a line that a person should know.
    func notice(_ text: String) { self.write("\(self.styled("!", .warning, .bold)) \(self.styled(text))\n") }

    /// Prints names and values below each other. Values of several lines are indented.
    func list(_ rows: [(name: String, value: String)]) {
        let column = (rows.map(\.name.count).max() ?? 0) + 2
        for row in rows {
            let lines = BoxText.wrap(Self.safe(row.value), width: self.width - column - 2)
            for (index, line) in lines.enumerated() {
                let name = index == 0 ? row.name : ""
                let padding = String(repeating: " ", count: column - name.count)
                self.write("  \(self.styled(name, .dim))\(padding)\(self.styled(line))\n")
            }
        }
    }

    /// Prints a text in a frame, for example the text that the person is about to sign. Characters that are unsafe to
    /// display are replaced or removed, a line beyond ``PhoneLimits/lineCharacters`` ends in an ellipsis, and lines are
    /// wrapped at the terminal's width.
    func box(title: String, text: String) {
        for line in BoxText.box(title: Self.safe(title), text: Self.safe(text), width: self.width) { self.print(line) }
    }

    /// Prints names and values in a frame, for example the fields of the payment that the person is about to sign. The
    /// texts are made safe and wrapped as in ``box(title:text:)``.
    func table(title: String, rows: [(name: String, value: String)]) {
        let rows = rows.map { (name: Self.safe($0.name), value: Self.safe($0.value)) }
        for line in BoxText.table(title: Self.safe(title), rows: rows, width: self.width) { self.print(line) }
    }

    /// Makes each line of a text safe to display. This happens before the layout, so that the text has its displayed
    /// width.
    private static func safe(_ text: String) -> String {
        DisplayText.lines(text, maximumLength: PhoneLimits.lineCharacters).joined(separator: "\n")
    }

    /// Counts seconds down on one line. Throws `CancellationError`.
    func countDown(_ seconds: Int, _ words: String) async throws {
        guard seconds > 0 else { return }
        for left in stride(from: seconds, to: 0, by: -1) {
            self.write("\r\(self.styled(words)) \(left) s ")
            try await Task.sleep(for: PhoneLimits.countDownStep)
        }
        self.write("\r\(String(repeating: " ", count: words.count + 12))\r")
    }

    // MARK: - Questions

    /// Asks until the answer is yes or no; the end of the input is a no.
    func confirm(_ question: String) async throws -> Bool {
        while true {
            self.write("\(self.styled(question)) \(self.styled("[y/n]", .dim)) ")
            guard let answer = try await self.readLine() else { return false }
            switch answer.trimmingCharacters(in: .whitespaces).asciiLowercased {
            case "y", "yes": return true
            case "n", "no": return false
            default: continue
            }
        }
    }

    /// Asks for a line of text; `nil` at the end of the input.
    func readAnswer(_ question: String) async throws -> String? {
        self.write(self.styled(question))
        return try await self.readLine()?.trimmingCharacters(in: .whitespaces)
    }

    /// The person's answer to a request.
    enum Decision: Sendable {
        case agreed, denied
        /// The person did not begin the request.
        case disowned
    }

    /// Asks the person to agree to a request or to deny the request. The end of the input is a denial.
    func decide(_ question: String) async throws -> Decision {
        while true {
            self.write("\(self.styled(question)) \(self.styled("[y/n] (m: it was not me)", .dim)) ")
            guard let answer = try await self.readLine() else { return .denied }
            switch answer.trimmingCharacters(in: .whitespaces).asciiLowercased {
            case "y", "yes": return .agreed
            case "n", "no": return .denied
            case "m", "not me": return .disowned
            default: continue
            }
        }
    }

    /// Lets the person choose one of several; `nil` at the end of the input.
    func choose(_ question: String, _ choices: [String]) async throws -> Int? {
        self.print(question)
        for (index, choice) in choices.enumerated() {
            self.write("  \(self.styled("\(index + 1)", .accent))  \(self.styled(choice))\n")
        }
        while true {
            self.write("Number: ")
            guard let answer = try await self.readLine() else { return nil }
            if let number = Int(answer.trimmingCharacters(in: .whitespaces)), choices.indices.contains(number - 1) {
                return number - 1
            }
            self.failure("Type a number from 1 to \(choices.count), or Ctrl-D to give up.")
        }
    }

    /// Reads a secret; each letter shows as a dot. `nil` if the person gives up (Escape, Ctrl-C, Ctrl-D).
    func readSecret(_ prompt: String) async throws -> String? {
        // This comes before the prompt: letters that are typed as soon as the prompt shows must not be echoed.
        let keyboard = RawKeyboard()
        self.write(self.styled(prompt))
        defer {
            keyboard.restore()
            self.print()
        }
        var typed = ""
        while true {
            guard let byte = try await Self.readByte() else { return nil }
            switch byte {
            case 0x0A, 0x0D: return typed
            case 0x03, 0x04, 0x1B: return nil
            case 0x08, 0x7F:
                guard !typed.isEmpty else { continue }
                typed.removeLast()
                self.write("\u{8} \u{8}")
            case 0x20...0x7E:
                guard typed.count < PhoneLimits.secretLetters else { continue }
                typed.unicodeScalars.append(Unicode.Scalar(byte))
                self.write("•")
            default: continue
            }
        }
    }

    /// Reads a line; `nil` at the end of the input.
    func ask(_ prompt: String) async throws -> String? {
        self.write(self.styled(prompt))
        return try await self.readLine()
    }

    private func readLine() async throws -> String? {
        var bytes: [UInt8] = []
        while let byte = try await Self.readByte() {
            if byte == 0x0A { return String(decoding: bytes, as: UTF8.self) }
            if bytes.count < PhoneLimits.answerBytes { bytes.append(byte) }
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the next byte of the standard input. Waits without holding a thread, so that a timeout can end the
    /// question.
    private static func readByte() async throws -> UInt8? {
        while true {
            try Task.checkCancellation()
            var descriptor = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, 0) == 0 else { break }
            try await Task.sleep(for: PhoneLimits.keyboardPause)
        }
        var byte: UInt8 = 0
        return read(0, &byte, 1) == 1 ? byte : nil
    }
}

/// Reads the keyboard letter by letter and without echo, until the keyboard is restored.
private struct RawKeyboard {
    /// The keyboard's settings at the program's start; `nil` without a keyboard.
    static let original: termios? = {
        var attributes = termios()
        return tcgetattr(0, &attributes) == 0 ? attributes : nil
    }()

    init() {
        guard var raw = Self.original else { return }
        raw.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        tcsetattr(0, TCSANOW, &raw)
    }

    func restore() { PhoneTerminal.restoreKeyboard() }
}

extension PhoneTerminal {
    /// Restores the keyboard's original settings, whatever question was open.
    static func restoreKeyboard() {
        guard var original = RawKeyboard.original else { return }
        tcsetattr(0, TCSANOW, &original)
    }
}

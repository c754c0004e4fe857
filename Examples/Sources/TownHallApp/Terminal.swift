import Countersign
import Foundation

/// The app's screens as lines of a terminal. A typed line is a button, or an answer.
struct Terminal: TownHallScreen, BiometricSensor {
    static let buttons = """
        open CODE · identities · sign in · change pin · add finger · new phone · delete account · leave · quit
        """

    func say(_ sentence: String) async { self.print(sentence) }

    func agrees(to question: String) async -> Bool {
        self.print("\(question) yes or no")
        return ["y", "yes"].contains(readLine()?.lowercased())
    }

    func line(_ question: String) async throws -> String {
        self.print(question)
        guard let line = readLine() else { throw GivenUp() }
        return line
    }

    func pin(_ question: String) async throws -> String {
        guard let pin = self.secretLine("\(question); nothing to give up:"), !pin.isEmpty else { throw GivenUp() }
        return pin
    }

    func choice(_ question: String, among names: [String]) async throws -> Int {
        for (number, name) in zip(1..., names) { self.print("  \(number)  \(name)") }
        while true {
            let typed = try await self.line("\(question) A number; nothing to give up")
            guard !typed.isEmpty else { throw GivenUp() }
            if let number = Int(typed), (1...names.count).contains(number) { return number - 1 }
        }
    }

    func openInBrowser(_ address: URL) async {
        self.print("Open this address in the browser that you came from: \(address.absoluteString)")
    }

    func wait(for duration: Duration) async throws { try await Task.sleep(for: duration) }

    /// This machine has no finger reader. The Return key stands for a finger, and any other input for giving up.
    func read(_ prompt: SystemPrompt, allowingDevicePasscode: Bool) async throws -> BiometricReading {
        self.print("\(prompt.reason ?? "The app"): press Return in place of a finger.")
        return readLine() == "" ? .match : .cancelled
    }

    func enrolledSet() async throws -> [UInt8]? { Array("the Return key".utf8) }

    /// Reads a line that the terminal does not show, even if the person types as soon as the question appears.
    private func secretLine(_ question: String) -> String? {
        var shown = termios()
        let isTerminal = tcgetattr(STDIN_FILENO, &shown) == 0
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        if isTerminal { tcsetattr(STDIN_FILENO, TCSANOW, &hidden) }
        defer { if isTerminal { tcsetattr(STDIN_FILENO, TCSANOW, &shown) } }
        self.print(question)
        return readLine()
    }

    /// Prints text. Foreign text, such as a greeting, cannot give orders to the terminal.
    private func print(_ text: String) {
        let letters = text.unicodeScalars.filter { $0 == "\n" || $0.properties.generalCategory != .control }
        FileHandle.standardOutput.write(Data((String(String.UnicodeScalarView(letters)) + "\n").utf8))
    }
}

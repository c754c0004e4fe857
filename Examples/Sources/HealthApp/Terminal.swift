import Countersign
import Foundation

/// The app's screens as lines of a terminal. A typed line is a button.
struct Terminal: HealthScreen, BiometricSensor {
    static let buttons = "sign in · password NAME · records · home page · finger on|off · sign out · quit"

    func show(_ place: HealthApp.Place) async {
        switch place {
        case .home: self.print("[You are signed in]")
        case .signIn(let fields): self.print(fields ? "[Sign in, or type a name and a password]" : "[Sign in]")
        }
    }

    func say(_ sentence: String) async { self.print(sentence) }

    func wantsFingerNextTime() async -> Bool { self.isYes("Use your finger to sign in next time?") }

    /// This machine has no finger reader. The Return key stands for a finger, and any other input for giving up.
    func read(_ prompt: SystemPrompt, allowingDevicePasscode: Bool) async throws -> BiometricReading {
        self.print("\(prompt.reason ?? "The app"): press Return in place of a finger.")
        return readLine() == "" ? .match : .cancelled
    }

    func enrolledSet() async throws -> [UInt8]? { Array("the Return key".utf8) }

    nonisolated func opening(_ address: URL) {
        self.print("Open this address in your browser: \(address.absoluteString)")
    }

    /// Reads a line that the terminal does not show.
    static func secretLine() -> String? {
        var shown = termios()
        guard tcgetattr(STDIN_FILENO, &shown) == 0 else { return readLine() }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &hidden)
        defer { tcsetattr(STDIN_FILENO, TCSANOW, &shown) }
        return readLine()
    }

    private func isYes(_ question: String) -> Bool {
        self.print("\(question) yes or no")
        return ["y", "yes"].contains(readLine()?.lowercased())
    }

    private nonisolated func print(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}

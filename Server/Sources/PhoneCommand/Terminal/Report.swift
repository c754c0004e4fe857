import Ceremony
import Foundation
import _Primitives

/// What a command says: an object of JSON a line for scripts, words for people.
struct Report: Sendable {
    let isJSON: Bool
    let terminal: PhoneTerminal
    /// Where lines of JSON go.
    private let lines: FileHandle

    /// What a command says. With `isAnswerAlone` the standard output carries what ``answer(_:)`` is given and nothing
    /// else: all that is said, failures too, goes to the standard error stream.
    init(isJSON: Bool, isAnswerAlone: Bool = false) {
        self.isJSON = isJSON
        self.terminal = PhoneTerminal(machineReadable: isJSON || isAnswerAlone)
        self.lines = isAnswerAlone ? .standardError : .standardOutput
    }

    /// What a command says in lines of JSON, to a file.
    init(writingLinesTo lines: FileHandle) {
        self.isJSON = true
        self.terminal = PhoneTerminal(machineReadable: true)
        self.lines = lines
    }

    /// Says one thing: `members` as a line of JSON, or else what `words` prints.
    func say(_ members: JSONObject, _ words: (PhoneTerminal) -> Void) {
        guard self.isJSON else { return words(self.terminal) }
        let line = DisplayText.json(JSON.object(members).text) + "\n"
        try? self.lines.write(contentsOf: Data(line.utf8))
    }

    /// Writes what a command was asked for as it is, and a line feed.
    func answer(_ bytes: [UInt8]) { try? FileHandle.standardOutput.write(contentsOf: Data(bytes + [0x0A])) }

    /// Runs a command's work; a failure is said, and ends the program with its status.
    func running(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch {
            let refusal = Refusal(error)
            let members: JSONObject = [
                "event": .string("finished"), "outcome": .outcome(refusal.outcome), "reason": .string(refusal.reason),
                "message": .string(refusal.sentence),
            ]
            self.say(members) { $0.failure(refusal.sentence) }
            throw Ended(status: refusal.status)
        }
    }
}

extension JSONObject {
    /// Sets a member to a text, or leaves it out.
    mutating func set(_ name: String, _ text: String?) {
        if let text { self[name] = .string(text) }
    }
}

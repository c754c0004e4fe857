import Ceremony
import Countersign
import Foundation
import _Primitives

/// The output of a command: one object of JSON a line for scripts, words for people.
struct Report: Sendable {
    let isJSON: Bool
    let terminal: PhoneTerminal
    /// The language of errors of the SDK.
    private let language: any MessageLanguage
    /// The stream for lines of JSON.
    private let lines: FileHandle

    /// Makes the output of a command. With `isAnswerAlone`, the standard output carries only the bytes of
    /// ``answer(_:)``: all other output, failures too, goes to the standard error stream.
    init(isJSON: Bool, isAnswerAlone: Bool = false, language: any MessageLanguage = EnglishMessages()) {
        self.isJSON = isJSON
        self.language = language
        self.terminal = PhoneTerminal(machineReadable: isJSON || isAnswerAlone)
        self.lines = isAnswerAlone ? .standardError : .standardOutput
    }

    /// Returns an error as the command says the error, in the language of the command.
    func refusal(_ error: any Error) -> Refusal { Refusal(error, in: self.language) }

    /// Makes the output of a command in lines of JSON, to a file.
    init(writingLinesTo lines: FileHandle, language: any MessageLanguage = EnglishMessages()) {
        self.isJSON = true
        self.language = language
        self.terminal = PhoneTerminal(machineReadable: true)
        self.lines = lines
    }

    /// Reports one event: prints `members` as a line of JSON, or calls `words`.
    func say(_ members: JSONObject, _ words: (PhoneTerminal) -> Void) {
        guard self.isJSON else { return words(self.terminal) }
        let line = DisplayText.json(JSON.object(members).text) + "\n"
        try? self.lines.write(contentsOf: Data(line.utf8))
    }

    /// Writes the command's answer unchanged, and a line feed.
    func answer(_ bytes: [UInt8]) { try? FileHandle.standardOutput.write(contentsOf: Data(bytes + [0x0A])) }

    /// Runs a command's work. Reports a failure, and throws ``Ended``, which ends the program with the failure's exit
    /// code.
    func running(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch {
            let refusal = self.refusal(error)
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
    /// Sets a member to a text, or leaves the member out.
    mutating func set(_ name: String, _ text: String?) {
        if let text { self[name] = .string(text) }
    }
}

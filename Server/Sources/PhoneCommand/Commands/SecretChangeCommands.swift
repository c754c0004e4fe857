import ArgumentParser
import Ceremony
import Countersign
import _Primitives

/// `countersign-phone pin`.
struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "The PIN of an account, or of a personalised identity.",
        subcommands: [Change.self])

    /// `countersign-phone pin change`.
    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "change",
            abstract: "Choose another PIN, for an account or for a personalised identity.",
            discussion: """
                With a name, the PIN of that account on this phone is changed: no server is asked, and the phone needs \
                no network. Without a name, the server changes the PIN of the phone's personalised identity.

                The PINs are asked for without echo. With --pin-stdin the present PIN is in the first line, and the new \
                one in the second. An account's PINs are never taken from the command line.
                """)

        @Argument(help: "The account's name. Without a name: the personalised identity.")
        var username: String?

        @OptionGroup var answers: AnswerOptions
        @OptionGroup var phone: PhoneOptions

        func validate() throws {
            guard self.username != nil else { return }
            guard self.answers.pin == nil, !self.answers.passwordStdin else {
                throw ValidationError("An account's PINs are typed, or come with --pin-stdin.")
            }
        }

        func run() async throws {
            let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
            try await report.running {
                guard let username = self.username else {
                    return try await OwnIdentity(self.phone, self.answers, report).changePin()
                }
                let script = ScriptedAnswers(secret: self.answers.pinStdin ? .pin : nil)
                try await OwnSecret(username: username, script: script, report: report).change(
                    .pin, on: try PhoneDevice(self.phone))
            }
        }
    }
}

/// `countersign-phone password`.
struct PasswordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "password", abstract: "The password of an account on this phone.", subcommands: [Change.self])

    /// `countersign-phone password change`.
    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "change",
            abstract: "Choose another password for an account on this phone.",
            discussion: """
                No server is asked, and the phone needs no network. A password for the server's own pages is another \
                password, and stays.

                The passwords are asked for without echo. With --password-stdin the present password is in the first \
                line, and the new one in the second. Passwords are never taken from the command line.
                """)

        @Argument(help: "The account's name.")
        var username: String

        @Flag(help: "Read the passwords from the standard input, a line for each time that one is asked for.")
        var passwordStdin = false

        @OptionGroup var phone: PhoneOptions

        func run() async throws {
            let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
            try await report.running {
                let script = ScriptedAnswers(secret: self.passwordStdin ? .password : nil)
                try await OwnSecret(username: self.username, script: script, report: report).change(
                    .password, on: try PhoneDevice(self.phone))
            }
        }
    }
}

/// The PIN or the password of an account, which the phone alone judges.
struct OwnSecret {
    let username: String
    let script: ScriptedAnswers
    let report: Report

    /// The secrets that can be changed.
    enum Kind {
        case pin, password
    }

    /// Changes the secret without a network. Throws ``Refusal`` and the errors of the SDK.
    func change(_ kind: Kind, on device: PhoneDevice) async throws {
        let person = PhoneHolder(report: self.report, script: self.script)
        let interaction = PersonInteraction(person: person, isRegistration: false)
        let operations = try await device.client(nil).operations
        do {
            switch kind {
            case .pin: try await operations.pinChange.username(self.username).pinChanger(interaction).execute()
            case .password:
                try await operations.passwordChange.username(self.username).passwordChanger(interaction).execute()
            }
        } catch {
            if let refusal = await person.gaveUp { throw refusal }
            guard (error as? OperationError)?.fidoErrorCode == .userCanceled else { throw error }
            throw Refusal(.refused, .denied, "denied", "Nothing was changed.")
        }
        let word = kind == .pin ? "PIN" : "password"
        self.report.say([
            "event": .string("finished"), "outcome": .outcome(.changed), "account": .string(self.username),
        ]) { $0.success("The \(word) of \(DisplayText.line(self.username)) on this phone is changed.") }
    }
}

import ArgumentParser
import CeremonyEngine
import Foundation
import Pages
import Settings
import _Primitives

/// `countersign admin activation`: links that enrol a phone, and codes that personalise an app.
struct ActivationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activation",
        abstract: "Links that enrol a phone, and codes that personalise an app.",
        discussion: """
            A phone that has answered a link stays pending until the number that it shows is given here: so a link \
            that somebody else opened enrols nobody. One wrong number ends the enrolment.

            A code of a personalised identity (--identity) has a PIN in the place of the number: send it another way than \
            the code. It ends when it was used, or its time is over.
            """,
        subcommands: [Create.self, Show.self, Confirm.self]
    )

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create",
            abstract: "Make a link for a person's new phone, or with --identity a code for their app.")

        @Argument(help: "The person's name.")
        var username: String

        @Flag(name: .long, help: "Make a code that personalises an app, with a PIN.")
        var identity = false

        @Option(name: .long, help: "With --identity: what the device is to be called.")
        var name: String?

        @Flag(name: .long, help: "With --identity: take the PIN from standard input in the place of making one.")
        var pinStdin = false

        @Option(name: .long, help: "What the phone must enrol with: a policy of the running server, by its name.")
        var policy: String?

        @Flag(name: .long, help: "Wait for the phone, then ask for the number that it shows.")
        var wait = false

        @Option(name: .long, help: "A PNG file for the QR code, in the place of the one in the terminal.")
        var qrFile: String?

        @OptionGroup var options: AdminOptions

        func validate() throws {
            guard self.identity || self.name == nil && !self.pinStdin else {
                throw ValidationError("--name and --pin-stdin go with --identity.")
            }
            guard !self.identity || self.policy == nil && !self.wait else {
                throw ValidationError("--policy and --wait are for links, and not for --identity.")
            }
        }

        func run() async throws {
            if self.identity { return try await self.offer() }
            var body: JSONObject = ["username": .string(self.username)]
            body["policy"] = self.policy.map(JSON.string)
            let asked = body
            // Only the server has read the policies.
            try await self.options.withConnection(toServer: self.policy != nil) { connection in
                let answer = try await connection.call("POST", "/activations", asked)
                guard case .object(let object) = answer else { return }
                let link = try object.requiredString("link")
                try self.writePicture(of: link)
                try self.options.show(answer) {
                    """
                    \(try self.picture(of: link))
                    Open this on \(self.username)'s phone, or scan the code:

                      \(link)

                    Activation \(try $0.requiredString("id")), until \(try $0.string("expiresAt") ?? "its end").
                    """
                }
                guard self.wait else { return }
                try await self.finish(try object.requiredString("id"), over: connection)
            }
        }

        /// Makes a code that personalises an app.
        private func offer() async throws {
            var body: JSONObject = ["username": .string(self.username)]
            body["name"] = self.name.map(JSON.string)
            if self.pinStdin { body["pin"] = .string(try Terminal.secretFromStandardInput()) }
            let answer = try await self.options.call("POST", "/identity/activations", body)
            guard case .object(let object) = answer else { return }
            let code = try object.requiredString("code")
            try self.writePicture(of: code)
            try self.options.show(answer) {
                """
                \(try self.picture(of: code))
                Scan this with \(self.username)'s app, or open the link on their phone:

                  \(try $0.requiredString("link"))

                \(try $0.string("pin").map { "The PIN, which goes another way than the code: \($0)\n" } ?? "")\
                Activation \(try $0.requiredString("id")), until \(try $0.string("expiresAt") ?? "its end").
                """
            }
        }

        /// Returns a QR code for the terminal; if a file has the code, returns the file's name instead.
        private func picture(of text: String) throws -> String {
            try self.qrFile.map { "The QR code is in \($0).\n" } ?? QRCode(text: text).terminalText
        }

        private func writePicture(of text: String) throws {
            guard let file = self.qrFile else { return }
            do {
                try Data(QRCode(text: text).png()).write(to: URL(fileURLWithPath: file))
            } catch {
                throw CommandFailure(.failed, "\(file) cannot be written")
            }
        }

        /// Follows the enrolment until its end, and asks for the number in between. Throws ``CommandFailure`` for
        /// every end but success.
        func finish(_ id: String, over connection: AdminConnection) async throws {
            var shown: EnrolmentView.State?
            while true {
                let answer = try await connection.call("GET", "/activations/\(id.pathSegment)")
                guard case .object(let object) = answer else { return }
                let word = try object.requiredString("state")
                guard let state = EnrolmentView.State(rawValue: word) else {
                    throw CommandFailure(
                        .failed, "the server tells of a state that this program does not know: \(word)")
                }
                switch state {
                case .pendingConfirmation:
                    return try await self.confirm(id, try object.string("deviceName"), over: connection)
                case .succeeded: return self.options.show(answer) { _ in "Enrolled." }
                case .denied: throw CommandFailure(.failed, "\(self.username) declined on the phone")
                case .cancelled: throw CommandFailure(.failed, "the phone gave up before it was enrolled")
                case .failed:
                    throw CommandFailure(
                        .failed, "the phone could not be enrolled",
                        remedy: "The link is used up: make a new one. The audit trail says why.")
                case .expired:
                    throw CommandFailure(.failed, "the link's time is over", remedy: "Make a new one.")
                case .created, .claimed:
                    if state != shown, !self.options.json { Terminal.standardError("… \(state.rawValue)") }
                    shown = state
                    try await Task.sleep(for: Limits.Commands.enrolmentPause)
                }
            }
        }

        private func confirm(_ id: String, _ deviceName: String?, over connection: AdminConnection) async throws {
            let device = Terminal.table([[deviceName ?? "a phone"]])
            guard let number = Terminal.ask("\(device) has answered. The number that it shows: ") else {
                throw CommandFailure(.usage, "nothing came on standard input")
            }
            let end = try await connection.call(
                "POST", "/activations/\(id.pathSegment)/confirm", ["number": .string(number)])
            self.options.show(end) { _ in "Confirmed: \(device) is enrolled." }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "show", abstract: "Show how far an enrolment is.")

        @Argument(help: "The enrolment's id, as `create` printed it.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/activations/\(self.id.pathSegment)")
            try self.options.show(answer) {
                Terminal.table([[try $0.requiredString("state"), try $0.string("deviceName") ?? ""]])
            }
        }
    }

    struct Confirm: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "confirm",
            abstract: "Confirm a pending phone with the number that it shows.",
            discussion: "A wrong number ends the enrolment; the phone then has to start again with a new link."
        )

        @Argument(help: "The enrolment's id, as `create` printed it.")
        var id: String

        @Option(name: .long, help: "The six digits that the phone shows; asked for where left out.")
        var number: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            guard let number = self.number ?? Terminal.ask("The number that the phone shows: ") else {
                throw CommandFailure(.usage, "nothing came on standard input")
            }
            let answer = try await self.options.call(
                "POST", "/activations/\(self.id.pathSegment)/confirm", ["number": .string(number)])
            self.options.show(answer) { _ in "Confirmed." }
        }
    }
}

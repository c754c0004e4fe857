import ArgumentParser
import Countersign
import _Primitives

/// `countersign-phone authenticate`: what an app does that wants to know its own user again.
struct AuthenticateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authenticate", abstract: "Authenticate to the server in the app itself, without a code.")

    @Argument(help: "The account's name.")
    var username: String

    @OptionGroup var answers: AnswerOptions
    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json)
        try await report.running {
            try await PhoneDevice.with(self.phone) { try await self.authenticate(on: $0, report) }
        }
    }

    private func authenticate(on device: PhoneDevice, _ report: Report) async throws {
        let accounts = try await device.client(nil).localData.accounts
        guard let account = accounts.first(where: { $0.username == self.username }),
            let server = ServerAddress(account.server.baseUrl)
        else { throw Refusal.notFound("no-such-account", "This phone has no account of that name.") }
        if let wanted = try self.phone.serverAddress(), wanted != server {
            throw Refusal.notFound("no-such-account", "The account of that name is at \(server.text).")
        }
        if self.answers.pin != nil, !server.isLoopback {
            throw Refusal.usage("--pin is for a server on this machine alone; use --pin-stdin.")
        }
        var script = ScriptedAnswers(self.answers)
        script.approveOwnRequest()
        let person = Person(report: report, script: script)
        let interaction = PersonInteraction(person: person, isRegistration: false)
        do {
            let result: AuthenticationResult = try await device.client(server).operations.authentication
                .username(self.username).authenticatorSelector(interaction).pinUserVerifier(interaction)
                .fingerprintUserVerifier(interaction).execute()
            report.say([
                "event": .string("finished"), "outcome": .string("authenticated"),
                "account": .string(result.account.username),
                // The token itself is a secret that opens further enrolments: it is not printed.
                "hasToken": .bool(result.authorizationProvider != nil),
            ]) { $0.success("Authenticated at \(server.text).") }
        } catch {
            throw await person.gaveUp ?? error
        }
    }
}

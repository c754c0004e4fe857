import ArgumentParser
import Countersign
import _Primitives

/// `countersign-phone authenticate`: authenticates the app's own user again.
struct AuthenticateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authenticate", abstract: "Authenticate to the server in the app itself, without a code.",
        discussion: """
            With a user name the app authenticates by that account's keys. With --service it is a service itself, which \
            the phone's personalised identity signs in: the authorization code that comes of it is for its back end.
            """)

    @Argument(help: "The account's name.")
    var username: String?

    @OptionGroup var service: InAppOptions
    @OptionGroup var answers: AnswerOptions
    @OptionGroup var identity: IdentityOptions
    @OptionGroup var phone: PhoneOptions

    func validate() throws {
        guard (self.username == nil) != (self.service.service == nil) else {
            throw ValidationError("Say a user name, or --service.")
        }
    }

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            guard let username = self.username else {
                if !report.terminal.isInteractive, !self.answers.isDecided {
                    throw Refusal.usage("Without a terminal, say --approve, --deny or --not-me.")
                }
                let person = try IdentityHolder(self.answers, self.identity, report)
                return try await InAppSignIn(phone: try IdentityPhone(self.phone, report), person: person)
                    .run(self.service)
            }
            let device = try PhoneDevice(self.phone)
            let person = OwnPerson(username: username, answers: self.answers, phone: self.phone)
            let (client, result) = try await person.authenticate(on: device, report)
            let server = ServerAddress(client.configuration.baseURL)?.text ?? ""
            report.say([
                "event": .string("finished"), "outcome": .outcome(.authenticated),
                "account": .string(result.account.username),
                // The token itself is a secret that allows further enrolments, so the token is not printed.
                "hasToken": .bool(result.authorizationProvider != nil),
            ]) { $0.success("Authenticated at \(server).") }
        }
    }
}

/// The phone's own user, who starts something that only the account's person may do.
struct OwnPerson {
    let username: String
    let answers: AnswerOptions
    let phone: PhoneOptions
    /// The person's answers; `nil` for the answers from the options.
    var script: ScriptedAnswers?

    /// Returns the phone's client for the account's server. Throws ``Refusal`` and the errors of the SDK.
    func client(on device: PhoneDevice) async throws -> MobileAuthenticationClient {
        try await device.client(try await self.server(on: device))
    }

    private func server(on device: PhoneDevice) async throws -> ServerAddress {
        let accounts = try await device.client(nil).localData.accounts
        guard let account = accounts.first(where: { $0.username == self.username }),
            let server = ServerAddress(account.server.baseURL)
        else { throw Refusal.notFound("no-such-account", "This phone has no account of that name.") }
        if let wanted = try self.phone.serverAddress(), wanted != server {
            throw Refusal.notFound("no-such-account", "The account of that name is at \(server.text).")
        }
        return server
    }

    /// Authenticates in the app itself. Throws ``Refusal`` and the errors of the SDK.
    func authenticate(on device: PhoneDevice, _ report: Report) async throws -> (
        client: MobileAuthenticationClient, result: AuthenticationSuccess
    ) {
        let server = try await self.server(on: device)
        try self.answers.checkArguments(for: server)
        var script = self.script ?? ScriptedAnswers(self.answers)
        script.approveOwnRequest()
        let person = PhoneHolder(report: report, script: script)
        let interaction = PersonInteraction(person: person, isRegistration: false)
        let client = try await device.client(server)
        do {
            let result: AuthenticationSuccess = try await client.operations.authentication
                .username(self.username).answered(by: interaction).execute()
            return (client, result)
        } catch {
            throw await person.gaveUp ?? error
        }
    }

    /// Makes a request that the device may make alone. If the server does not know the device's keys, the person
    /// authenticates first, and `ask` is called again with the proof. Throws ``Refusal`` and the errors of the SDK.
    func asking<Answer>(
        on device: PhoneDevice, _ report: Report,
        _ ask: (MobileAuthenticationClient, (any AuthorizationProvider)?) async throws -> Answer
    ) async throws -> (client: MobileAuthenticationClient, answer: Answer) {
        let client = try await self.client(on: device)
        do { return (client, try await ask(client, nil)) } catch let error as OperationError
            where [.missingInteraction, .notAuthorized].contains(error.code)
        {
            let (client, provider) = try await self.authorize(on: device, report)
            return (client, try await ask(client, provider))
        }
    }

    /// Authenticates, and returns the proof for the server.
    func authorize(on device: PhoneDevice, _ report: Report) async throws -> (
        client: MobileAuthenticationClient, provider: any AuthorizationProvider
    ) {
        let (client, result) = try await self.authenticate(on: device, report)
        guard let provider = result.authorizationProvider else {
            throw Refusal.failed("no-token", "The server gave no token to act with.")
        }
        return (client, provider)
    }
}

import ArgumentParser
import Ceremony
import Countersign
import Foundation
import _Primitives

/// `countersign-phone scan`: reads a code and does what the code requests.
struct ScanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan", abstract: "Read a code, show what it asks for, and answer.",
        discussion: """
            CODE is a PNG file with a QR code in it (a screenshot of the whole page will do), the text that a QR code \
            holds, a link, the code that the page shows for typing, or - for the standard input. A link of somebody \
            else's making is refused: the code of a sign-in page is for scanning.

            The code of a service that asks for a personalised identity is shown with the roles and the data that it asks \
            for. After a failed attempt the phone waits as long as the server wants, and tries again.
            """)

    @Argument(help: "A PNG file, the text of a QR code, a link, a typed code, or -.")
    var code: String

    @OptionGroup var answers: AnswerOptions
    @OptionGroup var identity: IdentityOptions
    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        var run = OutOfBandRun(code: self.code, deviceName: nil, answers: self.answers, phone: self.phone)
        run.identity = self.identity
        try await run.run()
    }
}

/// `countersign-phone enroll`: enrols the phone for a person.
struct EnrollCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enroll", abstract: "Enrol this phone with a link, or an activation code, of the operator.",
        discussion: """
            The person answers from then on with what --authenticator names, by default with the first that the service \
            allows: a PIN or a password that this phone verifies, a finger, a face or the device's passcode (these \
            three are simulated, see `sensor`). The phone then shows a number. It is a person's phone once the operator has typed that number where the \
            link was made.

            An activation code makes a personalised identity: the PIN that came with it is asked for, which stays the \
            identity's until `pin change`, and with --biometric a (simulated) finger or face is enrolled, too.
            """)

    @Argument(help: "The link, a PNG file with its QR code, or -.")
    var code: String

    @Option(help: "What the phone is called at the server.")
    var name: String?

    @Flag(inversion: .prefixedNo, help: "With an activation code: whether a (simulated) finger or face is enrolled.")
    var biometric: Bool?

    @Flag(
        help: """
            With a finger or a face: the device's passcode may replace it. Needs --no-invalidate-on-new-biometrics, \
            because whoever knows the passcode could enrol another finger.
            """)
    var allowPasscode = false

    @Flag(
        inversion: .prefixedNo,
        help: "With a finger or a face: whether the key ends when other fingers or faces are enrolled.")
    var invalidateOnNewBiometrics = true

    @OptionGroup var answers: AnswerOptions
    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        var run = OutOfBandRun(
            code: self.code, deviceName: self.name ?? IdentityPhone.name, answers: self.answers, phone: self.phone)
        run.biometric = self.biometric
        run.allowsPasscode = self.allowPasscode
        run.invalidatesOnNewBiometrics = self.invalidateOnNewBiometrics
        try await run.run()
    }
}

/// The handling of one code, from its reading to the server's answer.
struct OutOfBandRun {
    let code: String
    /// The phone's name, if the phone is to be enrolled.
    let deviceName: String?
    let answers: AnswerOptions
    let phone: PhoneOptions
    /// The further answers to a code of a personalised identity; `nil` if no answers were given.
    var identity: IdentityOptions?
    var biometric: Bool?
    /// `true` if the device's passcode may replace the finger or the face of a new key.
    var allowsPasscode = false
    /// `true` if a new key of finger or face ends with another enrolment.
    var invalidatesOnNewBiometrics = true

    private var isEnrolment: Bool { self.deviceName != nil }

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            if self.code == "-" && (self.answers.takesStandardInput || self.identity?.valueStdin ?? false) {
                throw Refusal.usage("The code and a secret cannot both come on the standard input.")
            }
            if !self.isEnrolment, !report.terminal.isInteractive, !self.answers.isDecided {
                throw Refusal.usage("Without a terminal, say --approve, --deny or --not-me.")
            }
            let input = try CodeInput(argument: self.code)
            if case .identity(let text) = input.form { return try await self.answer(identityCode: text, report) }
            try await self.answer(input, on: try PhoneDevice(self.phone), report)
        }
    }

    private func answer(identityCode text: String, _ report: Report) async throws {
        var person = try IdentityHolder(self.answers, try self.identity ?? IdentityOptions.parse([]), report)
        let phone = try IdentityPhone(self.phone, report)
        guard let deviceName else { return try await IdentityCodeRun(phone: phone, person: person).scan(text) }
        if !report.terminal.isInteractive { person.approveEnrolment() }
        try await IdentityCodeRun(phone: phone, person: person).enroll(
            text, name: deviceName, biometric: self.biometric)
    }

    /// Answers a code of an account, not of a personalised identity.
    func answer(_ input: CodeInput, on device: PhoneDevice, _ report: Report) async throws {
        let (read, server) = try input.read(server: try await self.server(for: input, on: device))
        try self.answers.checkArguments(for: server)
        if !self.isEnrolment, self.phone.server == nil, try await !device.knownServers().contains(server) {
            throw Refusal(
                .refused, .refused, "unknown-server",
                "This phone is not enrolled at \(server.text). Nothing was sent.")
        }
        let client = try await device.client(server)
        let payload = try await input.decoded(read, by: client)
        var script = ScriptedAnswers(self.answers)
        if self.isEnrolment, !report.terminal.isInteractive { script.approveEnrolment() }
        try await self.answer(payload, by: client, with: script, report)
    }

    /// Does what a payload requests.
    func answer(
        _ payload: OutOfBandPayload, by client: MobileAuthenticationClient, with script: ScriptedAnswers,
        _ report: Report
    ) async throws {
        let person = PhoneHolder(report: report, script: script)
        do {
            switch try await client.operations.outOfBandOperation.payload(payload).execute() {
            case .registration(let registration):
                try await self.register(registration, person, report)
            case .authentication(let authentication):
                guard !self.isEnrolment else {
                    throw Refusal.usage("This code is a request, not an enrolment: use `scan`.")
                }
                try await self.authenticate(authentication, person, report)
            case .deregistration(let result): Self.show(result, report)
            }
        } catch {
            // The SDK knows only that somebody gave up. The person knows the reason.
            throw await person.gaveUp ?? error
        }
    }

    /// Returns the named server, or, for a typed or encrypted code, the only server that the phone knows.
    private func server(for input: CodeInput, on device: PhoneDevice) async throws -> ServerAddress? {
        if let named = try self.phone.serverAddress() { return named }
        guard try input.plainPayload() == nil else { return nil }
        let known = try await device.knownServers()
        return known.count == 1 ? known[0] : nil
    }

    private static func show(_ result: DeregistrationResult, _ report: Report) {
        let names = result.accounts.map(\.username)
        report.say([
            "event": .string("finished"), "outcome": .outcome(.deregistered),
            "accounts": .array(names.map { .string($0) }),
        ]) { terminal in
            guard !names.isEmpty else {
                return terminal.notice("The service had keys deleted; none was on this phone.")
            }
            let service = result.requester?.service ?? "The service"
            let people = names.map { DisplayText.line($0) }.joined(separator: ", ")
            terminal.success("\(service) had keys deleted: they are gone from this phone, too (\(people)).")
        }
    }

    private func register(_ registration: OutOfBandRegistration, _ person: PhoneHolder, _ report: Report) async throws {
        let interaction = PersonInteraction(person: person, isRegistration: true)
        let name = self.deviceName ?? IdentityPhone.name
        let result: RegistrationResult = try await registration.deviceInformation(DeviceInformation(name: name))
            .allowDevicePasscodeAsFallback(self.allowsPasscode)
            .invalidateOnNewOsBiometrics(self.invalidatesOnNewBiometrics)
            .answered(by: interaction).execute()
        let account = DisplayText.line(result.account.username)
        let isInFile = result.isDevelopmentStore && PhoneKeyStore.kept(home: self.phone.homePath) == .file
        if isInFile {
            report.say(["event": .string("notice"), "notice": .string("development-store")]) { terminal in
                terminal.notice("The key is in a store for development: whoever reads this disk can take it.")
            }
        }
        if let confirmation = result.confirmation {
            let minutes = (confirmation.expiresInSeconds + 59) / 60
            report.say([
                "event": .string("confirmation"), "number": .string(confirmation.number),
                "expiresInSeconds": .integer(Int64(confirmation.expiresInSeconds)),
            ]) { terminal in
                terminal.print()
                terminal.box(title: "Type this number where the link was made", text: confirmation.number)
                terminal.print("It is good for \(minutes) minutes. Until then the phone cannot sign in.")
            }
        }
        report.say([
            "event": .string("finished"), "outcome": .outcome(.enrolled), "account": .string(result.account.username),
            "server": .string(result.account.server.baseURL.absoluteString),
            "isPending": .bool(result.confirmation != nil), "developmentStore": .bool(isInFile),
        ]) { $0.success("This phone is enrolled for \(account).") }
    }

    private func authenticate(_ authentication: OutOfBandAuthentication, _ person: PhoneHolder, _ report: Report)
        async throws
    {
        let interaction = PersonInteraction(person: person, isRegistration: false)
        let result: AuthenticationSuccess = try await authentication.accountSelector(interaction)
            .answered(by: interaction).execute()
        var members: JSONObject = [
            "event": .string("finished"), "outcome": .outcome(.approved), "account": .string(result.account.username),
        ]
        members.set("continuation", result.location?.absoluteString)
        let isSignIn = await !person.hasSeenTransaction
        report.say(members) { terminal in
            terminal.success("Approved.")
            if let location = result.location, !self.answers.open {
                terminal.print("Go on in the browser that you started from, on this device:")
                terminal.print("  \(DisplayText.line(location.absoluteString, maximumLength: 2000))")
            }
            guard isSignIn else { return }
            terminal.print("To see where you are signed in, and to end it:")
            terminal.print("  \(ActivityCommand.line(account: result.account.username, home: self.phone.home))")
        }
        if let location = result.location, self.answers.open { try Self.openInBrowser(location) }
    }

    private static func openInBrowser(_ address: URL) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["xdg-open", address.absoluteString]
        do {
            try process.run()
        } catch {
            throw Refusal.failed("no-browser", "xdg-open cannot be started.")
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Refusal.failed("no-browser", "xdg-open opened nothing.") }
    }
}

import ArgumentParser
import Ceremony
import Countersign
import _Primitives

/// `countersign-phone deregister`: ends what this phone is to an account, at the server too.
struct DeregisterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deregister", abstract: "Delete an account's keys of this phone, at the server and here.",
        discussion: """
            The phone authenticates first. Where the server does not answer, everything stays. A locked phone cannot \
            authenticate: `wipe` forgets everything without telling a server.
            """)

    @Argument(help: "The account's name.")
    var username: String

    @Option(help: "Delete this one alone: pin, password, fingerprint, face, passcode or device.")
    var only: AuthenticatorName?

    @OptionGroup var answers: AnswerOptions
    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json)
        try await report.running {
            let device = try PhoneDevice(self.phone)
            let registered = try await device.client(nil).localData.authenticators.filter {
                $0.registration.isRegistered(username: self.username)
            }
            let aaid = registered.first { AuthenticatorName($0.kind) == self.only }?.aaid
            guard self.only == nil || aaid != nil else {
                throw Refusal.notFound("no-such-authenticator", "The account has no such authenticator here.")
            }
            let (client, provider) = try await OwnPerson(
                username: self.username, answers: self.answers, phone: self.phone
            ).authorize(on: device, report)
            try await client.operations.deregistration.username(self.username).aaid(aaid)
                .authorizationProvider(provider).execute() as Void
            let isGone = await !client.localData.accounts.contains { $0.username == self.username }
            report.say([
                "event": .string("finished"), "outcome": .string("deregistered"),
                "account": .string(self.username), "isGone": .bool(isGone),
            ]) { terminal in
                let name = DisplayText.line(self.username)
                terminal.success(
                    isGone ? "This phone is no longer \(name)'s." : "The authenticator is gone; \(name) stays.")
            }
        }
    }
}

import ArgumentParser
import Ceremony
import Countersign
import _Primitives

/// `countersign-phone deregister`: deletes this phone's keys for an account, also at the server.
struct DeregisterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deregister", abstract: "Delete an account's keys of this phone, at the server and here.",
        discussion: """
            The phone authenticates first. Where the server does not answer, everything stays. A locked account cannot \
            authenticate: `enroll` with a new link replaces its key, `forget` deletes it without telling a server.
            """)

    @Argument(help: "The account's name.")
    var username: String

    @Option(help: "Delete this one alone: pin, password, fingerprint, face, passcode or device.")
    var only: AuthenticatorName?

    @OptionGroup var answers: AnswerOptions
    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
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
                .authorizationProvider(provider).execute()
            let isGone = await !client.localData.accounts.contains { $0.username == self.username }
            report.say([
                "event": .string("finished"), "outcome": .outcome(.deregistered),
                "account": .string(self.username), "isGone": .bool(isGone),
            ]) { terminal in
                let name = DisplayText.line(self.username)
                terminal.success(
                    isGone ? "This phone is no longer \(name)'s." : "The authenticator is gone; \(name) stays.")
            }
        }
    }
}

/// `countersign-phone forget`: deletes one account of this phone, without its server.
struct ForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Delete one account of this phone. Its server is not told.",
        discussion: """
            Other accounts are not touched. The server goes on listing this phone until its operator takes it away. To \
            use a locked account again, do not forget it: `enroll` with a new link replaces its key.
            """)

    @Argument(help: "The account's name.")
    var username: String

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let data = try await PhoneDevice(self.phone).client(nil).localData
            guard let account = await data.accounts.first(where: { $0.username == self.username }) else {
                throw Refusal.notFound("no-such-account", "This phone has no account of that name.")
            }
            do { try await data.forget(account) } catch {
                throw Refusal.failed("storage", "The account could not be deleted (\(error)).")
            }
            report.say([
                "event": .string("finished"), "outcome": .outcome(.forgotten), "account": .string(self.username),
            ]) { $0.success("This phone has forgotten \(DisplayText.line(self.username)). The server was not told.") }
        }
    }
}

import ArgumentParser
import Countersign
import Foundation
import Pages
import _Primitives

/// `countersign-phone device approve`: has a new phone enrolled for a person of this phone, and approves the new phone.
struct ApproveDeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve", abstract: "Have a new phone of yours enrolled, and approve it here.",
        discussion: """
            This phone shows a code. The new phone enrols by the code (`countersign-phone enroll`) and shows a number. \
            Type the number here after the text that names the new phone. For 24 hours the new phone approves and removes \
            no other phone.

            With --number - the number is read from the standard input when it is asked for.
            """)

    @Argument(help: "The account's name.")
    var username: String

    @Option(help: "A PNG file to write the code to.")
    var qrFile: String?

    @OptionGroup var answers: AnswerOptions
    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            if !report.terminal.isInteractive, !self.answers.isDecided {
                throw Refusal.usage("Without a terminal, say --approve or --deny.")
            }
            let person = OwnPerson(username: self.username, answers: self.answers, phone: self.phone)
            if self.readsNumber, self.answers.takesStandardInput {
                throw Refusal.usage("The number and a secret cannot both come on the standard input.")
            }
            try await self.run(on: try await person.client(on: try PhoneDevice(self.phone)), report) {
                readLine(strippingNewline: true)
            }
        }
    }

    /// `true` if the number comes on the standard input.
    private var readsNumber: Bool { self.answers.number?.hasSameBytes(as: "-") ?? false }

    /// Does the same with the phone's client. `number` reads the number with `--number -`.
    func run(
        on client: MobileAuthenticationClient, _ report: Report, number: @escaping @Sendable () async -> String?
    ) async throws {
        let script = ScriptedAnswers(self.answers)
        if let server = ServerAddress(client.configuration.baseURL) { try self.answers.checkArguments(for: server) }
        let person = PhoneHolder(report: report, script: script)
        let interaction = PersonInteraction(person: person, isRegistration: false)
        do {
            var operation = client.operations.deviceApproval.username(self.username)
                .onProgress { self.show($0, report) }
                .answered(by: interaction)
            if self.readsNumber { operation = operation.numberMatcher { _ in await number() } }
            let result: AuthenticationSuccess = try await operation.execute()
            report.say([
                "event": .string("finished"), "outcome": .outcome(.added), "account": .string(result.account.username),
            ]) { $0.success("The new phone is yours. All of your devices are told.") }
        } catch {
            throw await person.gaveUp ?? error
        }
    }

    private func show(_ progress: DeviceApprovalProgress, _ report: Report) {
        switch progress {
        case .code(let code):
            let picture = try? QRCode(text: code.qrContent)
            let isWritten = self.qrFile.map { file in
                (try? picture.map { try Data($0.png()).write(to: URL(fileURLWithPath: file), options: .atomic) }) != nil
            }
            var members: JSONObject = ["event": .string("code"), "link": .string(code.link)]
            if isWritten == true { members.set("qrFile", self.qrFile) }
            report.say(members) { terminal in
                if isWritten == true {
                    terminal.print("The code for the new phone is in \(self.qrFile ?? "").")
                } else {
                    for line in (picture?.terminalText ?? "").split(separator: "\n") { terminal.print(String(line)) }
                    terminal.print("The same as a link, for `countersign-phone enroll` on the new phone:")
                    terminal.print(code.link)
                }
            }
        case .answered(let device):
            report.say([
                "event": .string("new-device"), "name": .string(device.name), "model": .string(device.model),
                "network": .string(device.network),
            ]) { terminal in
                terminal.print("The new phone has answered.")
                terminal.list([
                    (name: "Name", value: device.name), (name: "Model", value: device.model),
                    (name: "Network", value: device.network),
                ])
            }
        }
    }
}

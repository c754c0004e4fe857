import ArgumentParser
import Ceremony
import Countersign
import Foundation
import _Primitives

/// `countersign-phone device`.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "This phone's name and push address, here and at the servers of its accounts.",
        discussion: """
            The phone proves its requests itself. `approve` asks for a PIN, and so does `sync` if a server does not know \
            the phone's own keys any more.
            """,
        subcommands: [Show.self, Rename.self, Push.self, Check.self, Sync.self, ApproveDeviceCommand.self])

    /// `countersign-phone device show`.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show what this phone says of itself.")

        @OptionGroup var phone: PhoneOptions

        func run() async throws {
            let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
            try await report.running {
                try await DeviceCare(device: try PhoneDevice(self.phone), report: report).show()
            }
        }
    }

    /// `countersign-phone device rename`.
    struct Rename: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rename", abstract: "Give this phone another name, at the server of each account.",
            discussion: "Two phones of one person have different names.")

        @Argument(help: "The new name.")
        var name: String

        @OptionGroup var phone: PhoneOptions

        func run() async throws {
            let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
            try await report.running {
                try await DeviceCare(device: try PhoneDevice(self.phone), report: report).change { $0.name(self.name) }
            }
        }
    }

    /// `countersign-phone device push`.
    struct Push: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "push", abstract: "Set this phone's push address, or turn push on or off.",
            discussion: """
                The address is read from the standard input, because other programs see a process's arguments, and \
                whoever has the address may be able to push to the phone. A new address turns nothing on.
                """)

        @Option(help: "The server's dispatcher for the address in the first line of the standard input.")
        var dispatcher: String?

        @Flag(help: "Remove the address.")
        var remove = false

        @Flag(help: "Let servers push to this phone.")
        var on = false

        @Flag(help: "Let no server push to this phone.")
        var off = false

        @OptionGroup var phone: PhoneOptions

        func validate() throws {
            if self.on && self.off { throw ValidationError("--on and --off exclude each other.") }
            if self.remove && self.dispatcher != nil {
                throw ValidationError("--remove and --dispatcher exclude each other.")
            }
            if !self.on, !self.off, !self.remove, self.dispatcher == nil {
                throw ValidationError("Say --dispatcher, --remove, --on or --off.")
            }
        }

        func run() async throws {
            let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
            try await report.running {
                let address = self.dispatcher.map {
                    PushAddress(dispatcher: $0, address: readLine(strippingNewline: true) ?? "")
                }
                try await self.run(on: try PhoneDevice(self.phone), address, report)
            }
        }

        /// Does the same on a phone that is switched on, with an address that was read.
        func run(on device: PhoneDevice, _ address: PushAddress?, _ report: Report) async throws {
            try await DeviceCare(device: device, report: report).change { operation in
                var operation = operation
                if address != nil || self.remove { operation = operation.pushAddress(address) }
                if self.on { operation = operation.enablePushNotifications() }
                if self.off { operation = operation.disablePushNotifications() }
                return operation
            }
        }
    }

    /// `countersign-phone device check`.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Compare this phone with the servers of its accounts. Nothing is changed.")

        @OptionGroup var phone: PhoneOptions

        func run() async throws {
            let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
            try await report.running {
                try await DeviceCare(device: try PhoneDevice(self.phone), report: report).check()
            }
        }
    }

    /// `countersign-phone device sync`.
    struct Sync: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sync", abstract: "Repair what `check` finds.",
            discussion: """
                Name, push address and push setting are taken from this phone. A key that only the server has is deleted \
                there, and a key that only this phone has is deleted here. If a server does not know the phone's own keys, \
                you authenticate once.
                """)

        @OptionGroup var answers: AnswerOptions
        @OptionGroup var phone: PhoneOptions

        func run() async throws {
            let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
            try await report.running {
                try await DeviceCare(device: try PhoneDevice(self.phone), report: report).sync(
                    ScriptedAnswers(self.answers))
            }
        }
    }
}

/// The phone's data about itself, and their repair.
struct DeviceCare {
    let device: PhoneDevice
    let report: Report

    /// Shows the phone's data. A push address is shown by its dispatcher alone. Throws the errors of the SDK, and
    /// ``Refusal`` for a phone without an account.
    func show() async throws {
        guard let information = try await self.device.client(nil).localData.deviceInformation else {
            throw Refusal.notFound("not-enrolled", "This phone is not enrolled anywhere.")
        }
        var members: JSONObject = [
            "name": .string(information.name), "isPushEnabled": .bool(information.isPushEnabled),
            "accounts": .array(
                information.accountIdentifiers.map {
                    .object([
                        "username": .string($0.account.username),
                        "server": .string($0.account.server.baseURL.absoluteString),
                        "identifier": .string($0.identifier),
                    ])
                }),
        ]
        members.set("deviceId", information.deviceID)
        members.set("dispatcher", information.pushAddress?.dispatcher)
        self.report.say(members) { terminal in
            terminal.print(DisplayText.line(information.name), .bold)
            var rows = [("Push", information.isPushEnabled ? "on" : "off")]
            rows.append(("Push address", information.pushAddress.map { "for \($0.dispatcher)" } ?? "none"))
            if let id = information.deviceID { rows.append(("Identifier in the app", id)) }
            for known in information.accountIdentifiers {
                let server = known.account.server.baseURL.absoluteString
                rows.append((DisplayText.line(known.account.username), "\(known.identifier) at \(server)"))
            }
            terminal.list(rows.map { (name: $0.0, value: $0.1) })
        }
    }

    /// Changes the phone's data, here and at the servers. Throws the errors of the SDK.
    func change(_ configure: (DeviceInformationChange) -> DeviceInformationChange) async throws {
        try await configure(try await self.device.client(nil).operations.deviceInformationChange).execute()
        self.report.say(["event": .string("finished"), "outcome": .outcome(.changed)]) {
            $0.success("The servers of this phone's accounts know it.")
        }
    }

    /// Shows the differences between the phone and the servers. Throws the errors of the SDK, and the error of the
    /// first failure.
    func check() async throws {
        let result: DeviceInformationCheckResult = try await self.device.client(nil).operations.deviceInformationCheck
            .execute()
        for mismatch in result.mismatches { self.show(mismatch, event: "mismatch") }
        try self.finish(.listed, result.failures) { terminal in
            terminal.print(
                result.mismatches.isEmpty
                    ? "This phone and its servers agree." : "Repair it with `countersign-phone device sync`.")
        }
    }

    /// Repairs the differences. Throws the errors of the SDK, and the error of the first failure.
    func sync(_ answers: ScriptedAnswers) async throws {
        var script = answers
        script.approveOwnRequest()
        let person = PhoneHolder(report: self.report, script: script)
        let interaction = PersonInteraction(person: person, isRegistration: false)
        let operation = try await self.device.client(nil).operations.deviceInformationSync
            .authenticatorSelector(interaction).pinUserVerifier(interaction).passwordUserVerifier(interaction)
            .fingerprintUserVerifier(interaction).biometricUserVerifier(interaction)
            .devicePasscodeUserVerifier(interaction)
        let result: DeviceInformationSyncResult = try await operation.execute()
        for mismatch in result.repaired { self.show(mismatch, event: "repaired") }
        if let refusal = await person.gaveUp { throw refusal }
        try self.finish(.repaired, result.failures) { terminal in
            terminal.success(
                result.repaired.isEmpty ? "There was nothing to repair." : "This phone and its servers agree.")
        }
    }

    private func show(_ mismatch: DeviceInformationMismatch, event: String) {
        let side: String? =
            switch mismatch.missingSide {
            case .device: "phone"
            case .server: "server"
            case nil: nil
            }
        var members: JSONObject = [
            "event": .string(event), "kind": .string(Refusal.kebab(mismatch.kind)),
            "account": .string(mismatch.account.username),
            "server": .string(mismatch.account.server.baseURL.absoluteString),
        ]
        members.set("missingAt", side)
        members.set("aaid", mismatch.aaid)
        self.report.say(members) { terminal in
            let place = side.map { ", missing at the \($0)" } ?? ""
            let model = mismatch.aaid.map { " \($0)" } ?? ""
            let name = DisplayText.line(mismatch.account.username)
            let word = event == "repaired" ? "Repaired" : "Differs"
            terminal.print("\(word): \(mismatch.kind)\(model)\(place) (\(name))")
        }
    }

    /// Shows the failures, and ends the command: with the first failure, if there is a failure.
    private func finish(
        _ outcome: Outcome, _ failures: [DeviceInformationFailure], _ words: (PhoneTerminal) -> Void
    ) throws {
        for failure in failures {
            let refusal = self.report.refusal(failure.error)
            var members: JSONObject = [
                "event": .string("failure"), "account": .string(failure.account.username),
                "reason": .string(refusal.reason), "message": .string(refusal.sentence),
            ]
            members.set("kind", failure.mismatch.map { Refusal.kebab($0.kind) })
            self.report.say(members) { terminal in
                terminal.print("\(DisplayText.line(failure.account.username)): \(refusal.sentence)")
            }
        }
        if let first = failures.first { throw first.error }
        self.report.say(["event": .string("finished"), "outcome": .outcome(outcome)], words)
    }
}

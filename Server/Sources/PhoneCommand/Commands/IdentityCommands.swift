import ArgumentParser
import Countersign
import CountersignLinux
import Foundation
import Pages
import UAFClient
import _Primitives

/// `countersign-phone identities`: lists the personalised identities of this phone.
struct IdentitiesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identities", abstract: "List the personalised identities on this phone.")

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let sdk = try await IdentityPhone(self.phone, report).sdkForAll()
            let identities = try sdk?.personalizer.personalizedIdentities ?? []
            if identities.isEmpty, !report.isJSON { report.terminal.print("This phone has no identity.") }
            for identity in identities {
                report.say(identity.json) { terminal in
                    terminal.print(identity.idmIdentifier, .bold)
                    var rows = [
                        (name: "Name", value: identity.alias),
                        (
                            name: "Signs with",
                            value: identity.enrolledFactors.map(\.title).sorted().joined(separator: ", ")
                        ),
                        (name: "Since", value: IdentityRest.text(identity.createdAt)),
                    ]
                    if let used = identity.lastUsedAt { rows.append((name: "Used", value: IdentityRest.text(used))) }
                    terminal.list(rows)
                }
            }
        }
    }
}

/// `countersign-phone trust`: stores a server's root key. An app has root keys in its configuration.
struct TrustCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust", abstract: "Trust a server with personalised identities, by its root key.",
        discussion: """
            An app has the root keys of its servers in its configuration; this phone gets them here. The operator prints \
            the key with `countersign admin identity root`. A server on this machine is trusted at its first use.
            """)

    @Argument(help: "The server's address, as its codes have it.")
    var server: String

    @Option(help: "A file with the server's root key, a JSON web key; - for the standard input.")
    var key: String

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            guard let address = ServerAddress(self.server) else {
                throw Refusal.usage("`trust` takes an address such as https://sign-in.example.com.")
            }
            let bytes =
                self.key == "-"
                ? try FileHandle.standardInput.readToEnd() : FileManager.default.contents(atPath: self.key)
            guard let bytes else { throw Refusal(PictureError.unreadable(self.key)) }
            let key = try TrustedServers.key(bytes)
            let phone = try IdentityPhone(self.phone, report)
            let answers = try await phone.answers(address, by: key.roots)
            try phone.trusted.set(
                IdentityConfiguration.TrustedServer(idmIdentifier: address.text, rootKeys: [key.text]))
            report.say([
                "event": .string("finished"), "outcome": .outcome(.trusted), "server": .string(address.text),
                "thumbprint": .string(key.thumbprint), "reached": .bool(answers),
            ]) { terminal in
                terminal.success("This phone trusts \(address.text) (key \(key.thumbprint)).")
                if !answers {
                    terminal.notice("It does not answer now, so that nobody has compared the key with its own yet.")
                }
            }
        }
    }
}

/// `countersign-phone factor`.
struct FactorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "factor", abstract: "What a personalised identity signs with.", subcommands: [Add.self])

    /// `countersign-phone factor add`.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add a (simulated) finger or face.")

        @OptionGroup var answers: AnswerOptions
        @OptionGroup var phone: PhoneOptions

        func run() async throws {
            let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
            try await report.running {
                try await OwnIdentity(self.phone, self.answers, report).addFactor()
            }
        }
    }
}

/// `countersign-phone activation`.
struct ActivationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activation", abstract: "An identity for another phone of the same person.",
        subcommands: [New.self])

    /// `countersign-phone activation new`.
    struct New: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "new",
            abstract: "Make an activation code for another phone, with a PIN of its own.",
            discussion: """
                The code is a secret until the other phone has used it. With --pin-stdin this phone's PIN is in the \
                first line, and the activation's in the second.
                """)

        @Option(help: "What the other phone is to be called.")
        var name: String?

        @Flag(help: "Have the server send the code to your e-mail address, too: it gets to know its secret then.")
        var mail = false

        @Option(help: "A PNG file for the QR code, in the place of the one in the terminal.")
        var qrFile: String?

        @OptionGroup var answers: AnswerOptions
        @OptionGroup var phone: PhoneOptions

        func run() async throws {
            let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
            try await report.running {
                let code = try await OwnIdentity(self.phone, self.answers, report)
                    .newActivation(name: self.name, isMailed: self.mail)
                if let qrFile {
                    do {
                        try Data(QRCode(text: code).png()).write(to: URL(fileURLWithPath: qrFile), options: .atomic)
                    } catch {
                        throw Refusal.failed("not-written", "\(qrFile) cannot be written. The code was: \(code)")
                    }
                }
                var members: JSONObject = [
                    "event": .string("finished"), "outcome": .outcome(.activated), "code": .string(code),
                ]
                members.set("qrFile", self.qrFile)
                report.say(members) { terminal in
                    terminal.success("This code personalises another phone, with the PIN that you have chosen for it:")
                    if let qrFile {
                        terminal.print("The QR code is in \(qrFile).")
                    } else if let text = try? QRCode(text: code).terminalText {
                        for line in text.split(separator: "\n") { terminal.print(String(line)) }
                    }
                    terminal.print(code)
                }
            }
        }
    }
}

/// `countersign-phone account`.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account", abstract: "The account of a personalised identity.", subcommands: [Delete.self])

    /// `countersign-phone account delete`.
    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete",
            abstract: "Delete the account at the server, with all its phones, for good.",
            discussion: "What services keep of their own stays there. `depersonalize` only takes it off this phone.")

        @OptionGroup var answers: AnswerOptions
        @OptionGroup var phone: PhoneOptions

        func run() async throws {
            let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
            try await report.running {
                try await OwnIdentity(self.phone, self.answers, report).deleteAccount(isAgreed: self.answers.approve)
            }
        }
    }
}

/// `countersign-phone depersonalize`: removes an identity from this phone.
struct DepersonalizeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "depersonalize", abstract: "Take a personalised identity off this phone. The account stays.",
        discussion: "Where the server cannot be reached, it is told at the next command for it.")

    @Flag(help: "Do not ask.")
    var approve = false

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let (sdk, identity) = try await IdentityPhone(self.phone, report).identity()
            if !self.approve {
                guard report.terminal.isInteractive else { throw Refusal.usage("Without a terminal, say --approve.") }
                let question = "Take the identity of \(identity.idmIdentifier) off this phone?"
                guard try await report.terminal.confirm(question) else {
                    throw Refusal(.refused, .denied, "denied", "Nothing was changed.")
                }
            }
            try await sdk.personalizer.depersonalizeIdentityManager(idmIdentifier: identity.idmIdentifier)
            report.say([
                "event": .string("finished"), "outcome": .outcome(.depersonalized),
                "server": .string(identity.idmIdentifier),
            ]) { terminal in
                terminal.success("This phone has no identity of \(identity.idmIdentifier) any more. The account stays.")
            }
        }
    }
}

/// `countersign-phone integrity`: sets or shows the result of the simulated integrity check.
struct IntegrityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "integrity", abstract: "Tell the simulated look at the device what to find.",
        discussion: "Servers are told of it with each use of an identity. Without an option, what it finds is shown.")

    @Flag(help: "The operating system's protection was taken away.")
    var rooted = false

    @Flag(help: "Something has reached into the app.")
    var hooked = false

    @Flag(help: "Nothing is amiss.")
    var sound = false

    @OptionGroup var phone: PhoneOptions

    func validate() throws {
        if self.sound, self.rooted || self.hooked { throw ValidationError("--sound excludes the others.") }
    }

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let integrity = SimulatedIntegrity(home: try PhoneDevice(self.phone).home)
            if self.rooted || self.hooked || self.sound {
                try integrity.set(SimulatedIntegrity.State(isRooted: self.rooted, isHooked: self.hooked))
            }
            let state = integrity.state
            report.say([
                "integrity": .string(state == SimulatedIntegrity.State() ? "sound" : "insufficient"),
                "rooted": .bool(state.isRooted), "hooked": .bool(state.isHooked), "simulated": .bool(true),
            ]) { terminal in
                let found = [(state.isRooted, "rooted"), (state.isHooked, "hooked")].filter(\.0).map(\.1)
                terminal.print(
                    "The simulated look finds the device \(found.isEmpty ? "sound" : found.joined(separator: " and "))."
                )
            }
        }
    }
}

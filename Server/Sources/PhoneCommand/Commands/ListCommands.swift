import ArgumentParser
import Ceremony
import Countersign
import Foundation
import UAFClient
import _Primitives

/// `countersign-phone accounts`: lists the accounts that this phone is enrolled for.
struct AccountsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts", abstract: "List the accounts that this phone is enrolled for.")

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let device = try PhoneDevice(self.phone)
            let data = try await device.client(nil).localData
            let accounts = await data.accounts
            let authenticators = await data.authenticators
            if accounts.isEmpty, !report.isJSON { report.terminal.print("This phone is not enrolled anywhere.") }
            for account in accounts {
                let names = authenticators.filter { $0.registration.isRegistered(username: account.username) }
                    .map { AuthenticatorName($0.kind) }
                var secrets: [(AuthenticatorName, AuthenticatorProtectionStatus)] = []
                if let status = try await data.pinProtectionStatus(username: account.username) {
                    secrets.append((.pin, status))
                }
                if let status = try await data.passwordProtectionStatus(username: account.username) {
                    secrets.append((.password, status))
                }
                Self.show(account, names, secrets, report)
            }
        }
    }

    private static func show(
        _ account: RegisteredAccount, _ authenticators: [AuthenticatorName],
        _ secrets: [(AuthenticatorName, AuthenticatorProtectionStatus)], _ report: Report
    ) {
        let server = account.server.baseURL.absoluteString
        var members: JSONObject = [
            "username": .string(account.username), "server": .string(server),
            "authenticators": .array(authenticators.map { .string($0.rawValue) }),
        ]
        var rows = [("Server", server), ("Answers with", authenticators.map(\.title).joined(separator: ", "))]
        for (name, status) in secrets {
            let state: (word: String, sentence: String)
            switch status {
            case .unlocked: state = ("unlocked", "")
            case .lockedOut: state = ("locked-out", "locked")
            case .lastAttemptFailed(let tries, let seconds):
                // The PIN's members have no prefix, because the PIN was the only authenticator here at first.
                let prefix = name == .pin ? "" : name.rawValue
                members[prefix.isEmpty ? "remainingTries" : "\(prefix)RemainingTries"] = .integer(Int64(tries))
                members[prefix.isEmpty ? "coolDownSeconds" : "\(prefix)CoolDownSeconds"] = .integer(Int64(seconds))
                state = (
                    "last-attempt-failed",
                    "\(tries) tries left" + (seconds > 0 ? ", the next in \(seconds) seconds" : "")
                )
            }
            members[name.rawValue] = .string(state.word)
            if !state.sentence.isEmpty { rows.append((name.title, state.sentence)) }
        }
        report.say(members) { terminal in
            terminal.print(account.username, .bold)
            terminal.list(rows.map { (name: $0.0, value: $0.1) })
        }
    }
}

/// `countersign-phone authenticators`: lists the authenticators of this phone.
struct AuthenticatorsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authenticators", abstract: "List what this phone can answer with, and for whom.")

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let device = try PhoneDevice(self.phone)
            let client = try await device.client(nil)
            if client.isDevelopmentStore, !report.isJSON {
                let place = PhoneKeyStore.kept(home: device.home) == .file ? "a store for development" : "a TPM"
                report.terminal.notice(
                    "Keys lie in \(place); sensors and the device's passcode are simulated.")
            }
            for authenticator in await client.localData.authenticators { Self.show(authenticator, report) }
        }
    }

    private static func show(_ authenticator: AuthenticatorDescriptor, _ report: Report) {
        let name = AuthenticatorName(authenticator.kind)
        let accounts = authenticator.registration.registeredAccounts.map(\.username)
        report.say([
            "authenticator": .string(name.rawValue), "aaid": .string(authenticator.aaid),
            "accounts": .array(accounts.map { .string($0) }),
            "isUserEnrolled": .bool(authenticator.isUserEnrolled),
            "allowsPasscode": .bool(authenticator.allowsDevicePasscode),
            "isSupported": .bool(authenticator.isSupportedByHardware), "simulated": .bool(name.isSimulated),
        ]) { terminal in
            terminal.print(
                name.title + (authenticator.allowsDevicePasscode ? ", or the device's passcode" : ""), .bold)
            let people = accounts.map { DisplayText.line($0) }.joined(separator: ", ")
            terminal.list([("Model", authenticator.aaid), ("Accounts", people.isEmpty ? "none" : people)])
        }
    }
}

import ArgumentParser
import Ceremony
import Countersign
import Foundation
import UAFClient
import _Primitives

/// `countersign-phone accounts`: whom this phone is enrolled for.
struct AccountsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts", abstract: "List the accounts that this phone is enrolled for.")

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json)
        try await report.running {
            try await PhoneDevice.with(self.phone) { device in
                let data = try await device.client(nil).localData
                let accounts = await data.accounts
                let authenticators = await data.authenticators
                if accounts.isEmpty, !report.isJSON { report.terminal.print("This phone is not enrolled anywhere.") }
                for account in accounts {
                    let names = authenticators.filter { $0.registration.isRegistered(username: account.username) }
                        .map { AuthenticatorName($0.kind) }
                    let status = try await data.pinProtectionStatus(username: account.username)
                    Self.show(account, names, status, report)
                }
            }
        }
    }

    private static func show(
        _ account: Account, _ authenticators: [AuthenticatorName], _ status: PinAuthenticatorProtectionStatus?,
        _ report: Report
    ) {
        let server = account.server.baseUrl.absoluteString
        var members: JSONObject = [
            "username": .string(account.username), "server": .string(server),
            "authenticators": .array(authenticators.map { .string($0.rawValue) }),
        ]
        var words: String?
        switch status {
        case .unlocked: members["pin"] = .string("unlocked")
        case .lockedOut:
            members["pin"] = .string("locked-out")
            words = "locked"
        case .lastAttemptFailed(let tries, let seconds):
            members["pin"] = .string("last-attempt-failed")
            members["remainingTries"] = .integer(Int64(tries))
            members["coolDownSeconds"] = .integer(Int64(seconds))
            words = "\(tries) tries left" + (seconds > 0 ? ", the next in \(seconds) seconds" : "")
        case nil: break
        }
        report.say(members) { terminal in
            terminal.print(terminal.styled(DisplayText.line(account.username), .bold))
            var rows = [("Server", server), ("Answers with", authenticators.map(\.title).joined(separator: ", "))]
            if let words { rows.append(("PIN", words)) }
            terminal.list(rows.map { (name: $0.0, value: $0.1) })
        }
    }
}

/// `countersign-phone authenticators`: what this phone can answer with.
struct AuthenticatorsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authenticators", abstract: "List what this phone can answer with, and for whom.")

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json)
        try await report.running {
            try await PhoneDevice.with(self.phone) { device in
                let client = try await device.client(nil)
                if client.isDevelopmentStore, !report.isJSON {
                    report.terminal.notice("Keys lie in a store for development; the fingerprint sensor is simulated.")
                }
                for authenticator in await client.localData.authenticators { Self.show(authenticator, report) }
            }
        }
    }

    private static func show(_ authenticator: AuthenticatorDescriptor, _ report: Report) {
        let name = AuthenticatorName(authenticator.kind)
        let accounts = authenticator.registration.registeredAccounts.map(\.username)
        report.say([
            "authenticator": .string(name.rawValue), "aaid": .string(authenticator.aaid),
            "accounts": .array(accounts.map { .string($0) }),
            "isUserEnrolled": .bool(authenticator.isUserEnrolled),
            "isSupported": .bool(authenticator.isSupportedByHardware), "simulated": .bool(name == .fingerprint),
        ]) { terminal in
            terminal.print(terminal.styled(name.title, .bold))
            let people = accounts.map { DisplayText.line($0) }.joined(separator: ", ")
            terminal.list([("Model", authenticator.aaid), ("Accounts", people.isEmpty ? "none" : people)])
        }
    }
}

import ArgumentParser
import Ceremony
import Countersign
import Foundation
import _Primitives

/// `countersign-phone activity`: shows the events of an account, and the places where the account is signed in.
struct ActivityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activity",
        abstract: "Show an account's notices, the browsers that are signed in, and what services have.",
        discussion: "The phone authenticates first. `revoke` ends a session or a grant that is listed here.")

    @Argument(help: "The account's name.")
    var username: String

    @OptionGroup var answers: AnswerOptions
    @OptionGroup var phone: PhoneOptions

    /// Returns the command line that shows the activity of an account, for a hint.
    static func line(account: String, home: String) -> String {
        let home = home == PhoneOptions.defaultHome ? "" : " --home \(self.quoted(home))"
        return "countersign-phone activity \(self.quoted(account))\(home)"
    }

    /// Returns a word quoted for a shell and safe to display.
    private static func quoted(_ word: String) -> String {
        let shown = DisplayText.line(word)
        let isPlain =
            !shown.isEmpty && shown.first != "-"
            && shown.unicodeScalars.allSatisfy {
                $0.properties.isAlphabetic || "0123456789@._-/~".unicodeScalars.contains($0)
            }
        return isPlain ? shown : "'\(shown.replacingOccurrences(of: "'", with: "'\\''"))'"
    }

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let device = try PhoneDevice(self.phone)
            let (client, provider) = try await OwnPerson(
                username: self.username, answers: self.answers, phone: self.phone
            ).authorize(on: device, report)
            let activity: AccountActivityResult = try await client.operations.accountActivity
                .username(self.username).authorizationProvider(provider).execute()
            Self.heading("Signed-in browsers", isEmpty: activity.sessions.isEmpty, report)
            for session in activity.sessions { Self.show(session, report) }
            Self.heading("Services that go on without a browser", isEmpty: activity.grants.isEmpty, report)
            for grant in activity.grants { Self.show(grant, report) }
            Self.heading("Notices", isEmpty: activity.notices.isEmpty, report)
            for notice in activity.notices { Self.show(notice, report) }
            report.say([
                "event": .string("finished"), "outcome": .outcome(.listed), "account": .string(self.username),
            ]) { terminal in
                guard !activity.sessions.isEmpty || !activity.grants.isEmpty else { return }
                terminal.print()
                terminal.print("Not you? End it with `countersign-phone revoke SESSION --account NAME`.")
                terminal.print("All of it: `countersign-phone revoke --all --account NAME`.")
                guard !activity.grants.isEmpty else { return }
                terminal.print("What a service has: `countersign-phone revoke --grant GRANT --account NAME`.")
            }
        }
    }

    private static func heading(_ title: String, isEmpty: Bool, _ report: Report) {
        guard !report.isJSON else { return }
        report.terminal.print()
        report.terminal.print(title, .bold)
        if isEmpty { report.terminal.print("  none") }
    }

    private static func show(_ session: BrowserSession, _ report: Report) {
        var members: JSONObject = [
            "event": .string("session"), "id": .string(session.id),
            "services": .array(
                session.services.map { .object(["name": .string($0.name), "origin": .string($0.origin)]) }),
            "authenticatedAt": .string(Self.machineText(session.authenticatedAt)),
            "usedAt": .string(Self.machineText(session.usedAt)),
            "expiresAt": .string(Self.machineText(session.expiresAt)),
        ]
        members.set("browser", session.browser)
        members.set("address", session.address)
        report.say(members) { terminal in
            let from = session.address.map { " from \($0)" } ?? ""
            terminal.print("  \(session.browser ?? "a browser")\(from)")
            var rows = session.services.map { (name: "  Signed in to", value: "\($0.name) (\($0.origin))") }
            rows += [
                ("  Since", Self.humanText(session.authenticatedAt)), ("  Last used", Self.humanText(session.usedAt)),
                ("  Session", session.id),
            ]
            terminal.list(rows)
        }
    }

    private static func show(_ grant: ServiceGrant, _ report: Report) {
        var members: JSONObject = [
            "event": .string("grant"), "id": .string(grant.id), "service": .string(grant.service),
            "scopes": .array(grant.scopes.map(JSON.string)), "since": .string(Self.machineText(grant.since)),
            "expiresAt": .string(Self.machineText(grant.expiresAt)),
        ]
        members.set("usedAt", grant.usedAt.map(Self.machineText))
        members.set("session", grant.session?.id)
        members.set("browser", grant.session?.browser)
        members.set("address", grant.session?.address)
        report.say(members) { terminal in
            terminal.print("  \(grant.service)")
            var rows = [("  May", grant.scopes.joined(separator: " "))]
            if let session = grant.session {
                let from = session.address.map { " from \($0)" } ?? ""
                rows.append(("  Given in", "\(session.browser ?? "a browser")\(from), session \(session.id)"))
            }
            rows += [
                ("  Since", Self.humanText(grant.since)),
                ("  Last used", grant.usedAt.map(Self.humanText) ?? "not yet"), ("  Grant", grant.id),
            ]
            terminal.list(rows.map { (name: $0.0, value: $0.1) })
        }
    }

    fileprivate static func show(_ notice: AccountNotice, _ report: Report) {
        report.say([
            "event": .string("account-notice"), "id": .string(notice.id), "kind": .string(notice.kind.rawValue),
            "at": .string(Self.machineText(notice.date)), "subject": .string(notice.subject),
        ]) { terminal in
            let words =
                switch notice.kind {
                case .signedIn: "signed in to \(notice.subject)"
                case .deviceAdded: "device added: \(notice.subject)"
                case .authenticatorAdded: "authenticator added on \(notice.subject)"
                case .authenticatorsRemoved: "authenticators removed by \(notice.subject)"
                case .passwordChanged: "password of \(notice.subject) changed"
                case .identityLinked: "signs in by \(notice.subject) too from now on"
                case .enrolmentAsked: "\(notice.subject) is to be added as a device"
                case .deviceApproved: "device added, approved by another device: \(notice.subject)"
                case .deviceKeysReplaced: "\(notice.subject) has new keys of its own"
                case .requestDisowned: "A request of \(notice.subject) was denied as not yours"
                case .recoveryCodeUsed: "a recovery code of \(notice.subject) was used"
                case .deviceRested: "\(notice.subject) was reported as lost, and rests"
                case .deviceReturned: "\(notice.subject) rests no longer"
                case .secondFactorChanged: "codes beside the password of \(notice.subject) changed"
                default: "\(notice.kind): \(notice.subject)"
                }
            terminal.print("  \(Self.humanText(notice.date))  \(words)")
        }
    }

    /// Returns a time for scripts.
    static func machineText(_ date: Date) -> String {
        Timestamp(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded())).description
    }

    /// Returns a time for people, to the second, at this machine's place.
    static func humanText(_ date: Date) -> String {
        date.formatted(
            Date.ISO8601FormatStyle(timeZone: .current).year().month().day().dateTimeSeparator(.space)
                .time(includingFractionalSeconds: false))
    }
}

/// `countersign-phone notices`: shows the events of an account, without an authentication.
struct NoticesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notices", abstract: "Show what has happened on an account.",
        discussion: """
            The phone proves by itself which phone it is. Only where the server does not know the phone's own keys, you \
            authenticate first. `activity` shows browsers and services as well.
            """)

    @Argument(help: "The account's name.")
    var username: String

    @OptionGroup var answers: AnswerOptions
    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let person = OwnPerson(username: self.username, answers: self.answers, phone: self.phone)
            let notices = try await person.asking(on: try PhoneDevice(self.phone), report) { client, provider in
                let operation = client.operations.accountNotices.username(self.username)
                return try await (provider.map(operation.authorizationProvider) ?? operation).execute()
            }.answer
            for notice in notices { ActivityCommand.show(notice, report) }
            report.say([
                "event": .string("finished"), "outcome": .outcome(.listed), "account": .string(self.username),
            ]) { if notices.isEmpty { $0.print("Nothing has happened.") } }
        }
    }
}

/// `countersign-phone revoke`: signs a browser out from the phone, or ends a service's grant.
struct RevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "End a browser's session, or what a service has that goes on without one.",
        discussion: """
            SESSION and --grant are as `activity` lists them. The browser must sign in anew; the service must ask anew. \
            --all ends every session, and with them what services have that lasts, device secrets and consents. The phone \
            authenticates first, with --account's keys.
            """)

    @Argument(help: "The session.")
    var session: String?

    @Option(name: .long, help: "In the place of a session: what a service has.")
    var grant: String?

    @Flag(name: .long, help: "Every session of the account, and everything that outlasts a session.")
    var all = false

    @OptionGroup var answers: AnswerOptions
    @OptionGroup var phone: PhoneOptions

    func validate() throws {
        guard [self.session != nil, self.grant != nil, self.all].count(where: \.self) == 1 else {
            throw ValidationError("Name one: SESSION, --grant GRANT or --all.")
        }
        if self.answers.account == nil { throw ValidationError("Say whose it is: --account NAME.") }
    }

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let device = try PhoneDevice(self.phone)
            let account = self.answers.account ?? ""
            let (client, provider) = try await OwnPerson(
                username: account, answers: self.answers, phone: self.phone
            ).authorize(on: device, report)
            var members: JSONObject = [
                "event": .string("finished"), "outcome": .outcome(.revoked), "account": .string(account),
            ]
            if let session = self.session {
                try await client.operations.sessionRevocation.sessionID(session).authorizationProvider(provider)
                    .execute()
                members["session"] = .string(session)
            } else if let grant = self.grant {
                try await client.operations.grantRevocation.grantID(grant).authorizationProvider(provider).execute()
                members["grant"] = .string(grant)
            } else {
                try await client.operations.sessionRevocation.everySession().authorizationProvider(provider).execute()
                members["all"] = .bool(true)
            }
            let words =
                self.all
                ? "Every browser is signed out, and no service goes on."
                : self.grant == nil ? "The browser is signed out." : "The service has lost its access."
            report.say(members) { $0.success(words) }
        }
    }
}

import Ceremony
import PersonalInformation
public import Store
import Synchronization
public import _Primitives

/// What became of mail, where the operator should know of it.
public struct MailTrouble: Sendable, Equatable {
    /// What it says.
    public let subject: MailRecord.Subject
    /// How often it was tried.
    public let attempt: Int
    /// What became of it: ``MailResult/sent`` where it was taken, and something was said of it.
    public let result: MailResult
    /// What happened, in words; empty where it was taken.
    public let reason: String
    /// What the mail command has said, without anything of the letter; empty for nothing.
    public let said: String
}

/// What became of a delivery, for those who count.
public enum MailResult: String, Sendable, CaseIterable {
    case sent, failed
    case givenUp = "given-up"
}

/// Sends people what they are to be told by mail: takes what is due out of the outbox, writes each message anew, and tries
/// until it was taken, or nobody needs it any more.
///
/// Any number of nodes can do so over one store. What a node has taken is due again when its lease is over, so that one that
/// was killed loses nothing; a person can be told twice for that reason.
public final class MailDeliveries: Sendable {
    /// Where accounts are, and their mail.
    public typealias Outbox = AccountStore & AccountChangeStore & AdditionalEmailStore & CeremonyStore & IdentityStore
        & InviteStore & MailStore

    /// What every message has.
    public struct Letterhead: Sendable {
        /// The server's address, without a slash at its end: every link begins with it.
        public let issuer: String
        /// The service as people know it.
        public let serviceName: String
        /// Who sends it.
        public let sender: MailSender

        /// A letterhead of these values.
        public init(issuer: String, serviceName: String, sender: MailSender) {
            self.issuer = issuer
            self.serviceName = serviceName
            self.sender = sender
        }
    }

    private let store: any Outbox
    private let transport: any MailTransport
    private let letterhead: Letterhead
    private let links: MailedLinks
    private let inviteLinks: InviteLinks
    private let limits: Limits
    private let time: TimeSource
    private let random: RandomSource
    private let report: @Sendable (MailTrouble) -> Void
    private let reports: SourceBudget
    /// How many are under way here, and how many strangers' among them.
    private let underWay = Mutex((all: 0, strangers: 0))

    /// Deliveries out of a store.
    ///
    /// - Parameter report: Is told what failed, and what was said of what was taken: once a minute at most, and of each that
    ///   is given up.
    public init(
        store: any Outbox, transport: any MailTransport, letterhead: Letterhead, sealing: Sealing,
        limits: Limits = Limits(), time: TimeSource = .system, random: RandomSource = .system,
        report: @escaping @Sendable (MailTrouble) -> Void = { _ in }
    ) {
        self.store = store
        self.transport = transport
        self.letterhead = letterhead
        self.links = MailedLinks(sealing: sealing, random: random)
        self.inviteLinks = InviteLinks(sealing: sealing)
        self.limits = limits
        self.time = time
        self.random = random
        self.report = report
        self.reports = SourceBudget(oneIn: limits.pauseOfReports, sources: 1)
    }

    /// Takes what is due now. Whoever takes a delivery delivers it, with ``deliver(_:)``.
    ///
    /// Cost: one query; where something is due, one store step.
    public func takeDue() async throws -> [MailDelivery] {
        let mail = self.limits.mail
        let underWay = self.underWay.withLock { $0 }
        let free = mail.mailsAtOnce - underWay.all
        guard free > 0 else { return [] }
        let now = self.time.now()
        let taken = try await self.store.takeMails(
            at: now, lease: now + mail.mailLease, limit: free, strangers: mail.anonymousMailsAtOnce - underWay.strangers
        )
        self.underWay.withLock {
            $0.all += taken.count
            $0.strangers += taken.count(where: { $0.turn == .stranger })
        }
        return taken
    }

    /// How many letters were dropped since this was last asked, because too many waited, by what they were to say.
    ///
    /// Cost: one query; where there are some, one store step.
    public func takeDropped() async throws -> [MailRecord.Subject: Int] { try await self.store.takeDroppedMails() }

    /// Sends what was taken, and removes it or has it wait.
    ///
    /// Cost: one query, one call of the transport, one store step; with a link one more.
    public func deliver(_ delivery: MailDelivery) async throws -> MailResult {
        defer {
            self.underWay.withLock {
                $0.all -= 1
                if delivery.turn == .stranger { $0.strangers -= 1 }
            }
        }
        let now = self.time.now()
        guard now < delivery.expiresAt else { return try await self.giveUp(delivery, "its time is over") }
        let content: MailContent
        switch try await self.content(of: delivery, at: now) {
        case .over(let reason): return try await self.giveUp(delivery, reason)
        case .found(let found): content = found
        }
        if delivery.linkName != nil {
            // However long the letter has waited: whoever gets it has the whole time.
            let isWanted = try await self.store.beginLink(
                of: delivery, until: self.time.now() + self.limits.mail.mailedLinkLifetime)
            guard isWanted else { return try await self.giveUp(delivery, "its link is not wanted any more") }
        }
        let words = MailWords(delivery, content, letterhead: self.letterhead, links: self.links)
        let message = MailMessage(
            sender: self.letterhead.sender, senderName: self.letterhead.serviceName, recipient: content.recipient,
            subject: words.subject, text: words.text, at: now, identifier: self.random.identifier())
        let said: String
        do {
            said = try await self.transport.send(message.bytes)
        } catch { return try await self.failed(delivery, error) }
        try await self.store.removeMail(delivery, audit: nil)
        if !said.isEmpty { self.report(delivery, .sent, said: said, at: now) }
        return .sent
    }

    /// What a letter needs of what it is about.
    private enum FoundContent {
        case found(MailContent)
        /// It has to be given up, for this reason.
        case over(String)
    }

    private func content(of delivery: MailDelivery, at now: Timestamp) async throws -> FoundContent {
        if delivery.subject == .invitation {
            guard let id = delivery.about, let invite = try await self.store.invite(id), invite.state == .open,
                now < invite.expiresAt, EmailValidator().accepts(invite.email)
            else { return .over("its invitation is not open any more") }
            return .found(
                MailContent(
                    recipient: invite.email, name: "", secret: self.inviteLinks.secret(of: invite.id),
                    until: invite.expiresAt))
        }
        if delivery.subject == .addressConfirmation, let id = delivery.about {
            guard let account = try await self.store.account(id: delivery.accountID), !account.isLocked,
                let email = try await self.store.additionalEmails(accountID: account.id)
                    .first(where: { $0.id.hasSameBytes(as: id) }), !email.isVerified,
                EmailValidator().accepts(email.address)
            else { return .over("the address is not to be confirmed any more") }
            // Whoever reads it may be a stranger, who is told no other address.
            return .found(
                MailContent(
                    recipient: email.address, name: account.username?.text ?? account.displayName ?? ""))
        }
        guard let account = try await self.store.account(id: delivery.accountID), let email = account.email,
            // Whoever entered an address may have mistyped it: links that open something go to nobody by mistake.
            email.isVerified || delivery.subject == .addressConfirmation, EmailValidator().accepts(email.address)
        else { return .over("the account has no verified address any more") }
        var content = MailContent(recipient: email.address, name: account.shownName)
        if delivery.subject == .newActivation {
            guard let id = delivery.about, let offer = try await self.store.offer(id: id), offer.state == .offered,
                let code = offer.letter, !account.isLocked
            else { return .over("its code cannot be used any more") }
            content.secret = code
            content.until = offer.expiresAt
        }
        switch delivery.subject {
        case .accountChanged, .passwordChanged, .secondFactorChanged:
            // A letter from before changes were kept is about none.
            guard let id = delivery.about else { break }
            guard let change = try await self.store.accountChange(id) else {
                return .over("its change is too long ago")
            }
            content.change = change
        case .changeCode, .changeWaits:
            guard let reference = delivery.about,
                let ceremony = try await self.store.ceremony(.reference(reference)), ceremony.phase == .created,
                now < ceremony.expiresAt, let text = ceremony.detail.content
            else { return .over("its change does not wait any more") }
            content.text = String(decoding: text, as: UTF8.self)
            content.waitsUntil = ceremony.changedAt + self.limits.providerConfirmationWait
        default: break
        }
        return .found(content)
    }

    private func failed(_ delivery: MailDelivery, _ failure: MailFailure) async throws -> MailResult {
        let mail = self.limits.mail
        let now = self.time.now()
        let next =
            now + Limits.pause(mail.mailRetryPause, doubled: delivery.attempt - 1, atMost: mail.longestMailRetryPause)
        guard next < delivery.expiresAt else {
            return try await self.giveUp(delivery, failure.reason, said: failure.said)
        }
        try await self.store.postponeMail(delivery, until: next)
        self.report(delivery, .failed, failure.reason, said: failure.said, at: now)
        return .failed
    }

    /// Tells of mail that goes on, or has gone: of one letter in a while.
    private func report(
        _ delivery: MailDelivery, _ result: MailResult, _ reason: String = "", said: String, at now: Timestamp
    ) {
        guard self.reports.spend("", at: now) == nil else { return }
        self.report(
            MailTrouble(
                subject: delivery.subject, attempt: delivery.attempt, result: result, reason: reason, said: said))
    }

    private func giveUp(_ delivery: MailDelivery, _ reason: String, said: String = "") async throws -> MailResult {
        try await self.store.removeMail(
            delivery,
            audit: AuditEvent(
                .mailUnsent, at: self.time.now(), accountID: delivery.accountID, detail: delivery.subject.rawValue))
        self.report(
            MailTrouble(
                subject: delivery.subject, attempt: delivery.attempt, result: .givenUp, reason: reason, said: said))
        return .givenUp
    }
}

/// What the words of a letter are filled with.
private struct MailContent {
    /// The address.
    let recipient: String
    /// What the account is called.
    let name: String
    /// The secret of the letter's link, where the secret is made of the invitation or the offer itself.
    var secret = ""
    /// Until when that is good.
    var until: Timestamp?
    /// The change that the letter tells of.
    var change: AccountChangeRecord?
    /// The text of the change that the letter's code confirms, or that waits.
    var text = ""
    /// The moment from which a change that waits can be made.
    var waitsUntil: Timestamp?
}

/// What mail says.
private struct MailWords {
    let subject: String
    let text: String

    init(
        _ delivery: MailDelivery, _ content: MailContent, letterhead: MailDeliveries.Letterhead, links: MailedLinks
    ) {
        let (service, name) = (letterhead.serviceName, content.name)
        let until = content.until.map { " It works until \($0.shownMinute)." } ?? ""
        func link(_ path: String, about: String = "") -> String {
            "\(letterhead.issuer)\(path)?\(about)link=\(delivery.linkName.map(links.secret) ?? "")"
        }
        let tell = "tell the people who run \(service) at once"
        let question = content.change.map { change in
            """
            open this address and say so. It works once, and for a quarter of an hour; for \
            seven days it offers to mail another one:

            \(link(MailedLinkPaths.changeQuestion, about: "id=\(change.id)&"))
            """
        }
        switch delivery.subject {
        case .passwordReset:
            self.subject = "A new password at \(service)"
            self.text = """
                Somebody has asked for a new password for the name \(name) at \(service).

                If it was you, open this address and choose one. It works once, and for a quarter of an hour at most:

                \(link(MailedLinkPaths.passwordReset))

                If it was not you, there is nothing to do: your password stays as it is.

                """
        case .addressConfirmation:
            self.subject = "Is this your address?"
            let whose = name.isEmpty ? "An account" : "The name \(name)"
            self.text = """
                \(whose) at \(service) has this e-mail address.

                If that is you, open this address and say so. It works once, and for a quarter of an hour at most:

                \(link(MailedLinkPaths.addressConfirmation))

                If you do not know \(service), there is nothing to do.

                """
        case .passwordChanged:
            self.subject = "Your password at \(service) was changed"
            self.text = """
                The password of the name \(name) at \(service) is another one now, and everybody who was signed in with \
                that name was signed out.

                If it was not you, \(question ?? "\(tell).")

                """
        case .accountChanged:
            let (change, made) = (content.change?.shown ?? "", content.change?.madeAt.shownMinute ?? "")
            switch content.change?.state {
            case .disowned?:
                self.subject = "A change at \(service) rests"
                self.text = """
                    Somebody has said of a change of the name \(name) at \(service) that it was not you: \(change), \
                    \(made). It rests now, and everybody who was signed in with that name was signed out.

                    If the change was yours, \(question ?? "\(tell).")

                    """
            case .reclaimed?:
                self.subject = "A change at \(service) counts again"
                self.text = """
                    Somebody has said of a change of the name \(name) at \(service) that it was you after all: \
                    \(change), \(made). It counts again.

                    If that is not so, \(tell).

                    """
            case .made?, nil:
                self.subject = "Your account at \(service) was changed"
                self.text = """
                    The account of the name \(name) at \(service) was changed, \(made): \(change).

                    If it was you, there is nothing to do. If it was not you, \(question ?? "\(tell).")

                    """
            }
        case .changeWaits:
            self.subject = "A change at \(service) waits"
            self.text = """
                Somebody has signed in again with the name \(name) at \(service), to confirm this change:

                \(content.text)

                The change can be made from \(content.waitsUntil?.shownMinute ?? "") on. If it was you, there is nothing to \
                do until then. If it was not you, sign in, open this address, and stop the change:

                \(letterhead.issuer)/account/changes

                """
        case .changeCode:
            self.subject = "Your code for \(service)"
            self.text = """
                \(delivery.linkName.map { links.code(ofName: $0).shown } ?? "")

                Type this code on the page in your own browser where you have asked for this:

                \(content.text)

                The code works for a quarter of an hour at most. If it was not you, tell nobody the code: somebody knows \
                the password of the name \(name). Set another one, and \(tell).

                """
        case .invitation:
            self.subject = "You are invited to \(service)"
            self.text = """
                Somebody who runs \(service) has invited this address. Open this one to see to what, and to accept:

                \(letterhead.issuer)\(MailedLinkPaths.invitation)?link=\(content.secret)

                It is for you alone: whoever opens it can accept in your place.\(until)

                If you do not know \(service), there is nothing to do.

                """
        case .newActivation:
            self.subject = "Another device for \(service)"
            self.text = """
                An app of the name \(name) has asked for a code for another device. Open this address on that device, \
                with the app there:

                \(ProcessCode.link(with: content.secret, at: letterhead.issuer))

                The app asks for the PIN that was chosen with it, which nobody else has to know.\(until)

                If it was not you, tell the people who run \(service) at once.

                """
        case .secondFactorChanged:
            self.subject = "Your codes at \(service) were changed"
            self.text = """
                The authenticator app or the recovery codes of the name \(name) at \(service) are others now.

                If it was not you, \(question ?? "\(tell).")

                """
        }
    }
}

/// Where the links of mail lead.
public enum MailedLinkPaths {
    /// To choose a new password.
    public static let passwordReset = "/account/reset"
    /// To say that a change of the account was somebody else's.
    public static let changeQuestion = "/account/changes/question"
    /// To say that an address is one's own.
    public static let addressConfirmation = "/account/address/confirm"
    /// To see an invitation, and to accept it.
    public static let invitation = "/invitation"
}

extension Timestamp {
    /// As letters and pages have it: `2026-01-31 12:34 UTC`.
    public var shownMinute: String {
        let text = Array(self.description)
        return "\(String(text[0..<10])) \(String(text[11..<16])) UTC"
    }
}

extension AuditEvent.Kind {
    /// Mail was not sent, however often it was tried; the detail says what it was to say.
    fileprivate static let mailUnsent = Self(rawValue: "mail-unsent")
}

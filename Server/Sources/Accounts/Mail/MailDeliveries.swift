import Ceremony
import PersonalInformation
public import Records
public import Sealing
public import Settings
public import Texts
public import _Primitives

/// The result of a delivery that the operator should know of.
public struct MailTrouble: Sendable, Equatable {
    /// The subject of the letter.
    public let subject: MailRecord.Subject
    /// The number of the attempt.
    public let attempt: Int
    /// The result: ``Records/OutboxResult/delivered`` if the letter was taken with a remark of the mail command.
    public let result: OutboxResult
    /// The reason in words; empty if the letter was taken.
    public let reason: String
    /// The words of the mail command, without any part of the letter; empty for none.
    public let said: String
}

/// Sends the letters of the outbox: writes each message anew for each try, and has the letter tried until a message was
/// taken, is no longer needed, or its time is over.
public final class MailDeliveries: Sendable {
    /// The stores of accounts, and of their mail.
    public typealias Outbox = AccountStore & AccountChangeStore & AdditionalEmailStore & CeremonyStore & IdentityStore
        & InviteStore & MailStore

    /// The common parts of every message.
    public struct Letterhead: Sendable {
        /// The server's address, without a slash at its end: every link begins with it.
        public let issuer: String
        /// The name of the service, as people know the service.
        public let serviceName: String
        /// The sender.
        public let sender: MailSender
        /// The languages of the letters. A letter is in the language of its account.
        public let languages: Languages

        /// Creates a letterhead.
        public init(
            issuer: String, serviceName: String, sender: MailSender, languages: Languages = .catalogue
        ) {
            self.languages = languages
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
    private let terms: OutboxTerms
    private let time: TimeSource
    private let random: RandomSource
    private let report: @Sendable (MailTrouble) -> Void
    private let reports: SourceBudget

    /// Creates the deliveries of a store.
    ///
    /// - Parameter report: Called for a failed attempt, and for a remark about a taken letter, at most once a minute
    ///   together. Also called for each letter that is given up.
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
        self.terms = OutboxTerms(ofMail: limits.mail)
        self.time = time
        self.random = random
        self.report = report
        self.reports = SourceBudget(oneIn: limits.pauseOfReports, sources: 1, protecting: .node)
    }

    /// The channel of mailboxes in the outbox. The letters for strangers have a lane of their own.
    public var entry: OutboxEntry { OutboxEntry(.mailbox, self.terms) { try await self.send($0) } }

    /// Returns the numbers of dropped letters since the last call, by subject. Letters are dropped if too many wait.
    ///
    /// Cost: one query; after dropped letters, one store step.
    public func takeDropped() async throws -> [MailRecord.Subject: Int] { try await self.store.takeDroppedMails() }

    /// Sends a letter. Gives up, without sending, a letter that is no longer needed or whose time is over.
    ///
    /// Cost: one query or two, one call of the transport; with a link one store step.
    private func send(_ letter: OutboxMessage) async throws -> OutboxSettlement {
        let delivery = try MailDelivery(letter)
        let now = self.time.now()
        guard now < delivery.expiresAt else { return self.giveUp(delivery, "its time is over") }
        let content: MailContent
        switch try await self.content(of: delivery, at: now) {
        case .over(let reason): return self.giveUp(delivery, reason)
        case .found(let found): content = found
        }
        if delivery.linkName != nil {
            // The link's time begins now, so that the recipient has the whole time after any delay of the letter.
            let isWanted = try await self.store.beginLink(
                of: letter, until: self.time.now() + self.limits.mail.mailedLinkLifetime)
            guard isWanted else { return self.giveUp(delivery, "its link is not wanted any more") }
        }
        let words = self.letterhead.languages.language(tagged: content.language).letter(
            Letter(delivery, content, letterhead: self.letterhead, links: self.links))
        let message = MailMessage(
            sender: self.letterhead.sender, senderName: self.letterhead.serviceName, recipient: content.recipient,
            subject: words.subject, text: words.text, at: now, identifier: self.random.identifier())
        let said: String
        do {
            said = try await self.transport.send(message.bytes)
        } catch { return self.failed(letter, delivery, error) }
        if !said.isEmpty { self.report(delivery, .delivered, said: said, at: now) }
        return .delivered
    }

    /// The content that a letter needs from its subject.
    private enum FoundContent {
        case found(MailContent)
        /// The letter must be given up, for this reason.
        case over(String)
    }

    private func content(of delivery: MailDelivery, at now: Timestamp) async throws -> FoundContent {
        if delivery.subject == .invitation {
            guard let id = delivery.about, let invite = try await self.store.invite(id), invite.state == .open,
                now < invite.expiresAt, EmailValidator().accepts(invite.email),
                let account = try await self.store.account(id: delivery.accountID)
            else { return .over("its invitation is not open any more") }
            return .found(
                MailContent(
                    recipient: invite.email, name: "", language: account.language,
                    secret: self.inviteLinks.secret(of: invite.id), until: invite.expiresAt))
        }
        if delivery.subject == .addressConfirmation, let id = delivery.about {
            guard let account = try await self.store.account(id: delivery.accountID), !account.isLocked,
                let email = try await self.store.additionalEmails(accountID: account.id)
                    .first(where: { $0.id.hasSameBytes(as: id) }), !email.isVerified,
                EmailValidator().accepts(email.address)
            else { return .over("the address is not to be confirmed any more") }
            // The reader may be a stranger, who must not learn another address.
            return .found(
                MailContent(
                    recipient: email.address, name: account.username?.text ?? account.displayName ?? "",
                    language: account.language))
        }
        if delivery.subject.goesToAllAddresses, let id = delivery.about {
            guard let account = try await self.store.account(id: delivery.accountID), !account.isLocked,
                let email = try await self.store.additionalEmails(accountID: account.id)
                    .first(where: { $0.id.hasSameBytes(as: id) }), email.isVerified,
                EmailValidator().accepts(email.address)
            else { return .over("the address is no confirmed address any more") }
            return .found(
                MailContent(recipient: email.address, name: account.shownName, language: account.language))
        }
        guard let account = try await self.store.account(id: delivery.accountID), let email = account.email,
            // An operator may have mistyped an address: a link with power must not reach a stranger by mistake.
            email.isVerified || delivery.subject == .addressConfirmation, EmailValidator().accepts(email.address)
        else { return .over("the account has no verified address any more") }
        var content = MailContent(recipient: email.address, name: account.shownName, language: account.language)
        if delivery.subject == .newActivation {
            guard let id = delivery.about, let offer = try await self.store.offer(id: id), offer.state == .offered,
                let code = offer.letter, !account.isLocked
            else { return .over("its code cannot be used any more") }
            content.secret = code
            content.until = offer.expiresAt
        }
        switch delivery.subject {
        case .accountChanged, .passwordChanged, .secondFactorChanged:
            // A letter from before changes were kept has no change.
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

    private func failed(_ letter: OutboxMessage, _ delivery: MailDelivery, _ failure: MailFailure) -> OutboxSettlement {
        let now = self.time.now()
        guard let next = self.terms.nextTry(of: letter, at: now, before: delivery.expiresAt) else {
            return self.giveUp(delivery, failure.reason, said: failure.said)
        }
        self.report(delivery, .failed, failure.reason, said: failure.said, at: now)
        return .later(next)
    }

    /// Reports a postponed or sent letter, limited to one report in a while.
    private func report(
        _ delivery: MailDelivery, _ result: OutboxResult, _ reason: String = "", said: String, at now: Timestamp
    ) {
        guard self.reports.spend("", at: now) == nil else { return }
        self.report(
            MailTrouble(
                subject: delivery.subject, attempt: delivery.attempt, result: result, reason: reason, said: said))
    }

    private func giveUp(_ delivery: MailDelivery, _ reason: String, said: String = "") -> OutboxSettlement {
        self.report(
            MailTrouble(
                subject: delivery.subject, attempt: delivery.attempt, result: .givenUp, reason: reason, said: said))
        return .givenUp(
            AuditEvent(
                .mailUnsent, at: self.time.now(), accountID: delivery.accountID, detail: delivery.subject.rawValue))
    }
}

extension MailRecord.Subject {
    /// `true` if such letters go to all confirmed addresses of a person. A letter about an address goes to this address,
    /// and the letter about nothing to the first address.
    fileprivate var goesToAllAddresses: Bool {
        [.recoveryCodeUsed, .deviceRested, .deviceReturned].contains(self)
    }
}

extension OutboxTerms {
    /// The terms of letters. Letters for strangers have a share of the places.
    fileprivate init(ofMail limits: Limits.Mail) {
        self.init(
            places: limits.mailsAtOnce, share: limits.mailsAtOnce, lease: limits.mailLease,
            retryPause: limits.mailRetryPause, longestRetryPause: limits.longestMailRetryPause,
            interval: limits.mailInterval)
        self.sharesOfLanes[ExactText(MailRecord.Turn.laneOfStrangers)] = limits.anonymousMailsAtOnce
    }
}

/// The values for the words of a letter.
private struct MailContent {
    /// The recipient's address.
    let recipient: String
    /// The name of the account.
    let name: String
    /// The language of the account, by its tag; `nil` if unknown.
    let language: String?
    /// The secret of the letter's link, if the secret is made of the invitation or the offer itself.
    var secret = ""
    /// The end of the secret's validity.
    var until: Timestamp?
    /// The change that the letter tells of.
    var change: AccountChangeRecord?
    /// The text of the change that waits, or that the letter's code confirms.
    var text = ""
    /// The moment from which a waiting change can be made.
    var waitsUntil: Timestamp?
}

extension Letter {
    /// Creates the letter of a delivery, with its links.
    fileprivate init(
        _ delivery: MailDelivery, _ content: MailContent, letterhead: MailDeliveries.Letterhead, links: MailedLinks
    ) {
        let (service, name) = (letterhead.serviceName, content.name)
        let until = content.until?.shownMinute
        func link(_ path: String, about: String = "") -> String {
            "\(letterhead.issuer)\(path)?\(about)link=\(delivery.linkName.map(links.secret) ?? "")"
        }
        let question = content.change.map { link(MailedLinkPaths.changeQuestion, about: "id=\($0.id)&") }
        self =
            switch delivery.subject {
            case .passwordReset:
                .passwordReset(service: service, name: name, link: link(MailedLinkPaths.passwordReset))
            case .addressConfirmation:
                .addressConfirmation(service: service, name: name, link: link(MailedLinkPaths.addressConfirmation))
            case .passwordChanged: .passwordChanged(service: service, name: name, question: question)
            case .secondFactorChanged: .secondFactorChanged(service: service, name: name, question: question)
            case .recoveryCodeUsed: .recoveryCodeUsed(service: service, name: name)
            case .deviceRested:
                .deviceRested(service: service, name: name, devices: "\(letterhead.issuer)\(MailedLinkPaths.devices)")
            case .deviceReturned:
                .deviceReturned(service: service, name: name, devices: "\(letterhead.issuer)\(MailedLinkPaths.devices)")
            case .accountChanged: Self(content.change, service: service, name: name, question: question)
            case .changeWaits:
                .changeWaits(
                    service: service, name: name, text: content.text, from: content.waitsUntil?.shownMinute ?? "",
                    changes: "\(letterhead.issuer)/account/changes")
            case .changeCode:
                .changeCode(
                    service: service, name: name, text: content.text,
                    code: delivery.linkName.map { links.code(ofName: $0).shown } ?? "")
            case .invitation:
                .invitation(
                    service: service,
                    link: "\(letterhead.issuer)\(MailedLinkPaths.invitation)?link=\(content.secret)", until: until)
            case .newActivation:
                .newActivation(
                    service: service, name: name, link: ProcessCode.link(with: content.secret, at: letterhead.issuer),
                    until: until)
            }
    }

    /// Creates the letter about a change in its present state. A letter from before changes were kept has no change.
    private init(_ change: AccountChangeRecord?, service: String, name: String, question: String?) {
        let (shown, made) = (change?.shown ?? "", change?.madeAt.shownMinute ?? "")
        self =
            switch change?.state {
            case .disowned?:
                .changeDisowned(service: service, name: name, change: shown, made: made, question: question)
            case .reclaimed?: .changeReclaimed(service: service, name: name, change: shown, made: made)
            case .made?, nil:
                .accountChanged(service: service, name: name, change: shown, made: made, question: question)
            }
    }
}

/// The paths of the links in mail.
public enum MailedLinkPaths {
    /// The page for choosing a new password.
    public static let passwordReset = "/account/reset"
    /// The page for disowning or reclaiming a change of the account.
    public static let changeQuestion = "/account/changes/question"
    /// The page for confirming an address.
    public static let addressConfirmation = "/account/address/confirm"
    /// The page with the devices of an account, to which a letter leads without a link of its own.
    public static let devices = "/account/devices"
    /// The page for seeing and accepting an invitation.
    public static let invitation = "/invitation"
}

extension AccountChangeRecord {
    /// The change with its value, for letters and pages to its person.
    public var shown: String {
        switch self.addition {
        case .email(let value), .phone(let value): "\(self.words) (\(value))"
        default: self.words
        }
    }
}

extension Timestamp {
    /// The moment in the form of letters and pages: `2026-01-31 12:34 UTC`.
    public var shownMinute: String {
        let text = Array(self.description)
        return "\(String(text[0..<10])) \(String(text[11..<16])) UTC"
    }
}

extension AuditEvent.Kind {
    /// Mail was given up unsent: all attempts failed, its time was over, or the mail was no longer needed. The detail
    /// is the letter's subject.
    fileprivate static let mailUnsent = Self(rawValue: "mail-unsent")
}

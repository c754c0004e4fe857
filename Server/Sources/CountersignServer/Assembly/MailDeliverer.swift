public import Accounts
import AdminAPI
import Endpoints
public import Logging
public import Records
public import ServiceLifecycle
import Settings
import _Primitives

extension ServerAssembly {
    /// Returns the service that sends people their mail; `nil` if the server sends no mail.
    public func mailDeliverer(logger: Logger) -> MailDeliverer? {
        guard let mail = self.configuration.mail else { return nil }
        let (last, time) = (self.lastMail, self.time)
        let deliveries = MailDeliveries(
            store: self.mails, transport: mail.transport, letterhead: self.letterhead(of: mail.sender),
            sealing: self.sealing, limits: self.configuration.limits, time: self.time, random: self.random
        ) { trouble in
            last.note(trouble, at: time.now())
            MailDeliverer.log(trouble, logger)
        }
        return MailDeliverer(
            deliveries: deliveries, last: last, resets: PasswordResets(self.passwords),
            metrics: self.configuration.metrics,
            logger: logger,
            interval: self.configuration.limits.mail.mailInterval)
    }

    /// The test by which operators try mail; `nil` if the server sends no mail.
    var mailTest: MailTest? {
        self.configuration.mail.map { mail in
            MailTest(
                mail.transport, letterhead: self.letterhead(of: mail.sender), time: self.time, random: self.random)
        }
    }

    private func letterhead(of sender: MailSender) -> MailDeliveries.Letterhead {
        MailDeliveries.Letterhead(
            issuer: self.configuration.issuer, serviceName: self.configuration.serviceName, sender: sender)
    }
}

/// Sends the mail that waits for people until the server shuts down.
///
/// A person who requests mail does not wait for the sending. Any number of servers may send from one store.
public struct MailDeliverer: Service {
    /// The letters and their delivery.
    public let deliveries: MailDeliveries
    let last: LastMail
    /// The requested links for new passwords. The server must examine each request before sending a link.
    let resets: PasswordResets
    let metrics: ServerMetrics
    let logger: Logger
    let interval: Duration

    /// Sends until the server shuts down. A letter that the shutdown interrupts is due again when its lease is over.
    public func run() async throws {
        await deliverFromOutbox(every: self.interval, "mail", self.logger) {
            try await self.takeDue()
        } deliver: { delivery in
            let result = try await self.deliveries.deliver(delivery)
            if result == .sent { self.last.noteTaken() }
            self.metrics.count(.mails, result.rawValue)
        } look: {
            try await self.tellDropped()
        }
    }

    /// Examines the requests for links, and takes the letters that are due. Logs each request that gets no link.
    public func takeDue() async throws -> [MailDelivery] {
        for refusal in try await self.resets.sendLinks() {
            self.logger.info(
                "A link that was asked for is not mailed",
                metadata: ["error": "no-mail-\(refusal.rawValue)", "reason": "\(refusal.words)"])
        }
        return try await self.deliveries.takeDue()
    }

    /// Logs and counts the letters that were dropped since the last time because too many letters waited.
    func tellDropped() async throws {
        for (subject, count) in try await self.deliveries.takeDropped() {
            self.metrics.count(.mails, "dropped", by: count)
            self.logger.error(
                "Letters were not kept, because too many wait",
                metadata: [
                    "mail": "\(subject.rawValue)", "count": "\(count)",
                    "remedy": "See whether the mail command (--mail-command) takes letters, and how fast.",
                ])
        }
    }

    static func log(_ trouble: MailTrouble, _ logger: Logger) {
        var metadata: Logger.Metadata = [
            "mail": "\(trouble.subject.rawValue)", "attempt": "\(trouble.attempt)",
        ]
        if !trouble.said.isEmpty { metadata["said"] = "\(trouble.said)" }
        guard trouble.result != .sent else {
            logger.notice("The mail command has taken a letter, and said something", metadata: metadata)
            return
        }
        metadata["reason"] = "\(trouble.reason)"
        metadata["remedy"] =
            "--mail-command names a command that takes a message as `sendmail -t` does, and ends with 0. `countersign mail test ADDRESS` tries it."
        if trouble.result == .givenUp {
            logger.error("Mail was not sent, and is not tried any more", metadata: metadata)
        } else {
            logger.notice("Mail could not be sent; it is tried again", metadata: metadata)
        }
    }
}

extension PasswordResets.Refusal {
    /// The reason, for the operator.
    fileprivate var words: String {
        switch self {
        case .unknownName: "Nobody has this name."
        case .locked: "The account is locked: countersign admin account unlock."
        case .noPassword: "The account has no password: its phone signs in."
        case .noAddress: "The account has no confirmed address: countersign admin account change --email."
        case .resting: "So many were asked for in a row that none is sent for a while."
        }
    }
}

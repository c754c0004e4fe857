import Accounts
import AdminAPI
import Endpoints
import Logging
import Records
import _Primitives

extension OutboxEntry {
    /// Makes the channel of mailboxes; `nil` if the server sends no mail. Before each search for due letters, the
    /// requests for links are examined, and dropped letters are told to the operator.
    init?(mailboxesOf server: ServerAssembly, _ logger: Logger) {
        let configuration = server.configuration
        guard let mail = configuration.mail else { return nil }
        let (last, time, metrics) = (server.lastMail, server.time, configuration.metrics)
        let deliveries = MailDeliveries(
            store: server.mails, transport: mail.transport,
            letterhead: MailDeliveries.Letterhead(configuration, sender: mail.sender), sealing: server.sealing,
            limits: configuration.limits, time: time, random: server.random
        ) { trouble in
            last.note(trouble, at: time.now())
            Self.log(trouble, logger)
        }
        let resets = PasswordResets(server.passwords)
        let entry = deliveries.entry
        self.init(entry.channel, entry.terms) { letter in
            let settlement = try await entry.send(letter)
            if settlement == .delivered { last.noteTaken() }
            return settlement
        }
        self.prepare = {
            // The letters that wait are sent, whatever fails here.
            do {
                try await Self.tellDropped(deliveries, metrics, logger)
            } catch { logger.error("Dropped letters are not counted yet", metadata: ["reason": "\(error)"]) }
            do {
                try await Self.sendLinks(resets, logger)
            } catch { logger.error("Requests for links are not examined yet", metadata: ["reason": "\(error)"]) }
        }
    }

    /// Examines the requests for links, and logs each request that gets no link.
    private static func sendLinks(_ resets: PasswordResets, _ logger: Logger) async throws {
        for refusal in try await resets.sendLinks() {
            logger.info(
                "A link that was asked for is not mailed",
                metadata: ["error": "no-mail-\(refusal.rawValue)", "reason": "\(refusal.words)"])
        }
    }

    /// Logs and counts the letters that were dropped since the last time because too many letters waited.
    private static func tellDropped(_ deliveries: MailDeliveries, _ metrics: ServerMetrics, _ logger: Logger)
        async throws
    {
        for (subject, count) in try await deliveries.takeDropped() {
            metrics.count(.messages, OutboxChannel.mailbox.rawValue, "dropped", by: count)
            logger.error(
                "Letters were not kept, because too many wait",
                metadata: [
                    "mail": "\(subject.rawValue)", "count": "\(count)",
                    "remedy": "See whether the mail command (--mail-command) takes letters, and how fast.",
                ])
        }
    }

    private static func log(_ trouble: MailTrouble, _ logger: Logger) {
        var metadata: Logger.Metadata = [
            "mail": "\(trouble.subject.rawValue)", "attempt": "\(trouble.attempt)",
        ]
        if !trouble.said.isEmpty { metadata["said"] = "\(trouble.said)" }
        guard trouble.result != .delivered else {
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

extension MailTest {
    /// Makes the test by which the operators of a server try mail; `nil` if the server sends no mail.
    init?(_ server: ServerAssembly) {
        guard let mail = server.configuration.mail else { return nil }
        self.init(
            mail.transport, letterhead: MailDeliveries.Letterhead(server.configuration, sender: mail.sender),
            time: server.time, random: server.random)
    }
}

extension MailDeliveries.Letterhead {
    fileprivate init(_ configuration: ServerAssembly.Configuration, sender: MailSender) {
        self.init(issuer: configuration.issuer, serviceName: configuration.serviceName, sender: sender)
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

public import Accounts
import AdminAPI
import Endpoints
public import Logging
public import Records
public import ServiceLifecycle
import Settings
import _Primitives

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

    /// Makes the deliverer of a server; `nil` if the server sends no mail.
    public init?(_ server: ServerAssembly, logger: Logger) {
        let configuration = server.configuration
        guard let mail = configuration.mail else { return nil }
        let (last, time) = (server.lastMail, server.time)
        self.deliveries = MailDeliveries(
            store: server.mails, transport: mail.transport,
            letterhead: MailDeliveries.Letterhead(configuration, sender: mail.sender), sealing: server.sealing,
            limits: configuration.limits, time: time, random: server.random
        ) { trouble in
            last.note(trouble, at: time.now())
            Self.log(trouble, logger)
        }
        self.last = last
        self.resets = PasswordResets(server.passwords)
        self.metrics = configuration.metrics
        self.logger = logger
        self.interval = configuration.limits.mail.mailInterval
    }

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

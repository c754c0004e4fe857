public import Accounts
public import Logging
public import ServiceLifecycle
import Store

extension ServerAssembly {
    /// The service that sends people their mail; `nil` where none is sent.
    public func mailDeliverer(logger: Logger) -> MailDeliverer? {
        guard let mail = self.configuration.mail else { return nil }
        let deliveries = MailDeliveries(
            store: self.mails, transport: mail.transport,
            letterhead: MailDeliveries.Letterhead(
                issuer: self.configuration.issuer, serviceName: self.configuration.serviceName, sender: mail.sender),
            sealing: self.sealing, limits: self.configuration.limits, time: self.time, random: self.random
        ) { MailDeliverer.log($0, logger) }
        return MailDeliverer(
            deliveries: deliveries, logger: logger, interval: self.configuration.limits.mail.mailInterval)
    }
}

/// Looks whether people have to be told something by mail, and sends it, until the server shuts down. Nobody who asks for
/// mail waits for it. Any number of servers may do so over one store.
public struct MailDeliverer: Service {
    /// What is sent.
    public let deliveries: MailDeliveries
    let logger: Logger
    let interval: Duration

    /// Sends until the server shuts down. What is under way then is due again when its lease is over.
    public func run() async throws {
        await deliverFromOutbox(every: self.interval, "mail", self.logger) {
            try await self.deliveries.takeDue()
        } deliver: { delivery in
            _ = try await self.deliveries.deliver(delivery)
        }
    }

    static func log(_ trouble: MailTrouble, _ logger: Logger) {
        let metadata: Logger.Metadata = [
            "mail": "\(trouble.subject.rawValue)", "attempt": "\(trouble.attempt)", "reason": "\(trouble.reason)",
            "remedy": "--mail-command names a command that takes a message as `sendmail -t` does, and ends with 0.",
        ]
        if trouble.isGivenUp {
            logger.error("Mail was not sent, and is not tried any more", metadata: metadata)
        } else {
            logger.notice("Mail could not be sent; it is tried again", metadata: metadata)
        }
    }
}

import CeremonyEngine
public import Logging
import OAuthProvider
import PublicAPI
public import Records
import _Primitives

extension ServerAssembly {
    /// Returns the outboxes of the server's channels: clients if the server can call anybody, mailboxes if the server
    /// sends mail, and devices. Each outbox counts the messages that it has under way, as a node does.
    public func outboxes(logger: Logger) -> [Outbox] {
        let entries = [
            OutboxEntry(clientsOf: self, logger), OutboxEntry(mailboxesOf: self, logger),
            OutboxEntry(devicesOf: self, logger),
        ]
        return entries.compactMap(\.self).map { Outbox($0, store: self.outbox, time: self.time) }
    }
}

extension OutboxEntry {
    /// Makes the channel of clients; `nil` if the server can call nobody.
    fileprivate init?(clientsOf server: ServerAssembly, _ logger: Logger) {
        guard let calls = server.configuration.calls else { return nil }
        let sessions = server.ceremonies.sessions
        let documents = SessionStatusDocuments(provider: server.provider, limits: server.configuration.limits)
        self =
            ClientDeliveries(
                server.provider.grants, calls: calls,
                statuses: { session, client in
                    try documents.document(
                        of: await sessions.status(ofEnded: session, clientID: client.id), for: client.id)
                }, report: { Self.log($0, logger) }
            ).entry
    }

    /// Makes the channel of devices. The channel exists without dispatchers with targets, too: a message of a dispatcher
    /// that the server no longer has is given up.
    fileprivate init(devicesOf server: ServerAssembly, _ logger: Logger) {
        self = server.ceremonies.dispatches.outboxEntry(report: { Self.log($0, logger) })
    }

    private static func log(_ failure: DeliveryFailure, _ logger: Logger) {
        let (what, setting) =
            switch failure.matter {
            case .logout: ("that somebody has signed out", "--backchannel-logout-uri")
            case .answer: ("what somebody has answered", "--backchannel-client-notification-endpoint")
            case .status: ("how a session has ended", "--status-uri")
            }
        let metadata: Logger.Metadata = [
            "client": "\(failure.client)", "attempt": "\(failure.attempt)", "reason": "\(failure.reason)",
            "remedy":
                "The service has to answer 200 at the address that `countersign admin client show` names; `client change \(setting)` changes it.",
        ]
        if failure.isGivenUp {
            logger.error("A service was not told \(what), and is not told any more", metadata: metadata)
        } else {
            logger.notice("A service could not be told \(what); it is tried again", metadata: metadata)
        }
    }

    private static func log(_ failure: DispatchFailure, _ logger: Logger) {
        let metadata: Logger.Metadata = [
            "dispatcher": "\(failure.dispatcher)", "attempt": "\(failure.attempt)", "reason": "\(failure.reason)",
        ]
        if failure.isGivenUp {
            logger.error("A dispatcher did not deliver a message, and is not asked any more", metadata: metadata)
        } else {
            logger.notice("A dispatcher could not deliver a message; it is tried again", metadata: metadata)
        }
    }
}

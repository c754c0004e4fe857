import PersonalInformation
import Records
public import _Primitives

/// A letter with which an operator tests the delivery of mail. The letter carries nothing, belongs to no account, and
/// waits in no outbox.
public struct MailTest: Sendable {
    private let transport: any MailTransport
    private let letterhead: MailDeliveries.Letterhead
    private let time: TimeSource
    private let random: RandomSource

    /// Creates test letters for a transport.
    public init(
        _ transport: any MailTransport, letterhead: MailDeliveries.Letterhead, time: TimeSource = .system,
        random: RandomSource = .system
    ) {
        self.transport = transport
        self.letterhead = letterhead
        self.time = time
        self.random = random
    }

    /// Hands over one letter to an address, and returns the transport's remarks; empty for none.
    ///
    /// Throws ``MailFailure`` if the letter is not taken, and ``AccountError`` for a text that is no address.
    public func send(to address: String) async throws -> String {
        guard EmailValidator().accepts(address) else {
            throw AccountError(.invalidRequest, "a letter goes to an e-mail address, such as alice@example.com")
        }
        let service = self.letterhead.serviceName
        let message = MailMessage(
            sender: self.letterhead.sender, senderName: service, recipient: address,
            subject: "A test of mail at \(service)",
            text: """
                Somebody who runs \(service) has sent this letter to see whether mail arrives. There is nothing to do.

                """, at: self.time.now(), identifier: self.random.identifier())
        return try await self.transport.send(message.bytes)
    }
}

import PersonalInformation
import Records
import Texts
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
        let words = self.letterhead.languages.usual.letter(.test(service: service))
        let message = MailMessage(
            sender: self.letterhead.sender, senderName: service, recipient: address, subject: words.subject,
            text: words.text, at: self.time.now(), identifier: self.random.identifier())
        return try await self.transport.send(message.bytes)
    }
}

package import _Primitives

/// A message before it has its place in the outbox. The message is due at once.
package struct OutboxDraft: Sendable, Equatable {
    package let channel: OutboxChannel
    package let lane: String
    package var turn = 0
    package let accountID: String?
    package let subject: String
    package let matter: String?
    package let name: String?
    /// The digest of the link in a letter.
    package var link: [UInt8]?
    /// The content, before it is sealed.
    package var content: [UInt8]?
    package let createdAt: Timestamp
    package let expiresAt: Timestamp?

    /// Makes the message of a letter.
    package init(_ letter: MailRecord) {
        self.channel = .mailbox
        self.lane = letter.turn.lane
        self.turn = letter.turn.rawValue
        self.accountID = letter.accountID
        self.subject = letter.subject.rawValue
        self.matter = letter.about
        self.name = letter.link?.name
        self.link = letter.link?.record.digest
        self.createdAt = letter.createdAt
        self.expiresAt = letter.expiresAt
    }

    /// Makes the message of a dispatcher with the token of a new ceremony.
    package init(_ message: DeviceMessageRecord, of ceremony: CeremonyRecord, turn: Int) {
        self.channel = .device
        self.lane = message.dispatcher
        self.turn = turn
        self.accountID = ceremony.accountID
        self.subject = DeviceDelivery.subject
        self.matter = ceremony.id
        self.name = message.target
        self.content = message.content
        self.createdAt = ceremony.createdAt
        self.expiresAt = ceremony.expiresAt
    }
}

extension OutboxDraft {
    /// Makes the message to a back end about the end of a session that the back end dispatched.
    ///
    /// - Parameter client: The client of the back end.
    package init(endOf ceremony: CeremonyRecord, to client: String) {
        self.channel = .client
        self.lane = client
        // The message outlives the account: the end of an account ends sessions.
        self.accountID = nil
        self.subject = ClientDelivery.Kind.status.rawValue
        self.matter = ceremony.id
        self.name = nil
        self.content = ceremony.storedStatus
        self.createdAt = ceremony.changedAt
        self.expiresAt = nil
    }

    /// Returns the turn of a client's message among the messages of a dispatcher. Clients take turns: however many
    /// messages of a client wait, the first message of another client comes next.
    ///
    /// - Parameters:
    ///   - first: The earliest turn of a due message of the dispatcher; `nil` if no message is due. A new client begins
    ///     here, and not at 0, so that a later client does not pass all messages of an earlier client.
    ///   - last: The latest turn of a waiting message of the client; `nil` if none waits.
    package static func turn(first: Int?, lastOfClient last: Int?) -> Int {
        max(first ?? 0, last.map { $0 + 1 } ?? 0)
    }
}

extension OutboxMessage {
    /// The offer of an activation whose code the message carries, by its identifier; `nil` for any other message.
    package var offerID: String? {
        self.channel == .mailbox && self.subject == MailRecord.Subject.newActivation.rawValue ? self.matter : nil
    }
}

extension ClientDelivery {
    /// The stored word for the content of a delivery.
    package enum Kind: String, Sendable, CaseIterable {
        case logout, answer, status
    }

    /// Reads a message to a client. Throws ``StoreError/Code/corrupt`` for an unknown subject, and for content with a
    /// missing part.
    package init(_ message: OutboxMessage) throws(StoreError) {
        switch (Kind(rawValue: message.subject), message.matter, message.name) {
        case (.logout?, let session?, let subject?): self.content = .logout(session: session, subject: subject)
        case (.answer?, let request?, _): self.content = .answer(request: request)
        case (.status?, let session?, _):
            guard let content = message.content else { throw StoreError(.corrupt, "how a session has ended") }
            self.content = .status(try CeremonyRecord(storedStatus: content, id: session, client: message.lane))
        default: throw StoreError(.corrupt, "what a client is to be told")
        }
        self.client = message.lane
        self.createdAt = message.createdAt
    }
}

extension DeviceDelivery {
    /// The stored word for the subject of all messages to devices.
    package static let subject = "token"

    /// Reads a message to a device. Throws ``StoreError/Code/corrupt`` for a message with a missing part.
    package init(_ message: OutboxMessage) throws(StoreError) {
        guard let ceremony = message.matter, let target = message.name, let content = message.content,
            let end = message.expiresAt
        else { throw StoreError(.corrupt, "what a device gets") }
        self.message = DeviceMessageRecord(dispatcher: message.lane, target: target, content: content)
        self.ceremonyID = ceremony
        self.expiresAt = end
    }
}

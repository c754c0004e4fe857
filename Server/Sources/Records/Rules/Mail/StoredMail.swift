extension MailRecord.Turn {
    /// The waiting letters that take the room of one more letter in the outbox.
    package enum Rivals: Sendable, Equatable {
        /// The letters of the same lane.
        case sameLane
        /// All letters.
        case allMail
    }

    /// The lane of strangers' letters in the outbox.
    package static let laneOfStrangers = "strangers"
    /// The lane of all other letters.
    package static let laneOfPeople = "people"

    /// The lane of letters of this turn: the letters of a lane share places.
    package var lane: String { self == .stranger ? Self.laneOfStrangers : Self.laneOfPeople }

    /// The letters that take the room of a letter of this turn. Strangers cannot push the letters of others out of the
    /// outbox, and have only their own room.
    package var rivals: Rivals {
        switch self {
        case .stranger: .sameLane
        case .awaited, .told: .allMail
        }
    }

    /// Reads a stored turn. Throws ``StoreError/Code/corrupt`` for an unknown number.
    package init(stored number: Int) throws {
        guard let turn = Self(rawValue: number) else { throw StoreError(.corrupt, "what a mail says") }
        self = turn
    }
}

extension MailRecord.Subject {
    /// Reads a stored subject. Throws ``StoreError/Code/corrupt`` with `reason` for an unknown word.
    package init(stored word: String, orCorrupt reason: String) throws {
        guard let subject = Self(rawValue: word) else { throw StoreError(.corrupt, reason) }
        self = subject
    }
}

extension MailDelivery {
    /// Reads a message to a mailbox. Throws ``StoreError/Code/corrupt`` for an unknown subject or turn, and for a letter
    /// with a missing part.
    package init(_ message: OutboxMessage) throws {
        guard let account = message.accountID, let end = message.expiresAt else {
            throw StoreError(.corrupt, "what a mail says")
        }
        self.subject = try MailRecord.Subject(stored: message.subject, orCorrupt: "what a mail says")
        self.turn = try MailRecord.Turn(stored: message.turn)
        self.accountID = account
        self.linkName = message.name
        self.about = message.matter
        self.attempt = message.attempt
        self.expiresAt = end
    }
}

extension MailRecord {
    /// Returns `true` if the letter may wait beside `waiting` letters, and fewer than `most` may wait.
    package func hasRoom(beside waiting: Int, most: Int) -> Bool { waiting < most }
}

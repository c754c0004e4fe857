/// The part of the letters that are sent together which strangers may have.
package struct StrangersShare: Sendable, Equatable {
    /// The largest number of strangers' letters.
    package let most: Int

    /// Makes a share of this number.
    package init(most: Int) { self.most = most }

    /// Returns the number of strangers' letters that can go with `others` other letters, if at most `limit` letters are
    /// sent; 0 if no stranger's letter can go.
    package func room(beside others: Int, limit: Int) -> Int { max(0, min(self.most, limit - others)) }
}

extension MailRecord.Turn {
    /// The waiting letters that take the room of one more letter in the outbox.
    package enum Rivals: Sendable, Equatable {
        /// The letters of the same turn.
        case sameTurn
        /// All letters.
        case allMail
    }

    /// The stored turns of strangers' letters.
    package static let ofStrangers = Self.stranger.rawValue...Self.stranger.rawValue
    /// The stored turns of all other letters.
    package static let ofOthers = Self.awaited.rawValue...Self.told.rawValue

    /// The letters that take the room of a letter of this turn. Strangers cannot push the letters of others out of the
    /// outbox, and have only their own room.
    package var rivals: Rivals {
        switch self {
        case .stranger: .sameTurn
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

extension MailRecord {
    /// Returns `true` if the letter may wait beside `waiting` letters, and fewer than `most` may wait.
    package func hasRoom(beside waiting: Int, most: Int) -> Bool { waiting < most }
}

public import _Primitives

/// The refresh tokens of a grant that a store knows: three generations, each by the SHA-256 of its secret.
///
/// ```
///     older ──> grandparent ──> parent ──> head
///     ends the    refused for     gives the   gives the next token
///     family      a minute        head again
/// ```
///
/// The head is the newest token, and is unused. The parent gave the head. The secret of the head follows from the
/// secret of the parent, from ``step`` and from a key of the server. So the parent gives the same head again however
/// often it is shown, on any node (RFC 9700, section 4.14.2; decision 28).
public struct RefreshFamily: Sendable, Equatable {
    /// A used token.
    public struct Used: Sendable, Equatable {
        /// SHA-256 of the token's secret.
        public let digest: [UInt8]
        /// The moment when the token was used for the first time.
        public let firstUsedAt: Timestamp

        /// Makes a used token.
        public init(digest: [UInt8], firstUsedAt: Timestamp) {
            self.digest = digest
            self.firstUsedAt = firstUsedAt
        }
    }

    /// SHA-256 of the newest token's secret.
    public let head: [UInt8]
    /// The moment when the newest token ends, if it stays unused.
    public let headEndsAt: Timestamp
    /// The token that gave the head; `nil` while the head is the first token.
    public let parent: Used?
    /// The random bytes by which the head followed from the parent; `nil` while the head is the first token, and if a
    /// version before decision 28's present form made the head.
    public let step: [UInt8]?
    /// SHA-256 of the secret of the token that gave the parent. The client needs the grandparent no more since the
    /// first use of the parent.
    public let grandparent: [UInt8]?

    /// Makes a family of these values.
    public init(
        head: [UInt8], headEndsAt: Timestamp, parent: Used? = nil, step: [UInt8]? = nil, grandparent: [UInt8]? = nil
    ) {
        self.head = head
        self.headEndsAt = headEndsAt
        self.parent = parent
        self.step = step
        self.grandparent = grandparent
    }

    /// The effect of a shown token on its family.
    public enum Verdict: Sendable, Equatable {
        /// The token is used. The value is the family from now on; its head is the successor of the exchange.
        case next(RefreshFamily)
        /// The token was used before, and its successor is unused. The successor follows from the token and these
        /// bytes. Nothing changes.
        case again(step: [UInt8])
        /// The token stays the newest, and may be unused for longer. The value is the family from now on.
        case same(RefreshFamily)
        /// The token is refused, and nothing changes: a request was late, or came twice.
        case late
        /// The token is none that the family still takes: the token counts as stolen. The family ends.
        case past
    }

    /// Judges a token shown at `moment`.
    ///
    /// - Parameter isBound: `true` if the sender of the token has proved to be the client that the token was given to.
    public func verdict(on exchange: RefreshExchange, isBound: Bool, at moment: Timestamp) -> Verdict {
        if constantTimeEqual(self.head, exchange.presented) {
            // A third token within the minute would push the first token out of the family while requests with the
            // first token may still be on their way. Until that minute is over the head is handed out again.
            guard let successor = exchange.successor, !self.remembersGrandparent(exchange, at: moment) else {
                return .same(
                    RefreshFamily(
                        head: self.head, headEndsAt: exchange.successorEndsAt, parent: self.parent, step: self.step,
                        grandparent: self.grandparent))
            }
            return .next(
                RefreshFamily(
                    head: successor.digest, headEndsAt: exchange.successorEndsAt,
                    parent: Used(digest: self.head, firstUsedAt: moment), step: successor.step,
                    grandparent: self.parent?.digest))
        }
        if let parent = self.parent, constantTimeEqual(parent.digest, exchange.presented) {
            // The time counts from the first use: a thief cannot prolong it.
            guard isBound || moment < parent.firstUsedAt + exchange.parentLifetime else { return .past }
            if let step = self.step { return .again(step: step) }
            // An earlier version made the head at random, and the head cannot be computed again. So another head takes
            // its place, and the time counts anew, once. The former head counts as late for a minute.
            guard let successor = exchange.successor else { return .late }
            return .next(
                RefreshFamily(
                    head: successor.digest, headEndsAt: exchange.successorEndsAt,
                    parent: Used(digest: parent.digest, firstUsedAt: moment), step: successor.step,
                    grandparent: self.head))
        }
        if let grandparent = self.grandparent, constantTimeEqual(grandparent, exchange.presented),
            self.remembersGrandparent(exchange, at: moment)
        {
            return .late
        }
        return .past
    }

    /// Returns `true` if a request with the grandparent may still be on its way: it was sent before its client had the
    /// parent.
    private func remembersGrandparent(_ exchange: RefreshExchange, at moment: Timestamp) -> Bool {
        guard self.grandparent != nil, let parent = self.parent else { return false }
        return moment < parent.firstUsedAt + exchange.lateRequestTime
    }
}

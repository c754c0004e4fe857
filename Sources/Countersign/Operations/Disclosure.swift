/// What a person has to have seen before anything is verified or signed, and what they have seen so far: one place for
/// every factor and every way into an authentication (threat model, Signing what nobody has seen).
struct Disclosure {
    /// That everything was shown and asked. ``complete()`` alone makes one, and nothing is signed without.
    struct Complete {
        fileprivate init() {}
    }

    private let content: Confirmable?
    private var isContentShown = false
    private var isBrowserApproved = true

    init(_ content: Confirmable?) { self.content = content }

    /// What a screen still has to show.
    var unseen: Confirmable? { self.isContentShown ? nil : self.content }

    /// The person has confirmed the content, or a selector had taken it when it answered.
    mutating func contentWasShown() { self.isContentShown = true }

    /// A browser asks that the account has not used before.
    mutating func expectApprovalOfBrowser() { self.isBrowserApproved = false }

    /// The person says that the browser is theirs.
    mutating func browserWasApproved() { self.isBrowserApproved = true }

    /// Whether everything was shown and asked. Throws ``OperationError`` (`missingInteraction`) where it was not.
    func complete() throws(OperationError) -> Complete {
        guard self.isBrowserApproved else {
            throw OperationError(.missingInteraction, "a new browser, and no requester verifier was asked about it")
        }
        guard self.unseen == nil else {
            throw OperationError(
                .missingInteraction,
                "no transaction confirmer, and no selector has read what is to be confirmed before it answered")
        }
        return Complete()
    }
}

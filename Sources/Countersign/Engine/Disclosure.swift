/// What a person has to have seen before anything is verified or signed, and what they have seen so far: one place for
/// every face, every factor and every way into an authentication (threat model, Signing what nobody has seen).
struct Disclosure: Sendable {
    /// That everything was shown and asked. ``complete()`` alone makes one, and nothing is signed without.
    struct Complete: Sendable {
        fileprivate init() {}
    }

    private let hasContent: Bool
    private var isContentShown = false
    private var isBrowserApproved = true

    /// For an authentication with something to confirm, or without.
    init(hasContent: Bool) { self.hasContent = hasContent }

    /// Whether a screen still has to show what is to be confirmed.
    var isContentUnseen: Bool { self.hasContent && !self.isContentShown }

    /// The person has confirmed the content, or a selector had taken it when it answered.
    mutating func contentWasShown() { self.isContentShown = true }

    /// A browser asks that the account has not used before.
    mutating func expectApprovalOfBrowser() { self.isBrowserApproved = false }

    /// The person says that the browser is theirs.
    mutating func browserWasApproved() { self.isBrowserApproved = true }

    /// Whether everything was shown and asked. Throws ``EngineError`` (`undisclosed`) where it was not.
    func complete() throws(EngineError) -> Complete {
        guard self.isBrowserApproved else {
            throw EngineError(.undisclosed, "a new browser, and no requester verifier was asked about it")
        }
        guard !self.isContentUnseen else {
            throw EngineError(
                .undisclosed,
                "no transaction confirmer, and no screen has read what is to be confirmed before the answer")
        }
        return Complete()
    }
}

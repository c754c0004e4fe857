/// The content that a person must have seen before anything is verified or signed, and the record of what was shown.
/// Every face, every factor and every way into an authentication uses this single place (threat model, Signing what
/// nobody has seen).
struct Disclosure: Sendable {
    /// The evidence that everything was shown and asked. Only ``complete()`` creates it, and nothing is signed without
    /// it.
    struct Complete: Sendable {
        fileprivate init() {}
    }

    private let hasContent: Bool
    private var isContentShown = false
    private var isBrowserApproved = true

    /// Creates the disclosure of an authentication with or without content to confirm.
    init(hasContent: Bool) { self.hasContent = hasContent }

    /// `true` if a screen still has to show the content to be confirmed.
    var isContentUnseen: Bool { self.hasContent && !self.isContentShown }

    /// Records that the content was shown: the person has confirmed it, or a selector had taken it when it answered.
    mutating func contentWasShown() { self.isContentShown = true }

    /// Records that a browser asks which the account has not used before.
    mutating func expectApprovalOfBrowser() { self.isBrowserApproved = false }

    /// Records that the person has approved the browser as their own.
    mutating func browserWasApproved() { self.isBrowserApproved = true }

    /// Returns the evidence that everything was shown and asked. Throws ``EngineError`` (`undisclosed`) if something
    /// was not.
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

public import _Primitives

/// A key that phones seal to, as operators see it: nothing of the key itself.
public struct ListedSealingKey: Sendable, Equatable {
    /// What is done with a key.
    public enum State: String, Sendable, CaseIterable {
        /// Phones that fetch the set of keys now seal to it.
        case current
        /// Phones that have fetched the set before may seal to it.
        case former
        /// Nobody seals to it any more; what was sealed to it at the last moment is opened.
        case closing
    }

    /// Its name in messages.
    public let id: String
    /// When it was made.
    public let since: Timestamp
    /// Until when a phone may seal to it.
    public let until: Timestamp
    /// When it is erased.
    public let erasedAt: Timestamp
    /// What is done with it.
    public let state: State
}

public import _Primitives

/// A key to which phones seal, as operators see the key: without the key itself.
public struct ListedSealingKey: Sendable, Equatable {
    /// The state of a key.
    public enum State: String, Sendable, CaseIterable {
        /// Phones that fetch the set of keys now seal to the key.
        case current
        /// Phones that fetched the set earlier may still seal to the key.
        case former
        /// No phone may seal to the key any more. The server still opens messages from the last moment.
        case closing
    }

    /// The name of the key in messages.
    public let id: String
    /// The time when the key was made.
    public let since: Timestamp
    /// The time until which a phone may seal to the key.
    public let until: Timestamp
    /// The time when the key is erased.
    public let erasedAt: Timestamp
    /// The state of the key.
    public let state: State
}

/// What a store took to do something, with the wait for its turn.
public struct StoreMeasurement: Sendable {
    /// What was done.
    public enum Work: String, Sendable {
        /// A whole step, until it was durable.
        case step
        /// A read of one consistent state.
        case read
    }

    /// What was done.
    public let work: Work
    /// From the call to its return.
    public let duration: Duration
    /// Whether the store could not do it. A step's own refusal is none of the store's failures.
    public let isFailed: Bool

    /// The measurement of something that has ended.
    public init(_ work: Work, duration: Duration, isFailed: Bool) {
        self.work = work
        self.duration = duration
        self.isFailed = isFailed
    }
}

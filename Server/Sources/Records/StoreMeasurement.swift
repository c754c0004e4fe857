/// The duration of a store's work, with the wait for its turn.
public struct StoreMeasurement: Sendable {
    /// A kind of work.
    public enum Work: String, Sendable {
        /// A whole step, until it was durable.
        case step
        /// A read of one consistent state.
        case read
    }

    /// The kind of the measured work.
    public let work: Work
    /// The name of a step; `nil` for a read.
    public let step: StaticString?
    /// The time from the call to its return.
    public let duration: Duration
    /// `true` if the store could not do the work. A step's own refusal does not count as a failure of the store.
    public let isFailed: Bool

    /// Makes the measurement of finished work.
    public init(_ work: Work, step: StaticString?, duration: Duration, isFailed: Bool) {
        self.work = work
        self.step = step
        self.duration = duration
        self.isFailed = isFailed
    }
}

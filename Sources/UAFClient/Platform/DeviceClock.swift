public import _Primitives

/// The device's clocks.
public protocol DeviceClock: Sendable {
    /// The wall clock, which a person can set.
    func now() -> Timestamp

    /// Time since the device started, sleep included; nobody can set it.
    func uptime() -> Duration

    /// A name for the time between two starts of the device; it differs after each start.
    var bootIdentifier: String { get }

    /// Waits. Throws `CancellationError` when the task is cancelled.
    func sleep(for duration: Duration) async throws
}

public import _Primitives

/// The device's clocks.
public protocol DeviceClock: Sendable {
    /// The wall clock, which a person can set.
    func now() -> Timestamp

    /// Time since the device started, sleep included; nobody can set it.
    ///
    /// Linux has it as `CLOCK_BOOTTIME`, Apple's systems as continuous time (`mach_continuous_time`, `CLOCK_MONOTONIC_RAW`).
    /// `ProcessInfo.systemUptime` does not count sleep: a person who puts the phone away would wait for a rest of a minute as
    /// long as the phone is awake, and access tokens would be used past their end.
    func uptime() -> Duration

    /// A name for the time between two starts of the device; it differs after each start.
    var bootIdentifier: String { get }

    /// Waits. Throws `CancellationError` when the task is cancelled.
    func sleep(for duration: Duration) async throws
}

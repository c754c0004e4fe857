public import _Primitives

/// The device's clocks.
public protocol DeviceClock: Sendable {
    /// The wall clock, which a person can set.
    func now() -> Timestamp

    /// The time since the device started, with sleep included. No person can set this time.
    ///
    /// Linux offers this time as `CLOCK_BOOTTIME`, Apple's systems as continuous time (`mach_continuous_time`,
    /// `CLOCK_MONOTONIC_RAW`). `ProcessInfo.systemUptime` does not count sleep. With `ProcessInfo.systemUptime` a
    /// person who puts the phone away would wait for a cool-down of a minute until the phone was awake for a minute,
    /// and access tokens would be used after their end.
    func uptime() -> Duration

    /// A name for the time between two starts of the device; the name differs after each start.
    var bootIdentifier: String { get }

    /// Waits. Throws `CancellationError` when the task is cancelled.
    func sleep(for duration: Duration) async throws
}

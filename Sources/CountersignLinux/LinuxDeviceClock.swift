import Foundation
public import UAFClient
public import _Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The clocks of a Linux machine: `CLOCK_BOOTTIME` for the time since the start, sleep included, and the kernel's name
/// for the start.
///
/// The wall clock is a parameter, so a program can demonstrate a phone with a wrong clock.
public struct LinuxDeviceClock: DeviceClock {
    private let wall: TimeSource
    /// The name of the device's last start.
    public let bootIdentifier: String

    /// Creates the clocks. Throws ``StorageError`` (`unavailable`) if the kernel does not name its start.
    public init(wall: TimeSource = .system) throws {
        #if os(Linux)
            guard let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8) else {
                throw StorageError(.unavailable, "cannot read the kernel's boot_id")
            }
            self.bootIdentifier = text.filter { !$0.isWhitespace }
        #else
            throw StorageError(.unavailable, "a clock for Linux")
        #endif
        self.wall = wall
    }

    /// The wall clock.
    public func now() -> Timestamp { self.wall.now() }

    /// The time since the last start, sleep included.
    public func uptime() -> Duration {
        var time = timespec()
        #if os(Linux)
            clock_gettime(CLOCK_BOOTTIME, &time)
        #else
            clock_gettime(CLOCK_MONOTONIC_RAW, &time)
        #endif
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }

    /// Waits on this clock.
    public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

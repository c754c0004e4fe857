#if canImport(Darwin)
    public import Countersign
    import Darwin
    public import _Primitives

    /// The clocks of a device of Apple: `CLOCK_MONOTONIC_RAW` for the time since the start, sleep included.
    public struct AppleDeviceClock: DeviceClock {
        /// The name of the device's last start.
        public let bootIdentifier: String

        /// Creates the clocks. Throws ``StorageError`` `unavailable` if the system does not name its start.
        public init() throws {
            self.bootIdentifier = try BootName(session: Self.session, startedAt: Self.start).text
        }

        /// The wall clock.
        public func now() -> Timestamp { TimeSource.system.now() }

        /// The time since the last start, sleep included.
        public func uptime() -> Duration {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC_RAW, &time)
            return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
        }

        /// Waits on this clock.
        public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }

        private static var session: String? {
            var bytes = [UInt8](repeating: 0, count: 64)
            var size = bytes.count
            guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0, size <= bytes.count else {
                return nil
            }
            return String(validating: bytes.prefix(size).prefix { $0 != 0 }, as: UTF8.self)
        }

        private static var start: (seconds: Int, microseconds: Int)? {
            var time = timeval()
            var size = MemoryLayout<timeval>.size
            guard sysctlbyname("kern.boottime", &time, &size, nil, 0) == 0 else { return nil }
            return (Int(time.tv_sec), Int(time.tv_usec))
        }
    }
#endif

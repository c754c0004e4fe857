import CountersignLinux
import UAFClient
import _Primitives

/// The machine's clocks, shifted by a value in a file of the phone's folder. Both the wall clock and the time since the
/// device's start are shifted, as if that time had passed. For experiments.
struct SimulatedClock: DeviceClock {
    private let machine: LinuxDeviceClock
    private let skew: Duration

    init(home: String) throws {
        self.machine = try LinuxDeviceClock()
        self.skew = .seconds(Self.skew(home: home))
    }

    private static func path(_ home: String) -> String { "\(home)/clock.json" }

    /// Returns the shift of the clocks in seconds.
    static func skew(home: String) -> Int {
        guard let state = SimulatedState.read(self.path(home)),
            let seconds = try? state.integer("skewSeconds", as: Int.self),
            (-PhoneLimits.clockSkew...PhoneLimits.clockSkew).contains(seconds)
        else { return 0 }
        return seconds
    }

    /// Shifts the clocks from now on.
    static func set(skew seconds: Int, home: String) throws {
        try SimulatedState.write(["skewSeconds": .integer(Int64(seconds))], self.path(home))
    }

    func now() -> Timestamp { self.machine.now() + self.skew }
    func uptime() -> Duration { self.machine.uptime() + self.skew }
    var bootIdentifier: String { self.machine.bootIdentifier }
    func sleep(for duration: Duration) async throws { try await self.machine.sleep(for: duration) }
}

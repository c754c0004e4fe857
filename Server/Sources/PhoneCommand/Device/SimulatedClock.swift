import CountersignLinux
import UAFClient
import _Primitives

/// The machine's clocks, moved by what a file in the phone's folder says: both the wall clock and the time since the
/// device was started, as though that time had gone by. For trying things out.
struct SimulatedClock: DeviceClock {
    private let machine: LinuxDeviceClock
    private let skew: Duration

    init(home: String) throws {
        self.machine = try LinuxDeviceClock()
        self.skew = .seconds(Self.skew(home: home))
    }

    private static func path(_ home: String) -> String { "\(home)/clock.json" }

    /// By how many seconds the clocks are moved.
    static func skew(home: String) -> Int {
        guard let state = SimulatedState.read(self.path(home)),
            let seconds = try? state.integer("skewSeconds", as: Int.self),
            (-PhoneLimits.clockSkew...PhoneLimits.clockSkew).contains(seconds)
        else { return 0 }
        return seconds
    }

    /// Moves the clocks from now on.
    static func set(skew seconds: Int, home: String) throws {
        try SimulatedState.write(["skewSeconds": .integer(Int64(seconds))], self.path(home))
    }

    func now() -> Timestamp { self.machine.now() + self.skew }
    func uptime() -> Duration { self.machine.uptime() + self.skew }
    var bootIdentifier: String { self.machine.bootIdentifier }
    func sleep(for duration: Duration) async throws { try await self.machine.sleep(for: duration) }
}

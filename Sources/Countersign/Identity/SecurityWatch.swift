import UAFClient
import _Primitives

extension CommonProcesses {
    /// Inspects the device at once, and then repeatedly at unpredictable moments, until the task is cancelled. Each
    /// pause is 30 to 180 minutes long, and all lengths are equally likely.
    ///
    /// The function is meant for the time during which the app is in the foreground. Call the function each time the
    /// app comes to the foreground, and cancel its task when the app leaves, so that each visit begins with an
    /// inspection. In SwiftUI, use `task(id: scenePhase)`; this modifier begins a task at every phase, so the task must
    /// return at once if the phase is not `active`.
    ///
    /// The function returns when its task is cancelled, and has no blocking form. The findings go to `report`, and the
    /// app decides the consequences. A server receives only the findings of inspections in its own processes.
    ///
    /// - Parameter report: Receives each result. The next pause begins when `report` returns.
    ///
    /// Throws ``CountersignError``: `notInitialized`; `invalidConfiguration` if the app has no ``SecurityInspection``;
    /// the errors of ``executeSecurityCheck()`` if an inspection fails. After an error no further inspection takes
    /// place: treat the device as not secure.
    public func watchSecurity(_ report: @Sendable (SecurityCheckResult) async -> Void) async throws {
        while !Task.isCancelled {
            do {
                await report(try await self.executeSecurityCheck())
                try await self.life.running { core in
                    try await core.platform.clock.sleep(for: SecurityCheckInterval.next(by: core.platform.random))
                }
            } catch  where Task.isCancelled {
                return
            }
        }
    }
}

/// The pause between two inspections of the device.
private enum SecurityCheckInterval {
    /// The interval that states require of apps with an identity (Federal Office for Information Security, Germany).
    private static let minutes: ClosedRange<Int64> = 30...180

    /// Returns a random pause in milliseconds, both ends of the interval included.
    static func next(by random: RandomSource) -> Duration {
        let shortest = Self.minutes.lowerBound * 60_000
        let longest = Self.minutes.upperBound * 60_000
        return .milliseconds(shortest + Int64(random.number(below: UInt64(longest - shortest + 1))))
    }
}

import UAFClient
import _Primitives

extension CommonProcesses {
    /// Looks at the device at once, and then again and again at moments that nobody can foresee, for as long as the task goes
    /// on: 30 to 180 minutes after the look before, each moment as likely as any other.
    ///
    /// It is for the time that the app is in the foreground. Begin it each time that the app comes there, and cancel its task
    /// when the app leaves, so that there is a look each time: in SwiftUI by `task(id: scenePhase)`, which begins one at every
    /// phase, and has to leave at once where that is not `active`.
    ///
    /// It returns when its task is cancelled, and has no form that blocks. What is found is given to `report`, and is the
    /// app's to act on: a server is told of the looks that belong to its own processes.
    ///
    /// - Parameter report: Gets each result. The next look is counted from its return.
    ///
    /// Throws ``CountersignError``: `notInitialized`; `invalidConfiguration` where the app has no ``SecurityInspection``; what
    /// ``executeSecurityCheck()`` throws where one fails. Then nobody looks any more: take it as a device that is not sound.
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

/// How long an app waits until it looks at its device again.
private enum SecurityCheckInterval {
    /// What states ask of apps that hold an identity (Federal Office for Information Security, Germany).
    private static let minutes: ClosedRange<Int64> = 30...180

    /// To the millisecond, both ends included.
    static func next(by random: RandomSource) -> Duration {
        let shortest = Self.minutes.lowerBound * 60_000
        let longest = Self.minutes.upperBound * 60_000
        return .milliseconds(shortest + Int64(random.number(below: UInt64(longest - shortest + 1))))
    }
}

import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient
import _Primitives

@Suite("Parity 90: an app that looks at its device again and again") struct SecurityWatchTests {
    private let shortest = Duration.seconds(30 * 60)
    private let longest = Duration.seconds(180 * 60)

    private func phone(_ inspection: Inspection?, random: RandomSource = .system) async throws -> VirtualIdentityPhone {
        try await VirtualIdentityPhone(server: VirtualIdentityServer(), random: random) {
            $0.securityInspection = inspection
        }
    }

    @Test("a result says when the device was looked at, by which check, and what was found") func fields() async throws
    {
        for (isRooted, isHooked) in [(false, false), (true, false), (false, true)] {
            let phone = try await self.phone(Inspection(isRooted: isRooted, isHooked: isHooked))
            phone.clock.advance(by: .milliseconds(1234))
            let result = try await phone.sdk.common.executeSecurityCheck()
            #expect(result.date == Date(timeIntervalSince1970: Double(phone.clock.now().milliseconds) / 1000))
            #expect(result.checkVersion == 7)
            #expect(result.osVersion == "Test 1.2")
            #expect(result.isRooted == isRooted)
            #expect(result.isHooked == isHooked)
        }
    }

    @Test("each time in the foreground it looks at once, and while it is there again; in the background never")
    func foreground() async throws {
        let inspection = Inspection()
        let phone = try await self.phone(inspection)
        let clock = phone.clock
        for round in 1...3 {
            let before = inspection.count
            let results = Results()
            let watch = Task { try await phone.sdk.common.watchSecurity { results.append($0) } }
            await clock.untilSleeping()
            #expect(inspection.count == before + 1, "round \(round)")
            clock.advance(by: self.shortest - .milliseconds(1))
            #expect(clock.sleepingCount == 1)
            #expect(inspection.count == before + 1)
            clock.advance(by: self.longest - self.shortest + .milliseconds(1))
            await clock.untilSleeping()
            #expect(inspection.count == before + 2)
            watch.cancel()
            try await watch.value
            #expect(clock.sleepingCount == 0)
            clock.advance(by: .seconds(86_400))
            #expect(inspection.count == before + 2)
            #expect(results.dates.count == 2)
        }
    }

    @Test("the looks are 30 to 180 minutes apart, each span as likely as any other") func distribution() async throws {
        let inspection = Inspection()
        let clock = RecordingClock()
        let sdk = CountersignSDK()
        let server = try VirtualIdentityServer()
        var configuration = IdentityConfiguration(servers: [server.trusted])
        configuration.facetID = "linux:program:test"
        configuration.securityInspection = inspection
        try await sdk.initialize(
            configuration,
            platform: DevicePlatform(storage: InMemoryStorage(), clock: clock, random: .repeatable("security checks")),
            transport: server)
        let rounds = 6000
        let watch = Task {
            try await sdk.common.watchSecurity { _ in
                if inspection.count > rounds { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        try await watch.value
        let spans = clock.spans.filter { $0 >= .seconds(60) }.map(\.milliseconds)
        #expect(spans.count == rounds)
        #expect(spans.allSatisfy { (self.shortest.milliseconds...self.longest.milliseconds).contains($0) })
        // 15 stretches of ten minutes: 400 in each, with a standard deviation of 19.
        var stretches = [Int](repeating: 0, count: 15)
        for span in spans { stretches[min(14, Int((span - self.shortest.milliseconds) / 600_000))] += 1 }
        #expect(stretches.allSatisfy { (300...500).contains($0) }, "\(stretches)")
        // No span follows from the one before: with 15 stretches, two in a row are of the same one in 15 cases.
        let stretch = spans.map { min(14, ($0 - self.shortest.milliseconds) / 600_000) }
        let repeated = zip(stretch, stretch.dropFirst()).count { $0 == $1 }
        #expect((300...500).contains(repeated), "\(repeated)")
        // To the millisecond, and not to the minute.
        #expect(Set(spans).count > rounds * 99 / 100)
    }

    @Test("a look that fails ends it with an error, and so does an app that has nothing to look with")
    func failure() async throws {
        let none = try await self.phone(nil)
        #expect(await identityError { try await none.sdk.common.watchSecurity { _ in } } == .invalidConfiguration)
        let inspection = Inspection()
        let phone = try await self.phone(inspection)
        let clock = phone.clock
        let watch = Task { try await phone.sdk.common.watchSecurity { _ in } }
        await clock.untilSleeping()
        inspection.fail()
        clock.advance(by: self.longest)
        #expect(await identityError { try await watch.value } == .unexpected)
        #expect(await identityError { try await CountersignSDK().common.watchSecurity { _ in } } == .notInitialized)
    }
}

/// Finds what it was told to find, and counts how often it looked.
// Safe to share: every access to what changes is within `lock`.
private final class Inspection: SecurityInspection, @unchecked Sendable {
    private struct Broken: Error {}
    private let lock = NSLock()
    private var looks = 0
    private var isBroken = false
    private let isRooted: Bool
    private let isHooked: Bool

    init(isRooted: Bool = false, isHooked: Bool = false) {
        self.isRooted = isRooted
        self.isHooked = isHooked
    }

    var count: Int { self.lock.withLock { self.looks } }
    func fail() { self.lock.withLock { self.isBroken = true } }

    func inspect() async throws -> SecurityFindings {
        try self.lock.withLock {
            guard !self.isBroken else { throw Broken() }
            self.looks += 1
        }
        return SecurityFindings(
            checkVersion: 7, osVersion: "Test 1.2", isRooted: self.isRooted, isHooked: self.isHooked)
    }
}

/// What was reported.
// Safe to share: every access is within `lock`.
private final class Results: @unchecked Sendable {
    private let lock = NSLock()
    private var kept: [SecurityCheckResult] = []
    func append(_ result: SecurityCheckResult) { self.lock.withLock { self.kept.append(result) } }
    var dates: [Date] { self.lock.withLock { self.kept.map(\.date) } }
}

/// A clock on which every wait is over at once, and written down.
// Safe to share: every access is within `lock`.
private final class RecordingClock: DeviceClock, @unchecked Sendable {
    private let lock = NSLock()
    private var elapsed = Duration.zero
    private var waits: [Duration] = []
    let bootIdentifier = "boot"

    var spans: [Duration] { self.lock.withLock { self.waits } }
    func now() -> Timestamp { Timestamp(seconds: 1_800_000_000) + self.uptime() }
    func uptime() -> Duration { self.lock.withLock { self.elapsed } }
    func sleep(for duration: Duration) async throws {
        try Task.checkCancellation()
        self.lock.withLock {
            self.waits.append(duration)
            self.elapsed += duration
        }
    }
}

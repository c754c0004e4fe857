import Logging
import ServiceLifecycle
import Settings
import Synchronization
import Testing

@testable import CountersignCommand

@Suite("One deadline for the whole stop, counted from the signal", .timeLimit(.minutes(10)))
struct ServerStopTests {
    /// A clock that stands until it is moved.
    private final class MovedClock: Sendable {
        private let moment = Mutex(ContinuousClock.now)

        var now: ContinuousClock.Instant { self.moment.withLock { $0 } }
        func advance(_ span: Duration) { self.moment.withLock { $0 += span } }
        func stop(_ limits: Limits = Limits()) -> ServerStop { ServerStop(limits: limits) { self.now } }
    }

    /// A service that ends when it was told to and `other` was told, too.
    private struct Meeting: Service {
        let told: AsyncStream<Void>.Continuation
        let other: AsyncStream<Void>

        func run() async throws {
            try await gracefulShutdown()
            self.told.yield()
            _ = await self.other.first { _ in true }
        }
    }

    /// A service that nobody can tell anything.
    private struct Forgotten: Service { func run() async throws {} }

    @Test("The service manager waits longer than the whole stop takes, and the connections leave time for the rest")
    func limits() {
        let limits = Limits()
        #expect(limits.stopTime < .seconds(30))
        #expect(limits.drainTime + Limits.Fixed.stopReserve <= limits.stopTime)
    }

    @Test("Connections have their own time, or what is left less the reserve where that is shorter")
    func deadline() {
        let begin = ContinuousClock.now
        let deadline = StopDeadline(begin: begin, time: .seconds(25), reserve: .seconds(5))
        for (after, longest, left, drain) in [
            (0, 20, 25, 20), (0, 2, 25, 2), (0, 60, 25, 20), (7, 20, 18, 13), (7, 2, 18, 2), (19, 20, 6, 1),
            (20, 20, 5, 0), (24, 20, 1, 0), (25, 20, 0, 0), (90, 20, 0, 0),
        ] {
            #expect(deadline.left(at: begin + .seconds(after)) == .seconds(left))
            #expect(deadline.drain(atMost: .seconds(longest), at: begin + .seconds(after)) == .seconds(drain))
        }
    }

    @Test("Only looks in a row count in which nothing has left")
    func looks() {
        var looks = UnreadLooks(sent: 10)
        #expect([10, 11, 11, 12, 12, 12].map { looks.isOver(sent: $0) } == [false, false, false, false, false, true])
        looks = UnreadLooks(sent: 0)
        #expect([0, 0].map { looks.isOver(sent: $0) } == [false, true])
    }

    @Test("All parts have what is left of one time, which begins with the first signal")
    func shared() {
        let clock = MovedClock()
        let stop = clock.stop()
        clock.advance(.seconds(100))
        #expect(!stop.hasBegun && stop.left == .seconds(25) && stop.drain(atMost: .seconds(20)) == .seconds(20))
        #expect(stop.begin())
        clock.advance(.seconds(8))
        #expect(!stop.begin(), "a second signal changes nothing")
        #expect(stop.hasBegun && stop.left == .seconds(17) && stop.drain(atMost: .seconds(20)) == .seconds(12))
    }

    @Test("Connections are counted from the signal on, and the log tells what became of them")
    func account() async {
        let clock = MovedClock()
        let stop = clock.stop()
        stop.note(.closed)
        #expect(stop.account == ServerStop.Account())
        await stop.part("listener") {
            stop.begin()
            for ending in [.closed, .unread, .unread, .requestCut] as [ServerStop.Ending] { stop.note(ending) }
            clock.advance(.milliseconds(1200))
        }
        clock.advance(.milliseconds(34))
        #expect(
            stop.metadata == [
                "milliseconds": "1234", "closed": "1", "unread": "2", "requestsCut": "1", "parts": "listener 1200",
            ])
    }

    @Test("When the deadline has passed, it is told which parts still go on")
    func overdue() async {
        let clock = MovedClock()
        let stop = clock.stop()
        stop.begin()
        let parts = await stop.part("public listener") {
            await stop.part("store") {
                clock.advance(.seconds(25))
                return await withCheckedContinuation { told in stop.watch { told.resume(returning: $0) } }
            }
        }
        #expect(parts == ["public listener", "store"])
        #expect(stop.parts.isEmpty)
    }

    @Test("Services are told of the stop at the same time, and the signal ends the group")
    func together() async throws {
        let (first, firstTold) = AsyncStream.makeStream(of: Void.self)
        let (second, secondTold) = AsyncStream.makeStream(of: Void.self)
        let stop = ServerStop(limits: Limits())
        let services: [(name: String, service: any Service)] = [
            ("first", Meeting(told: firstTold, other: second)), ("second", Meeting(told: secondTold, other: first)),
        ]
        let group = ServiceGroup(
            configuration: ServicesTogether(services: services, stop: stop).group(logger: Logger(label: "test")))
        stop.begin()
        try await group.run()
        #expect(stop.parts.isEmpty)
        // Had they been told one after the other, the time limit would have cancelled the second one's wait.
        #expect(!Task.isCancelled)
    }

    @Test("The group knows its members by short names, and describes none of them by its properties")
    func names() {
        let together = ServicesTogether(services: [("first", Forgotten())], stop: ServerStop(limits: Limits()))
        let names = together.group(logger: Logger(label: "test")).services.map(\.serviceName)
        #expect(names == ["services", "signal to stop"])
    }

    @Test("A service that ends by itself ends the others, and says which one that was")
    func endsByItself() async throws {
        let (never, told) = AsyncStream.makeStream(of: Void.self)
        let services: [(name: String, service: any Service)] = [
            ("forgotten", Forgotten()), ("waiting", Meeting(told: told, other: never)),
        ]
        let failure = await #expect(throws: CommandFailure.self) {
            try await ServicesTogether(services: services, stop: ServerStop(limits: Limits())).run()
        }
        #expect(failure.map { "\($0)".contains("forgotten") } == true)
    }
}

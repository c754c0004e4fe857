import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import _Primitives

/// A provider that answers when the test has it: each call for a token or for userinfo is held until it is released.
private final class HeldCalls: OutgoingCalls {
    private struct State {
        var held: [CheckedContinuation<Void, Never>] = []
        /// Whether nothing is held any more.
        var isOver = false
        var most = 0
        var count = 0
        var parties: Set<OutgoingCall.Party> = []
        var codes: [String] = []
    }

    private let upstream: SimulatedProvider
    private let state = Mutex(State())

    init(_ upstream: SimulatedProvider) { self.upstream = upstream }

    /// The most calls that were under way at once.
    var most: Int { self.state.withLock { $0.most } }
    /// How many calls there were.
    var count: Int { self.state.withLock { $0.count } }
    /// Whose addresses they were said to be.
    var parties: Set<OutgoingCall.Party> { self.state.withLock { $0.parties } }

    /// The codes that were exchanged, in their order.
    var codes: [String] { self.state.withLock { $0.codes } }

    func send(_ call: OutgoingCall) async throws -> OutgoingAnswer {
        var code: String?
        if case .form(let form) = call.content { code = try Parameters(parsing: form)["code"] }
        await withCheckedContinuation { continuation in
            let isOver = self.state.withLock { [code] state in
                if let code { state.codes.append(code) }
                state.count += 1
                state.parties.insert(call.party)
                guard !state.isOver else { return true }
                state.held.append(continuation)
                state.most = max(state.most, state.held.count)
                return false
            }
            if isOver { continuation.resume() }
        }
        return try await self.upstream.send(call)
    }

    /// Waits until so many calls are held.
    func wait(for count: Int) async {
        while self.state.withLock({ $0.held.count }) < count, !Task.isCancelled { await Task.yield() }
    }

    /// Answers everything from now on: for a test whose time is over.
    func end() {
        self.state.withLock { $0.isOver = true }
        self.release()
    }

    /// Answers so many of those that are held, the first first; all where none are named.
    func release(_ count: Int? = nil) {
        let held = self.state.withLock { state in
            let held = state.held.prefix(count ?? state.held.count)
            state.held.removeFirst(held.count)
            return held
        }
        for call in held { call.resume() }
    }
}

@Suite(
    "RFC 6749, section 4.1.2, as a client: many come back at once and take turns (decisions 38, 45)",
    .timeLimit(.minutes(10)))
struct UpstreamArrivalTests {
    /// Runs with a provider of OAuth 2.0 alone, which is asked twice for each person, and whose calls are held.
    private static func run(
        _ change: (inout Limits.OAuth) -> Void = { _ in }, _ body: (UpstreamPlace, HeldCalls) async throws -> Void
    ) async throws {
        var limits = Limits()
        limits.signInBurst = 5000
        change(&limits.oauth)
        let held = Mutex<HeldCalls?>(nil)
        try await UpstreamPlace.run(
            kind: .oauth2, limits: limits,
            calls: { upstream in
                let calls = HeldCalls(upstream)
                held.withLock { $0 = calls }
                return calls
            }, { $0.newcomers = .created }
        ) { place async throws in
            place.upstream.change { state in
                state.tokenAnswer = OutgoingAnswer(
                    status: 200, body: Array(#"{"access_token":"access-1","token_type":"Bearer"}"#.utf8))
                state.userinfo = ["sub": .string("person-1")]
            }
            let calls = try #require(held.withLock { $0 })
            try await withTaskCancellationHandler {
                try await body(place, calls)
            } onCancel: {
                calls.end()
            }
        }
    }

    /// One at a time, and so many who wait.
    private static func narrow(_ waiting: Int) -> (inout Limits.OAuth) -> Void {
        { limits in (limits.arrivalsAtOncePerProvider, limits.waitingArrivals) = (1, waiting) }
    }

    /// Answers everything until all have been told what comes next.
    private static func answers(
        _ coming: [Task<UpstreamSignIns.Step?, any Error>], _ calls: HeldCalls
    ) async throws -> [UpstreamSignIns.Step?] {
        let answering = Task {
            while !Task.isCancelled {
                calls.release()
                await Task.yield()
            }
        }
        defer { answering.cancel() }
        var steps: [UpstreamSignIns.Step?] = []
        for task in coming { steps.append(try await task.value) }
        return steps
    }

    private static func come(
        _ place: UpstreamPlace, _ trip: UpstreamPlace.Trip, from source: String = "a", code: String = "code-1",
        at name: String = "up"
    ) -> Task<UpstreamSignIns.Step?, any Error> {
        Task { try await place.comeBack(trip, ["code": code], to: name, source: source)?.step }
    }

    /// Waits until so many wait for their turn.
    private static func wait(for count: Int, _ place: UpstreamPlace) async {
        while place.signIns.waitingArrivals != count, !Task.isCancelled { await Task.yield() }
    }

    @Test("500 who return at once from a provider that answers in 0.3 s are all signed in within 30 s")
    func fiveHundred() async throws {
        try await Self.run { place, calls in
            var trips: [UpstreamPlace.Trip] = []
            for _ in 0..<500 { trips.append(try await place.leave()) }
            let begin = place.f.clock.source.now()
            let coming = trips.map { Self.come(place, $0) }
            let share = Limits().oauth.arrivalsAtOncePerProvider
            var left = 500
            while left > 0 {
                // Each is asked for a token, and then who it is.
                for _ in 0..<2 {
                    await calls.wait(for: min(share, left))
                    place.f.clock.advance(.milliseconds(300))
                    calls.release()
                }
                left -= min(share, left)
            }
            for task in coming { #expect(try await task.value == .finished) }
            #expect(place.f.clock.source.now() - begin <= .seconds(30))
            #expect(calls.most == share && calls.count == 1000)
            #expect(calls.parties == [.provider], "in a pool of their own")
        }
    }

    @Test("a person whose provider is removed meanwhile comes back to an ended trip, and gets no account")
    func removedProvider() async throws {
        try await Self.run { place, calls in
            let trip = try await place.leave()
            let before = try await place.f.store.accounts(after: nil, limit: 99).count
            let coming = Self.come(place, trip)
            // The person is asked for a token, and the provider is removed before it says who the person is.
            await calls.wait(for: 1)
            calls.release()
            await calls.wait(for: 1)
            let isRemoved = try await place.f.store.removeProvider(
                "up", audit: AuditEvent(AuditEvent.Kind(rawValue: "removed"), at: place.f.clock.source.now()))
            #expect(isRemoved)
            calls.release()
            #expect(try await coming.value == nil)
            #expect(try await place.f.store.accounts(after: nil, limit: 99).count == before)
        }
    }

    @Test("a trip that met a full queue is not spent: it is taken again")
    func fullQueue() async throws {
        try await Self.run(Self.narrow(1)) { place, calls in
            var trips: [UpstreamPlace.Trip] = []
            for _ in 0..<3 { trips.append(try await place.leave()) }
            let first = Self.come(place, trips[0])
            await calls.wait(for: 1)
            let second = Self.come(place, trips[1])
            await Self.wait(for: 1, place)
            #expect(try await place.comeBack(trips[2])?.step == .crowded)
            #expect(try await place.comeBack(trips[2])?.step == .crowded, "as often as it comes")
            #expect(calls.count == 1, "nothing was asked for it")
            #expect(try await Self.answers([first, second], calls) == [.finished, .finished])
            #expect(try await Self.answers([Self.come(place, trips[2])], calls) == [.finished])
            #expect(try await place.comeBack(trips[2]) == nil, "now it is spent")
        }
    }

    @Test("where the queue is full the network with the most in it gives way, and a network with fewer goes first")
    func networks() async throws {
        try await Self.run({ ($0.arrivalsAtOncePerProvider, $0.waitingArrivals) = (2, 2) }) { place, calls in
            var trips: [UpstreamPlace.Trip] = []
            for _ in 0..<5 { trips.append(try await place.leave()) }
            var coming: [Task<UpstreamSignIns.Step?, any Error>] = []
            for number in 0..<4 {
                coming.append(Self.come(place, trips[number], from: "many", code: "many-\(number)"))
                // Two are asked for, and two wait.
                if number < 2 { await calls.wait(for: number + 1) } else { await Self.wait(for: number - 1, place) }
            }
            let few = Self.come(place, trips[4], from: "few", code: "few")
            #expect(try await coming[3].value == .crowded, "the last of those who have the most")
            // The tokens of the first two, and then who one of them is.
            calls.release()
            await calls.wait(for: 2)
            calls.release(1)
            await calls.wait(for: 2)
            #expect(Set(calls.codes) == ["many-0", "many-1", "few"])
            #expect(try await Self.answers(coming.dropLast() + [few], calls) == Array(repeating: .finished, count: 4))
            #expect(Set(calls.codes) == ["many-0", "many-1", "few", "many-2"] && calls.codes.count == 4)
        }
    }

    @Test(
        "of one provider so many are asked for, and of all so many; who comes from another goes first where there is room"
    )
    func providers() async throws {
        let change: (inout Limits.OAuth) -> Void = {
            ($0.arrivalsAtOncePerProvider, $0.arrivalsAtOnce, $0.waitingArrivals) = (2, 3, 9)
        }
        try await Self.run(change) { place, calls in
            var other = UpstreamChange()
            (other.title, other.clientID, other.secret) = ("Other", "our-client", SecretBytes(utf8: "s"))
            other.newcomers = .created
            other.endpoints = .init(
                authorization: "\(SimulatedProvider.issuer)/authorize", token: "\(SimulatedProvider.issuer)/token",
                userinfo: "\(SimulatedProvider.issuer)/userinfo")
            _ = try await place.providers.add(
                name: "other", kind: .oauth2, issuer: SimulatedProvider.issuer, other, by: "operator")
            try await place.f.letIn(by: ["phone", "provider:up", "provider:other"])
            var coming: [Task<UpstreamSignIns.Step?, any Error>] = []
            for number in 0..<3 {
                coming.append(Self.come(place, try await place.leave(), code: "up-\(number)"))
                if number < 2 { await calls.wait(for: number + 1) } else { await Self.wait(for: 1, place) }
            }
            for number in 0..<2 {
                let trip = try await place.leave(by: "other")
                coming.append(Self.come(place, trip, code: "other-\(number)", at: "other"))
                if number == 0 { await calls.wait(for: 3) } else { await Self.wait(for: 2, place) }
            }
            #expect(Set(calls.codes) == ["up-0", "up-1", "other-0"] && calls.most == 3)
            #expect(try await Self.answers(coming, calls) == Array(repeating: .finished, count: 5))
            #expect(calls.most == 3)
        }
    }

    @Test("a browser that asks again takes its own place, and whoever waits too long can come back")
    func waits() async throws {
        try await Self.run(Self.narrow(1)) { place, calls in
            let (first, second) = (try await place.leave(), try await place.leave())
            let asked = Self.come(place, first)
            await calls.wait(for: 1)
            let waiting = Self.come(place, second)
            await Self.wait(for: 1, place)
            let again = Self.come(place, second)
            #expect(try await waiting.value == .crowded, "its place is taken")
            #expect(place.signIns.waitingArrivals == 1)
            place.f.clock.advance(Limits().oauth.longestArrivalWait)
            #expect(try await Self.answers([asked], calls) == [.finished])
            #expect(try await again.value == .crowded, "it waited too long")
            #expect(calls.count == 2, "nobody was asked for it")
            #expect(try await Self.answers([Self.come(place, second)], calls) == [.finished])
        }
    }

    @Test("whoever does not wait any more leaves the queue, and nobody enters it without a trip")
    func leaving() async throws {
        try await Self.run(Self.narrow(1)) { place, calls in
            let (first, second) = (try await place.leave(), try await place.leave())
            let asked = Self.come(place, first)
            await calls.wait(for: 1)
            let waiting = Self.come(place, second)
            await Self.wait(for: 1, place)
            waiting.cancel()
            await Self.wait(for: 0, place)
            _ = await waiting.result
            #expect(try await place.comeBack(second, ["state": "invented"]) == nil)
            #expect(try await place.comeBack(second, browser: BrowserSecret()) == nil)
            #expect(try await place.comeBack(second, to: "down") == nil)
            let again = Self.come(place, second)
            await Self.wait(for: 1, place)
            #expect(try await Self.answers([asked, again], calls) == [.finished, .finished])
        }
    }

    @Test("while a provider says where it is, as many wait as can come back, and not as few as of a client's requests")
    func discovery() async throws {
        var limits = Limits()
        limits.oauth.keySetWaiters = 0
        let held = Mutex<HeldCalls?>(nil)
        try await UpstreamPlace.run(
            limits: limits,
            calls: { upstream in
                let calls = HeldCalls(upstream)
                held.withLock { $0 = calls }
                return calls
            }
        ) { place async throws in
            let calls = try #require(held.withLock { $0 })
            let first = Task { try await place.leave() }
            await calls.wait(for: 1)
            let second = Task { try await place.leave() }
            // Meanwhile the second comes to where it waits, or is refused.
            for _ in 0..<100 { _ = try await place.f.store.client(place.f.bank.client.id) }
            calls.end()
            for task in [first, second] {
                #expect(try await task.value.address.hasPrefix("https://up.example/authorize"))
            }
            #expect(calls.count == 1)
        }
    }
}

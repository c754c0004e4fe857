import Countersign
import CountersignTestKit
import Foundation
import JOSE
import Testing
import UAF
import UAFClient
import _Primitives

/// The tries of one request, and a way to wait for them.
private actor Tries {
    /// The bodies of the requests.
    private(set) var bodies: [[UInt8]] = []
    /// The values of the field `Device-Proof`.
    private(set) var proofs: [String] = []
    /// The times of the phone's clock at the tries, from the first try on.
    private(set) var times: [Duration] = []
    private var start: Duration?
    private var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// Notes a try and returns its number. The first try has the number 1.
    func note(_ request: TransportRequest, at time: Duration) -> Int {
        self.bodies.append(request.body)
        self.proofs += request.headers.filter { $0.name == "Device-Proof" }.map(\.value)
        self.times.append(time - (self.start ?? time))
        self.start = self.start ?? time
        for waiter in self.waiting where waiter.count <= self.times.count { waiter.continuation.resume() }
        self.waiting.removeAll { $0.count <= self.times.count }
        return self.times.count
    }

    /// Returns as soon as there were so many tries.
    func reached(_ count: Int) async {
        guard self.times.count < count else { return }
        await withCheckedContinuation { self.waiting.append((count, $0)) }
    }
}

@Suite("Operations parity 23, 67: the repetition of requests, by a clock that a test moves", .timeLimit(.minutes(5)))
struct RetryPolicyTests {
    private static let answer = "/uaf/1.1/authentication/"
    private static let request = "/uaf/1.1/request/authentication/"
    private static let redeem = "/token/redeem/authentication"
    private static let unsent = TransportError(.unreachable, "no connection", isUnsent: true)
    private static let unknown = TransportError(.unreachable, "cut")

    /// Lets the first `failures` requests to a path fail, and notes every request to the path.
    private func failing(
        _ world: World, at path: String, _ failures: Int = .max,
        with failure: Result<TransportResponse, TransportError> = .failure(Self.unsent)
    ) async -> Tries {
        let (tries, clock) = (Tries(), world.phone.clock)
        await world.server.intercept { request in
            guard request.url.path() == path else { return nil }
            return await tries.note(request, at: clock.uptime()) <= failures ? try failure.get() : nil
        }
        return tries
    }

    /// Moves the clock through the delays between the tries. A delay that ends too early or too late is a failure.
    private func pass(_ delays: [Duration], of tries: Tries, _ clock: FakeClock) async {
        for (index, delay) in delays.enumerated() {
            await tries.reached(index + 1)
            await clock.untilSleeping()
            clock.advance(by: delay - .milliseconds(1))
            #expect(clock.sleepingCount == 1, "retry \(index + 1) comes too early")
            clock.advance(by: .milliseconds(1))
        }
        await tries.reached(delays.count + 1)
    }

    /// Authenticates in the app, with changed settings.
    private func authenticate(
        _ world: World, _ change: (Authentication) -> Authentication = { $0 }
    ) -> Task<Result<AuthenticationSuccess, OperationError>, Never> {
        let operation = change(world.phone.ready(world.phone.client.operations.authentication.username("alice")))
        return Task {
            do throws(OperationError) {
                return .success(try await operation.perform())
            } catch {
                return .failure(error)
            }
        }
    }

    private func error(_ result: Result<AuthenticationSuccess, OperationError>) -> OperationError? {
        if case .failure(let error) = result { error } else { nil }
    }

    // MARK: Row 23

    @Test("Two failures and then a success give the provider: one question, one signature, sent three times")
    func twoFailures() async throws {
        let world = try await World()
        try await world.enroll()
        let tries = await self.failing(world, at: Self.answer, 2)
        let operation = self.authenticate(world)
        await self.pass([.seconds(1), .seconds(1)], of: tries, world.phone.clock)
        let provider = try await operation.value.get().authorizationProvider
        #expect((provider as? JwtAuthorizationProvider)?.jwt == "virtual-jwt")
        #expect(world.phone.person.asked.count { $0.question == .pin } == 1)
        #expect(await world.server.accepted.count == 1)
        let bodies = await tries.bodies
        #expect(bodies.count == 3 && Set(bodies).count == 1)
    }

    @Test("Four failures are an error, and the person may try again: nothing was sent")
    func fourFailures() async throws {
        let world = try await World()
        try await world.enroll()
        let tries = await self.failing(world, at: Self.answer, 4)
        let operation = self.authenticate(world)
        await self.pass(Array(repeating: .seconds(1), count: 3), of: tries, world.phone.clock)
        let error = try #require(self.error(await operation.value))
        #expect(error == OperationError(.networkError) && error.recovery == .tryAgain)
        #expect(await tries.times.count == 4, "and no report")
        #expect(await world.server.accepted.isEmpty)
    }

    @Test("The configuration sets the default, and an operation its own policy")
    func settings() async throws {
        let world = try await World {
            $0.authenticationMaxRetries = 1
            $0.authenticationRetryInterval = .seconds(7)
        }
        try await world.enroll()
        let first = await self.failing(world, at: Self.answer)
        let configured = self.authenticate(world)
        await self.pass([.seconds(7)], of: first, world.phone.clock)
        #expect(self.error(await configured.value) == OperationError(.networkError))
        #expect(await first.times.count == 2)
        await world.server.stopIntercepting()
        let second = await self.failing(world, at: Self.answer)
        let own = self.authenticate(world) {
            $0.retryPolicyObtainingAuthorizationProvider(.constant(maxRetries: 2, delay: .seconds(3)))
        }
        await self.pass([.seconds(3), .seconds(3)], of: second, world.phone.clock)
        #expect(self.error(await own.value) == OperationError(.networkError))
        await world.server.stopIntercepting()
        let third = await self.failing(world, at: Self.answer)
        let none = self.authenticate(world) { $0.retryPolicyObtainingAuthorizationProvider(.noRetry) }
        #expect(self.error(await none.value) == OperationError(.networkError))
        #expect(await third.times.count == 1)
    }

    @Test("An out-of-band authentication has the same policy")
    func outOfBand() async throws {
        let world = try await World()
        try await world.enroll()
        let tries = await self.failing(world, at: Self.answer, 1)
        let operation = world.phone.ready(try await world.operation(try await world.server.authentication()))
            .retryPolicyObtainingAuthorizationProvider(.constant(maxRetries: 1, delay: .seconds(4)))
        let task = Task { try await operation.execute() }
        await self.pass([.seconds(4)], of: tries, world.phone.clock)
        _ = try await task.value
        #expect(await world.server.accepted.count == 1)
    }

    @Test(
        "A signed answer that may have arrived is sent once, whatever the policies say",
        arguments: [
            Result<TransportResponse, TransportError>.failure(TransportError(.timedOut, "cut")),
            .failure(TransportError(.unreachable, "cut")),
            .success(TransportResponse(status: 503, headers: [("Retry-After", "0")], body: [])),
            .success(TransportResponse(status: 504, headers: [], body: [])),
        ])
    func unknownDelivery(failure: Result<TransportResponse, TransportError>) async throws {
        let world = try await World()
        try await world.enroll()
        let tries = await self.failing(world, at: Self.answer, with: failure)
        let policy = RetryPolicy.constant(maxRetries: 3, delay: .zero)
        let operation = self.authenticate(world) {
            $0.retryPolicyObtainingAuthorizationProvider(policy).retryPolicy(policy)
        }
        let error = self.error(await operation.value)
        #expect(error == OperationError(.networkError) && error?.recovery == .checkOutcome)
        #expect(await tries.times.count == 1)
    }

    @Test("An unsent answer whose next try may have arrived is not sent a third time")
    func unsentThenUnknown() async throws {
        let world = try await World()
        try await world.enroll()
        let (tries, clock) = (Tries(), world.phone.clock)
        await world.server.intercept { request in
            guard request.url.path() == Self.answer else { return nil }
            throw await tries.note(request, at: clock.uptime()) == 1 ? Self.unsent : Self.unknown
        }
        let operation = self.authenticate(world)
        await self.pass([.seconds(1)], of: tries, clock)
        let error = self.error(await operation.value)
        #expect(error == OperationError(.networkError) && error?.recovery == .checkOutcome)
        #expect(await tries.times.count == 2)
    }

    @Test("A registration's answer is repeated by the operation's own policy only, and only if it was not sent")
    func registration() async throws {
        let path = "/uaf/1.1/registration/"
        let policy = RetryPolicy.constant(maxRetries: 2, delay: .seconds(2))
        for (failure, retryPolicy, count) in [
            (Self.unsent, policy, 3), (Self.unsent, nil, 1), (Self.unknown, policy, 1),
        ] {
            let world = try await World()
            let tries = await self.failing(world, at: path, count == 3 ? 2 : .max, with: .failure(failure))
            var operation = world.phone.ready(
                try await world.registration(
                    try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))))
            if let retryPolicy { operation = operation.retryPolicy(retryPolicy) }
            let ready = operation
            let task = Task { await operationError { _ = try await ready.execute() } }
            if count == 3 { await self.pass([.seconds(2), .seconds(2)], of: tries, world.phone.clock) }
            let error = await task.value
            #expect(error == (count == 3 ? nil : OperationError(.networkError)))
            #expect(error == nil || error?.recovery == .enrollAgain, "the token is used up")
            #expect(await tries.times.count == count)
            #expect(await world.phone.client.localData.accounts.count == (count == 3 ? 1 : 0))
            #expect(await world.server.credentials.count == (count == 3 ? 1 : 0))
        }
    }

    // MARK: Row 67

    @Test(
        "None, constant and exponential are counted: the times of the tries of a request that always fails",
        arguments: [
            (RetryPolicy.noRetry, [0]), (.constant(maxRetries: 0, delay: .seconds(1)), [0]),
            (.constant(maxRetries: -1, delay: .seconds(1)), [0]),
            (.constant(maxRetries: 2, delay: .seconds(5)), [0, 5, 10]),
            (
                .exponential(
                    maxRetries: 4, initialDelay: .seconds(1), multiplier: 2, maximumDelay: .seconds(5)),
                [0, 1, 3, 7, 12]
            ),
            (
                .exponential(
                    maxRetries: 2, initialDelay: .seconds(9), multiplier: 2, maximumDelay: .seconds(5)), [0, 5, 10]
            ),
            (
                .exponential(
                    maxRetries: 2, initialDelay: .seconds(3), multiplier: 0.1, maximumDelay: .seconds(5)), [0, 3, 6]
            ),
            (
                .exponential(
                    maxRetries: 2, initialDelay: .seconds(3), multiplier: .infinity, maximumDelay: .seconds(5)),
                [0, 3, 6]
            ),
            // The bounds: ten retries, a minute for each delay, three minutes in all.
            (.constant(maxRetries: 100, delay: .seconds(1)), Array(0...10)),
            (.constant(maxRetries: 100, delay: .seconds(86_400)), [0, 60, 120, 180]),
            (
                .exponential(
                    maxRetries: 100, initialDelay: .seconds(50), multiplier: 9, maximumDelay: .seconds(86_400)),
                [0, 50, 110, 170]
            ),
        ])
    func counted(policy: RetryPolicy, seconds: [Int]) async throws {
        let world = try await World()
        try await world.enroll()
        let tries = await self.failing(world, at: Self.request, with: .failure(Self.unknown))
        let operation = self.authenticate(world) { $0.retryPolicy(policy) }
        let delays = zip(seconds.dropFirst(), seconds).map { Duration.seconds($0 - $1) }
        await self.pass(delays, of: tries, world.phone.clock)
        let error = self.error(await operation.value)
        #expect(error == OperationError(.networkError) && error?.recovery == .tryAgain)
        #expect(await tries.times == seconds.map { .seconds($0) })
        #expect(world.phone.clock.sleepingCount == 0)
    }

    @Test("A delay of no time, or less, waits for no clock")
    func withoutDelay() async throws {
        let world = try await World()
        try await world.enroll()
        for delay in [Duration.zero, .seconds(-5)] {
            await world.server.stopIntercepting()
            let tries = await self.failing(world, at: Self.request, 2, with: .failure(Self.unknown))
            let operation = self.authenticate(world) { $0.retryPolicy(.constant(maxRetries: 2, delay: delay)) }
            #expect(self.error(await operation.value) == nil)
            #expect(await tries.times == [.zero, .zero, .zero])
        }
    }

    @Test(
        "A status that says to come later is repeated, and another one is not",
        arguments: [
            (408, 2), (429, 2), (502, 2), (503, 2), (504, 2), (400, 1), (401, 1), (403, 1), (404, 1), (500, 1),
            (301, 1),
        ])
    func statuses(status: Int, count: Int) async throws {
        let world = try await World()
        try await world.enroll()
        let tries = await self.failing(
            world, at: Self.request, 1, with: .success(TransportResponse(status: status, headers: [], body: [])))
        let operation = self.authenticate(world) { $0.retryPolicy(.constant(maxRetries: 1, delay: .zero)) }
        #expect((self.error(await operation.value) == nil) == (count == 2))
        #expect(await tries.times.count == count)
    }

    @Test("An error that another try does not mend is not repeated", arguments: [0, 1])
    func permanent(number: Int) async throws {
        let world = try await World()
        try await world.enroll()
        let error = [TransportError(.untrustedServer, "x", isUnsent: true), TransportError(.tooLarge, "x")][number]
        let tries = await self.failing(world, at: Self.request, with: .failure(error))
        let answers = await self.failing(world, at: Self.answer, with: .failure(error))
        let policy = RetryPolicy.constant(maxRetries: 3, delay: .zero)
        #expect(self.error(await self.authenticate(world) { $0.retryPolicy(policy) }.value)?.code == .networkError)
        #expect(await tries.times.count == 1)
        let payload = try await world.server.authentication()
        let operation = world.phone.ready(try await world.operation(payload)).retryPolicy(policy)
            .retryPolicyObtainingAuthorizationProvider(policy)
        #expect(await operationError { _ = try await operation.execute() }?.code == .networkError)
        #expect(await answers.times.count == 1)
    }

    @Test(
        "A server's longer delay counts in place of the policy's, up to a minute, in seconds or as a date",
        arguments: [
            ("30", 30), ("60", 60), ("1", 5), ("0", 5), ("61", nil), ("99999999999999999999999", nil), ("-3", 5),
            ("soon", 5), ("", 5), ("1.5", 5), ("Fri, 15 Jan 2027 08:00:20 GMT", 20),
            ("Fri, 15 Jan 2027 07:00:00 GMT", 5), ("Fri, 15 Jan 2027 08:02:00 GMT", nil),
        ] as [(String, Int?)])
    func demandedDelay(field: String, seconds: Int?) async throws {
        let world = try await World()
        try await world.enroll()
        #expect("\(world.phone.clock.now())" == "2027-01-15T08:00:00.000Z")
        let busy = TransportResponse(status: 503, headers: [("Retry-After", field)], body: [])
        let tries = await self.failing(world, at: Self.request, 1, with: .success(busy))
        let operation = self.authenticate(world) { $0.retryPolicy(.constant(maxRetries: 1, delay: .seconds(5))) }
        if let seconds { await self.pass([.seconds(seconds)], of: tries, world.phone.clock) }
        let error = self.error(await operation.value)
        #expect(error == (seconds == nil ? OperationError(.networkError) : nil))
        #expect(await tries.times.count == (seconds == nil ? 1 : 2))
    }

    @Test("A server's delays are within the time in all")
    func demandedTime() async throws {
        let world = try await World()
        try await world.enroll()
        let busy = TransportResponse(status: 429, headers: [("Retry-After", "50")], body: [])
        let tries = await self.failing(world, at: Self.request, with: .success(busy))
        let operation = self.authenticate(world) { $0.retryPolicy(.constant(maxRetries: 9, delay: .seconds(1))) }
        await self.pass(Array(repeating: .seconds(50), count: 3), of: tries, world.phone.clock)
        #expect(self.error(await operation.value) == OperationError(.networkError))
        #expect(await tries.times.count == 4)
    }

    @Test("Cancelling ends the waiting at once: before a signed answer was sent, the server is told")
    func cancelled() async throws {
        let world = try await World()
        try await world.enroll()
        let tries = await self.failing(world, at: Self.answer, 1)
        let operation = self.authenticate(world)
        await tries.reached(1)
        await world.phone.clock.untilSleeping()
        operation.cancel()
        #expect(self.error(await operation.value) == .fido(.userCanceled))
        #expect(await world.server.clientErrorCodes == [3])
        #expect(await world.server.accepted.isEmpty)
        await world.server.stopIntercepting()
        let requests = await self.failing(world, at: Self.request, with: .failure(Self.unknown))
        let second = self.authenticate(world) { $0.retryPolicy(.constant(maxRetries: 3, delay: .seconds(9))) }
        await requests.reached(1)
        await world.phone.clock.untilSleeping()
        second.cancel()
        #expect(self.error(await second.value) == .fido(.userCanceled))
        #expect(await requests.times.count == 1)
    }

    @Test("Cancelling between two tries of a registration's answer leaves no key, and the server is told")
    func cancelledRegistration() async throws {
        let world = try await World()
        let tries = await self.failing(world, at: "/uaf/1.1/registration/", 1)
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        let operation = world.phone.ready(try await world.registration(payload))
            .retryPolicy(.constant(maxRetries: 3, delay: .seconds(9)))
        let task = Task { await operationError { _ = try await operation.execute() } }
        await tries.reached(1)
        await world.phone.clock.untilSleeping()
        task.cancel()
        #expect(await task.value == .fido(.userCanceled))
        #expect(await world.server.clientErrorCodes == [3])
        #expect(await world.isEmpty())
    }

    @Test("A token is redeemed again only if it was certainly not sent")
    func tokens() async throws {
        let policy = RetryPolicy.constant(maxRetries: 2, delay: .zero)
        for (failure, count) in [(Self.unsent, 3), (Self.unknown, 1), (TransportError(.timedOut, "cut"), 1)] {
            let world = try await World()
            try await world.enroll()
            let tries = await self.failing(world, at: Self.redeem, 2, with: .failure(failure))
            let operation = world.phone.client.operations.outOfBandOperation
                .payload(try await world.server.authentication()).retryPolicy(policy)
            let error = await operationError { _ = try await operation.execute() }
            #expect(error == (count == 3 ? nil : OperationError(.networkError)))
            #expect(await tries.times.count == count)
        }
    }

    @Test("A repeated request of the device itself has a proof of its own")
    func proofs() async throws {
        let world = try await World()
        try await world.enroll()
        let account = try #require(await world.phone.client.localData.accounts.first)
        let identity = try #require(try await world.phone.client.deviceIdentity(of: account))
        await world.server.judge(ServerResponse(statusCode: .ok, deviceKey: identity.signingKey.keyID))
        _ = try await world.phone.authenticate(try await world.server.authentication())
        let tries = await self.failing(world, at: "/account/v1/notices", with: .failure(Self.unknown))
        let notices = world.phone.client.operations.accountNotices.username("alice")
            .retryPolicy(.constant(maxRetries: 2, delay: .zero))
        #expect(
            await operationError { _ = try await notices.execute() as [AccountNotice] }
                == OperationError(.networkError))
        let proofs = await tries.proofs
        #expect(proofs.count == 3 && Set(proofs).count == 3)
    }

    @Test("Ending a session and fetching a facet list are repeated as every request that does nothing twice")
    func otherRequests() async throws {
        let world = try await World()
        try await world.enroll()
        let policy = RetryPolicy.constant(maxRetries: 1, delay: .zero)
        let sessions = await self.failing(world, at: "/account/v1/sessions", with: .failure(Self.unknown))
        let revocation = world.phone.client.operations.sessionRevocation.everySession()
            .authorizationProvider(JwtAuthorizationProvider("the-jwt")).retryPolicy(policy)
        #expect(await operationError { try await revocation.execute() } == OperationError(.networkError))
        #expect(await sessions.times.count == 2)
        await world.server.use(appID: "https://id.example.com/uaf/1.1/facets")
        let facets = await self.failing(world, at: "/uaf/1.1/facets", with: .failure(Self.unknown))
        #expect(self.error(await self.authenticate(world) { $0.retryPolicy(policy) }.value) != nil)
        #expect(await facets.times.count == 2)
    }

    @Test(
        "A 404 after a try that may have arrived is success; any other 404 is an unknown session or grant",
        arguments: ["sessions", "grants"])
    func endedBefore(kind: String) async throws {
        let world = try await World()
        let (path, clock) = ("/account/v1/\(kind)/id-1", world.phone.clock)
        let gone = TransportResponse(status: 404, headers: [], body: [])
        let busy = TransportResponse(status: 503, headers: [], body: [])
        func end(
            after failure: Result<TransportResponse, TransportError>?
        ) async -> (error: OperationError?, tries: Int) {
            let tries = Tries()
            await world.server.stopIntercepting()
            await world.server.intercept { request in
                guard request.url.path() == path else { return nil }
                let number = await tries.note(request, at: clock.uptime())
                guard number == 1, let failure else { return gone }
                return try failure.get()
            }
            let (operations, provider) = (world.phone.client.operations, JwtAuthorizationProvider("the-jwt"))
            let policy = RetryPolicy.constant(maxRetries: 1, delay: .zero)
            let error = await operationError {
                if kind == "sessions" {
                    try await operations.sessionRevocation.sessionID("id-1").authorizationProvider(provider)
                        .retryPolicy(policy).execute()
                } else {
                    try await operations.grantRevocation.grantID("id-1").authorizationProvider(provider)
                        .retryPolicy(policy).execute()
                }
            }
            return (error, await tries.times.count)
        }
        for lost in [Result<TransportResponse, TransportError>.failure(Self.unknown), .success(busy)] {
            let ended = await end(after: lost)
            #expect(ended.error == nil && ended.tries == 2)
        }
        // No earlier try may have arrived.
        let unsent = await end(after: .failure(Self.unsent))
        #expect(unsent.error == OperationError(.sessionUnknown) && unsent.tries == 2)
        let single = await end(after: nil)
        #expect(single.error == OperationError(.sessionUnknown) && single.tries == 1)
    }
}

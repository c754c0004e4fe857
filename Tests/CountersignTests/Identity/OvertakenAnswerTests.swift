import Countersign
import CountersignTestKit
import Testing
import UAFClient
import _Primitives

@Suite("Answers that others have overtaken (decision 82)") struct OvertakenAnswerTests {
    @Test("a prolongation whose answer comes after that of a later one takes no time away")
    func prolonged() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let transport = HeldTransport(phone.server)
        var configuration = IdentityConfiguration(servers: [phone.server.trusted])
        configuration.facetID = "linux:program:test"
        let sdk = CountersignSDK()
        try await sdk.initialize(
            configuration,
            platform: DevicePlatform(
                storage: InMemoryStorage(phone.storage.snapshot), keys: nil, fingerprintSensor: phone.sensor,
                devicePasscode: nil, clock: phone.clock, random: .system),
            transport: transport)
        let request = try await sdk.authenticator.startAuthentication(data: try await phone.data())
        await transport.holdNext()
        async let early = sdk.common.prolongSession(holder: request)
        await transport.untilHeld()
        phone.clock.advance(by: .seconds(30))
        let late = try await sdk.common.prolongSession(holder: request).nextRequestUntil
        await transport.release()
        _ = try await early
        #expect(request.identitySession.nextRequestUntil == late)
    }
}

/// A network that holds an answer until it is told to let it through.
private actor HeldTransport: Transport {
    private let server: VirtualIdentityServer
    private var holdsNext = false
    private var held: CheckedContinuation<Void, Never>?
    private var waiting: CheckedContinuation<Void, Never>?

    init(_ server: VirtualIdentityServer) { self.server = server }

    /// Holds the next answer.
    func holdNext() { self.holdsNext = true }

    /// Waits until an answer is held.
    func untilHeld() async {
        guard self.held == nil else { return }
        await withCheckedContinuation { self.waiting = $0 }
    }

    /// Lets it through.
    func release() {
        self.held?.resume()
        self.held = nil
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let response = try await self.server.send(request)
        guard self.holdsNext else { return response }
        self.holdsNext = false
        await withCheckedContinuation { continuation in
            self.held = continuation
            self.waiting?.resume()
            self.waiting = nil
        }
        return response
    }
}

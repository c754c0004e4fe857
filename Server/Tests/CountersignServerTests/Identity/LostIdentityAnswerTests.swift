import CeremonyEngine
import Countersign
import CountersignTestKit
import PersonalInformation
import Testing

@Suite("Decision 82: what was not answered is asked again by the same request, against a whole server")
struct LostIdentityAnswerTests {
    private static let pin = "824193"

    /// A network in which answers are lost, as long as an exchange may take.
    private actor Network: Transport {
        private let server: any Transport
        private let clock: FakeClock
        private var losses = 0

        init(_ server: any Transport, _ clock: FakeClock) {
            self.server = server
            self.clock = clock
        }

        /// Loses the next answer, and that to its repetition.
        func lose() { self.losses = 2 }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let response = try await self.server.send(request)
            guard self.losses > 0 else { return response }
            self.losses -= 1
            self.clock.advance(by: .seconds(12))
            throw TransportError(.timedOut, "lost")
        }
    }

    /// Takes a step whose answer is lost, and takes it once more.
    private static func twice<Value>(in network: Network, _ step: () async throws -> Value) async throws -> Value {
        await network.lose()
        do {
            _ = try await step()
            Issue.record("the answer came")
        } catch let error as CountersignError {
            #expect(error.errorCode == .timeout)
        }
        return try await step()
    }

    @Test("Each step of a sign-in comes to what it would have come to, and so does an activation for another phone")
    func everyStep() async throws {
        try await IdentityStage.run { stage async throws in
            let network = Network(stage.traffic, stage.server.clock)
            let phone = try await stage.personalizedPhone(pin: Self.pin, over: network)
            let authenticator = phone.sdk.authenticator
            let personalizer = phone.sdk.personalizer

            let data = try await stage.data(for: phone)
            let request = try await Self.twice(in: network) { try await authenticator.startAuthentication(data: data) }
            request.info.email?.setSelection(request.info.email?.aliases.first { $0.alias == "Office" })
            request.info.givenName?.setValue(value: IdentityStage.values.given)
            let prepared = try await Self.twice(in: network) {
                try await authenticator.prepareAuthenticationUserInformation(request: request)
            }
            guard case .success(let info) = prepared else {
                Issue.record("not prepared")
                return
            }
            try info.sign(factor: DeviceFactor())
            try info.sign(factor: PinFactor(Self.pin))
            let finished = try await Self.twice(in: network) {
                try await authenticator.finishAuthentication(userInfo: info)
            }
            try #require(finished.isUserLogin)

            let wish = try await phone.accessToNewActivation(pin: Self.pin)
            wish.pinSpec.setPin("735041")
            let other = try await stage.phone("other")
            try await other.personalize(
                try await Self.twice(in: network) { try await personalizer.finishRequestNewActivationData(wish) },
                pin: "735041")
            #expect(try other.sdk.personalizer.personalizedIdentities.count == 1)
        }
    }
}

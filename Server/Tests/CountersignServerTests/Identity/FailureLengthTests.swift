import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Decision 62: whoever sees how long messages are does not see which factor was wrong")
struct FailureLengthTests {
    /// What somebody sees of a finish who reads nothing of it.
    private struct Seen: Hashable {
        let request: Int
        let status: Int
        let answer: Int
    }

    @Test("A wrong PIN, a finger without the device, and all three look alike")
    func lengths() async throws {
        try await IdentityStage.run { stage async throws in
            let phone = try await stage.phone()
            let offer = try await stage.offer(pin: Haul.right)
            guard case .newPersonalization(let new) = try await phone.open(offer.code, pin: Haul.right) else { return }
            phone.sensor.feel(.match)
            new.setFactor(try await phone.sdk.biometrics.factorForEnrolment())
            _ = try await phone.sdk.personalizer.finishPersonalization(request: new)

            let attempts: [Set<AuthenticatorType>] = [[.device, .pin], [.biometric], [.device, .pin, .biometric]]
            var seen: [Seen] = []
            for types in attempts {
                // Each in a session of its own, so that no rest is longer than what is left of it.
                let (code, _) = try await stage.code(in: TestBrowser(stage.client))
                guard case .authentication(let data) = try phone.sdk.common.parseProcessInitializationData(code) else {
                    return
                }
                let info = try await phone.prepare(data)
                if types.contains(.device) { try info.sign(factor: DeviceFactor()) }
                if types.contains(.pin) { try info.sign(factor: PinFactor(Haul.wrong)) }
                if types.contains(.biometric) {
                    phone.sensor.feel(.match)
                    try info.sign(
                        factor: try await phone.sdk.biometrics.factor(idmIdentifier: IdentityStage.issuer))
                }
                guard case .lockout = try await phone.sdk.authenticator.finishAuthentication(userInfo: info) else {
                    Issue.record("\(types) was accepted")
                    return
                }
                let finish = try #require(stage.traffic.exchanges.last { $0.path.hasSuffix("/finish") })
                seen.append(
                    Seen(request: finish.request.count, status: finish.status, answer: finish.answer.count))
                stage.server.clock.advance(by: .seconds(600))
            }
            #expect(Set(seen).count == 1, "\(seen)")
        }
    }

    @Test("Messages of one factor and of three have one length, which they would not have unless they were filled up")
    func filledUp() throws {
        func response(_ count: Int) -> String {
            let assertion = String(repeating: "A", count: 300)
            let assertions = (0..<count).map { _ in #"{"assertionScheme":"UAFV1TLV","assertion":"\#(assertion)"}"# }
            return #"[{"assertions":[\#(assertions.joined(separator: ","))]}]"#
        }
        let responses = (1...3).map(response)
        #expect(Set(responses.map(\.utf8.count)).count == 3)
        #expect(Set(responses.map { FinishRequest.Factors(response: $0).serialized.count }).count == 1)
    }
}

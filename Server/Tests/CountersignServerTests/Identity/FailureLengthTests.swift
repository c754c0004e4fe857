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
        let headers: [String]
    }

    private static let attempts: [Set<AuthenticatorType>] = [
        [.device, .pin], [.biometric], [.device, .pin, .biometric],
    ]

    /// What is seen of wrong factors of each kind.
    ///
    /// - Parameter answer: What a server answers to a kind, in the place of what ours does.
    private func seen(
        _ answer: @escaping @Sendable (Set<AuthenticatorType>, [UInt8]) throws -> [UInt8] = { $1 }
    ) async throws -> [Seen] {
        let (all, continuation) = AsyncStream.makeStream(of: Seen.self)
        try await IdentityStage.run { stage async throws in
            let phone = try await stage.phone()
            let offer = try await stage.offer(pin: Haul.right)
            guard case .newPersonalization(let new) = try await phone.open(offer.code, pin: Haul.right) else { return }
            phone.sensor.feel(.match)
            new.setFactor(try await phone.sdk.biometrics.factorForEnrolment())
            _ = try await phone.sdk.personalizer.finishPersonalization(request: new)

            for types in Self.attempts {
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
                continuation.yield(
                    Seen(
                        request: finish.request.count, status: finish.status,
                        answer: try answer(types, finish.answer).count, headers: finish.answerHeaders))
                stage.server.clock.advance(by: .seconds(600))
            }
        }
        continuation.finish()
        var seen: [Seen] = []
        for await one in all { seen.append(one) }
        #expect(seen.count == Self.attempts.count)
        return seen
    }

    @Test("A wrong PIN, a finger without the device, and all three look alike")
    func lengths() async throws {
        let seen = try await self.seen()
        #expect(Set(seen).count == 1, "\(seen)")
        #expect(seen.allSatisfy { $0.headers.contains("content-type: application/jose") }, "\(seen)")
    }

    @Test("An answer that says for the phone alone which factors were wrong is told by its length")
    func namingFactors() async throws {
        let seen = try await self.seen { types, answer in
            let parts = String(decoding: answer, as: UTF8.self).split(separator: ".")
            guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
                case .object(var said) = try JSON(parsing: payload)
            else { throw OtherProcess() }
            said["wrong"] = .array(types.map { .string($0.rawValue) })
            let named = Base64URL.encode(JSON.object(said).serialized)
            return Array("\(parts[0]).\(named).\(parts[2])".utf8)
        }
        #expect(Set(seen).count == Self.attempts.count, "\(seen)")
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

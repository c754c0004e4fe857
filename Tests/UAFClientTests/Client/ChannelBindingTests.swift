import CountersignTestKit
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("UAF Protocol 1.1 §3.1.8: an answer binds to the TLS channel")
struct ChannelBindingTests {
    @Test(
        "The channel stands in what an answer binds to",
        arguments: [RequestScene.Operation.registration, .authentication])
    func bound(operation: RequestScene.Operation) async throws {
        let device = try Device()
        let key = try await device.register(Device.pin, appID: RequestScene.appID).name
        let scene = try RequestScene(operation, [key])
        let channel = ChannelBinding(serverEndPoint: "aGFzaA", tlsServerCertificate: "Y2VydGlmaWNhdGU")
        let message: [UInt8]
        switch try await scene.client(device).prepare(scene.message.serialized, channel: channel) {
        case .registration(let prepared):
            message = try await prepared.register([Device.pin], verification: TestPerson()).message
            #expect(
                try FinalChallengeParams(encoded: RegistrationResponse(parsing: message).fcParams).channelBinding
                    == channel)
        case .authentication(let prepared):
            message = try await prepared.authenticate([key], verification: TestPerson()).message
            let response = try AuthenticationResponse(parsing: message)
            #expect(try FinalChallengeParams(encoded: response.fcParams).channelBinding == channel)
            let signed = try AuthenticationAssertion(parsing: response.assertions[0].bytes).signedData
            #expect(signed.finalChallengeHash == FinalChallengeParams.hash(ofEncoded: response.fcParams))
        case .deregistration: Issue.record("a deregistration has no answer")
        }
    }
}

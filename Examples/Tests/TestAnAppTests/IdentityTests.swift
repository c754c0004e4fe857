import Countersign
import CountersignTestKit
import Testing

@Suite("The app has an identity") struct AppIdentityTests {
    @Test("and a wrong PIN rests it, until the right one is taken") func lockout() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        try await phone.personalize(pin: "824193")
        let data = try phone.authenticationData(try await phone.server.authenticationCode())
        guard case .lockout(let lockout, let information) = try await phone.authenticate(data, pin: "111111") else {
            Issue.record("the wrong PIN rests nothing")
            return
        }
        #expect(!lockout.isPermanent)
        phone.clock.advance(by: .seconds(60))
        try information.sign(factor: DeviceFactor())
        try information.sign(factor: PinFactor("824193"))
        guard case .userLogin = try await phone.sdk.authenticator.finishAuthentication(userInfo: information) else {
            Issue.record("the right PIN is not taken")
            return
        }
    }
}

import Countersign
import CountersignTestKit
import Foundation
import Testing

@Suite("Parity 106: which versions of the protocol a server speaks") struct ProtocolVersionTests {
    @Test("an app within the server's range works, however far that goes") func within() async throws {
        for versions in [1...1, 1...3, 1...1024] {
            let server = try VirtualIdentityServer()
            await server.speak(versions)
            let phone = try await VirtualIdentityPhone(server: server)
            try await phone.personalize()
            #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
        }
    }

    @Test("an app that is older than the range is told so, and says nothing to the server") func tooOld() async throws {
        let server = try VirtualIdentityServer()
        await server.speak(2...3)
        let phone = try await VirtualIdentityPhone(server: server)
        let error = await #expect(throws: CountersignError.self) { try await phone.sdk.common.refreshServerKeys() }
        #expect(error?.errorCode == .protocolVersionUnsupported)
        #expect(error?.errorDescription == "This app is too old.")
        let code = try await server.authenticationCode()
        #expect(await identityError { _ = try phone.authenticationData(code) } == .protocolVersionUnsupported)
        #expect(await server.requests.allSatisfy { $0.url.path() == "/identity/keys" })
    }

    @Test("a server that gives the app's version up is believed within a day, whatever the app has kept")
    func givenUp() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let data = try await phone.data()
        let info = try await phone.prepare()
        await phone.server.speak(2...3)
        phone.clock.advance(by: .seconds(86_401))
        await phone.server.forgetRequests()
        let authenticator = phone.sdk.authenticator
        #expect(
            await identityError { _ = try await authenticator.startAuthentication(data: data) }
                == .protocolVersionUnsupported)
        #expect(await identityError { _ = try await phone.finishByPin(info) } == .protocolVersionUnsupported)
        #expect(
            await identityError {
                _ = try await phone.sdk.personalizer.startChangePin(idmIdentifier: phone.server.identifier)
            } == .protocolVersionUnsupported)
        #expect(await phone.server.requests.allSatisfy { $0.url.path() == "/identity/keys" })
        // The identity is still there, for the app's next version.
        #expect(try phone.sdk.personalizer.personalizedIdentities.count == 1)
        await phone.server.speak(1...3)
        #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
    }
}

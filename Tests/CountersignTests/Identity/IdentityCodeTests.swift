import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing

@Suite("Codes and links of identities (decision 62)") struct IdentityCodeTests {
    @Test("a code is the same scanned, pasted, and in a link of any scheme") func forms() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let code = try await phone.server.authenticationCode()
        let sent = await phone.server.requests.count
        for (text, isFromLink) in [
            (code, false), ("  \(code)\n", false), ("https://id.example/l#\(code)", true),
            ("countersign://l#\(code)", true),
        ] {
            let data = try phone.authenticationData(text)
            #expect(data.idmIdentifier == "https://id.example")
            #expect(data.isFromLink == isFromLink)
            #expect(!"\(data)".contains(code))
        }
        #expect(await phone.server.requests.count == sent)
    }

    @Test("a code that was made to be scanned and comes in a link is given up: somebody else's browser waits for it")
    func carriedCode() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        _ = try await phone.personalize()
        let link = "https://id.example/open#\(try await phone.server.authenticationCode())"
        let data = try phone.authenticationData(link)
        let error = await identityError { _ = try await phone.sdk.authenticator.startAuthentication(data: data) }
        #expect(error == .codeCameByLink)
        #expect(await phone.server.lastEnd == .sessionAborted)
        // One that was made for a link is another matter.
        await phone.server.ask { $0.isForLinks = true }
        let code = try await phone.server.authenticationCode()
        let made = try phone.authenticationData("https://id.example/open#\(code)")
        #expect(try await phone.sdk.authenticator.startAuthentication(data: made).serviceName == "Health Portal")
    }

    @Test("the two kinds are told apart") func kinds() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        guard
            case .personalization = try phone.sdk.common.parseProcessInitializationData(
                try await phone.server.activationCode(pin: "824193")),
            case .authentication = try phone.sdk.common.parseProcessInitializationData(
                try await phone.server.authenticationCode())
        else {
            Issue.record("a kind was taken for the other")
            return
        }
    }

    @Test("whichever letter somebody changes, it is found out before anybody is asked") func everyLetter() async throws
    {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let code = Array(try await phone.server.authenticationCode().utf8)
        let sent = await phone.server.requests.count
        for index in code.indices {
            var changed = code
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let text = String(decoding: changed, as: UTF8.self)
            #expect(throws: CountersignError.self, "letter \(index)") {
                _ = try phone.sdk.common.parseProcessInitializationData(text)
            }
        }
        #expect(await phone.server.requests.count == sent)
    }

    @Test("a server that the app does not know is not asked") func unknownServer() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let other = try VirtualIdentityServer(identifier: "https://other.example")
        let code = try await other.authenticationCode()
        let error = await identityError { _ = try phone.sdk.common.parseProcessInitializationData(code) }
        #expect(error == .unknownManager)
        #expect(await other.requests.isEmpty)
    }

    @Test("without the server's keys nothing is believed, and they are fetched when asked for") func noKeys()
        async throws
    {
        let server = try VirtualIdentityServer()
        await server.goDown(true)
        let phone = try await VirtualIdentityPhone(server: server)
        let code = try await server.authenticationCode()
        #expect(await identityError { _ = try phone.authenticationData(code) } == .connectionError)
        await server.goDown(false)
        try await phone.sdk.common.refreshServerKeys()
        _ = try phone.authenticationData(code)
    }

    @Test("nothing works before the SDK is initialised, and it is initialised once") func initialization() async throws
    {
        let sdk = CountersignSDK()
        #expect(await identityError { _ = try sdk.common.parseProcessInitializationData("") } == .notInitialized)
        #expect(await identityError { _ = try sdk.personalizer.personalizedIdentities } == .notInitialized)
        let server = try VirtualIdentityServer()
        _ = try await VirtualIdentityPhone(server: server, sdk: sdk)
        #expect(
            await identityError { _ = try await VirtualIdentityPhone(server: server, sdk: sdk) } == .alreadyInitialized)
        #expect(
            await identityError { _ = try await VirtualIdentityPhone(server: server) { $0.servers = [] } }
                == .invalidConfiguration)
        #expect(
            await identityError {
                _ = try await VirtualIdentityPhone(server: server) {
                    $0.servers = [.init(idmIdentifier: "http://id.example", rootKeys: server.trusted.rootKeys)]
                }
            } == .invalidConfiguration)
    }
}

import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Synchronization
import Testing
import UAFClient

@Suite("Codes and links of identities (decision 62)") struct IdentityCodeTests {
    @Test("a QR code's text begins the authentication of the service that has shown it") func scanned() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        for name in ["Town Hall", "Library"] {
            await phone.server.ask { $0.name = name }
            let text = try await phone.server.authenticationCode()
            let data = try phone.sdk.common.parseProcessInitializationData(text).authenticationData
            #expect(try await phone.sdk.authenticator.startAuthentication(data: data).serviceName == name)
        }
    }

    @Test("a code is the same scanned, pasted, and in a link of any scheme") func forms() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.ask { $0.isForLinks = true }
        for kind in ["authentication", "activation"] {
            func newCode() async throws -> String {
                kind == "activation"
                    ? try await phone.server.activationCode(pin: "135802")
                    : try await phone.server.authenticationCode()
            }
            let code = try await newCode()
            let sent = await phone.server.requests.count
            func data(_ text: String) throws -> ProcessInitializationData {
                try phone.sdk.common.parseProcessInitializationData(text)
            }
            let scanned = try data(code)
            #expect(try data("  \(code)\n") == scanned)
            // An app link, a deep link, and whatever else a system calls one.
            let links = ["https://id.example/l#", "countersign://l#", "intent:#", "#"].map { $0 + code }
            let linked = try links.map(data)
            #expect(linked.allSatisfy { $0 == linked[0] })
            // A link is told from what was scanned, and another code from this one.
            #expect(linked[0] != scanned)
            #expect(try data("https://id.example/l#" + (try await newCode())) != linked[0])
            for (data, isFromLink) in [(scanned, false)] + linked.map({ ($0, true) }) {
                switch data {
                case .authentication(let data):
                    #expect(kind == "authentication" && data.isFromLink == isFromLink)
                    #expect(data.idmIdentifier == "https://id.example" && !"\(data)".contains(code))
                case .personalization(let data):
                    #expect(kind == "activation" && data.isFromLink == isFromLink)
                    #expect(data.idmIdentifier == "https://id.example" && !"\(data)".contains(code))
                }
            }
            #expect(await phone.server.requests.count == sent)
        }
        // Each variant begins the same.
        for prefix in ["", "https://id.example/l#", "countersign://l#"] {
            let data = try phone.authenticationData(prefix + (try await phone.server.authenticationCode()))
            #expect(try await phone.authenticate(data).isUserLogin)
        }
    }

    @Test("a code that was made to be scanned and comes in a link is given up: somebody else's browser waits for it")
    func carriedCode() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        _ = try await phone.personalize()
        let link = "https://id.example/open#\(try await phone.server.authenticationCode())"
        let data = try phone.authenticationData(link)
        let error = await identityError { _ = try await phone.sdk.authenticator.startAuthentication(data: data) }
        #expect(error == .codeCameByLink)
        #expect(await phone.server.ends == [.sessionAborted])
        // One that was made for a link is another matter.
        await phone.server.ask { $0.isForLinks = true }
        let made = try phone.authenticationData(
            "https://id.example/open#\(try await phone.server.authenticationCode())")
        #expect(try await phone.sdk.authenticator.startAuthentication(data: made).serviceName == "Health Portal")
    }

    @Test("the two kinds are told apart, and neither begins what the other does") func kinds() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let common = phone.sdk.common
        let activation = try common.parseProcessInitializationData(
            try await phone.server.activationCode(pin: "824193"))
        let authentication = try common.parseProcessInitializationData(try await phone.server.authenticationCode())
        let sent = await phone.server.requests.count
        let authenticator = phone.sdk.authenticator
        #expect(
            await identityError {
                _ = try await authenticator.startAuthentication(data: try activation.authenticationData)
            } == .wrongProcess)
        let personalizer = phone.sdk.personalizer
        #expect(
            await identityError {
                _ = try await personalizer.decryptPersonalizationInitializationData(
                    data: try authentication.personalizationData, pin: "824193")
            } == .wrongProcess)
        #expect(await phone.server.requests.count == sent)
        #expect(try activation.personalizationData.idmIdentifier == "https://id.example")
        #expect(
            try await authenticator.startAuthentication(data: try authentication.authenticationData).serviceName
                == "Health Portal")
    }

    @Test("whichever letter somebody changes, it is found out before anybody is asked") func everyLetter() async throws
    {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let code = try await phone.server.authenticationCode()
        let sent = await phone.server.requests.count
        _ = try phone.sdk.common.parseProcessInitializationData(code)
        let letters = Array(code.utf8)
        // Of a signature and of a secret the last letter has bits that stand for nothing.
        let parts = code.split(whereSeparator: { ".~".contains($0) }).map(\.utf8.count)
        let secret = letters.count - parts[3]
        let signature = secret - 1 - parts[2]
        let opaque = Set(signature..<secret - 2).union(secret..<letters.count - 1)
        for index in letters.indices {
            var changed = letters
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let text = String(decoding: changed, as: UTF8.self)
            let error = await identityError { _ = try phone.sdk.common.parseProcessInitializationData(text) }
            if opaque.contains(index) {
                #expect(error == .serverSignatureInvalid, "letter \(index)")
            } else {
                // What is signed may not be readable any more, or be of another server.
                let codes: [CountersignErrorCode?] = [.serverSignatureInvalid, .malformedData, .unknownManager]
                #expect(codes.contains(error), "letter \(index)")
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

    @Test("by a root key that is not the server's nothing is believed, and a code says that, not that nobody answers")
    func otherRoot() async throws {
        let (server, other) = (try VirtualIdentityServer(), try VirtualIdentityServer())
        let network = PerhapsElsewhere(server: server)
        let sdk = CountersignSDK()
        var configuration = IdentityConfiguration(servers: [other.trusted])
        configuration.facetID = "linux:program:test"
        #expect(other.trusted.idmIdentifier == server.trusted.idmIdentifier)
        try await sdk.initialize(
            configuration, platform: DevicePlatform(storage: InMemoryStorage(), clock: FakeClock(wall: server.now)),
            transport: network)
        let code = try await server.authenticationCode()
        let parse = { _ = try sdk.common.parseProcessInitializationData(code) }
        #expect(await identityError(parse) == .serverSignatureInvalid)
        // Somebody else answers at its address: the code is none the worse for it.
        network.isElsewhere.withLock { $0 = true }
        #expect(await identityError { try await sdk.common.refreshServerKeys() } == .malformedData)
        #expect(await identityError(parse) == .connectionError)
        network.isElsewhere.withLock { $0 = false }
        #expect(await identityError { try await sdk.common.refreshServerKeys() } == .serverSignatureInvalid)
        await server.goDown(true)
        #expect(await identityError { try await sdk.common.refreshServerKeys() } == .connectionError)
        #expect(await identityError(parse) == .connectionError)
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

/// A network on which another program answers at the server's address, for a while.
private final class PerhapsElsewhere: Transport {
    let isElsewhere = Mutex(false)
    private let server: VirtualIdentityServer

    init(server: VirtualIdentityServer) { self.server = server }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard !self.isElsewhere.withLock({ $0 }) else { return TransportResponse(status: 404, headers: [], body: []) }
        return try await self.server.send(request)
    }
}

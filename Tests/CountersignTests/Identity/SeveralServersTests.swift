import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient
import _Primitives

@Suite("Parity 96: identities of several servers on one device") struct SeveralServersTests {
    /// An app that is personalised by two servers, with a PIN of each.
    private struct Device {
        let clock = FakeClock()
        let first: VirtualIdentityServer
        let second: VirtualIdentityServer
        let sdk = CountersignSDK()

        init() async throws {
            self.first = try VirtualIdentityServer(identifier: "https://first.example", clock: self.clock)
            self.second = try VirtualIdentityServer(identifier: "https://second.example", clock: self.clock)
            var configuration = IdentityConfiguration(servers: [self.first.trusted, self.second.trusted])
            configuration.facetID = "linux:program:test"
            try await self.sdk.initialize(
                configuration, platform: DevicePlatform(storage: InMemoryStorage(), clock: self.clock),
                transport: ByHost(servers: [self.first, self.second]))
            try await self.personalize(at: self.first, pin: "824193")
            try await self.personalize(at: self.second, pin: "970358")
        }

        func response(at server: VirtualIdentityServer, pin: String, mayMerge: Bool = false) async throws
            -> PersonalizationResponse
        {
            let code = try await server.activationCode(pin: pin, mayMerge: mayMerge)
            return try await self.sdk.personalizer.decryptPersonalizationInitializationData(
                data: try self.sdk.common.parseProcessInitializationData(code).personalizationData, pin: pin)
        }

        func personalize(at server: VirtualIdentityServer, pin: String) async throws {
            guard case .newPersonalization(let request) = try await self.response(at: server, pin: pin) else {
                throw WrongCode()
            }
            try await self.sdk.personalizer.finishPersonalization(request: request)
        }

        func authenticate(at server: VirtualIdentityServer, pin: String) async throws -> AuthenticationResult {
            let code = try await server.authenticationCode()
            let request = try await self.sdk.authenticator.startAuthentication(
                data: try self.sdk.common.parseProcessInitializationData(code).authenticationData)
            guard
                case .success(let info) = try await self.sdk.authenticator.prepareAuthenticationUserInformation(
                    request: request)
            else { throw WrongCode() }
            try info.sign(factor: DeviceFactor())
            try info.sign(factor: PinFactor(pin))
            return try await self.sdk.authenticator.finishAuthentication(userInfo: info)
        }
    }

    @Test("a server that is not to be reached keeps nobody from the codes of the others") func oneIsDown() async throws
    {
        let clock = FakeClock()
        let first = try VirtualIdentityServer(identifier: "https://first.example", clock: clock)
        let second = try VirtualIdentityServer(identifier: "https://second.example", clock: clock)
        for (down, other) in [(first, second), (second, first)] {
            await down.goDown(true)
            let sdk = CountersignSDK()
            var configuration = IdentityConfiguration(servers: [first.trusted, second.trusted])
            configuration.facetID = "linux:program:test"
            try await sdk.initialize(
                configuration, platform: DevicePlatform(storage: InMemoryStorage(), clock: clock),
                transport: ByHost(servers: [first, second]))
            _ = try sdk.common.parseProcessInitializationData(try await other.authenticationCode())
            clock.advance(by: .seconds(601))
            try await other.rotateKeys()
            #expect(await identityError { try await sdk.common.refreshServerKeys() } == .connectionError)
            _ = try sdk.common.parseProcessInitializationData(try await other.authenticationCode())
            await down.goDown(false)
        }
    }

    @Test("two servers personalise one app, and neither gets to know anything of the other") func separated()
        async throws
    {
        let device = try await Device()
        let identities = try device.sdk.personalizer.personalizedIdentities
        #expect(identities.map(\.idmIdentifier) == ["https://first.example", "https://second.example"])
        #expect(try await device.authenticate(at: device.first, pin: "824193").isUserLogin)
        #expect(try await device.authenticate(at: device.second, pin: "970358").isUserLogin)
        #expect(await device.first.activeActivations == [identities[0].activation])
        #expect(await device.second.activeActivations == [identities[1].activation])
        for (server, other) in [(device.first, identities[1]), (device.second, identities[0])] {
            let requests = await server.requests
            #expect(requests.allSatisfy { $0.url.host() == URL(string: server.identifier)?.host() })
            // What is sealed to a server is not to be read here: it is made with the identity's own keys.
            let texts = requests.map { request in
                request.headers.map(\.value).joined(separator: "\n") + String(decoding: request.body, as: UTF8.self)
            }
            #expect(!texts.contains { $0.contains(other.activation) || $0.contains(other.idmIdentifier) })
            let proofs = requests.compactMap(\.deviceProof)
            #expect(!proofs.isEmpty)
            let payloads = try proofs.map { try Self.decoded($0) }
            #expect(!payloads.contains { $0.contains(other.activation) || $0.contains(other.idmIdentifier) })
        }
    }

    /// The letters of a token's header and payload.
    private static func decoded(_ token: String) throws -> String {
        try token.split(separator: ".").prefix(2).map {
            String(decoding: try #require(Base64URL.decode($0)), as: UTF8.self)
        }.joined()
    }

    @Test("a PIN is that of one server: wrong at the other, whose lockout stays there") func ownPins() async throws {
        let device = try await Device()
        #expect(try await device.authenticate(at: device.second, pin: "824193").lockout != nil)
        #expect(try await device.authenticate(at: device.first, pin: "824193").isUserLogin)
        let identities = try device.sdk.personalizer.personalizedIdentities
        #expect(await device.first.failures(of: identities[0].activation) == 0)
        #expect(await device.second.failures(of: identities[1].activation) == 1)
    }

    @Test("what is taken away of one stays of the other") func takenAway() async throws {
        let device = try await Device()
        try await device.sdk.personalizer.depersonalizeIdentityManager(idmIdentifier: "https://first.example")
        #expect(
            try device.sdk.personalizer.personalizedIdentities.map(\.idmIdentifier) == ["https://second.example"])
        #expect(await device.first.activeActivations.isEmpty)
        #expect(await device.second.activeActivations.count == 1)
        #expect(try await device.authenticate(at: device.second, pin: "970358").isUserLogin)
        #expect(
            await identityError { _ = try await device.authenticate(at: device.first, pin: "824193") }
                == .notPersonalized)
        try await device.personalize(at: device.first, pin: "604817")
        #expect(try await device.authenticate(at: device.first, pin: "604817").isUserLogin)
    }

    @Test("the same server twice is refused, or merged where it is an invitation") func twice() async throws {
        let device = try await Device()
        for server in [device.first, device.second] {
            guard
                case .alreadyPersonalized(let told) = try await device.response(at: server, pin: "604817"),
                case .mergePersonalization(let merged, let data) = try await device.response(
                    at: server, pin: "604817", mayMerge: true)
            else {
                Issue.record("another identity")
                return
            }
            #expect(told == server.identifier && merged == server.identifier && data.idmIdentifier == server.identifier)
        }
        #expect(try device.sdk.personalizer.personalizedIdentities.count == 2)
        // Opened before the other was made, a second one is refused when it is finished.
        let fresh = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let one = try await fresh.newIdentity(pin: "824193")
        let two = try await fresh.newIdentity(pin: "970358")
        try await fresh.sdk.personalizer.finishPersonalization(request: one)
        #expect(
            await identityError { try await fresh.sdk.personalizer.finishPersonalization(request: two) }
                == .alreadyPersonalized)
        #expect(await fresh.server.activeActivations.count == 1)
    }
}

/// Several servers, each at its host.
private struct ByHost: Transport {
    let servers: [VirtualIdentityServer]

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let server = self.servers.first(where: { URL(string: $0.identifier)?.host() == request.url.host() })
        else { throw TransportError(.unreachable, "no such host") }
        return try await server.send(request)
    }
}

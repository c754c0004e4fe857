import Ceremony
import Countersign
import CountersignTestKit
import Crypto
import Foundation
import Testing
import UAF
import _Primitives

@Suite("UAF Protocol 1.1 §3.4 and §3.5: the authenticator of the test kit, right and wrong on demand")
struct SoftwareAuthenticatorTests {
    typealias Behaviour = SoftwareAuthenticator.Behaviour

    private static let model = AuthenticatorModel(factor: .pin, keyStore: .file)

    private let server = VirtualServer(baseURL: URL(string: "https://id.example.com")!)
    private let facet: FacetID
    private var authenticator: SoftwareAuthenticator

    init() throws {
        self.facet = try FacetID("linux:program:test")
        self.authenticator = try SoftwareAuthenticator(model: Self.model, facetID: self.facet)
    }

    private func redeem(_ payload: OutOfBandPayload) async throws -> [UInt8] {
        let answer = try await self.post(
            "token/redeem/authentication", Array(#"{"token":"\#(payload.redeemData.token)"}"#.utf8))
        return Array(try #require(try ReturnUAFRequest(parsing: answer.body).uafRequest).utf8)
    }

    private func post(_ path: String, _ body: [UInt8]) async throws -> TransportResponse {
        try await self.server.send(
            TransportRequest(
                method: "POST", url: self.server.baseURL.appending(path: path), headers: [], body: body,
                timeout: .seconds(1)))
    }

    private func judge(_ path: String, _ message: [UInt8]) async throws -> Int {
        let body = SendUAFResponse(uafResponse: String(decoding: message, as: UTF8.self)).serialized
        return try ServerResponse(parsing: try await self.post(path, body).body).statusCode.rawValue
    }

    private func registrationRequest() async throws -> RegistrationRequest {
        try RegistrationRequest(
            parsing: try await self.redeem(
                try await self.server.registration(for: "alice", policy: VirtualServer.anything)))
    }

    private func authenticationRequest(_ transaction: [Transaction] = []) async throws -> AuthenticationRequest {
        try AuthenticationRequest(
            parsing: try await self.redeem(try await self.server.authentication(transaction: transaction)))
    }

    private func enroll() async throws {
        let response = try self.authenticator.register(try await self.registrationRequest())
        #expect(try await self.judge("uaf/1.1/registration", response.serialized) == 1200)
    }

    @Test("Without a departure its registrations and authentications are accepted, with rising counters")
    mutating func honest() async throws {
        try await self.enroll()
        for transaction in [[], [text("Pay 5")]] {
            let response = try self.authenticator.authenticate(try await self.authenticationRequest(transaction))
            #expect(try await self.judge("uaf/1.1/authentication", response.serialized) == 1200)
        }
        #expect(await self.server.accepted.flatMap { $0.assertions.map(\.signCounter) } == [1, 2])
        #expect(self.authenticator.signCounter == 2)
    }

    private static let refusedAuthentications: [@Sendable (inout Behaviour) -> Void] = [
        { $0.finalChallengeHash = [UInt8](repeating: 1, count: 32) },
        { $0.challenge = Challenge(random: .system) },
        { $0.mode = .userVerified },
        { $0.transactionContentHash = [] },
        { $0.transactionContentHash = [UInt8](repeating: 1, count: 32) },
        { $0.signCounter = 0 },
        { $0.breaksSignature = true },
        { $0.signingKey = P256.Signing.PrivateKey() },
        { $0.keyID = try? KeyID([UInt8](repeating: 1, count: 32)) },
    ]

    @Test("An authentication that departs from the standard is refused", arguments: refusedAuthentications.indices)
    mutating func refusedAuthentication(index: Int) async throws {
        try await self.enroll()
        Self.refusedAuthentications[index](&self.authenticator.behaviour)
        let response = try self.authenticator.authenticate(try await self.authenticationRequest([text("Pay 5")]))
        #expect(try await self.judge("uaf/1.1/authentication", response.serialized) > 1400)
        #expect(await self.server.accepted.isEmpty)
        self.authenticator.behaviour = Behaviour()
        let right = try self.authenticator.authenticate(try await self.authenticationRequest([text("Pay 5")]))
        #expect(try await self.judge("uaf/1.1/authentication", right.serialized) == 1200)
    }

    private static let refusedRegistrations: [@Sendable (inout Behaviour) -> Void] = [
        { $0.finalChallengeHash = [UInt8](repeating: 1, count: 32) },
        { $0.challenge = Challenge(random: .system) },
        { $0.breaksSignature = true },
        { $0.signingKey = P256.Signing.PrivateKey() },
        { $0.publicKey = [UInt8](repeating: 4, count: 65) },
        { $0.publicKeyFormat = .rsa2048Raw },
        { $0.signatureAlgorithm = .rsaPSSRaw },
    ]

    @Test("A registration that departs from the standard is refused", arguments: refusedRegistrations.indices)
    mutating func refusedRegistration(index: Int) async throws {
        Self.refusedRegistrations[index](&self.authenticator.behaviour)
        let response = try self.authenticator.register(try await self.registrationRequest())
        #expect(try await self.judge("uaf/1.1/registration", response.serialized) > 1400)
        #expect(await self.server.credentials.isEmpty)
    }

    @Test("A signature and a key in DER are as good")
    mutating func der() async throws {
        self.authenticator.behaviour.signatureAlgorithm = .p256DER
        self.authenticator.behaviour.publicKeyFormat = .eccX962DER
        try await self.enroll()
        let response = try self.authenticator.authenticate(try await self.authenticationRequest())
        #expect(try await self.judge("uaf/1.1/authentication", response.serialized) == 1200)
        let signed = try AuthenticationAssertion(parsing: response.assertions[0].bytes)
        #expect(signed.signedData.signatureAlgorithm == .p256DER && signed.signature.first == 0x30)
    }

    @Test("Every other departure is in the message where a verifier looks for it")
    mutating func departures() async throws {
        let request = try await self.registrationRequest()
        self.authenticator.behaviour.aaid = try AAID("0000#0001")
        self.authenticator.behaviour.authenticatorVersion = 77
        self.authenticator.behaviour.version = Version(major: 1, minor: 0)
        self.authenticator.behaviour.headerAppID = "https://header.example"
        self.authenticator.behaviour.appID = "https://parameters.example"
        self.authenticator.behaviour.facetID = try FacetID("other:facet")
        self.authenticator.behaviour.serverData = "other"
        self.authenticator.behaviour.signCounter = 5
        self.authenticator.behaviour.registrationCounter = 9
        self.authenticator.behaviour.attestationType = .basicFull
        self.authenticator.behaviour.certificates = [[1, 2, 3]]
        self.authenticator.behaviour.assertionScheme = AssertionScheme(rawValue: "OTHER")
        let response = try RegistrationResponse(parsing: try self.authenticator.register(request).serialized)
        #expect(response.header.version == Version(major: 1, minor: 0) && response.header.serverData == "other")
        #expect(response.header.appID == "https://header.example")
        let parameters = try FinalChallengeParams(encoded: response.fcParams)
        #expect(parameters.appID == "https://parameters.example" && parameters.facetID.text == "other:facet")
        #expect(response.assertions[0].scheme.rawValue == "OTHER")
        let read = try RegistrationAssertion(parsing: response.assertions[0].bytes)
        let data = read.keyRegistrationData
        #expect(data.aaid.text == "0000#0001" && data.authenticatorVersion == 77)
        #expect(data.signCounter == 5 && data.registrationCounter == 9)
        #expect(read.attestation.type == .basicFull && read.attestation.certificates == [[1, 2, 3]])
        self.authenticator.behaviour = Behaviour()
        self.authenticator.behaviour.serverData = ""
        #expect(try self.authenticator.register(request).header.serverData == nil)
    }
}

@Suite("The virtual phone of the test kit")
struct VirtualPhoneTests {
    @Test("It follows a link to whatever operation it stands for")
    func scan() async throws {
        let world = try await World()
        let registration = try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        try await world.phone.scan(registration.link(base: "https://id.example.com"))
        let authentication = try await world.server.authentication()
        try await world.phone.scan(authentication.link(base: "https://id.example.com"))
        #expect(await world.server.accepted.map(\.username) == ["alice"])
        await #expect(throws: OperationError(.tokenAlreadyRedeemed)) {
            try await world.phone.scan(authentication.link(base: "https://id.example.com"))
        }
    }

    @Test("A payload for the other operation is a mistake that is told")
    func wrongOperation() async throws {
        let world = try await World()
        await #expect(throws: OperationError(.missingInteraction)) {
            _ = try await world.phone.enroll(try await world.server.authentication())
        }
        await #expect(throws: OperationError(.missingInteraction)) {
            _ = try await world.phone.authenticate(
                try await world.server.registration(for: "alice", policy: VirtualServer.anything))
        }
    }
}

import CountersignTestKit
import Crypto
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("UAF Protocol 1.1 §3.4 and §3.5: what the client answers, and what it refuses")
struct MessageClientTests {
    private let device: Device
    private let client: MessageClient

    init() throws {
        self.device = try Device()
        self.client = MessageClient(module: self.device.module, facetID: try FacetID(Device.facet)) { _ in
            FacetListAnswer(status: 404, contentType: nil, body: [])
        }
    }

    private static let any = VirtualServer.anything
    private static func models(_ alternatives: [[AuthenticatorModel]]) -> Policy {
        Policy(accepted: alternatives.map { $0.map { MatchCriteria(aaid: [$0.aaid]) } })
    }

    private func registration(
        _ policy: Policy = any, appID: String = "", version: Version = .uaf11, extensions: [Extension] = []
    ) -> RegistrationRequest {
        RegistrationRequest(
            header: OperationHeader(
                version: version, operation: .registration, appID: appID, serverData: "state", extensions: extensions),
            challenge: Challenge(random: .system), username: "alice", policy: policy)
    }

    private func authentication(
        _ policy: Policy = any, appID: String = "", transaction: [Transaction] = []
    ) -> AuthenticationRequest {
        AuthenticationRequest(
            header: OperationHeader(operation: .authentication, appID: appID, serverData: "state"),
            challenge: Challenge(random: .system), transaction: transaction, policy: policy)
    }

    private func enrol(_ models: AuthenticatorModel...) async throws -> [KeyName] {
        let prepared = try await self.client.prepareRegistration(self.registration(Self.models([models])).serialized)
        if models.contains(Device.fingerprint) { self.device.sensor?.feel(.match) }
        return try await prepared.register(models, verification: TestPerson()).keys
    }

    @Test("A registration's answer has the request's header with the facet as AppID, and binds all of it")
    func registrationAnswer() async throws {
        let request = self.registration()
        let prepared = try await self.client.prepareRegistration(request.serialized)
        #expect(prepared.appID == Device.facet)
        let answer = try await prepared.register([Device.pin], verification: TestPerson())
        let response = try RegistrationResponse(parsing: answer.message)
        #expect(response.header.appID == Device.facet && response.header.serverData == "state")
        #expect(response.header.version == .uaf11 && response.header.operation == .registration)
        let parameters = try FinalChallengeParams(encoded: response.fcParams)
        #expect(parameters.appID == Device.facet && parameters.facetID.text == Device.facet)
        #expect(parameters.challenge == request.challenge && parameters.channelBinding == ChannelBinding())
        let assertion = try RegistrationAssertion(parsing: try #require(response.assertions.first).bytes)
        #expect(
            assertion.keyRegistrationData.finalChallengeHash == FinalChallengeParams.hash(ofEncoded: response.fcParams))
    }

    @Test("An authentication's answer signs with each key of the alternative; only a person's key confirms the text")
    func authenticationAnswer() async throws {
        let keys = try await self.enrol(Device.possession, Device.pin)
        let transaction = Transaction(content: Array("Pay 5".utf8))
        let policy = Self.models([[Device.possession, Device.pin]])
        let prepared = try await self.client.prepareAuthentication(
            self.authentication(policy, transaction: [transaction]).serialized)
        #expect(prepared.transaction == transaction)
        let selection = try #require(prepared.selections(among: keys).first)
        #expect(Set(selection) == Set(keys))
        let answer = try await prepared.authenticate(selection, verification: TestPerson())
        let signed = try AuthenticationResponse(parsing: answer.message).assertions.map {
            try AuthenticationAssertion(parsing: $0.bytes).signedData
        }
        #expect(signed.map(\.aaid) == [Device.pin.aaid, Device.possession.aaid])
        #expect(signed.map(\.mode) == [.transactionConfirmed, .userVerified])
        #expect(signed.map(\.transactionContentHash) == [transaction.contentHash, []])
    }

    @Test("The person answers first: giving up leaves the silent key's counter where it was")
    func personFirst() async throws {
        let keys = try await self.enrol(Device.possession, Device.pin)
        let prepared = try await self.client.prepareAuthentication(
            self.authentication(Self.models([[Device.possession, Device.pin]])).serialized)
        let ended = await failure {
            _ = try await prepared.authenticate(keys, verification: TestPerson(failing: .cancelled))
        }
        #expect(ended == OperationFailure(.userCancelled, ""))
        let silent = try #require(keys.first { $0.aaid == Device.possession.aaid })
        #expect(try await self.device.sign(silent).signCounter == 1)
    }

    @Test("A registration with several authenticators leaves no key where one of them fails")
    func allOrNothing() async throws {
        let prepared = try await self.client.prepareRegistration(self.registration().serialized)
        self.device.sensor?.feel(.cancelled)
        let ended = await failure {
            _ = try await prepared.register([Device.pin, Device.fingerprint], verification: TestPerson())
        }
        #expect(ended == OperationFailure(.userCancelled, ""))
        #expect(await self.device.module.registrations(appID: Device.facet).isEmpty)
    }

    @Test(
        "What is not one well-formed message of the operation is a protocol error",
        arguments: [
            "", "null", "[]", "{}", "[{}]", "[1]", "[[]]", "\u{0}",
            #"[{"header":{"upv":{"major":1,"minor":1},"op":"Dereg"}}]"#,
            #"[{"header":{"upv":{"major":1,"minor":1},"op":"Dereg"},"authenticators":[{"aaid":"","keyID":""}]}]"#,
        ])
    func malformed(text: String) async {
        let expected = OperationFailure(.protocolError, "")
        #expect(await failure { _ = try await self.client.prepareRegistration(text.utf8) } == expected)
        #expect(await failure { _ = try await self.client.prepareAuthentication(text.utf8) } == expected)
    }

    @Test("A message of the other operation, or two messages, are a protocol error")
    func wrongOperation() async throws {
        let registration = self.registration().serialized
        let authentication = self.authentication().serialized
        let two = Array("[".utf8) + registration[1..<(registration.count - 1)] + Array(",".utf8) + registration[1...]
        let expected = OperationFailure(.protocolError, "")
        #expect(await failure { _ = try await self.client.prepareRegistration(authentication) } == expected)
        #expect(await failure { _ = try await self.client.prepareAuthentication(registration) } == expected)
        #expect(await failure { _ = try await self.client.prepareRegistration(two) } == expected)
    }

    @Test("Another version of the protocol is refused", arguments: [(1, 0), (1, 2), (2, 0)] as [(UInt16, UInt16)])
    func version(major: UInt16, minor: UInt16) async {
        let message = self.registration(version: Version(major: major, minor: minor)).serialized
        #expect(
            await failure { _ = try await self.client.prepareRegistration(message) }
                == OperationFailure(.unsupportedVersion, ""))
    }

    @Test("An unknown extension that must be understood is refused, another is ignored")
    func extensions() async throws {
        let ignored = self.registration(extensions: [Extension(id: "x", data: "", failIfUnknown: false)])
        _ = try await self.client.prepareRegistration(ignored.serialized)
        let needed = self.registration(extensions: [Extension(id: "x", data: "", failIfUnknown: true)])
        #expect(
            await failure { _ = try await self.client.prepareRegistration(needed.serialized) }
                == OperationFailure(.protocolError, ""))
    }

    @Test("An AppID that does not trust this app is refused before anything else")
    func untrusted() async {
        for appID in ["https://id.example.com/facets", "linux:program:other"] {
            let expected = OperationFailure(.untrustedFacetID, "")
            let registration = self.registration(appID: appID).serialized
            let authentication = self.authentication(appID: appID).serialized
            #expect(await failure { _ = try await self.client.prepareRegistration(registration) } == expected)
            #expect(await failure { _ = try await self.client.prepareAuthentication(authentication) } == expected)
        }
    }

    @Test("The text is chosen among the renderings; a picture alone cannot be shown")
    func renderings() async throws {
        let picture = Transaction(contentType: .imagePNG, content: [1])
        let text = Transaction(content: Array("x".utf8))
        let prepared = try await self.client.prepareAuthentication(
            self.authentication(transaction: [picture, text]).serialized)
        #expect(prepared.transaction == text)
        let message = self.authentication(transaction: [picture]).serialized
        #expect(
            await failure { _ = try await self.client.prepareAuthentication(message) }
                == OperationFailure(.invalidTransactionContent, ""))
    }

    @Test("An authenticator that holds a disallowed key cannot be registered again")
    func disallowed() async throws {
        let key = try #require(try await self.enrol(Device.pin).first)
        var policy = Self.any
        policy.disallowed = [MatchCriteria(aaid: [key.aaid], keyIDs: [key.keyID])]
        let prepared = try await self.client.prepareRegistration(self.registration(policy).serialized)
        #expect(await prepared.selections(among: [Device.pin]).isEmpty)
        #expect(await prepared.selections(among: [Device.pin, Device.fingerprint]) == [[Device.fingerprint]])
    }

    @Test("Alternatives come in the server's order, and only those that this device can meet")
    func preference() async throws {
        let policy = Self.models([
            [Device.fingerprint, Device.possession], [Device.fingerprint], [Device.pin],
        ])
        let prepared = try await self.client.prepareRegistration(self.registration(policy).serialized)
        #expect(
            await prepared.selections(among: [Device.pin, Device.fingerprint]) == [[Device.fingerprint], [Device.pin]])
        #expect(
            await prepared.selections(among: [Device.pin, Device.possession, Device.fingerprint]).first
                == [Device.fingerprint, Device.possession])
        #expect(await prepared.selections(among: [Device.possession]).isEmpty)
    }

    @Test("A policy that names keys is met by these alone, and the newest key is preferred")
    func keySelection() async throws {
        let first = try #require(try await self.enrol(Device.pin).first)
        let second = try #require(try await self.enrol(Device.pin).first)
        let open = try await self.client.prepareAuthentication(self.authentication().serialized)
        #expect(!open.namesKeys)
        #expect(open.selections(among: [first, second]) == [[second], [first]])
        let policy = Policy(accepted: [[MatchCriteria(aaid: [first.aaid], keyIDs: [first.keyID])]])
        let named = try await self.client.prepareAuthentication(self.authentication(policy).serialized)
        #expect(named.namesKeys)
        #expect(named.selections(among: [first, second]) == [[first]])
        #expect(named.selections(among: [second]).isEmpty)
    }

    @Test("However many keys of one authenticator are newer, the ways that another key makes possible are not cut off")
    func manyKeys() async throws {
        func keys(_ model: AuthenticatorModel, _ count: UInt8) throws -> [KeyName] {
            try (0..<count).map { KeyName(aaid: model.aaid, keyID: try KeyID([UInt8](repeating: $0, count: 32))) }
        }
        var any = MatchCriteria()
        any.authenticationAlgorithms = [.p256Raw]
        any.assertionSchemes = [.uafV1TLV]
        func prepared(_ criteriaCount: Int) async throws -> PreparedAuthentication {
            let policy = Policy(accepted: [Array(repeating: any, count: criteriaCount)])
            return try await self.client.prepareAuthentication(self.authentication(policy).serialized)
        }
        let (pins, silent) = try (keys(Device.pin, 70), keys(Device.possession, 70))
        let finger = try keys(Device.fingerprint, 1)
        #expect(try await prepared(1).selections(among: finger + silent) == [finger])
        let pairs = try await prepared(2).selections(among: finger + pins)
        #expect(pairs.count == 64 && pairs.allSatisfy { $0.contains(finger[0]) && Set($0.map(\.aaid)).count == 2 })
        #expect(try await prepared(2).selections(among: pins).isEmpty)
        // A search that tried the keys and not the authenticators would not end here.
        #expect(try await prepared(8).selections(among: finger + silent + pins).isEmpty)
    }

    @Test("A silent key alone neither meets a policy nor signs")
    func silentAlone() async throws {
        let keys = try await self.enrol(Device.possession)
        let prepared = try await self.client.prepareAuthentication(
            self.authentication(Self.models([[Device.possession]])).serialized)
        #expect(prepared.selections(among: keys).isEmpty)
        let ended = await failure { _ = try await prepared.authenticate(keys, verification: TestPerson()) }
        #expect(ended == OperationFailure(.noSuitableAuthenticator, ""))
    }
}

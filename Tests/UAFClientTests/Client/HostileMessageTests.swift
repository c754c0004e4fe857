import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("UAF Protocol 1.1 §3: messages that somebody has changed")
struct HostileMessageTests {
    private let device: Device
    private let client: MessageClient

    init() throws {
        self.device = try Device()
        self.client = MessageClient(module: self.device.module, facetID: try FacetID(Device.facet)) { _ in
            throw CocoaError(.fileNoSuchFile)
        }
    }

    private func registration(_ change: (inout RegistrationRequest) -> Void = { _ in }) -> RegistrationRequest {
        var request = RegistrationRequest(
            header: OperationHeader(operation: .registration, serverData: "state"),
            challenge: Challenge(random: .system),
            username: "alice", policy: VirtualServer.anything)
        change(&request)
        return request
    }

    private func authentication(_ change: (inout AuthenticationRequest) -> Void = { _ in }) -> AuthenticationRequest {
        var request = AuthenticationRequest(
            header: OperationHeader(operation: .authentication, serverData: "state"),
            challenge: Challenge(random: .system), transaction: [Transaction(content: Array("Pay".utf8))],
            policy: VirtualServer.anything)
        change(&request)
        return request
    }

    @Test("A message with any one byte changed is prepared or refused with a code, never anything else")
    func everyByteChanged() async throws {
        let known: Set<ErrorCode> = [
            .protocolError, .unsupportedVersion, .untrustedFacetID, .invalidTransactionContent,
        ]
        var codes: [ErrorCode: Int] = [:]
        for (original, isRegistration) in [
            (self.registration().serialized, true), (self.authentication().serialized, false),
        ] {
            for index in original.indices {
                for byte in [UInt8(0x22), 0x7D, 0xFF, original[index] ^ 1] {
                    var changed = original
                    changed[index] = byte
                    do {
                        if isRegistration {
                            _ = try await self.client.prepareRegistration(changed)
                        } else {
                            _ = try await self.client.prepareAuthentication(changed)
                        }
                    } catch {
                        codes[try #require(error as? OperationFailure).code, default: 0] += 1
                    }
                }
            }
        }
        #expect(Set(codes.keys).isSubset(of: known))
        #expect(codes[.protocolError, default: 0] > 1000 && codes[.unsupportedVersion, default: 0] > 0)
    }

    @Test("A message cut at any place is refused")
    func cut() async throws {
        let message = self.authentication().serialized
        for length in message.indices {
            #expect(
                await failure { _ = try await self.client.prepareAuthentication(message.prefix(length)) }
                    == OperationFailure(.protocolError, ""))
        }
    }

    @Test(
        "A message that is too large, too deep, has a null or a name twice is refused",
        arguments: [
            String(repeating: " ", count: 70_000) + "[]",
            String(repeating: "[", count: 40) + String(repeating: "]", count: 40),
            "[null]", #"[{"header":{},"header":{}}]"#, #"[{"header":null}]"#,
        ])
    func bounded(text: String) async {
        let expected = OperationFailure(.protocolError, "")
        #expect(await failure { _ = try await self.client.prepareRegistration(text.utf8) } == expected)
        #expect(await failure { _ = try await self.client.prepareAuthentication(text.utf8) } == expected)
    }

    @Test("A policy of many alternatives and many criteria is answered in bounded time")
    func largePolicy() async throws {
        let criteria = Device.models.map { MatchCriteria(aaid: [$0.aaid]) }
        let policy = Policy(accepted: [[MatchCriteria]](repeating: criteria, count: 60))
        let prepared = try await self.client.prepareRegistration(self.registration { $0.policy = policy }.serialized)
        let selections = await prepared.selections(among: Device.models)
        #expect(!selections.isEmpty && selections.count <= 64)
        #expect(selections.allSatisfy { Set($0) == Set(Device.models) })
    }

    @Test("Criteria by properties select the authenticators that have them")
    func properties() async throws {
        func select(_ change: (inout MatchCriteria) -> Void) async throws -> Set<AuthenticatorModel.Factor> {
            var criteria = MatchCriteria()
            criteria.authenticationAlgorithms = [.p256Raw]
            criteria.assertionSchemes = [.uafV1TLV]
            change(&criteria)
            let request = self.registration { $0.policy = Policy(accepted: [[criteria]]) }
            let prepared = try await self.client.prepareRegistration(request.serialized)
            return Set(await prepared.selections(among: Device.models).joined().map(\.factor))
        }
        // A finger or a face that the passcode can replace is worth a passcode.
        let known: Set<AuthenticatorModel.Factor> = [.pin, .password, .devicePasscode, .fingerprint, .face]
        #expect(try await select { _ in } == Set(AuthenticatorModel.Factor.allCases))
        #expect(try await select { $0.userVerification = .passcode } == known)
        #expect(try await select { $0.userVerification = .faceprint } == [.face])
        #expect(try await select { $0.userVerification = [.passcode, .fingerprint] } == known.union([.fingerprint]))
        #expect(try await select { $0.userVerification = [.passcode, .fingerprint, .all] } == [])
        #expect(try await select { $0.tcDisplay = .any } == known.union([.fingerprint, .face]))
        #expect(try await select { $0.keyProtection = .hardware } == [])
        #expect(try await select { $0.attestationTypes = [.basicFull, .basicSurrogate] }.count == 6)
        #expect(try await select { $0.attestationTypes = [.basicFull] } == [])
        #expect(try await select { $0.authenticationAlgorithms = [.p256DER] } == [])
        #expect(try await select { $0.vendorID = ["c516"] }.count == 6)
        #expect(try await select { $0.vendorID = ["0000"] } == [])
    }

    @Test("The attestation that the policy prefers is given, where the authenticator can")
    func attestationPreference() async throws {
        var criteria = MatchCriteria()
        criteria.authenticationAlgorithms = [.p256Raw]
        criteria.assertionSchemes = [.uafV1TLV]
        criteria.attestationTypes = [.basicFull, .basicSurrogate]
        let request = self.registration { $0.policy = Policy(accepted: [[criteria]]) }
        let prepared = try await self.client.prepareRegistration(request.serialized)
        let answer = try await prepared.register([Device.pin], verification: TestPerson())
        let response = try RegistrationResponse(parsing: answer.message)
        let assertion = try RegistrationAssertion(parsing: response.assertions[0].bytes)
        #expect(assertion.attestation.type == .basicSurrogate)
    }

    @Test("Two answers to one request are two different messages over the same challenge")
    func freshAnswers() async throws {
        let prepared = try await self.client.prepareRegistration(self.registration().serialized)
        let name = try #require(try await prepared.register([Device.possession], verification: TestPerson()).keys.first)
        let pin = try #require(try await prepared.register([Device.pin], verification: TestPerson()).keys.first)
        let authentication = try await self.client.prepareAuthentication(self.authentication().serialized)
        let first = try await authentication.authenticate([name, pin], verification: TestPerson())
        let second = try await authentication.authenticate([name, pin], verification: TestPerson())
        let responses = try [first, second].map { try AuthenticationResponse(parsing: $0.message) }
        #expect(responses[0].fcParams == responses[1].fcParams)
        let signed = try responses.map { response in
            try response.assertions.map { try AuthenticationAssertion(parsing: $0.bytes).signedData }
        }
        #expect(Set(signed.joined().map(\.nonce)).count == 4)
        #expect(signed.map { $0.map(\.signCounter) } == [[1, 1], [2, 2]])
    }

    @Test("A facet list with any one byte changed trusts this app or refuses it, never anything else")
    func facetListBytes() async throws {
        let appID = "https://id.example.com/facets"
        let original = Array(
            #"{"trustedFacets":[{"version":{"major":1,"minor":1},"ids":["linux:program:test"]}]}"#.utf8)
        var trusted = 0
        for index in original.indices {
            for byte in [UInt8(0x22), 0x7D, 0xFF, original[index] ^ 1] {
                var changed = original
                changed[index] = byte
                let body = changed
                let facets = FacetAuthorization(facetID: try FacetID(Device.facet)) { _ in
                    FacetListAnswer(status: 200, contentType: "application/fido.trusted-apps+json", body: body)
                }
                do {
                    #expect(try await facets.authorize(appID: appID, version: .uaf11) == appID)
                    trusted += 1
                } catch {
                    #expect(error as? OperationFailure == OperationFailure(.untrustedFacetID, ""))
                }
            }
        }
        // Only where the byte stayed the same: the quotes, the braces.
        #expect(trusted == original.filter { $0 == 0x22 || $0 == 0x7D }.count)
    }
}

@Suite("uaf-sections §5.3: failures are told without secrets")
struct OperationFailureTests {
    @Test("Two failures are equal by their code; the description names it and the reason")
    func description() {
        let failure = OperationFailure(.userLockout, "too many wrong PINs")
        #expect(failure == OperationFailure(.userLockout, "") && failure != OperationFailure(.userCancelled, ""))
        #expect(Set([failure, OperationFailure(.userLockout, "other")]).count == 1)
        #expect("\(failure)" == "OperationFailure.16: too many wrong PINs")
        #expect(failure.asmStatus == nil)
        #expect("\(StorageError(.corrupt, "x"))" == "StorageError.corrupt: x")
        #expect("\(UserVerificationError.notResponsive)" == "notResponsive")
        #expect("\(CommandStatus.userLockout)" == "16")
    }

    @Test("No failure of a PIN operation names the PIN or the user")
    func secrets() async throws {
        let device = try Device()
        let name = try await device.register(Device.pin, username: "alice-the-user").name
        for pins in [["975310"], [], Array(repeating: "975310", count: 9)] {
            let ended = await failure { _ = try await device.sign(name, person: TestPerson(pins: pins)) }
            let text = try #require(ended).description
            #expect(!text.contains("975310") && !text.contains("alice-the-user"))
        }
    }
}

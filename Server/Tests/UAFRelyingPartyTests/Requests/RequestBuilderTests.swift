import Foundation
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("uaf-sections §8.1, §8.3 and §8.5: requests of the server")
struct RequestBuilderTests {
    private static let matrix: FactorMatrix = [[.pin, .devicePossession], [.fingerprint, .devicePossession]]

    private static func builder() throws -> RequestBuilder {
        RequestBuilder(metadata: try MetadataCatalog.builtIn(), appID: Names.appID)
    }

    private static func credential(_ aaid: AAID, _ key: UInt8, device: String = Names.device) throws
        -> RegisteredCredential
    {
        var credential = try SoftwareKey(aaid, key).credential()
        credential.deviceRegistration = device
        return credential
    }

    private static func challenge() -> Challenge { Challenge(random: RandomSource { bytes($0) }) }

    private static func expect(_ code: RequestError.Code, _ body: () throws -> Void) {
        #expect {
            try body()
        } throws: { error in (error as? RequestError)?.code == code }
    }

    @Test("A registration offers the factors in their order and nothing that is registered")
    func registration() throws {
        let existing = [
            try Self.credential(Names.pin, 1), try Self.credential(Names.pin, 2), try Self.credential(Names.silent, 3),
        ]
        let request = try Self.builder().registrationRequest(
            challenge: Self.challenge(), username: "alice", factors: Self.matrix, existing: existing,
            serverData: "state")
        #expect(
            request.policy.accepted == [
                [MatchCriteria(aaid: Names.pins), MatchCriteria(aaid: Names.silents)],
                [MatchCriteria(aaid: Names.fingerprints), MatchCriteria(aaid: Names.silents)],
            ])
        #expect(
            request.policy.disallowed == [
                MatchCriteria(aaid: [Names.pin], keyIDs: [try KeyID(bytes(32, 1)), try KeyID(bytes(32, 2))]),
                MatchCriteria(aaid: [Names.silent], keyIDs: [try KeyID(bytes(32, 3))]),
            ])
        #expect(request.header.operation == .registration && request.header.appID == Names.appID)
        #expect(request.header.serverData == "state" && request.username == "alice")
        #expect(try RegistrationRequest(parsing: request.serialized) == request)
        for criteria in request.policy.accepted.joined() { try criteria.checkCombination() }
        for criteria in request.policy.disallowed { try criteria.checkCombination() }
    }

    @Test("Requests are written as the standard has them, letter by letter (§2.1, §2.2, §2.4)")
    func golden() throws {
        let challenge = Challenge(random: RandomSource { [UInt8](repeating: 7, count: $0) })
        let letters = Base64URL.encode([UInt8](repeating: 7, count: 32))
        func header(_ operation: String, _ data: String = #","serverData":"state""#) -> String {
            #""header":{"upv":{"major":1,"minor":1},"op":"\#(operation)","appID":"\#(Names.appID)"\#(data)}"#
        }
        func expect(_ message: [UInt8], _ text: String) {
            #expect(String(decoding: message, as: UTF8.self) == text)
        }
        let key = try Self.credential(Names.pin, 1)
        let name = Base64URL.encode(key.id.keyID.bytes)
        expect(
            try Self.builder().registrationRequest(
                challenge: challenge, username: "alice", factors: [[.pin]], serverData: "state"
            ).serialized,
            #"[{\#(header("Reg")),"challenge":"\#(letters)","username":"alice","#
                + #""policy":{"accepted":[[{"aaid":["C516#0001","C516#2001","C516#3001"]}]]}}]"#)
        expect(
            try Self.builder().authenticationRequest(
                challenge: challenge, factors: [[.pin]], credentials: [key],
                transaction: [Transaction(content: Array("Pay".utf8))], serverData: "state"
            ).serialized,
            #"[{\#(header("Auth")),"challenge":"\#(letters)","#
                + #""transaction":[{"contentType":"text/plain","content":"UGF5"}],"#
                + #""policy":{"accepted":[[{"aaid":["\#(Names.pin.text)"],"keyIDs":["\#(name)"]}]]}}]"#)
        expect(
            try Self.builder().deregistrationRequest([.key(Names.pin, key.id.keyID)]).serialized,
            #"[{\#(header("Dereg", "")),"authenticators":[{"aaid":"\#(Names.pin.text)","keyID":"\#(name)"}]}]"#)
    }

    @Test("A finger or a face that the passcode can replace is accepted where the passcode is, and nowhere else")
    func passcodeFallback() throws {
        let builder = try Self.builder()
        let expected: [AuthenticatorModel.Factor: [String]] = [
            .pin: ["C516#0001", "C516#2001", "C516#3001"], .password: ["C516#0002", "C516#2002", "C516#3002"],
            .fingerprint: ["C516#0003", "C516#2003", "C516#3003"], .face: ["C516#0004", "C516#2004", "C516#3004"],
            .devicePasscode: [
                "C516#0005", "C516#0103", "C516#0104", "C516#2005", "C516#2103", "C516#2104", "C516#3005",
                "C516#3103", "C516#3104",
            ],
            .devicePossession: ["C516#0006", "C516#2006", "C516#3006"],
        ]
        for (factor, aaids) in expected {
            let accepted = builder.policy(of: [[factor]]).accepted
            #expect(accepted.joined().map { $0.aaid?.map(\.text) } == [aaids])
        }
    }

    @Test("A picture is offered to keys that show it, and to nobody who is not known (§8.3 step 4, §14)")
    func picture() throws {
        let display = DisplayPNGCharacteristics(width: 1, height: 1, bitDepth: 8, colorType: 4)
        // One grey pixel with alpha.
        let bytes = Array(
            try #require(
                Data(
                    base64Encoded:
                        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR4nGNgYAAAAAMAAbitOmMAAAAASUVORK5CYII="))
        )
        func request(_ credentials: [RegisteredCredential]?, _ claimed: DisplayPNGCharacteristics?) throws
            -> AuthenticationRequest
        {
            try Self.builder().authenticationRequest(
                challenge: Self.challenge(), factors: [[.pin]], credentials: credentials,
                transaction: [Transaction(contentType: .imagePNG, content: bytes, pngCharacteristics: claimed)],
                serverData: "state")
        }
        let blind = try Self.credential(Names.pin, 1, device: "blind")
        var able = try Self.credential(Names.pin, 2, device: "able")
        able.pictureDisplays = [display]
        let offered = try request([blind, able], display).policy.accepted.joined().compactMap(\.keyIDs)
        #expect(offered == [[able.id.keyID]])
        Self.expect(.noTransactionDisplay) { _ = try request([blind], display) }
        Self.expect(.noTransactionDisplay) { _ = try request(nil, display) }
        Self.expect(.noTransactionDisplay) { _ = try request([able], nil) }
        var wrong = display
        wrong.width = 2
        able.pictureDisplays = [wrong]
        Self.expect(.transactionPicture) { _ = try request([able], wrong) }
    }

    @Test("A registration disallows the models that are revoked (§8.1 step 1)")
    func revokedModels() throws {
        var metadata = try MetadataCatalog.builtIn()
        metadata.revoke(Names.pin)
        var entry = MetadataEntry(statement: try #require(metadata[Names.fingerprint]))
        entry.reports = [MetadataEntry.StatusReport(status: .revoked)]
        try metadata.add(entry)
        let request = try RequestBuilder(metadata: metadata, appID: Names.appID).registrationRequest(
            challenge: Self.challenge(), username: "alice", factors: Self.matrix, serverData: nil)
        #expect(request.policy.disallowed == [MatchCriteria(aaid: [Names.pin, Names.fingerprint])])
    }

    @Test("An authentication names the account's keys, a device an alternative")
    func authentication() throws {
        let credentials = [
            try Self.credential(Names.pin, 1), try Self.credential(Names.silent, 2),
            try Self.credential(Names.fingerprint, 3, device: "device-2"),
            try Self.credential(Names.silent, 4, device: "device-2"),
            try Self.credential(Names.pin, 5, device: "device-3"),
        ]
        let request = try Self.builder().authenticationRequest(
            challenge: Self.challenge(), factors: Self.matrix, credentials: credentials, serverData: nil)
        func criterion(_ aaid: AAID, _ key: UInt8) throws -> MatchCriteria {
            MatchCriteria(aaid: [aaid], keyIDs: [try KeyID(bytes(32, key))])
        }
        #expect(
            request.policy.accepted == [
                [try criterion(Names.pin, 1), try criterion(Names.silent, 2)],
                [try criterion(Names.fingerprint, 3), try criterion(Names.silent, 4)],
            ])
        #expect(try AuthenticationRequest(parsing: request.serialized) == request)
    }

    @Test("An authentication of whoever answers names no keys")
    func usernameless() throws {
        let request = try Self.builder().authenticationRequest(
            challenge: Self.challenge(), factors: [[.pin]], credentials: nil, serverData: "s")
        #expect(request.policy.accepted == [[MatchCriteria(aaid: Names.pins)]])
    }

    @Test("An account without the keys of any alternative is told apart")
    func noSuitableCredential() throws {
        let builder = try Self.builder()
        for credentials in [[], [try Self.credential(Names.pin, 1)]] {
            Self.expect(.noSuitableCredential) {
                _ = try builder.authenticationRequest(
                    challenge: Self.challenge(), factors: Self.matrix, credentials: credentials, serverData: nil)
            }
        }
    }

    @Test("A policy that silent authenticators could meet alone is refused when built")
    func silentPolicies() throws {
        let builder = try Self.builder()
        let matrices: [FactorMatrix] = [
            [[.devicePossession]], [[.pin], [.devicePossession]], [[.devicePossession, .devicePossession]],
        ]
        for matrix in matrices {
            Self.expect(.silentPolicy) {
                _ = try builder.registrationRequest(
                    challenge: Self.challenge(), username: "a", factors: matrix, serverData: nil)
            }
            Self.expect(.silentPolicy) {
                _ = try builder.authenticationRequest(
                    challenge: Self.challenge(), factors: matrix, credentials: nil, serverData: nil)
            }
        }
        var open = MatchCriteria()
        open.authenticationAlgorithms = [.p256Raw]
        open.assertionSchemes = [.uafV1TLV]
        Self.expect(.silentPolicy) { try builder.check(Policy(accepted: [[open]])) }
        open.userVerification = .passcode
        #expect(throws: Never.self) { try builder.check(Policy(accepted: [[open]])) }
    }

    @Test("Empty policies and models without metadata are refused")
    func badPolicies() throws {
        let builder = try Self.builder()
        Self.expect(.emptyPolicy) { try builder.check(Policy(accepted: [])) }
        Self.expect(.emptyPolicy) { try builder.check(Policy(accepted: [[]])) }
        Self.expect(.unknownModel) {
            try builder.check(Policy(accepted: [[MatchCriteria(aaid: [try AAID("0000#0000")])]]))
        }
        Self.expect(.emptyPolicy) { _ = try builder.deregistrationRequest([]) }
    }

    /// A builder to which the PIN authenticators have no display.
    private static func blindBuilder() throws -> RequestBuilder {
        var metadata = try MetadataCatalog.builtIn()
        for pin in Names.pins {
            var blind = try #require(metadata[pin])
            blind.tcDisplay = []
            metadata.add(blind)
        }
        return RequestBuilder(metadata: metadata, appID: "")
    }

    @Test("A transaction is offered to those alone that can show it, and to silent ones beside them (§8.3 step 4)")
    func transactionDisplay() throws {
        let builder = try Self.blindBuilder()
        let transaction = [Transaction(content: [1])]
        func accepted(_ factors: FactorMatrix, _ transaction: [Transaction]) throws -> [[MatchCriteria]] {
            try builder.authenticationRequest(
                challenge: Self.challenge(), factors: factors, credentials: nil, transaction: transaction,
                serverData: nil
            ).policy.accepted
        }
        for factors: FactorMatrix in [[[.pin]], [[.pin, .devicePossession]]] {
            Self.expect(.noTransactionDisplay) { _ = try accepted(factors, transaction) }
            #expect(try accepted(factors, []).count == 1)
        }
        #expect(
            try accepted([[.pin, .devicePossession], [.fingerprint, .devicePossession]], transaction) == [
                [MatchCriteria(aaid: Names.fingerprints), MatchCriteria(aaid: Names.silents)]
            ])
        var named = MatchCriteria(aaid: [Names.pin, Names.fingerprint])
        named.authenticatorVersion = 1
        named.attachmentHint = .internal
        var open = MatchCriteria()
        open.authenticationAlgorithms = [.p256Raw]
        open.assertionSchemes = [.uafV1TLV]
        open.userVerification = [.passcode, .fingerprint]
        let request = try builder.authenticationRequest(
            challenge: Self.challenge(), policy: Policy(accepted: [[named], [open]]), credentials: nil,
            transaction: transaction, serverData: nil)
        named.aaid = [Names.fingerprint]
        #expect(request.policy.accepted.first == [named])
        let others = AuthenticatorModel.allCases
            .filter { !$0.info.userVerification.isDisjoint(with: [.passcode, .fingerprint]) }
            .filter { !Names.pins.contains($0.aaid) }
        #expect(request.policy.accepted.last == [MatchCriteria(aaid: others.map(\.aaid).sorted { $0.text < $1.text })])
        #expect(request.transaction == transaction && request.header.appID.isEmpty)
        for criterion in request.policy.accepted.joined() { try criterion.checkCombination() }
    }

    @Test("A transaction names the keys of an account that can show it, and no others (§8.3 step 4)")
    func transactionKeys() throws {
        let builder = try Self.blindBuilder()
        let credentials = [
            try Self.credential(Names.pin, 1), try Self.credential(Names.fingerprint, 2),
            try Self.credential(Names.silent, 3), try Self.credential(Names.pin, 4, device: "device-2"),
            try Self.credential(Names.silent, 5, device: "device-2"),
        ]
        let general = Policy(accepted: [
            [MatchCriteria(aaid: [Names.pin, Names.fingerprint]), MatchCriteria(aaid: [Names.silent])]
        ])
        func accepted(_ credentials: [RegisteredCredential]) throws -> [[MatchCriteria]] {
            try builder.authenticationRequest(
                challenge: Self.challenge(), policy: general, credentials: credentials,
                transaction: [Transaction(content: [1])], serverData: nil
            ).policy.accepted
        }
        #expect(
            try accepted(credentials) == [
                [
                    MatchCriteria(aaid: [Names.fingerprint], keyIDs: [try KeyID(bytes(32, 2))]),
                    MatchCriteria(aaid: [Names.silent], keyIDs: [try KeyID(bytes(32, 3))]),
                ]
            ])
        Self.expect(.noTransactionDisplay) { _ = try accepted(Array(credentials[3...])) }
    }

    @Test("What a policy asks of a version reaches the verifier, since only an assertion tells it (§2.2)")
    func versions() throws {
        let builder = try Self.builder()
        var needed = MatchCriteria(aaid: [Names.pin])
        needed.authenticatorVersion = 7
        var banned = needed
        banned.authenticatorVersion = 9
        let general = Policy(
            accepted: [[needed]], disallowed: [banned, MatchCriteria(aaid: [Names.fingerprint])])
        #expect(throws: Never.self) { try builder.checkNamed(general) }
        #expect(builder.models(meeting: needed, in: general) == [Names.pin])
        let request = try builder.authenticationRequest(
            challenge: Self.challenge(), policy: general, credentials: [try Self.credential(Names.pin, 1)],
            serverData: nil)
        needed.keyIDs = [try KeyID(bytes(32, 1))]
        #expect(request.policy == Policy(accepted: [[needed]], disallowed: [banned]))
        // A version that nobody has yet is no way around the rule on silent authenticators.
        var silent = MatchCriteria(aaid: [Names.silent])
        silent.authenticatorVersion = 9
        Self.expect(.silentPolicy) { try builder.check(Policy(accepted: [[silent]])) }
    }

    @Test("A ban that is not understood leaves an account no key and a named policy no model")
    func unreadableBan() throws {
        var ban = MatchCriteria(aaid: [Names.fingerprint])
        ban.extensions = [Extension(id: "x", data: "", failIfUnknown: true)]
        let general = Policy(accepted: [[MatchCriteria(aaid: [Names.pin])]], disallowed: [ban])
        let builder = try Self.builder()
        Self.expect(.unmetCriterion) { try builder.checkNamed(general) }
        Self.expect(.noSuitableCredential) {
            _ = try builder.authenticationRequest(
                challenge: Self.challenge(), policy: general, credentials: [try Self.credential(Names.pin, 1)],
                serverData: nil)
        }
    }

    @Test("Limits of the wire are kept when a request is made")
    func limits() throws {
        let builder = try Self.builder()
        for username in ["", String(repeating: "a", count: 129)] {
            Self.expect(.outOfRange) {
                _ = try builder.registrationRequest(
                    challenge: Self.challenge(), username: username, factors: [[.pin]], serverData: nil)
            }
        }
        for serverData in ["", String(repeating: "a", count: 1537)] {
            Self.expect(.outOfRange) {
                _ = try builder.authenticationRequest(
                    challenge: Self.challenge(), factors: [[.pin]], credentials: nil, serverData: serverData)
            }
        }
        let long = RequestBuilder(metadata: builder.metadata, appID: String(repeating: "a", count: 513))
        Self.expect(.outOfRange) { _ = try long.deregistrationRequest([.everything]) }
    }

    @Test("A deregistration names the keys")
    func deregistration() throws {
        let keys = [DeregisterAuthenticator.key(Names.pin, try KeyID(bytes(32)))]
        let request = try Self.builder().deregistrationRequest(keys)
        #expect(try DeregistrationRequest(parsing: request.serialized).authenticators == keys)
    }

    @Test("What a request says is what its answer is held against")
    func expectations() throws {
        let builder = try Self.builder()
        let registration = try builder.registrationRequest(
            challenge: Self.challenge(), username: "alice", factors: [[.pin]], serverData: "s")
        let expectedRegistration = ExpectedRegistration(registration)
        #expect(expectedRegistration.username == "alice" && expectedRegistration.serverData == "s")
        #expect(expectedRegistration.policy == registration.policy && expectedRegistration.appID == Names.appID)
        let authentication = try builder.authenticationRequest(
            challenge: Self.challenge(), factors: [[.pin]], credentials: nil, transaction: [Transaction(content: [1])],
            serverData: nil)
        let expected = ExpectedAuthentication(authentication, account: "x")
        #expect(expected.challenge == Self.challenge() && expected.account == "x" && expected.transaction.count == 1)
    }
}

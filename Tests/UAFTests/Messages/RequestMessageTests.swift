import Testing
import UAF
import _Primitives

@Suite("uaf-sections §2.6 and §9.1: a request of one or more versions")
struct RequestMessageTests {
    private static func dictionary(_ major: UInt16, _ minor: UInt16, username: String = "alice") -> String {
        let request = RegistrationRequest(
            header: OperationHeader(version: Version(major: major, minor: minor), operation: .registration),
            challenge: Challenge(random: .system), username: username,
            policy: Policy(accepted: [[MatchCriteria(aaid: [AuthenticatorModel(factor: .pin, keyStore: .file).aaid])]]))
        return String(decoding: request.serialized.dropFirst().dropLast(), as: UTF8.self)
    }

    private static func read(_ dictionaries: String...) throws -> RequestMessage {
        try RequestMessage(parsing: "[\(dictionaries.joined(separator: ","))]".utf8)
    }

    private static func username(_ request: UAFRequest?) -> String? {
        if case .registration(let request)? = request { request.username } else { nil }
    }

    @Test("The highest version that both know is chosen, wherever it stands", arguments: [false, true])
    func highest(isReversed: Bool) throws {
        let all = [
            Self.dictionary(1, 0, username: "old"), Self.dictionary(1, 1, username: "new"),
            Self.dictionary(2, 0, username: "later"),
        ]
        let text = (isReversed ? all.reversed() : all).joined(separator: ",")
        let message = try RequestMessage(parsing: "[\(text)]".utf8)
        #expect(Set(message.versions) == [.uaf10, .uaf11, Version(major: 2, minor: 0)])
        #expect(Self.username(try message.request(among: [.uaf10, .uaf11])) == "new")
        #expect(Self.username(try message.request(among: [.uaf10])) == "old")
        #expect(try message.request(among: [Version(major: 1, minor: 2)]) == nil)
        #expect(try message.request(among: []) == nil)
    }

    @Test("Versions are compared by major first")
    func order() throws {
        let message = try Self.read(Self.dictionary(2, 0, username: "2.0"), Self.dictionary(1, 9, username: "1.9"))
        let known: Set<Version> = [Version(major: 2, minor: 0), Version(major: 1, minor: 9)]
        #expect(Self.username(try message.request(among: known)) == "2.0")
    }

    @Test("A dictionary of a version that is not chosen may hold anything else")
    func unknownVersion() throws {
        let message = try Self.read(#"{"header":{"upv":{"major":9,"minor":0}},"x":1}"#, Self.dictionary(1, 1))
        #expect(Self.username(try message.request(among: [.uaf11])) == "alice")
    }

    @Test("The chosen dictionary must keep the rules; a lower one is no way around it")
    func noWayAround() throws {
        let message = try Self.read(
            Self.dictionary(1, 0), #"{"header":{"upv":{"major":1,"minor":1},"op":"Reg"}}"#)
        #expect(throws: UAFError(.missingMember)) { try message.request(among: [.uaf10, .uaf11]) }
    }

    @Test("Each kind of request is told by its header")
    func kinds() throws {
        for text in [Parts.registrationRequest, Parts.authenticationRequest, Parts.deregistrationRequest] {
            let expected = try UAFRequest(parsing: text.utf8)
            #expect(try RequestMessage(parsing: text.utf8).request(among: [.uaf11]) == expected)
        }
    }

    @Test(
        "What is no array of dictionaries with versions is refused",
        arguments: [
            ("", UAFError.Code.malformedJSON), ("{}", .wrongType), ("[]", .wrongArraySize), ("[1]", .wrongType),
            ("[{}]", .missingMember), (#"[{"header":{"upv":{"major":1}}}]"#, .missingMember),
            (#"[{"header":{"upv":{"major":1,"minor":65536}}}]"#, .wrongType),
            (#"[{"header":{"upv":"1.1"}}]"#, .wrongType),
        ])
    func broken(text: String, code: UAFError.Code) {
        #expect(throws: UAFError(code)) { try RequestMessage(parsing: text.utf8) }
    }

    @Test("Two dictionaries of one version, and more than eight, are refused")
    func tooMany() throws {
        #expect(throws: UAFError(.invalidValue)) { try Self.read(Self.dictionary(1, 1), Self.dictionary(1, 1)) }
        let all = (0..<9).map { Self.dictionary(1, $0) }
        #expect(throws: UAFError(.wrongArraySize)) {
            try RequestMessage(parsing: "[\(all.joined(separator: ","))]".utf8)
        }
        #expect(try RequestMessage(parsing: "[\(all.prefix(8).joined(separator: ","))]".utf8).versions.count == 8)
    }
}

@Suite("uaf-sections §9.2 step 6: one attestation type")
struct AttestationChoiceTests {
    @Test(
        "The criterion's first that the authenticator has, else the authenticator's own first",
        arguments: [
            (nil, AttestationType.basicFull), ([.basicSurrogate, .basicFull], .basicSurrogate),
            ([.ecdaa, .basicSurrogate], .basicSurrogate), ([.basicFull], .basicFull), ([.ecdaa], .basicFull),
        ] as [([AttestationType]?, AttestationType)])
    func choice(preferred: [AttestationType]?, expected: AttestationType) {
        var info = AuthenticatorModel(factor: .pin, keyStore: .file).info
        info.attestationTypes = [.basicFull, .basicSurrogate]
        var criteria = MatchCriteria()
        criteria.attestationTypes = preferred
        #expect(criteria.attestationType(of: info) == expected)
    }

    @Test("An authenticator without any has none")
    func none() {
        var info = AuthenticatorModel(factor: .pin, keyStore: .file).info
        info.attestationTypes = []
        #expect(MatchCriteria().attestationType(of: info) == nil)
    }
}

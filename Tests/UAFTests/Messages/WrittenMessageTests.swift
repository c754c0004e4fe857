import Testing
import UAF
import _Primitives

/// The text of a message without the line breaks that make it readable here.
private func written(_ text: String) -> String {
    text.split(separator: "\n").map { $0.drop { $0 == " " } }.joined()
}

@Suite("uaf-sections §2 and §6.2: messages letter by letter, as another implementation sees them")
struct WrittenMessageTests {
    private static let challenge = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE"
    private static let keyID = "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI"

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("A registration request")
    func registrationRequest() throws {
        let request = RegistrationRequest(
            header: OperationHeader(
                operation: .registration, appID: "https://uaf.example/facets", serverData: "state",
                extensions: [Extension(id: "x", data: "", failIfUnknown: true)]),
            challenge: try Challenge(Self.challenge), username: "alice",
            policy: Policy(
                accepted: [
                    [MatchCriteria(aaid: [try AAID("c516#0001")]), MatchCriteria(aaid: [try AAID("C516#0006")])],
                    [MatchCriteria(aaid: [try AAID("C516#0003")])],
                ],
                disallowed: [MatchCriteria(aaid: [try AAID("C516#0001")], keyIDs: [try KeyID(base64URL: Self.keyID)])]))
        #expect(
            Self.text(request.serialized)
                == written(
                    """
                    [{"header":{"upv":{"major":1,"minor":1},"op":"Reg","appID":"https://uaf.example/facets",
                    "serverData":"state","exts":[{"id":"x","data":"","fail_if_unknown":true}]},
                    "challenge":"\(Self.challenge)",
                    "username":"alice",
                    "policy":{"accepted":[
                    [{"aaid":["C516#0001"]},{"aaid":["C516#0006"]}],
                    [{"aaid":["C516#0003"]}]],
                    "disallowed":[{"aaid":["C516#0001"],"keyIDs":["\(Self.keyID)"]}]}}]
                    """))
    }

    @Test("Criteria with every member")
    func criteria() throws {
        var criteria = MatchCriteria()
        criteria.vendorID = ["C516"]
        criteria.userVerification = [.fingerprint, .passcode]
        criteria.keyProtection = [.hardware, .tee]
        criteria.matcherProtection = .tee
        criteria.attachmentHint = .internal
        criteria.tcDisplay = .any
        criteria.authenticationAlgorithms = [.p256Raw, .p256DER]
        criteria.assertionSchemes = [.uafV1TLV]
        criteria.attestationTypes = [.basicFull, .basicSurrogate]
        criteria.authenticatorVersion = 2
        #expect(
            JSON.object(criteria.json).text
                == written(
                    """
                    {"vendorID":["C516"],
                    "userVerification":6,
                    "keyProtection":6,
                    "matcherProtection":2,
                    "attachmentHint":1,
                    "tcDisplay":1,
                    "authenticationAlgorithms":[1,2],
                    "assertionSchemes":["UAFV1TLV"],
                    "attestationTypes":[15879,15880],
                    "authenticatorVersion":2}
                    """))
    }

    @Test("An authentication request with a transaction")
    func authenticationRequest() throws {
        let request = AuthenticationRequest(
            header: OperationHeader(operation: .authentication), challenge: try Challenge(Self.challenge),
            transaction: [Transaction(content: Array("Pay 10 EUR".utf8))],
            policy: Policy(accepted: [[MatchCriteria(aaid: [try AAID("C516#0001")])]]))
        #expect(
            Self.text(request.serialized)
                == written(
                    """
                    [{"header":{"upv":{"major":1,"minor":1},"op":"Auth"},
                    "challenge":"\(Self.challenge)",
                    "transaction":[{"contentType":"text/plain","content":"UGF5IDEwIEVVUg"}],
                    "policy":{"accepted":[[{"aaid":["C516#0001"]}]]}}]
                    """))
    }

    @Test("A response")
    func response() {
        let response = AuthenticationResponse(
            header: OperationHeader(operation: .authentication, appID: "linux:program:phone", serverData: "state"),
            fcParams: "eyJhIjoxfQ", assertions: [EncodedAssertion(bytes: [0x02, 0x3E, 0x00, 0x00])])
        #expect(
            Self.text(response.serialized)
                == written(
                    """
                    [{"header":{"upv":{"major":1,"minor":1},"op":"Auth","appID":"linux:program:phone",
                    "serverData":"state"},
                    "fcParams":"eyJhIjoxfQ",
                    "assertions":[{"assertionScheme":"UAFV1TLV","assertion":"Aj4AAA"}]}]
                    """))
    }

    @Test("A deregistration of everything")
    func deregistration() {
        let request = DeregistrationRequest(
            header: OperationHeader(operation: .deregistration, appID: "https://uaf.example/facets"),
            authenticators: [.everything])
        #expect(
            Self.text(request.serialized)
                == written(
                    """
                    [{"header":{"upv":{"major":1,"minor":1},"op":"Dereg","appID":"https://uaf.example/facets"},
                    "authenticators":[{"aaid":"","keyID":""}]}]
                    """))
    }

    @Test("Final challenge parameters")
    func finalChallengeParams() throws {
        let params = FinalChallengeParams(
            appID: "https://uaf.example/facets", challenge: try Challenge(Self.challenge),
            facetID: try FacetID("linux:program:phone"),
            channelBinding: ChannelBinding(serverEndPoint: "AAAA", channelIDPublicKey: "unused"))
        #expect(
            Self.text(try #require(Base64URL.decode(params.encoded)))
                == written(
                    """
                    {"appID":"https://uaf.example/facets",
                    "challenge":"\(Self.challenge)",
                    "facetID":"linux:program:phone",
                    "channelBinding":{"serverEndPoint":"AAAA","cid_pubkey":"unused"}}
                    """))
    }

    @Test("A request on its way carries the message as text")
    func returnRequest() {
        let body = ReturnUAFRequest(
            statusCode: .ok, operation: .authentication, uafRequest: "[{\"a\":1}]", lifetimeMilliseconds: 180_000,
            requester: ReturnUAFRequest.Requester(
                service: "Demo Bank", origin: "http://127.0.0.1:8081", browserID: "AAAA"),
            dispatchChannel: "link")
        #expect(
            Self.text(body.serialized)
                == written(
                    #"""
                    {"statusCode":1200,"op":"Auth","lifetimeMillis":180000,
                    "uafRequest":"[{\"a\":1}]",
                    "requester":{"service":"Demo Bank","origin":"http://127.0.0.1:8081","browserId":"AAAA"},
                    "dispatchChannel":"link"}
                    """#))
    }

    @Test("An answer on its way carries message and context as text")
    func sendResponse() {
        let body = SendUAFResponse(uafResponse: "[{\"a\":1}]", context: ["deviceName": .string("My \"phone\"")])
        #expect(
            Self.text(body.serialized)
                == written(
                    #"""
                    {"uafResponse":"[{\"a\":1}]",
                    "context":"{\"deviceName\":\"My \\\"phone\\\"\"}"}
                    """#))
    }

    @Test("A judgement with everything that may come with it")
    func serverResponse() {
        let body = ServerResponse(
            statusCode: .accepted, description: "wait", additionalTokens: [Token(kind: .jwt, value: "a.b.c")],
            location: "http://localhost:8080/", confirmation: .init(number: "482913", expiresInSeconds: 600),
            deviceKey: "a-thumbprint")
        #expect(
            Self.text(body.serialized)
                == written(
                    """
                    {"statusCode":1202,
                    "description":"wait",
                    "additionalTokens":[{"type":"JWT","value":"a.b.c"}],
                    "location":"http://localhost:8080/",
                    "confirmation":{"number":"482913","expiresInSeconds":600},
                    "deviceKey":"a-thumbprint"}
                    """))
    }
}

import Crypto
import Testing
import UAF
import _Primitives

@Suite("decision 124: the server's wish for evidence about an app, and the evidence beside an answer (§6.2)")
struct AppEvidenceTests {
    private static func body(_ member: String) -> [UInt8] {
        Array(#"{"statusCode":1200,"appAttestation":\#(member)}"#.utf8)
    }

    @Test(
        "A wish is read as it was written",
        arguments: [AppAttestationWish(.optional), AppAttestationWish(.required, keyID: "+/8=")])
    func wish(wish: AppAttestationWish) throws {
        var request = ReturnUAFRequest(statusCode: .ok)
        request.appAttestation = wish
        #expect(try ReturnUAFRequest(parsing: request.serialized).appAttestation == wish)
    }

    @Test("A request without a wish has none; a wish of another form is refused")
    func otherWishes() throws {
        #expect(try ReturnUAFRequest(parsing: #"{"statusCode":1200}"#.utf8).appAttestation == nil)
        for member in [
            "{}", #"{"need":"never"}"#, #"{"need":""}"#, #"{"need":1}"#, #""required""#,
            #"{"need":"required","keyId":""}"#,
            #"{"need":"required","keyId":"\#(String(repeating: "a", count: 129))"}"#,
        ] {
            #expect(throws: UAFError.self, "\(member)") { try ReturnUAFRequest(parsing: Self.body(member)) }
        }
    }

    @Test("Evidence is read as it was written, up to its greatest size")
    func evidence() throws {
        let most = [UInt8](repeating: 7, count: AppEvidence.maximumBytes)
        for evidence in [
            AppEvidence.attestation(most, keyID: String(repeating: "k", count: AppEvidence.keyIDCharacters)),
            .attestation([1], keyID: "k"), .assertion([1]), .assertion(most),
        ] {
            #expect(try AppEvidence(json: evidence.json) == evidence)
        }
        for evidence in [
            AppEvidence.attestation(most + [7], keyID: "k"), .assertion(most + [7]), .assertion([]),
            .attestation([1], keyID: ""), .attestation([1], keyID: String(repeating: "k", count: 129)),
        ] {
            #expect(throws: UAFError.self) { try AppEvidence(json: evidence.json) }
        }
    }

    @Test("Evidence is one of its two kinds")
    func oneKind() throws {
        #expect(throws: UAFError(.missingMember)) { try AppEvidence(json: [:]) }
        #expect(throws: UAFError(.missingMember)) { try AppEvidence(json: ["attestation": .string("AQ")]) }
        #expect(throws: UAFError(.invalidValue)) {
            try AppEvidence(
                json: ["attestation": .string("AQ"), "assertion": .string("AQ"), "keyId": .string("k")])
        }
        #expect(throws: UAFError(.invalidBase64URL)) { try AppEvidence(json: ["assertion": .string("A")]) }
    }

    @Test("The signed hash is of its purpose, the final challenge and the device's key, in this order")
    func clientDataHash() {
        let (challenge, key) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 65))
        let expected = SHA256.hash(data: Array("countersign.app-attestation.1".utf8) + challenge + key)
        #expect(AppEvidence.clientDataHash(finalChallengeHash: challenge, signingKey: key) == Array(expected))
    }

    @Test("A refusal of the app is read as it was written, and is no part of other answers")
    func verdict() throws {
        var verdict = ServerResponse(statusCode: .unacceptableAttestation)
        #expect(try !ServerResponse(parsing: verdict.serialized).isAppRefused)
        verdict.isAppRefused = true
        #expect(try ServerResponse(parsing: verdict.serialized).isAppRefused)
        #expect(throws: UAFError(.wrongType)) {
            try ServerResponse(parsing: #"{"statusCode":1496,"appRefused":"yes"}"#.utf8)
        }
    }
}

import Crypto
import Testing
import UAF
import _Primitives

@Suite("uaf-sections §2.1 and §18 row 1: final challenge parameters and their hash")
struct FinalChallengeParamsTests {
    private static let all = """
        {"appID":"https://uaf.example/facets","challenge":"\(Parts.challenge)","facetID":"linux:program:phone",
        "channelBinding":{"serverEndPoint":"AAAA","tlsServerCertificate":"BBBB","tlsUnique":"CCCC",
        "cid_pubkey":"unused"}}
        """

    private static func encoded(_ bytes: [UInt8]) -> String { Base64URL.encode(bytes) }

    @Test("All members arrive and survive writing")
    func roundTrip() throws {
        let params = try FinalChallengeParams(encoded: Self.encoded(Array(Self.all.utf8)))
        #expect(params.appID == "https://uaf.example/facets")
        #expect(params.challenge.text == Parts.challenge)
        #expect(params.facetID.text == "linux:program:phone")
        #expect(
            params.channelBinding
                == ChannelBinding(
                    serverEndPoint: "AAAA", tlsServerCertificate: "BBBB", tlsUnique: "CCCC",
                    channelIDPublicKey: "unused"))
        #expect(try FinalChallengeParams(encoded: params.encoded) == params)
    }

    @Test("An empty channel binding is written, not left out")
    func emptyChannelBinding() throws {
        let params = FinalChallengeParams(
            appID: "a", challenge: try Challenge(Parts.challenge), facetID: try FacetID("a"))
        let decoded = try #require(Base64URL.decode(params.encoded))
        #expect(String(decoding: decoded, as: UTF8.self).contains("\"channelBinding\":{}"))
        #expect(try FinalChallengeParams(encoded: params.encoded) == params)
    }

    @Test(
        "Broken parameters are refused",
        arguments: [
            BadChange("appID", nil, .missingMember),
            BadChange("appID", .string(""), .outOfRange),
            BadChange("appID", text(513), .outOfRange),
            BadChange("challenge", nil, .missingMember),
            BadChange("challenge", .string("AAAA"), .outOfRange),
            BadChange("facetID", nil, .missingMember),
            BadChange("facetID", .string(""), .outOfRange),
            BadChange("facetID", text(513), .outOfRange),
            BadChange("channelBinding", nil, .missingMember),
            BadChange("channelBinding", .string("x"), .wrongType),
            BadChange("channelBinding.serverEndPoint", .string(""), .outOfRange),
            BadChange("channelBinding.cid_pubkey", .bool(true), .wrongType),
        ])
    func refuses(change: BadChange) throws {
        let text = Self.encoded(try Sample(Self.all).setting(change.path, change.value))
        #expect(throws: UAFError(change.code)) { try FinalChallengeParams(encoded: text) }
    }

    @Test("What is not base64url, not JSON or not a dictionary is refused")
    func notParameters() {
        #expect(throws: UAFError(.invalidBase64URL)) { try FinalChallengeParams(encoded: "e30=") }
        #expect(throws: UAFError(.malformedJSON)) { try FinalChallengeParams(encoded: "") }
        #expect(throws: UAFError(.malformedJSON)) { try FinalChallengeParams(encoded: Self.encoded([0xFF])) }
        #expect(throws: UAFError(.wrongType)) { try FinalChallengeParams(encoded: Self.encoded(Array("[]".utf8))) }
    }

    @Test("The hash covers the letters as sent, with padding and line breaks, not what they decode to")
    func hash() {
        let text = "eyJhIjox\nfQ=="
        #expect(FinalChallengeParams.hash(ofEncoded: text) == Array(SHA256.hash(data: Array(text.utf8))))
        #expect(
            FinalChallengeParams.hash(ofEncoded: text) != FinalChallengeParams.hash(ofEncoded: "eyJhIjoxfQ"))
    }
}

import Ceremony
import Testing
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("Operations parity 25, 27, 29, 80: the out-of-band payload on the wire")
struct OutOfBandPayloadTests {
    /// The wire form that the documentation prints, with its white space.
    private static let documented = """
        {
        "nma_data" : {
        "token" : "b4b07559-f934-4597-a1c5-44d89f691e8f",
        "redeem_url" : "https://id.example.com/token/redeem/authentication"
        },
        "nma_data_content_type" : "application/json",
        "nma_data_version" : "1"
        }
        """

    private static func text(
        token: String = "t0ken", address: String = "https://id.example.com/token/redeem/authentication",
        contentType: String = "application/json", version: String = "1", further: String = ""
    ) -> String {
        """
        {"nma_data":{"token":"\(token)","redeem_url":"\(address)"\(further)},\
        "nma_data_content_type":"\(contentType)","nma_data_version":"\(version)"}
        """
    }

    private static let content = #"{"token":"t","redeem_url":"https://a.example"}"#

    private static func frame(_ content: String) -> String {
        #"{"nma_data":\#(content),"nma_data_content_type":"application/json","nma_data_version":"1"}"#
    }

    @Test("The documented payload gives its token and address")
    func readsTheDocumentedPayload() throws {
        let payload = try OutOfBandPayload(json: Self.documented)
        #expect(payload.contentType == "application/json")
        #expect(payload.version == "1")
        #expect(payload.redeemData.token == "b4b07559-f934-4597-a1c5-44d89f691e8f")
        #expect(payload.redeemData.redeemURL.absoluteString == "https://id.example.com/token/redeem/authentication")
        #expect(payload.data == nil)
    }

    @Test("JSON, base64url with and without padding, and the link give equal payloads")
    func allFormsAreEqual() throws {
        var paddings: Set<Int> = []
        for length in 1...6 {
            let json = Self.text(token: String(repeating: "x", count: length))
            let expected = try OutOfBandPayload(json: json)
            let unpadded = Base64URL.encode(json.utf8)
            let padded = unpadded + String(repeating: "=", count: (4 - unpadded.utf8.count % 4) % 4)
            paddings.insert(padded.count - unpadded.count)
            #expect(try OutOfBandPayload(base64URLEncoded: unpadded) == expected)
            #expect(try OutOfBandPayload(base64URLEncoded: padded) == expected)
            let link = "https://app.example.com/open?x=1&dispatchTokenResponse=\(padded)"
            #expect(try OutOfBandPayload(link: link) == expected)
            #expect(try OutOfBandPayload(link: expected.link(base: "https://id.example.com")) == expected)
        }
        #expect(paddings == [0, 1, 2])
    }

    @Test("A payload knows whether a link brought it; a QR code may hold either form")
    func source() throws {
        let payload = try OutOfBandPayload(json: Self.text(token: "x"))
        let link = payload.link(base: "https://id.example.com")
        for read in [try OutOfBandPayload(link: link), try OutOfBandPayload(scanned: link)] {
            #expect(read.isFromLink && read == payload && read.hashValue == payload.hashValue)
        }
        for read in [
            payload, try OutOfBandPayload(base64URLEncoded: payload.base64URLEncoded),
            try OutOfBandPayload(scanned: payload.base64URLEncoded),
        ] {
            #expect(!read.isFromLink && read == payload)
        }
        #expect(try OutOfBandPayload(json: Self.text(token: "y")) != payload)
        for text in ["", "https://id.example.com/", "x", payload.json] {
            #expect(throws: OutOfBandPayloadError(.malformedPayload, "")) { try OutOfBandPayload(scanned: text) }
        }
    }

    @Test("Writing and reading again gives the same payload, with further members unchanged and in order")
    func roundTrip() throws {
        let address = try #require(URL(string: "https://id.example.com:8443/token/redeem/registration"))
        let redeemData = try OutOfBandPayload.RedeemData(token: "abc", redeemURL: address)
        let data = #"{"zeta":"first","alpha":{"nested":[1,true,"ü"]}}"#
        let payload = try OutOfBandPayload(redeemData: redeemData, data: data)
        let again = try OutOfBandPayload(base64URLEncoded: payload.base64URLEncoded)
        #expect(again == payload)
        #expect(again.data == data)
        #expect(payload.link(base: "https://id.example.com/") == payload.link(base: "https://id.example.com"))
        let link = payload.link(base: "https://id.example.com")
        #expect(link.hasPrefix("https://id.example.com/open?dispatchTokenResponse="))
    }

    @Test("The token appears in no description and no reflection")
    func tokenIsNotShown() throws {
        let payload = try OutOfBandPayload(json: Self.text(token: "S3CRET"))
        var dumped = ""
        dump(payload.redeemData, to: &dumped)
        #expect(!"\(payload)".contains("S3CRET"))
        #expect(!dumped.contains("S3CRET"))
        #expect(dumped.contains("id.example.com"))
    }

    @Test(
        "What is not a payload is refused as malformed",
        arguments: [
            "", " ", "null", "[]", "1", "\"x\"", "{}", "{", "\u{0}",
            text(token: ""), text(token: "a b"), text(token: "a\\nb"), text(token: "é"),
            text(token: String(repeating: "x", count: 257)),
            text(address: ""), text(address: "/token/redeem"), text(address: "id.example.com/x"),
            text(address: "ftp://id.example.com/x"), text(address: "javascript:alert(1)"), text(address: "https://"),
            text(address: "https://user@id.example.com/"), text(address: "https://u:p@id.example.com/"),
            text(address: "https://id.example.com/#part"),
            // Letters outside ASCII, of which a reader could make another host.
            text(address: "https://ban\u{212A}.example/"), text(address: "https://\u{FF41}.example/"),
            text(address: "https://id.example.com/\u{E9}"),
            text(address: "https://id.example.com/" + String(repeating: "x", count: 2048)),
            text(contentType: "text/plain"), text(contentType: ""),
            text(further: #","token":"twice""#), text(further: #","x":null"#),
            text(further: #","x":"\#(String(repeating: "y", count: 5000))""#),
            text(further: #","x":[[[[[[[1]]]]]]]"#),
            text() + "x", text() + text(),
            frame(#""text""#), frame("[]"), frame(#"{"token":"t"}"#), frame(#"{"redeem_url":"https://a.example"}"#),
            frame(#"{"token":1,"redeem_url":"https://a.example"}"#),
            #"{"nma_data":\#(content),"nma_data_version":"1"}"#,
            #"{"nma_data":\#(content),"nma_data_content_type":"application/json"}"#,
            #"{"nma_data":\#(content),"nma_data_content_type":"application/json","nma_data_version":1}"#,
            #"{"nma_data":\#(content),"nma_data_content_type":"application/json","nma_data_version":"1","x":1}"#,
            #"{"nma_data_content_type":"application/json","nma_data_version":"1","x":1}"#,
        ])
    func malformedJSON(_ text: String) {
        #expect(throws: OutOfBandPayloadError(.malformedPayload, "")) { try OutOfBandPayload(json: text) }
        #expect(throws: OutOfBandPayloadError(.malformedPayload, "")) {
            try OutOfBandPayload(base64URLEncoded: Base64URL.encode(text.utf8))
        }
    }

    @Test(
        "What is not base64url is refused as malformed",
        arguments: [
            "=", "==", "====", "e30", "e30=", "e30==", "e3 0", "e30\n", "e+/0", "é",
            String(repeating: "A", count: 6000),
        ])
    func malformedBase64(_ text: String) {
        #expect(throws: OutOfBandPayloadError(.malformedPayload, "")) { try OutOfBandPayload(base64URLEncoded: text) }
    }

    @Test(
        "A link without exactly one payload is refused as malformed",
        arguments: [
            "", "no link", "open?dispatchTokenResponse=e30", "https://id.example.com/open",
            "https://id.example.com/open?dispatchTokenResponse", "https://id.example.com/open?dispatchTokenResponse=",
            "https://id.example.com/open?dispatchTokenResponse=e30&dispatchTokenResponse=e30",
            "https://id.example.com/open?other=1", "https://id.example.com/open?dispatchTokenResponse=%",
            "https://id.example.com/open#dispatchTokenResponse=e30",
        ])
    func malformedLink(_ link: String) {
        #expect(throws: OutOfBandPayloadError(.malformedPayload, "")) { try OutOfBandPayload(link: link) }
    }

    @Test("Another version is a typed error of its own")
    func unknownVersion() {
        for version in ["2", "", "1.0", "01"] {
            #expect(throws: OutOfBandPayloadError(.unsupportedVersion, "")) {
                try OutOfBandPayload(json: Self.text(version: version))
            }
        }
    }

    @Test("An encrypted payload that this device cannot open is a typed error of its own")
    func encryptedPayload() {
        let text = #"{"nma_data":"eyJh..x.y.z","nma_data_content_type":"application/jose","nma_data_version":"1"}"#
        #expect(throws: OutOfBandPayloadError(.decryptionError, "")) { try OutOfBandPayload(json: text) }
    }

    @Test("Further members that would hide the token or the address are refused when a payload is made")
    func furtherMembersAreChecked() throws {
        let address = try #require(URL(string: "https://id.example.com/r"))
        let redeemData = try OutOfBandPayload.RedeemData(token: "abc", redeemURL: address)
        let tooLong = #"{"a":"\#(String(repeating: "y", count: 4090))"}"#
        for data in [#"{"token":"x"}"#, #"{"redeem_url":"x"}"#, "{}", "[]", "x", tooLong] {
            #expect(throws: OutOfBandPayloadError(.malformedPayload, "")) {
                try OutOfBandPayload(redeemData: redeemData, data: data)
            }
        }
    }

    @Test("A payload with any one byte changed is read or refused with a typed error, never anything else")
    func everyByteChanged() throws {
        let original = Array(Self.text(further: #","x":{"y":[1]}"#).utf8)
        var refused = 0
        for index in original.indices {
            for byte in [UInt8(0), 0x22, 0x5C, 0x7B, 0x7D, 0x80, 0xFF, original[index] ^ 1] {
                var changed = original
                changed[index] = byte
                do {
                    let payload = try OutOfBandPayload(base64URLEncoded: Base64URL.encode(changed))
                    #expect(try OutOfBandPayload(json: payload.json) == payload)
                } catch {
                    refused += 1
                    #expect([.malformedPayload, .unsupportedVersion, .decryptionError].contains(error.code))
                }
            }
        }
        #expect(refused > original.count)
    }
}

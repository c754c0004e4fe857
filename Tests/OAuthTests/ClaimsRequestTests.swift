import OAuth
import Testing
import _Primitives

@Suite("OpenID Connect Core 1.0, section 5.5: claims that are asked for by name")
struct ClaimsRequestTests {
    @Test func readsTheExampleOfSection55() throws {
        let request = try ClaimsRequest(
            #"""
            {"userinfo":{"given_name":{"essential":true},"nickname":null,"email":{"essential":true},
            "email_verified":{"essential":true},"picture":null,"http://example.info/claims/groups":null},
            "id_token":{"auth_time":{"essential":true},"acr":{"values":["urn:mace:incommon:iap:silver"]}}}
            """#)
        #expect(
            request.userinfo.map(\.name) == [
                "given_name", "nickname", "email", "email_verified", "picture", "http://example.info/claims/groups",
            ])
        #expect(request.userinfo.map(\.isEssential) == [true, false, true, true, false, false])
        #expect(request.idToken.map(\.name) == ["auth_time", "acr"])
        #expect(request.idToken.map(\.values) == [[], [.string("urn:mace:incommon:iap:silver")]])
    }

    @Test func readsOneValueAsAListOfOne() throws {
        let request = try ClaimsRequest(#"{"id_token":{"sub":{"value":"248289761001"},"acr":{"value":2}}}"#)
        #expect(request.idToken.map(\.values) == [[.string("248289761001")], [.integer(2)]])
        #expect(request.userinfo.isEmpty)
    }

    @Test(
        "passes over what it does not know",
        arguments: ["{}", "null", #"{"other":{"a":1}}"#, #"{"id_token":{},"userinfo":null}"#, #"{"verified":7}"#])
    func unknown(text: String) throws {
        let request = try ClaimsRequest(text)
        #expect(request.idToken.isEmpty && request.userinfo.isEmpty)
    }

    @Test func writesOneSpelling() throws {
        let request = try ClaimsRequest(#"{"userinfo":{"b":null,"a":{}}, "id_token":{"null":{"value":"n\"null"}}}"#)
        #expect(request.text == #"{"id_token":{"null":{"value":"n\"null"}},"userinfo":{"a":{},"b":{}}}"#)
        #expect(try ClaimsRequest(request.text).text == request.text)
        #expect(try ClaimsRequest(request.text).idToken == request.idToken)
    }

    @Test(
        "refuses",
        arguments: [
            "", "[]", "1", "{", "{}x", #"{"id_token":[]}"#, #"{"id_token":1}"#, #"{"id_token":{"a":1}}"#,
            #"{"id_token":{"a":true}}"#, #"{"id_token":{"a":[]}}"#, #"{"id_token":{"a":{"essential":1}}}"#,
            #"{"id_token":{"a":{"essential":null}}}"#, #"{"id_token":{"a":{"values":"x"}}}"#, #"{"id_token":{"":{}}}"#,
            #"{"id_token":{"a":nul}}"#, #"{"id_token":{null:{}}}"#, #"{"id_token":{"a":null,"a":null}}"#,
            #"{"id_token":{"a":nullnull}}"#, #"{"id_token":{"a":"null}}"#, #"{"id_token":{"a":{"x":[[[[[[1]]]]]]}}}"#,
        ])
    func refuses(text: String) {
        #expect(throws: OAuthError(.invalidRequest)) { try ClaimsRequest(text) }
    }

    @Test func refusesMoreThanTheLimits() throws {
        func text(_ count: Int) -> String {
            "{\"userinfo\":{" + (0..<count).map { "\"c\($0)\":null" }.joined(separator: ",") + "}}"
        }
        #expect(try ClaimsRequest(text(64)).userinfo.count == 64)
        #expect(throws: OAuthError(.invalidRequest)) { try ClaimsRequest(text(65)) }
        let long = "{\"userinfo\":{\"a\":{\"value\":\"\(String(repeating: "x", count: 8192))\"}}}"
        #expect(throws: OAuthError(.invalidRequest)) { try ClaimsRequest(long) }
    }

    @Test("what is written reads as the same", arguments: 0..<120 as Range<UInt64>)
    func property(seed: UInt64) throws {
        var draw = Draw(seed: seed)
        let pieces = [
            "null", "{}", "{\"essential\":true}", "{\"value\":null}", "{\"values\":[null,1]}", "{\"x\":\"a\\\\\"}",
            "{\"value\":\"\\\"null\"}", "{\"value\":\"null\"}",
        ]
        func claims() -> String {
            "{"
                + (0..<draw.below(4)).map { "\"\(["null", "n", "a", "\u{E9}"][$0])\": " + draw.element(of: pieces) }
                .joined(separator: " ,") + "}"
        }
        let request = try ClaimsRequest("{\"userinfo\":\(claims()),\"id_token\":\(claims()),\"x\":null}")
        let again = try ClaimsRequest(request.text)
        #expect(again.text == request.text)
        #expect(Set(again.idToken) == Set(request.idToken) && Set(again.userinfo) == Set(request.userinfo))
    }
}

import OAuth
import Testing
import _Primitives

@Suite("RFC 6749, section 2.3.1: client password")
struct CredentialsTests {
    @Test func readsTheExampleOfTheStandard() throws {
        let credentials = try ClientCredentials(basic: "Basic czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3")
        #expect(credentials.clientID == "s6BhdRkqt3")
        #expect(credentials.secret == SecretBytes(utf8: "7Fjfp0ZBr1KtDRbnfVdmIw"))
        #expect(credentials.method == .basic)
        #expect(credentials.description == "ClientCredentials(s6BhdRkqt3, client_secret_basic)")
    }

    @Test func partsAreFormEncoded() throws {
        // a:b and c%d+e f, encoded: a%3Ab:c%25d%2Be+f
        let credentials = try ClientCredentials(basic: "basic  YSUzQWI6YyUyNWQlMkJlK2Y=")
        #expect(credentials.clientID == "a:b")
        #expect(credentials.secret == SecretBytes(utf8: "c%d+e f"))
    }

    @Test(
        "refuses headers",
        arguments: [
            "", "Basic", "Basic ", "Bearer czZCaGRSa3F0Mzo3Rg==", "Basic !!!!",
            "Basic czZCaGRSa3F0Mw==" /* no colon */,
            "Basic OnNlY3JldA==" /* no name */, "Basic bmFtZTo=" /* no secret */, "Basic bmFtZTol" /* name:% */,
            "Basic bmFtZTpzZWNyZXQ= x", "Basic\tbmFtZTpzZWNyZXQ=", "Basic " + String(repeating: "A", count: 1024),
        ])
    func refusesHeaders(header: String) {
        #expect(throws: OAuthError(.invalidClient)) { try ClientCredentials(basic: header) }
        #expect(throws: OAuthError(.invalidClient)) {
            try ClientCredentials(header: header, parameters: Parameters([:]))
        }
    }

    @Test func readsTheBody() throws {
        let credentials = try ClientCredentials(
            header: nil, parameters: Parameters(["client_id": "bank", "client_secret": "s"]))
        #expect(credentials.clientID == "bank" && credentials.method == .post)
        #expect(credentials.secret == SecretBytes(utf8: "s"))
    }

    @Test("refuses bodies", arguments: [Parameters([:]), Parameters(["client_id": "a"]), ["client_secret": "a"]])
    func refusesBodies(parameters: Parameters) {
        #expect(throws: OAuthError(.invalidClient)) { try ClientCredentials(header: nil, parameters: parameters) }
    }

    @Test func refusesTwoWaysAtOnce() throws {
        let header = "Basic bmFtZTpzZWNyZXQ="
        #expect(throws: OAuthError(.invalidRequest)) {
            try ClientCredentials(header: header, parameters: Parameters(["client_secret": "secret"]))
        }
        #expect(throws: OAuthError(.invalidRequest)) {
            try ClientCredentials(header: header, parameters: Parameters(["client_id": "other"]))
        }
        #expect(try ClientCredentials(header: header, parameters: ["client_id": "name"]).clientID == "name")
    }
}

@Suite("RFC 6750, section 2.1: bearer token")
struct BearerTokenTests {
    @Test("reads", arguments: ["Bearer abc.def", "bearer abc.def", "BEARER  abc.def"])
    func reads(header: String) throws {
        let token = try BearerToken(header: header)
        #expect(token.text == "abc.def")
        #expect(token.description == "BearerToken")
    }

    @Test(
        "refuses",
        arguments: [
            nil, "", "Bearer", "Bearer ", "Basic abc", "Bearer a b", "Bearer a\u{E9}",
            "Bearer " + String(repeating: "a", count: 8192),
        ])
    func refuses(header: String?) {
        #expect(throws: OAuthError(.invalidToken)) { try BearerToken(header: header) }
    }
}

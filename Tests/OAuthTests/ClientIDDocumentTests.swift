import OAuth
import Testing
import _Primitives

@Suite("draft-ietf-oauth-client-id-metadata-document, sections 3 and 4: addresses and documents of clients")
struct ClientIDDocumentTests {
    private static let address = "https://app.example/client.json"

    private func document(_ text: String) throws -> JSONObject {
        try ClientIDDocument(Array(text.utf8), at: #require(ClientIDAddress(Self.address))).metadata
    }

    @Test(
        "takes an address and shows its host",
        arguments: [
            ("https://app.example/client.json", "app.example"), ("https://app.example:8443/a/", "app.example:8443"),
            ("https://app.example/a%20b", "app.example"), ("https://app.example/", "app.example"),
        ])
    func takesAddress(text: String, host: String) throws {
        let address = try #require(ClientIDAddress(text))
        #expect(address.text == text && address.host == host && address.description == text)
    }

    @Test(
        "refuses an address",
        arguments: [
            "", "app", "https://app.example", "http://app.example/a", "HTTPS://app.example/a",
            "http://127.0.0.1/a", "https://user@app.example/a", "https://user:b@app.example/a",
            "https://app.example/a#b", "https://app.example/a#", "https://app.example/a?b=c", "https://app.example/a?",
            "https://app.example/a/../b", "https://app.example/./a", "https://app.example/a/%2e%2E/b",
            "https://app.example/a/..", "https://APP.example/a", "https://app.example:443/a", "https:///a",
            "https://app.example/%61", "https://app.example/%zz", "https://app.example/a b",
            "https://app.example/\u{E9}", "https://app.example/" + String(repeating: "a", count: 1024),
        ])
    func refusesAddress(text: String) {
        #expect(ClientIDAddress(text) == nil)
    }

    @Test("takes a document; one that names no method has none")
    func takesDocument() throws {
        for (member, method) in [
            ("", "none"), (#","token_endpoint_auth_method":null"#, "none"),
            (#","token_endpoint_auth_method":"none""#, "none"),
            (#","token_endpoint_auth_method":"private_key_jwt""#, "private_key_jwt"),
        ] {
            let metadata = try self.document(#"{"client_id":"\#(Self.address)","client_name":"App"\#(member)}"#)
            #expect(metadata["token_endpoint_auth_method"] == .string(method))
            #expect(metadata["client_name"] == .string("App"))
        }
    }

    @Test(
        "refuses a document",
        arguments: [
            "", "[]", "{}", "null", "{", #"{"client_id":1}"#, #"{"client_id":null}"#,
            #"{"client_id":"https://app.example/client.jso"}"#, #"{"client_id":"https://app.example/client.json/"}"#,
            #"{"client_id":"https://APP.example/client.json"}"#,
            #"{"client_id":"https://app.example:443/client.json"}"#,
            #"{"client_id":"https://app.example/%63lient.json"}"#,
        ])
    func refusesDocument(text: String) {
        #expect(throws: OAuthError(.invalidClientMetadata)) { try self.document(text) }
    }

    @Test(
        "refuses everything that a shared secret needs",
        arguments: [
            #""client_secret":"a""#, #""client_secret_expires_at":0"#,
            #""token_endpoint_auth_method":"client_secret_basic""#,
            #""token_endpoint_auth_method":"client_secret_post""#,
            #""token_endpoint_auth_method":"client_secret_jwt""#, #""token_endpoint_auth_method":"tls_client_auth""#,
            #""token_endpoint_auth_method":1"#,
        ])
    func refusesSecrets(member: String) {
        #expect(throws: OAuthError(.invalidClientMetadata)) {
            try self.document(#"{"client_id":"\#(Self.address)",\#(member)}"#)
        }
    }

    @Test("takes 5 KiB, and not a byte more")
    func length() throws {
        let text = #"{"client_id":"\#(Self.address)"}"#
        let full = text + String(repeating: " ", count: ClientIDDocument.longest - text.utf8.count)
        #expect(ClientIDDocument.longest == 5120 && full.utf8.count == 5120)
        #expect(throws: Never.self) { try self.document(full) }
        #expect(throws: OAuthError(.invalidClientMetadata)) { try self.document(full + " ") }
    }
}

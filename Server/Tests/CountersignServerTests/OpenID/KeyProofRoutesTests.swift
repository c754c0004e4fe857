import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuth
import Testing
import _Primitives

extension HTTPField.Name {
    /// `DPoP`.
    static let keyProof = HTTPField.Name(DPoPProof.header)!
    /// `DPoP-Nonce`.
    static let keyProofNonce = HTTPField.Name("DPoP-Nonce")!
}

@Suite("RFC 9449, over HTTP: tokens for whoever holds a key")
struct KeyProofRoutesTests {
    /// A proof for one request to this server, as a client makes it.
    private func proof(
        _ key: SigningKey, _ server: ServerFixture, _ method: String, _ path: String, of access: String? = nil,
        nonce: String?
    ) throws -> String {
        try DPoPProof.make(
            method: method, target: #require(TargetURI("http://localhost:8080\(path)")), accessToken: access,
            nonce: nonce, with: key, at: server.clock.timeSource.now(), random: .system)
    }

    private func userinfo(
        _ client: any TestClientProtocol, _ authorization: String, proofs: [String], method: HTTPRequest.Method = .get
    ) async throws -> TestResponse {
        var headers: HTTPFields = [.authorization: authorization]
        headers[values: .keyProof] = proofs
        return try await client.execute(uri: "/oauth2/userinfo", method: method, headers: headers)
    }

    @Test("a client is told a nonce, comes again at once, and opens with its key what nobody opens without it")
    func flow() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            let code = try #require(try await browser.get(party.authorizeAddress()).redirectParameters["code"])
            let key = try SigningKey(kept: SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: nil)
            func attempt(_ nonce: String?, times: Int = 1) async throws -> (response: TestResponse, object: JSONObject)
            {
                let proofs = try (0..<times).map { _ in
                    try self.proof(key, server, "POST", "/oauth2/token", nonce: nonce)
                }
                return try await party.exchange(code, client, proofs: proofs)
            }
            let first = try await attempt(nil)
            #expect(first.response.status == .badRequest && first.object["error"] == .string("use_dpop_nonce"))
            #expect(first.response.headers[.cacheControl] == "no-store")
            let nonce = try #require(first.response.headers[.keyProofNonce])
            let two = try await attempt(nonce, times: 2)
            #expect(two.object["error"] == .string("invalid_dpop_proof"))
            let second = try await attempt(nonce)
            #expect(second.response.status == .ok && second.object["token_type"] == .string("DPoP"))
            let access = try second.object.requiredString("access_token")
            for method in [HTTPRequest.Method.get, .post] {
                func proof() throws -> String {
                    try self.proof(
                        key, server, method.rawValue, "/oauth2/userinfo", of: access, nonce: nonce)
                }
                let bearer = try await self.userinfo(client, "Bearer \(access)", proofs: [proof()], method: method)
                #expect(bearer.status == .unauthorized)
                let bare = try await self.userinfo(client, "DPoP \(access)", proofs: [], method: method)
                #expect(bare.status == .unauthorized && bare.headers[.keyProofNonce] == nonce)
                #expect(try #require(bare.headers[.wwwAuthenticate]).hasPrefix("DPoP "))
                let both = try await self.userinfo(
                    client, "DPoP \(access)", proofs: [proof(), proof()], method: method)
                #expect(both.status == .unauthorized)
                let right = try await self.userinfo(client, "dpop \(access)", proofs: [proof()], method: method)
                #expect(right.status == .ok)
            }
        }
    }

    @Test("an access token is taken from the header or from a form, and never from an address")
    func whereTokensStand() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            let code = try #require(try await browser.get(party.authorizeAddress()).redirectParameters["code"])
            let access = try await party.exchange(code, client).object.requiredString("access_token")
            for method in [HTTPRequest.Method.get, .post] {
                let answer = try await client.execute(
                    uri: "/oauth2/userinfo?access_token=\(access)", method: method)
                #expect(answer.status == .unauthorized)
            }
            let form = try await client.execute(
                uri: "/oauth2/userinfo", method: .post,
                headers: [.contentType: "application/x-www-form-urlencoded"],
                body: ByteBuffer(string: "access_token=\(access)"))
            #expect(form.status == .ok)
            // By GET there is no form, and another type is none.
            for (method, type) in [
                (HTTPRequest.Method.get, "application/x-www-form-urlencoded"), (.post, "text/plain"),
            ] {
                let other = try await client.execute(
                    uri: "/oauth2/userinfo", method: method, headers: [.contentType: type],
                    body: ByteBuffer(string: "access_token=\(access)"))
                #expect(other.status == .unauthorized)
            }
            let both = try await client.execute(
                uri: "/oauth2/userinfo", method: .post,
                headers: [.contentType: "application/x-www-form-urlencoded", .authorization: "Bearer \(access)"],
                body: ByteBuffer(string: "access_token=\(access)"))
            #expect(both.status == .badRequest)
            #expect(try await self.userinfo(client, "Bearer \(access)", proofs: []).status == .ok)
            // OpenID Connect Core 1.0, section 5.3.1: by GET and by POST the same, whatever a body says.
            let headers: HTTPFields = [.authorization: "Bearer \(access)"]
            let told = try await client.send(.get, "/oauth2/userinfo", headers: headers)
            let posted = try await client.send(.post, "/oauth2/userinfo", headers: headers)
            #expect(told.response.status == .ok && told.object["sub"] != nil)
            #expect(posted.response.status == .ok && posted.object == told.object)
        }
    }
}

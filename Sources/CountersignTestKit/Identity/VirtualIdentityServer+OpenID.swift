import Ceremony
import Countersign
import Foundation
import JOSE
import OAuth
import PersonalInformation
import _Primitives

/// The interface for a service's back end: OpenID Connect Core 1.0 for a single kind of sign-in, an app's sign-in. The
/// server is a double: it speaks the real protocol, verifies requests, signs its answers, and keeps everything in
/// memory.
extension VirtualIdentityServer {
    /// The state of the interface.
    struct OpenID {
        var clients: [String: (secret: SecretBytes, redirectURI: String)] = [:]
        /// The values of accounts, by the names of their aliases.
        var values: [String: String] = [:]
        var codes: [String: Code] = [:]
        var tokens: [String: JSONObject] = [:]
        var codeCount = 0
    }

    struct Code {
        let request: InAppRequest
        let activation: String
        let answers: [PersonalAttribute: AttributeAnswer]
        let roleID: String
        let authenticatedAt: Timestamp
    }

    /// Registers a service's back end, like the service's operator.
    public func register(clientID: String, secret: String, redirectURI: String) {
        self.openID.clients[clientID] = (SecretBytes(utf8: secret), redirectURI)
    }

    /// Gives the account the value of an alias.
    public func hold(_ value: String, as alias: String) { self.openID.values[alias] = value }

    func newCode(of session: Session, _ id: String, _ activation: String) -> String {
        self.openID.codeCount += 1
        let code = "code-\(self.openID.codeCount)"
        if let request = session.inApp {
            self.openID.codes[code] = Code(
                request: request, activation: activation, answers: self.answersOf[id] ?? [:],
                roleID: session.service.roles[session.role].id, authenticatedAt: self.clock.now())
        }
        return code
    }

    /// Returns the answer to a service's request; `nil` for any other request.
    func answerToService(_ request: TransportRequest) throws -> TransportResponse? {
        switch (request.method, request.url.path()) {
        case ("GET", "/.well-known/openid-configuration"):
            self.json([
                "issuer": .string(self.identifier), "token_endpoint": .string(self.identifier + "/oauth2/token"),
                "userinfo_endpoint": .string(self.identifier + "/oauth2/userinfo"),
                "jwks_uri": .string(self.identifier + "/oauth2/jwks"),
            ])
        case ("GET", "/oauth2/jwks"): self.json(JWKSet([self.signing.publicKey].compactMap(\.self)).publicJSON)
        case ("POST", "/oauth2/token"): try self.redeem(request)
        case ("GET", "/oauth2/userinfo"):
            if let claims = self.openID.tokens[request.header("Authorization") ?? ""] {
                self.json(claims)
            } else {
                self.json(["error": .string("invalid_token")], status: 401)
            }
        default: nil
        }
    }

    /// Redeems a code (RFC 6749, section 4.1.3, with RFC 7636). Each mismatch is an invalid grant, and a code can be
    /// redeemed once.
    private func redeem(_ request: TransportRequest) throws -> TransportResponse {
        let form = try? Parameters(parsing: String(decoding: request.body, as: UTF8.self))
        guard let shown = request.header("Authorization").flatMap({ try? ClientCredentials(basic: $0) }),
            let client = self.openID.clients[shown.clientID], client.secret == shown.secret
        else { return self.json(["error": .string("invalid_client")], status: 401) }
        guard form?["grant_type"] == "authorization_code", let name = form?["code"],
            let code = self.openID.codes.removeValue(forKey: name), code.request.clientID == shown.clientID,
            form?["redirect_uri"] == client.redirectURI, code.request.redirectURI == client.redirectURI,
            let verifier = form?["code_verifier"].flatMap({ try? CodeVerifier($0) }),
            (try? CodeChallenge(code.request.codeChallenge))?.matches(verifier) == true
        else { return self.json(["error": .string("invalid_grant")], status: 400) }
        // The subject belongs to one activation at one service. No other service has the same subject.
        let subject = JSON.string("person of \(code.activation) at \(shown.clientID)")
        let now = self.clock.now().seconds
        var identity: JSONObject = [
            "iss": .string(self.identifier), "aud": .string(shown.clientID), "sub": subject, "iat": .integer(now),
            "exp": .integer(now + 300), "auth_time": .integer(code.authenticatedAt.seconds),
            "amr": .array([.string("pin"), .string("swk")]),
        ]
        identity["nonce"] = code.request.nonce.map { .string($0) }
        var profile: JSONObject = ["sub": subject, "roles": .array([.string(code.roleID)])]
        for (attribute, answer) in code.answers {
            let value: String? =
                switch answer {
                case .value(let text): text
                case .alias(let id): self.openID.values[id]
                }
            profile[attribute.claimName] = value.flatMap(attribute.claim)
        }
        let token = RandomSource.system.token()
        self.openID.tokens["Bearer \(token)"] = profile
        return self.json([
            "access_token": .string(token), "token_type": .string("Bearer"),
            "id_token": .string(try JWS.sign(JSON.object(identity).serialized, with: self.signing)),
        ])
    }

    private func json(_ object: JSONObject, status: Int = 200) -> TransportResponse {
        TransportResponse(
            status: status, headers: [("Content-Type", "application/json")], body: JSON.object(object).serialized)
    }
}

extension TransportRequest {
    fileprivate func header(_ name: String) -> String? { self.headers.first { $0.name == name }?.value }
}

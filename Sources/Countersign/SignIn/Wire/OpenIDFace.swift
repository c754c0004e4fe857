import OAuth
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The OpenID face of the server: RFC 6749, RFC 7636, RFC 9207, OpenID Connect Core 1.0.
struct OpenIDFace: SignInFace {
    let configuration: SignInConfiguration

    func page(for request: BrowserRequest) -> URL? {
        let parameters: Parameters = [
            "response_type": "code", "client_id": self.configuration.clientID, "redirect_uri": request.redirectURI,
            "scope": self.configuration.scopes.joined(separator: " "), "state": request.state, "nonce": request.nonce,
            "code_challenge": request.verifier.challenge.text, "code_challenge_method": CodeChallenge.method,
        ]
        return self.configuration.address("/oauth2/authorize").flatMap {
            URL(string: $0.absoluteString + "?" + parameters.encoded)
        }
    }

    func exchange(of code: String, for request: BrowserRequest) -> FormRequest {
        self.token([
            "grant_type": "authorization_code", "code": code, "redirect_uri": request.redirectURI,
            "code_verifier": request.verifier.text, "client_id": self.configuration.clientID,
        ])
    }

    func renewal(by refreshToken: String) -> FormRequest {
        self.token([
            "grant_type": "refresh_token", "refresh_token": refreshToken, "client_id": self.configuration.clientID,
        ])
    }

    func revocations(of order: RevocationOrder) -> [FormRequest] {
        [(order.deviceSecret, "device_secret"), (order.refreshToken, "refresh_token")].compactMap { token, kind in
            token.map {
                FormRequest(
                    path: "/oauth2/revoke",
                    parameters: ["token": $0, "token_type_hint": kind, "client_id": self.configuration.clientID])
            }
        }
    }

    func tokens(in body: JSONObject) throws -> IssuedTokens {
        let access = try body.requiredString("access_token")
        let kind = try body.requiredString("token_type").asciiLowercased
        guard kind.hasSameBytes(as: "bearer") || kind.hasSameBytes(as: "dpop") else {
            throw JSONError(.wrongType, "token_type")
        }
        let seconds = try body.integer("expires_in", as: UInt32.self)
        return IssuedTokens(
            accessToken: access, isBound: kind.hasSameBytes(as: "dpop"),
            lifetime: seconds.map { .seconds($0) } ?? StatedClaims(of: access)?.lifetime ?? .zero,
            refreshToken: try body.string("refresh_token"), deviceSecret: try body.string("device_secret"),
            idToken: try body.string("id_token"))
    }

    func refusal(in body: JSONObject) -> String? { try? body.string("error") }

    func failure(in parameters: Parameters) -> SignInError? { self.namedFailure(in: parameters) }

    private func token(_ parameters: Parameters) -> FormRequest {
        FormRequest(path: "/oauth2/token", parameters: parameters)
    }
}

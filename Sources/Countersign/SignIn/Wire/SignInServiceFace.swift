import OAuth
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The face of the sign-in service: a page that takes `application`, and answers whose members stand under `data` or at
/// the top.
struct SignInServiceFace: SignInFace {
    let configuration: SignInConfiguration
    let addresses: SignInServiceAddresses

    func page(for request: BrowserRequest) -> URL? {
        var parameters: Parameters = [
            "application": self.configuration.clientID, "oauth": "true",
            "code_challenge": request.verifier.challenge.text, "code_challenge_method": CodeChallenge.method,
            "state": request.state,
        ]
        if !self.configuration.scopes.isEmpty {
            parameters.append("scope", self.configuration.scopes.joined(separator: " "))
        }
        guard let page = self.addresses.signInPage ?? self.configuration.address("/sign-in") else { return nil }
        let separator = page.query() == nil ? "?" : "&"
        return URL(string: page.absoluteString + separator + parameters.encoded)
    }

    func exchange(of code: String, for request: BrowserRequest) -> FormRequest {
        FormRequest(
            path: self.addresses.tokenPath,
            parameters: [
                "grant_type": "authorization_code", "code": code, "code_verifier": request.verifier.text,
                "client_id": self.configuration.clientID,
            ])
    }

    func renewal(by refreshToken: String) -> FormRequest {
        FormRequest(path: self.addresses.refreshPath, parameters: ["refresh_token": refreshToken])
    }

    /// Returns one request, or none for an order without a refresh token. With the secret, the service ends the
    /// sessions of the whole device.
    func revocations(of order: RevocationOrder) -> [FormRequest] {
        guard let refreshToken = order.refreshToken else { return [] }
        var parameters: Parameters = ["refresh_token": refreshToken]
        if let secret = order.deviceSecret { parameters.append("device_secret", secret) }
        return [FormRequest(path: self.addresses.revokePath, parameters: parameters)]
    }

    func tokens(in body: JSONObject) throws -> IssuedTokens {
        let members = try body.object("data") ?? body
        let access = try members.requiredString("access_token")
        let claims = StatedClaims(of: access)
        return IssuedTokens(
            accessToken: access, isBound: claims?.isBound ?? false,
            lifetime: try members.integer("expires_in", as: UInt32.self).map { .seconds($0) } ?? claims?.lifetime
                ?? .zero,
            refreshToken: try members.string("refresh_token"), deviceSecret: try members.string("device_secret"))
    }

    func refusal(in body: JSONObject) -> String? {
        // The sentence is for people; the code for programs stands beside the sentence.
        (try? body.string("error")) ?? (try? body.string("errors"))
    }

    func failure(in parameters: Parameters) -> SignInError? {
        if let named = self.namedFailure(in: parameters) { return named }
        guard parameters["auth"]?.hasSameBytes(as: "fail") ?? false else { return nil }
        let code = SignInError.word(parameters["code"] ?? "")
        // With these two codes, the identity provider reports that the person refused.
        let isDenial = ["001", "009"].containsBytes(of: code)
        return SignInError(isDenial ? .denied : .refused, serverCode: code, "the sign-in failed at the service")
    }
}

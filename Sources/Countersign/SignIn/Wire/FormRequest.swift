import OAuth

/// A form that is posted to the server.
struct FormRequest: Sendable {
    let path: String
    let parameters: Parameters
}

/// The tokens that a server has issued for a code or a refresh token.
struct IssuedTokens: Sendable {
    let accessToken: String
    /// `true` if the access token is sent with a proof of the app's key.
    let isBound: Bool
    /// The lifetime of the access token; zero if the server states none.
    let lifetime: Duration
    var refreshToken: String?
    var deviceSecret: String?
    var idToken: String?
}

/// The values that the browser carries to the server, and with which its answer is compared.
struct BrowserRequest: Sendable {
    let redirectURI: String
    let state: String
    let nonce: String
    let verifier: CodeVerifier
}

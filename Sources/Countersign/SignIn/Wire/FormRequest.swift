import OAuth

/// A form that is posted to the server.
struct FormRequest: Sendable {
    let path: String
    let parameters: Parameters
}

/// What a server has given for a code or a refresh token.
struct IssuedTokens: Sendable {
    let accessToken: String
    /// Whether the access token is shown with a proof of the app's key.
    let isBound: Bool
    /// How long the access token is good for.
    let lifetime: Duration
    var refreshToken: String?
    var deviceSecret: String?
    var idToken: String?
}

/// What the browser is sent away with, and what its answer is held against.
struct BrowserRequest: Sendable {
    let redirectURI: String
    let state: String
    let nonce: String
    let verifier: CodeVerifier
}

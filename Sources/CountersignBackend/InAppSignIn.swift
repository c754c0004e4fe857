public import OAuth
import _Primitives

/// What an app is given by its back end to sign itself in with: nothing of it is a secret.
///
/// The app hands it to the SDK (`fetchInAppAuthenticationInitializationData(_:)`), and gives back the code that comes.
public struct InAppSignInOffer: Codable, Hashable, Sendable {
    /// The service, by its `client_id`.
    public let clientID: String
    /// One of the service's, to the letter.
    public let redirectURI: String
    /// What is asked for.
    public let scope: String
    /// What comes back with the code.
    public let state: String
    /// What comes back in the ID token.
    public let nonce: String
    /// RFC 7636, section 4.2, by `S256`.
    public let codeChallenge: String
}

/// A sign-in of an app that a back end has begun, to be kept until the app brings its code: in the session of that app,
/// and nowhere that another one reaches. It works once.
public struct InAppSignIn: Sendable, CustomStringConvertible {
    /// What the app is given.
    public let offer: InAppSignInOffer
    /// The secret that only the back end has: whoever else gets the code can do nothing with it.
    public let codeVerifier: CodeVerifier

    init(offer: InAppSignInOffer, codeVerifier: CodeVerifier) {
        self.offer = offer
        self.codeVerifier = codeVerifier
    }

    /// Takes up what was kept.
    ///
    /// - Parameter codeVerifier: ``codeVerifier``'s text.
    /// - Throws: `OAuthError` where it is no verifier.
    public init(offer: InAppSignInOffer, codeVerifier: String) throws(OAuthError) {
        self.offer = offer
        self.codeVerifier = try CodeVerifier(codeVerifier)
    }

    public var description: String { "InAppSignIn(\(self.offer.clientID))" }
}

public import OAuth
import _Primitives

/// A back end's data for an app that signs itself in. No part of the offer is a secret.
///
/// The app passes the offer to the SDK (`fetchInAppAuthenticationInitializationData(_:)`), and returns the resulting
/// code.
public struct InAppSignInOffer: Codable, Hashable, Sendable {
    /// The service, by its `client_id`.
    public let clientID: String
    /// One of the service's redirect addresses, to the letter.
    public let redirectURI: String
    /// The requested scope.
    public let scope: String
    /// The value that comes back with the code.
    public let state: String
    /// The value that comes back in the ID token.
    public let nonce: String
    /// The PKCE code challenge, by `S256` (RFC 7636, section 4.2).
    public let codeChallenge: String
}

/// An app's sign-in that a back end has begun. Use the sign-in once.
///
/// Store the sign-in until the app brings its code: in the session of this app, out of reach of any other app.
public struct InAppSignIn: Sendable, CustomStringConvertible {
    /// The data for the app.
    public let offer: InAppSignInOffer
    /// The secret that only the back end has. Anybody else who gets the code can do nothing with the code.
    public let codeVerifier: CodeVerifier

    init(offer: InAppSignInOffer, codeVerifier: CodeVerifier) {
        self.offer = offer
        self.codeVerifier = codeVerifier
    }

    /// Restores a stored sign-in.
    ///
    /// - Parameter codeVerifier: ``codeVerifier``'s text.
    /// - Throws: `OAuthError` if the text is not a verifier.
    public init(offer: InAppSignInOffer, codeVerifier: String) throws(OAuthError) {
        self.offer = offer
        self.codeVerifier = try CodeVerifier(codeVerifier)
    }

    public var description: String { "InAppSignIn(\(self.offer.clientID))" }
}

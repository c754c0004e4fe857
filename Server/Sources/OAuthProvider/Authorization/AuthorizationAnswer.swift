public import OAuth
public import Settings

/// The next step for a browser that came with an authorization request.
public enum AuthorizationAnswer: Sendable, Equatable {
    /// Show the sign-in page for this request of this client.
    case signIn(request: String, client: String)
    /// Show the page that asks the person of the browser's session: about a connection, about the operator's terms, or
    /// about this client's access (``Authorizations/consentQuestion(request:browser:session:)``).
    case consent(request: String, client: String)
    /// Take the browser to the client.
    case client(ClientAnswer)
    /// Show a page that asks the person to come back: the source has begun too many sign-ins, or too many new clients'
    /// documents would have to be fetched.
    case tooMany(Shortage)
    /// Show an error page. The browser must not be sent anywhere: the redirect address is not to be trusted, or the
    /// request has ended.
    case page(OAuthError)
}

/// The way in which a browser brings an answer to a client.
public enum ClientAnswer: Sendable, Equatable {
    /// The browser is sent to this address (status 303).
    case redirect(String)
    /// The browser shows a page whose form submits itself to the client.
    case post(PostedAnswer)
    /// The browser goes nowhere, and shows the error (status 400).
    case told(String)
}

/// An answer that a browser posts to a client (OAuth 2.0 Form Post Response Mode 1.0, section 2).
public struct PostedAnswer: Sendable, Equatable {
    /// The client's address.
    public let address: String
    /// The scheme, host and port of the address.
    public let origin: String
    /// The fields of the form.
    public let fields: Parameters
}

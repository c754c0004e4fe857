public import OAuth
public import Store

/// What to do with a browser that came with an authorization request.
public enum AuthorizationAnswer: Sendable, Equatable {
    /// Show the sign-in page for this request of this client.
    case signIn(request: String, client: String)
    /// Ask the person of the browser's session whether this client may have what it wants.
    case consent(request: String, client: String)
    /// Take the browser to the client.
    case client(ClientAnswer)
    /// Show a page that asks to come back: the source has begun too many sign-ins.
    case tooMany(Shortage)
    /// Show an error page. The browser must not be sent anywhere: the address it would go to is not to be trusted.
    case page(OAuthError)
}

/// How a browser takes an answer to a client.
public enum ClientAnswer: Sendable, Equatable {
    /// It is sent to this address (status 303).
    case redirect(String)
    /// It is shown a page whose form goes there by itself.
    case post(PostedAnswer)
    /// It goes nowhere: it shows what is wrong (status 400).
    case told(String)
}

/// An answer that a browser posts to a client (OAuth 2.0 Form Post Response Mode 1.0, section 2).
public struct PostedAnswer: Sendable, Equatable {
    /// The client's address.
    public let address: String
    /// Scheme, host and port of it.
    public let origin: String
    /// What the form has.
    public let fields: Parameters
}

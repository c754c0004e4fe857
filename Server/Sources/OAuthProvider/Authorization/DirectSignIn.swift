import OAuth
public import _Primitives

/// Where an app is that signs its person in without a browser.
public struct AppPlace: Sendable {
    /// Who is counted (a network).
    public let source: String
    /// The app and its system in words.
    public let browser: String?
    /// Its network address.
    public let address: String?

    /// A place of these values.
    public init(source: String, browser: String? = nil, address: String? = nil) {
        self.source = source
        self.browser = browser
        self.address = address
    }
}

/// What an app shows of its person in one step: one thing, so that nobody has to guess which of two was judged.
public enum ShownProof: Sendable, Equatable {
    /// A name and a password.
    case password(username: String, password: String)
    /// A code beside a password.
    case code(String)
    /// That a phone is to be asked.
    case phone
    /// The question what the phone has said.
    case phonesAnswer

    /// The names of the fields. None of them is the request's.
    static let names = ["username", "password", "otp", "phone"]

    /// What a form shows; `nil` for nothing. Throws `OAuthError` `invalid_request`.
    init?(_ form: Parameters) throws(OAuthError) {
        switch (form["username"], form["password"], form["otp"], form["phone"]) {
        case (nil, nil, nil, nil): return nil
        case (let username?, let password?, nil, nil): self = .password(username: username, password: password)
        case (nil, nil, let code?, nil): self = .code(code)
        case (nil, nil, nil, let word?) where word.hasSameBytes(as: "start"): self = .phone
        case (nil, nil, nil, let word?) where word.hasSameBytes(as: "wait"): self = .phonesAnswer
        default:
            throw OAuthError(
                .invalidRequest,
                "A step shows one thing: username with password, otp, or phone, which is start or wait.")
        }
    }
}

/// A sign-in of an app that is under way.
public struct DirectRequest: Sendable {
    /// The authorization request: by this what was shown so far is found.
    public let id: String
    /// The app.
    public let client: AuthenticatedClient
    /// The ways in which people may sign in to it.
    public let methods: [String]
    /// Stands for the browser that there is none of. Nobody else knows it.
    public let browser: BrowserSecret
    /// Where the app is.
    public let place: AppPlace
}

/// What became of a step.
public enum DirectStep: Sendable {
    /// More has to be shown: one of these. What was shown may have been wrong; the app is not told what of it. The members
    /// tell what the app has to show to the person.
    case needs([String], JSONObject)
    /// The person is signed in, by a method of the provider's list.
    case done
    /// The person said no.
    case denied
    /// It goes on in a browser alone. The reason is for the operator's log.
    case web(String)
}

/// Takes what an app shows of its person, step by step, and asks for the next thing. It judges as the sign-in page does, with
/// the same counters.
public protocol DirectSignIn: Sendable {
    /// Takes what an app shows, if anything, of a sign-in.
    ///
    /// What it throws beside `OAuthError` says that nothing was judged: the app may come again with the same.
    ///
    /// - Parameter refuse: Is told why something was not right: for the operator's log.
    func step(_ shown: ShownProof?, of request: DirectRequest, refuse: (ProviderRefusal) -> Void) async throws
        -> DirectStep

    /// Is told that somebody was signed in, by the method of that name.
    func signedIn(by method: String)
}

/// A step that was not judged, because of something that passes: what came with it counts as not shown, and the sign-in goes
/// on.
public struct InterruptedStep: Error {
    /// Why.
    public let reason: any Error
    /// By what it goes on (`auth_session`): the one that came may have been spent on it.
    public let session: String
}

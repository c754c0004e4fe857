import OAuth
public import _Primitives

/// The place of an app that signs its person in without a browser.
public struct AppPlace: Sendable {
    /// The counted source (a network).
    public let source: String
    /// The app and its system in words.
    public let browser: String?
    /// The app's network address.
    public let address: String?

    /// Creates a place.
    public init(source: String, browser: String? = nil, address: String? = nil) {
        self.source = source
        self.browser = browser
        self.address = address
    }
}

/// The proof that an app shows for its person in one step. A step has only one proof, so the judged proof is always
/// clear.
public enum ShownProof: Sendable, Equatable {
    /// A name and a password.
    case password(username: String, password: String)
    /// A one-time code (`otp`), in a step of its own after the password.
    case code(String)
    /// The wish to ask a phone.
    case phone
    /// The question for the phone's answer.
    case phonesAnswer

    /// The names of the proof's fields. An authorization request has none of them.
    static let names = ["username", "password", "otp", "phone"]

    /// Reads the proof of a form; `nil` for no proof. Throws `OAuthError` `invalid_request`.
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

/// A running sign-in of an app.
public struct DirectRequest: Sendable {
    /// The identifier of the authorization request, by which earlier proofs are found.
    public let id: String
    /// The app.
    public let client: AuthenticatedClient
    /// The ways for people to sign in to the app.
    public let methods: [String]
    /// A secret in place of the browser's. Only this server knows the secret.
    public let browser: BrowserSecret
    /// The app's place in the network.
    public let place: AppPlace
}

/// The result of a step.
public enum DirectStep: Sendable {
    /// The app has to show another proof: any of these. The last proof may have been wrong, and the app does not learn
    /// which part. The members contain facts that the app has to show to the person.
    case needs([String], JSONObject)
    /// The person is signed in, by a method of the provider's list.
    case done
    /// The person refused.
    case denied
    /// The sign-in can continue only in a browser. The reason is for the operator's log.
    case web(String)
}

/// Judges an app's proofs of its person, step by step, and asks for the next proof. The rules and counters are the same
/// as on the sign-in page.
public protocol DirectSignIn: Sendable {
    /// Judges the proof, if any, that an app shows in a sign-in.
    ///
    /// An error other than `OAuthError` means that nothing was judged: the app may repeat the step with the same proof.
    ///
    /// - Parameter refuse: Receives the reason if a proof was wrong, for the operator's log.
    func step(_ shown: ShownProof?, of request: DirectRequest, refuse: (ProviderRefusal) -> Void) async throws
        -> DirectStep

    /// Reports that a person was signed in, by the method of that name.
    func signedIn(by method: String)
}

/// A step that was not judged because of a temporary problem. The step's proof counts as not shown, and the sign-in
/// continues.
public struct InterruptedStep: Error {
    /// The reason why the step was not judged.
    public let reason: any Error
    /// The value for the next step (`auth_session`). The received value may have been spent on this step.
    public let session: String
}

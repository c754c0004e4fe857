public import _Primitives

/// A finished sign-in of an authorization request: the person has shown everything, and the browser has not completed
/// the request yet.
///
/// Every way to sign in whose outcome has to be stored leaves such a row, in the step that takes the person's last
/// proof. A request has one row for each method. The row goes with the request, and with the account's authentications.
public struct FinishedSignInRecord: Sendable, Equatable {
    /// The authorization request. Only the browser that started the request can complete the sign-in.
    public var request: String
    /// The method, by the word that clients choose the method by: `password`, or `provider:NAME`.
    public var method: String
    /// The account of the person.
    public var account: String
    /// The moment of the authentication. Another provider may have authenticated the person before the sign-in.
    public var at: Timestamp
    /// The level (`acr`).
    public var acr: String
    /// The methods of RFC 8176 (`amr`).
    public var amr: [String]
    /// The browser and its system in words. Sealed at rest.
    public var browser: String?
    /// The browser's network address. Sealed at rest.
    public var address: String?
    /// The moment when the sign-in was finished. The outcome's lifetime begins at this moment.
    public var finishedAt: Timestamp

    /// Makes a sign-in of these values.
    public init(
        request: String, method: String, account: String, at: Timestamp, acr: String, amr: [String],
        browser: String? = nil, address: String? = nil, finishedAt: Timestamp
    ) {
        self.request = request
        self.method = method
        self.account = account
        self.at = at
        self.acr = acr
        self.amr = amr
        self.browser = browser
        self.address = address
        self.finishedAt = finishedAt
    }
}

/// Keeps finished sign-ins until the browser completes their authorization requests.
public protocol FinishedSignInStore: Sendable {
    /// Returns the finished sign-ins of an authorization request, the last to finish first.
    func finishedSignIns(request: String) async throws -> [FinishedSignInRecord]
}

/// The service and the browser that started an operation, for the person to compare. Every text is one line without
/// control or format characters; the origin's host is in ASCII.
public struct Requester: Hashable, Sendable {
    /// The service's name.
    public let service: String?
    /// The service's web origin.
    public let origin: String?
    /// The browser's network address.
    public let address: String?
    /// The browser and its system, in words.
    public let browser: String?
    /// An opaque identifier of the browser: the same as long as the browser keeps the server's cookie.
    public let browserID: String?
    /// `true` if no account in question has confirmed anything from the browser before. `false` if the server does not
    /// identify the browser (``browserID`` is `nil`).
    public let isNewBrowser: Bool
    /// The way in which the token was sent: the name of a `DispatchChannel` of the target `UAF`, or a name of another
    /// server.
    public let channel: String?
    /// A short text that the service's page shows too. Show the text beside the question, so that the person can compare
    /// the two; `nil` for nearly every request. A person who approves without a comparison is not protected (NIST SP
    /// 800-63B-4, section 3.1.3).
    public let channelLinking: String?

    /// Creates a requester. Public also for an app's own tests.
    public init(
        service: String?, origin: String? = nil, address: String? = nil, browser: String? = nil,
        browserID: String? = nil, isNewBrowser: Bool = false, channel: String? = nil,
        channelLinking: String? = nil
    ) {
        self.channelLinking = channelLinking
        self.service = service
        self.origin = origin
        self.address = address
        self.browser = browser
        self.browserID = browserID
        self.isNewBrowser = isNewBrowser
        self.channel = channel
    }
}

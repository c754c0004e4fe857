/// The page on which a person who has signed in says whether another provider is to sign them in too from now on.
public struct ConnectionPage: Sendable {
    /// The sign-in that the page belongs to.
    public var requestID: String
    /// The service that is signed in to, by its identifier.
    public var client: String
    /// The origin to which the browser goes back, whatever the person decides.
    public var returnOrigin: String
    /// Whose account it is about.
    public var username: String
    /// The other provider, by its name in forms.
    public var name: String
    /// The other provider, as people call it.
    public var provider: String
    /// What the form carries as a sign that it stood on this page.
    public var confirmation: String

    /// A question.
    public init(
        requestID: String, client: String, returnOrigin: String, username: String, name: String, provider: String,
        confirmation: String
    ) {
        self.requestID = requestID
        self.client = client
        self.returnOrigin = returnOrigin
        self.username = username
        self.name = name
        self.provider = provider
        self.confirmation = confirmation
    }
}

extension PageRenderer {
    /// What the template sees.
    private struct ConnectionView {
        let emblem: String
        let requestID: String
        let client: String
        let username: String
        let name: String
        let provider: String
        let confirmation: String
    }

    /// Renders the question.
    public func html(_ page: ConnectionPage) -> RenderedPage {
        let view = ConnectionView(
            emblem: PageAssets.keyEmblem, requestID: page.requestID, client: page.client, username: page.username,
            name: page.name, provider: page.provider, confirmation: page.confirmation)
        return self.render(
            view, template: "connection", title: "Connect an account", formTargets: [page.returnOrigin])
    }
}

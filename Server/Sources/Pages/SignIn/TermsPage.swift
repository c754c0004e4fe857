/// The page on which a person agrees to the operator's terms.
public struct TermsPage: Sendable {
    /// The sign-in that the page belongs to.
    public var requestID: String
    /// The service that is signed in to, by its identifier.
    public var client: String
    /// The same, as people know it.
    public var clientName: String
    /// The origin to which the browser goes back, whatever the person decides.
    public var returnOrigin: String
    /// Whose account it is about.
    public var username: String
    /// The version of the terms.
    public var version: String
    /// Where people read them.
    public var address: String
    /// What the form carries as a sign that it stood on this page.
    public var confirmation: String

    /// A question.
    public init(
        requestID: String, client: String, clientName: String, returnOrigin: String, username: String, version: String,
        address: String, confirmation: String
    ) {
        self.requestID = requestID
        self.client = client
        self.clientName = clientName
        self.returnOrigin = returnOrigin
        self.username = username
        self.version = version
        self.address = address
        self.confirmation = confirmation
    }
}

extension PageRenderer {
    /// What the template sees.
    private struct TermsView {
        let emblem: String
        let requestID: String
        let client: String
        let clientName: String
        let username: String
        let operatorName: String
        let version: String
        let address: String
        let confirmation: String
    }

    /// Renders the question.
    public func html(_ page: TermsPage) -> RenderedPage {
        let view = TermsView(
            emblem: PageAssets.keyEmblem, requestID: page.requestID, client: page.client, clientName: page.clientName,
            username: page.username, operatorName: self.serviceName, version: page.version, address: page.address,
            confirmation: page.confirmation)
        return self.render(view, template: "terms", title: "Terms of use", formTargets: [page.returnOrigin])
    }
}

import Texts

/// The page on which a person agrees to the operator's terms.
public struct TermsPage: Sendable {
    /// The sign-in that the page belongs to.
    public var requestID: String
    /// The identifier of the service that the person signs in to.
    public var client: String
    /// The service, as people know the service.
    public var clientName: String
    /// The origin to which the browser goes back after either decision.
    public var returnOrigin: String
    /// The user name of the account.
    public var username: String
    /// The version of the terms.
    public var version: String
    /// The address at which people read the terms.
    public var address: String
    /// The sign that the form stood on this page.
    public var confirmation: String

    /// Creates a question.
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
    /// The values for the template.
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
        return self.render(
            view, template: "terms", title: self.language.words(.terms), formTargets: [page.returnOrigin])
    }
}

/// The page on which a person decides about the data that a service gets.
public struct ConsentPage: Sendable {
    /// A part of the data that a service gets.
    public enum Item: Sendable, CaseIterable {
        case identity, username, name, profile, email, phone, address, offlineAccess, deviceSSO

        /// The item in people's words.
        var words: String {
            switch self {
            case .identity: "that it is you, each time you come, by a number that no other service gets"
            case .username: "your user name"
            case .name: "your name"
            case .profile: "your picture, your language and your time zone"
            case .email: "your e-mail address"
            case .phone: "your telephone number"
            case .address: "your postal address"
            case .offlineAccess: "all this also while you are away, until you take it back"
            case .deviceSSO: "to let the other apps of its maker on your device sign you in, until you sign out"
            }
        }
    }

    /// The sign-in that the page belongs to.
    public var requestID: String
    /// The service's identifier.
    public var client: String
    /// The service that asks.
    public var clientName: String
    /// The origin to which the browser goes back after either decision.
    public var returnOrigin: String
    /// The user name of the account.
    public var username: String
    /// The data that the service gets.
    public var items: [Item]
    /// The names of the service's own scopes. Only the service, and the servers that the service asks, know their
    /// meaning.
    public var scopes: [String]
    /// The resources at which the service would act for the person, by identifiers.
    public var resources: [String]
    /// A further text that the person has signed, in words.
    public var agreement: String?
    /// `true` if the operator does not know the owner of the service.
    public var isStranger = false
    /// The sign that the form stood on this page.
    public var confirmation: String

    /// Creates a question.
    public init(
        requestID: String, client: String, clientName: String, returnOrigin: String, username: String, items: [Item],
        scopes: [String] = [], resources: [String] = [], confirmation: String
    ) {
        self.scopes = scopes
        self.resources = resources
        self.requestID = requestID
        self.client = client
        self.clientName = clientName
        self.returnOrigin = returnOrigin
        self.username = username
        self.items = items
        self.confirmation = confirmation
    }
}

extension PageRenderer {
    /// The values for the template.
    private struct ConsentView {
        let emblem: String
        let requestID: String
        let client: String
        let clientName: String
        let origin: String
        let username: String
        let items: [String]
        let agreement: String?
        let isStranger: Bool
        let confirmation: String
    }

    /// Renders the question.
    public func html(_ page: ConsentPage) -> RenderedPage {
        let view = ConsentView(
            emblem: PageAssets.keyEmblem, requestID: page.requestID, client: page.client, clientName: page.clientName,
            origin: page.returnOrigin, username: page.username,
            items: page.items.map(\.words) + page.scopes.map { "what it calls “\($0)”" }
                + page.resources.map { "to act for you at \($0)" },
            agreement: page.agreement, isStranger: page.isStranger, confirmation: page.confirmation)
        return self.render(
            view, template: "consent", title: "What \(page.clientName) may have", formTargets: [page.returnOrigin])
    }
}

import Texts

/// The page on which a person decides about the data that a service gets.
public struct ConsentPage: Sendable {
    /// A part of the data that a service gets.
    public enum Item: Sendable, CaseIterable {
        case identity, username, name, profile, email, phone, address, offlineAccess, deviceSSO

        /// The item as the page names it.
        fileprivate var text: DecisionText {
            switch self {
            case .identity: .identity
            case .username: .username
            case .name: .personName
            case .profile: .profile
            case .email: .email
            case .phone: .phone
            case .address: .address
            case .offlineAccess: .offlineAccess
            case .deviceSSO: .deviceSSO
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
        let items: [Sentence]
        let agreement: String?
        let isStranger: Bool
        let confirmation: String
    }

    /// Renders the question.
    public func html(_ page: ConsentPage) -> RenderedPage {
        let view = ConsentView(
            emblem: PageAssets.keyEmblem, requestID: page.requestID, client: page.client, clientName: page.clientName,
            origin: page.returnOrigin, username: page.username,
            items: (page.items.map(\.text) + page.scopes.map { .scope($0) } + page.resources.map { .resource($0) })
                .map { self.language.words($0) },
            agreement: page.agreement, isStranger: page.isStranger, confirmation: page.confirmation)
        return self.render(
            view, template: "consent", title: self.language.words(.whatMayHave(client: page.clientName)),
            formTargets: [page.returnOrigin])
    }
}

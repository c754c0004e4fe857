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

/// The values for the template.
private struct ConsentView: PageView {
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

    static let template = "consent"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="consent">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">\(words(.mayHave(client: "<bdi>{{clientName}}</bdi>")))</h1>
        <p class="lead">\(words(.signedInAs(username: "<bdi>{{username}}</bdi>"))) \
        \(words(.serviceWouldGet(origin: "{{origin}}")))</p>
        {{#isStranger}}<p class="notice bad" data-testid="stranger">\
        \(words(.stranger))</p>{{/isStranger}}
        <div class="paper">
        <ul data-testid="consent-items">
        {{#items}}<li>{{.}}</li>
        {{/items}}</ul>
        </div>
        {{#agreement}}<p class="small">\(words(.andWouldGet))</p>
        <pre class="agreement" data-testid="agreement"><bdi>{{.}}</bdi></pre>{{/agreement}}
        <form class="actions" method="post" action="/sign-in/consent">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <input type="hidden" name="confirmation" value="{{confirmation}}">
        <button type="submit" name="decision" value="allow" data-testid="allow">\(words(.allow))</button>
        <button type="submit" name="decision" value="deny" class="quiet" data-testid="deny">\(words(.doNotAllow))</button>
        </form>
        <p class="small">{{#isStranger}}\(words(.askedEachTime)) {{/isStranger}}\
        {{^isStranger}}{{^agreement}}\(words(.askedOnce)) {{/agreement}}{{/isStranger}}\
        \(words(.canTakeBack))</p>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

extension ConsentPage: Page {
    /// Renders the question.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let view = ConsentView(
            emblem: PageAssets.keyEmblem, requestID: self.requestID, client: self.client, clientName: self.clientName,
            origin: self.returnOrigin, username: self.username,
            items: (self.items.map(\.text) + self.scopes.map { .scope($0) } + self.resources.map { .resource($0) })
                .map { renderer.language.words($0) },
            agreement: self.agreement, isStranger: self.isStranger, confirmation: self.confirmation)
        return renderer.render(
            view, title: renderer.language.words(.whatMayHave(client: self.clientName)),
            formTargets: [self.returnOrigin])
    }
}

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

/// The values for the template.
private struct TermsView: PageView {
    let emblem: String
    let requestID: String
    let client: String
    let clientName: String
    let username: String
    let operatorName: String
    let version: String
    let address: String
    let confirmation: String

    static let template = "terms"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="terms">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">\(words(.termsOf(operatorName: "{{operatorName}}")))</h1>
        <p class="lead">\(words(.signedInAs(username: "<bdi>{{username}}</bdi>"))) \
        \(words(.beforeGoingOn(client: "<bdi>{{clientName}}</bdi>")))</p>
        <p><a href="{{address}}" target="_blank" rel="noreferrer" data-testid="terms-link">\
        \(words(.readTerms(version: "{{version}}")))</a></p>
        <form class="actions" method="post" action="/sign-in/consent">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <input type="hidden" name="terms" value="{{version}}">
        <input type="hidden" name="confirmation" value="{{confirmation}}">
        <button type="submit" name="decision" value="allow" data-testid="allow">\(words(.agree))</button>
        <button type="submit" name="decision" value="deny" class="quiet" data-testid="deny">\(words(.doNotAgree))</button>
        </form>
        <p class="small">\(words(.askedOncePerVersion))</p>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

extension TermsPage: Page {
    /// Renders the question.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let view = TermsView(
            emblem: PageAssets.keyEmblem, requestID: self.requestID, client: self.client, clientName: self.clientName,
            username: self.username, operatorName: renderer.serviceName, version: self.version, address: self.address,
            confirmation: self.confirmation)
        return renderer.render(
            view, title: renderer.language.words(.terms), formTargets: [self.returnOrigin])
    }
}

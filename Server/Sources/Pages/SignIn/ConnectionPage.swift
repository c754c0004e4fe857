import Texts

/// The page on which a person who has signed in decides if another provider can sign the person in, too, from now on.
public struct ConnectionPage: Sendable {
    /// The sign-in that the page belongs to.
    public var requestID: String
    /// The identifier of the service that the person signs in to.
    public var client: String
    /// The origin to which the browser goes back after either decision.
    public var returnOrigin: String
    /// The user name of the account.
    public var username: String
    /// The other provider, by its name in forms.
    public var name: String
    /// The other provider, as people call the provider.
    public var provider: String
    /// The sign that the form stood on this page.
    public var confirmation: String
    /// The confirmed change; `nil` before the person has confirmed the connection on the phone.
    public var change: String?

    /// Creates a question.
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

/// The values for the template.
private struct ConnectionView: PageView {
    let emblem: String
    let requestID: String
    let client: String
    let username: String
    let name: String
    let provider: String
    let confirmation: String
    let change: String?

    static let template = "connection"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="connection">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">\(words(.letSignIn(provider: "<bdi>{{provider}}</bdi>")))</h1>
        <p class="lead">\(words(.signedInAs(username: "<bdi>{{username}}</bdi>"))) \
        \(words(.connectionMeans(provider: "<bdi>{{provider}}</bdi>"))) \
        {{#change}}\(words(.haveConfirmedThis)){{/change}}{{^change}}\(words(.askedToConfirmFirst)){{/change}}</p>
        <form class="actions" method="post" action="/sign-in/consent">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <input type="hidden" name="connection" value="{{name}}">
        <input type="hidden" name="confirmation" value="{{confirmation}}">
        {{#change}}<input type="hidden" name="change" value="{{.}}">{{/change}}
        <button type="submit" name="decision" value="allow" data-testid="allow">\(words(.connect))</button>
        <button type="submit" name="decision" value="deny" class="quiet" data-testid="deny">\(words(.doNotConnect))</button>
        </form>
        <p class="small">\(words(.connectionWarning))</p>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

extension ConnectionPage: Page {
    /// Renders the question.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let view = ConnectionView(
            emblem: PageAssets.keyEmblem, requestID: self.requestID, client: self.client, username: self.username,
            name: self.name, provider: self.provider, confirmation: self.confirmation, change: self.change)
        return renderer.render(
            view, title: renderer.language.words(.connectAccount), formTargets: [self.returnOrigin])
    }
}

/// Tells a person who has signed in that their account was not connected with another provider, and leads on.
public struct NotConnectedPage: Sendable {
    /// The reason why the account was not connected.
    public enum Reason: Sendable, CaseIterable {
        /// The person's account at the provider is connected with another account here.
        case taken
        /// The account has as many connections as an account can have.
        case full
        /// The connection took too long, is no longer wanted, or the account is locked.
        case over
    }

    /// The next step of the sign-in.
    public enum Way: Sendable {
        /// A link to the given address.
        case link(String)
        /// A form with the given fields, to the given address.
        case form(address: String, origin: String, fields: [(name: String, value: String)])
    }

    /// The other provider, as people call the provider.
    public var provider: String
    /// The reason why the account was not connected.
    public var reason: Reason
    /// The number of the refusal in the log.
    public var reference: String?
    /// The next step of the sign-in.
    public var next: Way

    /// Creates a page with these values.
    public init(provider: String, reason: Reason, next: Way) {
        self.provider = provider
        self.reason = reason
        self.next = next
    }
}

extension NotConnectedPage: Page {
    /// Renders the message. The page does not go on by itself: the person has to read the message.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let notice: Notice =
            switch self.reason {
            case .taken: .connectionTaken(provider: self.provider)
            case .full: .connectionFull
            case .over: .connectionOver
            }
        let message = renderer.language.message(notice)
        var view = MessageView(message, emblem: PageAssets.crossEmblem, testID: "not-connected")
        view.reference = self.reference
        var targets: [String] = []
        switch self.next {
        case .link(let target): view.link = .init(label: renderer.language.words(.goOn), target: target)
        case .form(let address, let origin, let fields):
            targets = [origin]
            view.form = .init(
                action: address, label: renderer.language.words(.goOn),
                fields: fields.map { .init(name: $0.name, value: $0.value) })
        }
        return renderer.render(view, title: message.title, formTargets: targets)
    }
}

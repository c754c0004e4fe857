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
    /// The confirmed change; `nil` before the person has confirmed the connection on the phone.
    public var change: String?

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
        let change: String?
    }

    /// Renders the question.
    public func html(_ page: ConnectionPage) -> RenderedPage {
        let view = ConnectionView(
            emblem: PageAssets.keyEmblem, requestID: page.requestID, client: page.client, username: page.username,
            name: page.name, provider: page.provider, confirmation: page.confirmation, change: page.change)
        return self.render(
            view, template: "connection", title: "Connect an account", formTargets: [page.returnOrigin])
    }
}

/// Tells a person who has signed in that their account was not connected with another provider, and leads on.
public struct NotConnectedPage: Sendable {
    /// Why.
    public enum Reason: Sendable, CaseIterable {
        /// What they are there is connected with another account.
        case taken
        /// The account has as many connections as it can have.
        case full
        /// It took too long.
        case over
    }

    /// Where it goes on.
    public enum Way: Sendable {
        /// There.
        case link(String)
        /// There, with what the form has.
        case form(address: String, origin: String, fields: [(name: String, value: String)])
    }

    /// The other provider, as people call it.
    public var provider: String
    /// Why.
    public var reason: Reason
    /// The number of the refusal in the log.
    public var reference: String?
    /// Where it goes on.
    public var next: Way

    /// A page of these values.
    public init(provider: String, reason: Reason, next: Way) {
        self.provider = provider
        self.reason = reason
        self.next = next
    }
}

extension PageRenderer {
    /// Renders what a person is told. Nothing goes on by itself: it has to be read.
    public func html(_ page: NotConnectedPage) -> RenderedPage {
        let why =
            switch page.reason {
            case .taken: "What you are at \(page.provider) is connected with another account here."
            case .full:
                "Your account has as many connections as it can have. Ask the people who run this server to end one."
            case .over: "It took too long. You can ask for it when you sign in the next time."
            }
        var view = MessageView(
            emblem: PageAssets.crossEmblem, headline: "Your account was not connected",
            explanation: "\(why) You are signed in all the same.", reference: page.reference, testID: "not-connected")
        var targets: [String] = []
        switch page.next {
        case .link(let target): view.link = .init(label: "Go on", target: target)
        case .form(let address, let origin, let fields):
            targets = [origin]
            view.form = .init(
                action: address, label: "Go on", fields: fields.map { .init(name: $0.name, value: $0.value) })
        }
        return self.render(view, template: "message", title: "Not connected", formTargets: targets)
    }
}

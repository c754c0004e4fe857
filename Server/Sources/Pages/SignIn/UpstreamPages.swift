import Texts

/// The page for a person who came back from another provider, and is not signed in.
public struct UpstreamPage: Sendable {
    /// The reason why the person is not signed in.
    public enum Reason: Sendable, CaseIterable {
        case declined, failed, stale, keptOut, busy
    }

    /// A form by which a person connects their existing account.
    public struct Connection: Sendable {
        /// The other provider, by its name in addresses.
        public var provider: String
        /// The sign that the form stood on this page.
        public var confirmation: String

        /// Creates a form.
        public init(provider: String, confirmation: String) {
            self.provider = provider
            self.confirmation = confirmation
        }
    }

    /// The result of the sign-in at the other provider.
    public enum Outcome: Sendable {
        /// No account here is connected with the person. The page has a form if the person can connect an account.
        case unknownPerson(connection: Connection?)
        /// The sign-in at the other provider was refused.
        case refused(Reason)
        /// Too many people came back at once, and the person's turn has not come. Nothing is spent: the page leads the
        /// same way again, with the query that came from the provider of the given name.
        case crowded(provider: String, query: String)
    }

    /// The sign-in.
    public var frame: SignInFrame
    /// The name by which people know the other provider.
    public var title: String
    /// The result of the sign-in at the other provider.
    public var outcome: Outcome
    /// The number of the request in the server's log.
    public var reference: String?

    /// Creates a page.
    public init(frame: SignInFrame, title: String, outcome: Outcome, reference: String? = nil) {
        self.frame = frame
        self.title = title
        self.outcome = outcome
        self.reference = reference
    }
}

extension UpstreamPage: Page {
    /// Renders the page for a person who came back and is not signed in.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let frame = self.frame
        let sign = [("request", frame.requestID)] + (frame.client.map { [("client", $0)] } ?? [])
        let fields = sign.map { MessageView.Form.Field(name: $0.0, value: $0.1) }
        let leave = MessageView.Form(
            action: "/sign-in/cancel", label: renderer.language.words(.cancelAndGoBack(client: frame.clientName)),
            fields: fields)
        let message = renderer.language.message(self.notice(operatorName: renderer.serviceName))
        var view: MessageView
        switch self.outcome {
        case .unknownPerson(let connection?):
            view = MessageView(
                message, emblem: PageAssets.keyEmblem, target: "/sign-in" + frame.query, testID: "unknown-person")
            view.form = MessageView.Form(
                action: "/sign-in/provider/\(percentEncoded(connection.provider))/connect", label: message.submit,
                fields: fields + [.init(name: "confirmation", value: connection.confirmation)])
        case .unknownPerson(nil):
            view = MessageView(
                message, tone: "bad", emblem: PageAssets.crossEmblem, target: "/sign-in" + frame.query,
                testID: "unknown-person")
            view.form = leave
        case .crowded(let provider, let query):
            view = MessageView(
                message, emblem: PageAssets.clockEmblem,
                target: "/sign-in/provider/\(percentEncoded(provider))/callback?\(query)",
                testID: "upstream-crowded")
        case .refused:
            view = MessageView(
                message, tone: "bad", emblem: PageAssets.crossEmblem, target: "/sign-in" + frame.query,
                testID: "upstream-refused")
            view.form = leave
        }
        view.reference = self.reference
        return renderer.render(
            view, title: message.title, formTargets: frame.returnOrigin.map { [$0] } ?? [])
    }
}

extension UpstreamPage {
    /// Returns the words of the page's result.
    fileprivate func notice(operatorName: String) -> Notice {
        switch self.outcome {
        case .unknownPerson(let connection):
            .unknownPerson(
                provider: self.title, operatorName: operatorName, client: self.frame.clientName,
                canConnect: connection != nil)
        case .crowded: .crowded(provider: self.title)
        case .refused(.declined): .declined(provider: self.title)
        case .refused(.failed): .failedAt(provider: self.title)
        case .refused(.stale): .stale(provider: self.title)
        case .refused(.keptOut): .keptOut(provider: self.title)
        case .refused(.busy): .busy
        }
    }
}

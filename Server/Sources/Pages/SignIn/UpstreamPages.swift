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

extension PageRenderer {
    /// Renders the page for a person who came back and is not signed in.
    public func html(_ page: UpstreamPage) -> RenderedPage {
        let frame = page.frame
        let sign = [("request", frame.requestID)] + (frame.client.map { [("client", $0)] } ?? [])
        func form(_ action: String, _ label: String, _ more: [(String, String)] = []) -> MessageView.Form {
            MessageView.Form(
                action: action, label: label,
                fields: (sign + more).map { MessageView.Form.Field(name: $0.0, value: $0.1) })
        }
        let leave = form("/sign-in/cancel", "Cancel and go back to \(frame.clientName)")
        var view = MessageView(tone: "bad", emblem: PageAssets.crossEmblem)
        view.link = .init(label: "Try again or sign in another way", target: "/sign-in" + frame.query)
        view.reference = page.reference
        switch page.outcome {
        case .unknownPerson(let connection):
            view.testID = "unknown-person"
            view.headline = "You are not known here yet"
            if let connection {
                view.emblem = PageAssets.keyEmblem
                view.tone = ""
                view.explanation =
                    "\(page.title) knows you, but nobody at \(self.serviceName) is connected with that. If you have an "
                    + "account here, connect it: sign in to it once in your usual way, and from then on \(page.title) "
                    + "will do. If you have none, ask the people who run \(frame.clientName)."
                view.form = form(
                    "/sign-in/provider/\(percentEncoded(connection.provider))/connect", "Connect my account",
                    [("confirmation", connection.confirmation)])
                view.link = .init(label: "Sign in another way", target: "/sign-in" + frame.query)
            } else {
                view.explanation =
                    "\(page.title) knows you, but nobody at \(self.serviceName) is connected with that. Ask the people "
                    + "who run \(frame.clientName) how to get in."
                view.form = leave
            }
        case .crowded(let provider, let query):
            view.testID = "upstream-crowded"
            view.tone = ""
            view.emblem = PageAssets.clockEmblem
            view.headline = "Very many people are signing in"
            view.explanation =
                "You have signed in at \(page.title), and so have very many others at this moment. Wait a few seconds and "
                + "go on: nothing is lost."
            view.link = .init(
                label: "Go on", target: "/sign-in/provider/\(percentEncoded(provider))/callback?\(query)")
        case .refused(let reason):
            view.testID = "upstream-refused"
            (view.headline, view.explanation) = reason.words(page.title)
            view.form = leave
        }
        return self.render(
            view, template: "message", title: view.headline, formTargets: frame.returnOrigin.map { [$0] } ?? [])
    }
}

extension UpstreamPage.Reason {
    fileprivate func words(_ title: String) -> (headline: String, explanation: String) {
        switch self {
        case .declined:
            ("You did not sign in at \(title)", "Nothing has happened. You can try it again, or sign in another way.")
        case .failed:
            (
                "Signing in with \(title) did not work",
                "It is not your doing, and nobody has been signed in. Try it again in a moment, or sign in another way."
            )
        case .stale:
            (
                "\(title) has to ask you anew",
                "The service wants to be sure that it is you, now. Sign out at \(title) and try it again, or sign in "
                    + "another way."
            )
        case .keptOut:
            (
                "This account cannot sign in",
                "\(title) knows you, but your account here is locked. Ask the people who run the service."
            )
        case .busy:
            (
                "Too many sign-ins at once",
                "Very many sign-ins were started from the network that you are in. Wait a minute, then try again."
            )
        }
    }
}

/// The end of something that a browser asked for, other than a sign-in that goes on.
public struct ResultPage: Sendable {
    /// Whether what was asked for was done.
    public enum Outcome: Sendable { case done, refused, tooLate }
    /// What happened.
    public var outcome: Outcome
    /// One short sentence.
    public var headline: String
    /// What it means and what to do next.
    public var explanation: String
    /// Where to go from here.
    public var link: (label: String, target: String)?
    /// The number of the refusal in the log, where it has one.
    public var reference: String?

    /// A result.
    public init(
        outcome: Outcome, headline: String, explanation: String, link: (label: String, target: String)? = nil,
        reference: String? = nil
    ) {
        self.reference = reference
        self.outcome = outcome
        self.headline = headline
        self.explanation = explanation
        self.link = link
    }
}

/// A request that could not be carried out, told to a person.
public struct ErrorPage: Sendable {
    /// One short sentence.
    public var headline: String
    /// What the person can do.
    public var explanation: String
    /// Where the person can go on.
    public var way: Way?
    /// What the people who run the service can make use of.
    public var detail: String?
    /// The number of the request in the server's log.
    public var requestID: String?

    /// Whether the person is to open the page's own address elsewhere: then a button copies it.
    public var isAddressCopied: Bool

    /// Where a person can go on.
    public enum Way: Sendable {
        /// The same page, loaded again.
        case again
        /// A service's own page, at an address that is registered.
        case service(name: String, address: String)
    }

    /// An error page. No text may hold anything that came with the request.
    public init(
        headline: String, explanation: String, way: Way? = nil, detail: String? = nil, requestID: String? = nil,
        isAddressCopied: Bool = false
    ) {
        self.isAddressCopied = isAddressCopied
        self.headline = headline
        self.explanation = explanation
        self.way = way
        // Written for a program's answer and for the log, which have it in ASCII.
        self.detail = detail?.replacing("'", with: "’")
        self.requestID = requestID
    }
}

/// The page after signing out.
public struct SignedOutPage: Sendable {
    /// The service whose session alone has ended; `nil` where it is the browser's.
    public var clientName: String?
    /// Where the service that the person came from wants them back.
    public var returnLink: String?

    /// A signed-out page.
    public init(clientName: String? = nil, returnLink: String? = nil) {
        self.clientName = clientName
        self.returnLink = returnLink
    }
}

/// The question before a sign-out that a service asked for, because anybody can make a browser ask.
public struct SignOutQuestionPage: Sendable {
    /// Where people sign out.
    public static let path = "/oauth2/logout"

    /// The service that asked, where it said so.
    public var clientName: String?
    /// What the form carries on, names and values.
    public var fields: [(name: String, value: String)]
    /// The origin to which the browser goes back, signed out or not: a registered one.
    public var returnOrigin: String?

    /// A question.
    public init(clientName: String? = nil, fields: [(name: String, value: String)] = [], returnOrigin: String? = nil) {
        self.clientName = clientName
        self.fields = fields
        self.returnOrigin = returnOrigin
    }
}

/// The answer of a sign-in that a browser posts to the service (OAuth 2.0 Form Post Response Mode 1.0): the script sends the
/// form at once, and without script the person does.
public struct PostedAnswerPage: Sendable {
    /// Where the form goes: a registered address.
    public var address: String
    /// Scheme, host and port of it.
    public var origin: String
    /// What the form has, names and values.
    public var fields: [(name: String, value: String)]

    /// A page for this form.
    public init(address: String, origin: String, fields: [(name: String, value: String)]) {
        self.address = address
        self.origin = origin
        self.fields = fields
    }
}

/// Where a link for the app ends when no app takes it. It repeats nothing of the address: that holds a token.
public struct OpenInAppPage: Sendable {
    /// The page.
    public init() {}
}

/// Where the one-time administrator link leads: its fragment is exchanged for an administrator's token.
public struct AdministratorSetUpPage: Sendable {
    /// The page.
    public init() {}
}

extension PageRenderer {
    /// What the template of a message sees.
    struct MessageView {
        struct Link {
            let label: String
            let target: String
        }

        struct Form {
            struct Field {
                let name: String
                let value: String
            }
            let action: String
            let label: String
            let fields: [Field]
            /// Whether the script sends it at once.
            var isSent = false
        }

        var tone = ""
        var emblem: String
        var headline = ""
        var explanation = ""
        var link: Link?
        var form: Form?
        var note: String?
        var reference: String?
        var testID: String?
        var isAddressCopied = false
    }

    /// Renders a result.
    public func html(_ page: ResultPage) -> RenderedPage {
        let (tone, emblem) =
            switch page.outcome {
            case .done: ("good", PageAssets.checkEmblem)
            case .refused: ("bad", PageAssets.crossEmblem)
            case .tooLate: ("bad", PageAssets.clockEmblem)
            }
        let view = MessageView(
            tone: tone, emblem: emblem, headline: page.headline, explanation: page.explanation,
            link: page.link.map { MessageView.Link(label: $0.label, target: $0.target) }, reference: page.reference,
            testID: "result")
        return self.render(view, template: "message", title: page.headline)
    }

    /// Renders an error.
    public func html(_ page: ErrorPage) -> RenderedPage {
        let view = MessageView(
            tone: "bad", emblem: PageAssets.crossEmblem, headline: page.headline, explanation: page.explanation,
            link: page.way.map(Self.link),
            note: page.detail.map { "For the people who run the service: \($0)" }, reference: page.requestID,
            testID: "error", isAddressCopied: page.isAddressCopied)
        return self.render(view, template: "message", title: page.headline)
    }

    private static func link(_ way: ErrorPage.Way) -> MessageView.Link {
        switch way {
        // The empty address is that of the page itself (RFC 3986, section 4.4), of which nothing is repeated so.
        case .again: MessageView.Link(label: "Try again", target: "")
        case .service(let name, let address): MessageView.Link(label: "Go to \(name)", target: address)
        }
    }

    /// Renders the page after signing out.
    public func html(_ page: SignedOutPage) -> RenderedPage {
        let ended =
            page.clientName.map { "Your session at \($0) has ended." }
            ?? "This browser has no session here any more."
        let view = MessageView(
            tone: "good", emblem: PageAssets.checkEmblem, headline: "You are signed out",
            explanation: "\(ended) Services where you signed in may have their own.",
            link: page.returnLink.map { MessageView.Link(label: "Back to the service", target: $0) },
            testID: "signed-out")
        return self.render(view, template: "message", title: "Signed out")
    }

    /// Renders the question before signing out.
    public func html(_ page: SignOutQuestionPage) -> RenderedPage {
        let fields = page.fields.map { MessageView.Form.Field(name: $0.name, value: $0.value) }
        let asker = page.clientName.map { "\($0) asks to end" } ?? "You are about to end"
        let view = MessageView(
            emblem: PageAssets.keyEmblem, headline: "Sign out?",
            explanation: "\(asker) your session at \(self.serviceName) in this browser.",
            // The address was registered by whoever runs the service, and was checked before anybody is asked.
            link: page.returnOrigin.map { MessageView.Link(label: "Stay signed in", target: $0 + "/") },
            form: MessageView.Form(action: SignOutQuestionPage.path, label: "Sign out", fields: fields),
            note: page.returnOrigin == nil ? "To stay signed in, close this page." : nil, testID: "sign-out")
        return self.render(
            view, template: "message", title: "Sign out", formTargets: page.returnOrigin.map { [$0] } ?? [])
    }

    /// Renders the page whose form goes back to a service by itself.
    public func html(_ page: PostedAnswerPage) -> RenderedPage {
        let fields = page.fields.map { MessageView.Form.Field(name: $0.name, value: $0.value) }
        let view = MessageView(
            emblem: PageAssets.phoneEmblem, headline: "Back to the service",
            explanation: "This page goes on to \(page.origin) by itself. If it does not, press the button.",
            form: MessageView.Form(action: page.address, label: "Continue", fields: fields, isSent: true),
            testID: "posted-answer")
        return self.render(view, template: "message", title: "Back to the service", formTargets: [page.origin])
    }

    /// Renders the page for a link that no app took.
    public func html(_ page: OpenInAppPage) -> RenderedPage {
        self.render(MessageView(emblem: PageAssets.phoneEmblem), template: "open", title: "Open with your app")
    }

    /// Renders the page of the one-time administrator link.
    public func html(_ page: AdministratorSetUpPage) -> RenderedPage {
        self.render(MessageView(emblem: PageAssets.keyEmblem), template: "set-up", title: "Set up")
    }
}

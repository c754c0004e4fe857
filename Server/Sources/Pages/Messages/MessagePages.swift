/// The result of a browser's request, except for a sign-in that goes on.
public struct ResultPage: Sendable {
    /// The kinds of result.
    public enum Outcome: Sendable { case done, refused, tooLate }
    /// The kind of the result.
    public var outcome: Outcome
    /// One short sentence.
    public var headline: String
    /// The meaning of the result, and the next step.
    public var explanation: String
    /// The link that leads on from the page.
    public var link: (label: String, target: String)?
    /// The number of the refusal in the log, if the refusal has a number.
    public var reference: String?

    /// Creates a result.
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

/// A failed request, explained to a person.
public struct ErrorPage: Sendable {
    /// One short sentence.
    public var headline: String
    /// The person's next step.
    public var explanation: String
    /// The link that leads on from the page.
    public var way: Way?
    /// A hint for the people who run the service.
    public var detail: String?
    /// The number of the request in the server's log.
    public var requestID: String?

    /// `true` if the person should open the page's own address elsewhere. A button on the page copies the address.
    public var isAddressCopied: Bool

    /// The targets to which an error page can lead.
    public enum Way: Sendable {
        /// The same page, loaded again.
        case again
        /// A service's own page, at a registered address.
        case service(name: String, address: String)
    }

    /// Creates an error page. No text may hold anything from the request.
    public init(
        headline: String, explanation: String, way: Way? = nil, detail: String? = nil, requestID: String? = nil,
        isAddressCopied: Bool = false
    ) {
        self.isAddressCopied = isAddressCopied
        self.headline = headline
        self.explanation = explanation
        self.way = way
        // The server writes the detail in ASCII, for a program's answer and for the log.
        self.detail = detail?.replacing("'", with: "’")
        self.requestID = requestID
    }
}

/// The page after signing out.
public struct SignedOutPage: Sendable {
    /// The service, if only the service's session has ended; `nil` if the browser's session has ended.
    public var clientName: String?
    /// The address to which the service wants the person back.
    public var returnLink: String?

    /// Creates a page after signing out.
    public init(clientName: String? = nil, returnLink: String? = nil) {
        self.clientName = clientName
        self.returnLink = returnLink
    }
}

/// The question before a sign-out that a service requested. The page asks, because anybody can make a browser send the
/// request.
public struct SignOutQuestionPage: Sendable {
    /// The path on which people sign out.
    public static let path = "/oauth2/logout"

    /// The service that asked, if the request named the service.
    public var clientName: String?
    /// The values that the form passes on: names and values.
    public var fields: [(name: String, value: String)]
    /// The origin to which the browser goes back, signed out or not. The origin is registered.
    public var returnOrigin: String?

    /// Creates a question.
    public init(clientName: String? = nil, fields: [(name: String, value: String)] = [], returnOrigin: String? = nil) {
        self.clientName = clientName
        self.fields = fields
        self.returnOrigin = returnOrigin
    }
}

/// The answer of a sign-in that a browser posts to the service (OAuth 2.0 Form Post Response Mode 1.0).
///
/// The script sends the form at once. Without script the person sends the form.
public struct PostedAnswerPage: Sendable {
    /// The registered address to which the form goes.
    public var address: String
    /// Scheme, host and port of the address.
    public var origin: String
    /// The fields of the form, names and values.
    public var fields: [(name: String, value: String)]

    /// Creates a page for this form.
    public init(address: String, origin: String, fields: [(name: String, value: String)]) {
        self.address = address
        self.origin = origin
        self.fields = fields
    }
}

/// The page that a link for the app opens if no app takes the link. The page repeats no part of the address, because
/// the address holds a token.
public struct OpenInAppPage: Sendable {
    /// Creates the page.
    public init() {}
}

/// The page behind the one-time administrator link. The page exchanges the link's fragment for an administrator's
/// token.
public struct AdministratorSetUpPage: Sendable {
    /// Creates the page.
    public init() {}
}

extension PageRenderer {
    /// The values for the template of a message.
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
            /// `true` if the script sends the form at once.
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
        // The empty address is the address of the page itself (RFC 3986, section 4.4). So the page repeats no part of
        // the address.
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
            // The operator registered the address, and the server checked the address before asking the person.
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

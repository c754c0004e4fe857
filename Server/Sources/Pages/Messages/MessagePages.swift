public import Texts

/// The result of a browser's request, except for a sign-in that goes on.
public struct ResultPage: Sendable {
    /// The kinds of result.
    public enum Outcome: Sendable { case done, refused, tooLate }
    /// The kind of the result.
    public var outcome: Outcome
    /// The result.
    public var notice: Notice
    /// The target of the link that leads on from the page.
    public var target: String?
    /// The number of the refusal in the log, if the refusal has a number.
    public var reference: String?

    /// Creates a result.
    public init(_ outcome: Outcome, _ notice: Notice, target: String? = nil, reference: String? = nil) {
        self.reference = reference
        self.outcome = outcome
        self.notice = notice
        self.target = target
    }
}

/// A failed request, explained to a person.
public struct ErrorPage: Sendable {
    /// The failure.
    public var failure: Failure
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

    /// Creates an error page. No value of the failure may hold anything from the request.
    public init(
        _ failure: Failure, way: Way? = nil, detail: String? = nil, requestID: String? = nil,
        isAddressCopied: Bool = false
    ) {
        self.isAddressCopied = isAddressCopied
        self.failure = failure
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
            let label: Sentence
            let target: String
        }

        struct Form {
            struct Field {
                let name: String
                let value: String
            }
            let action: String
            let label: Sentence?
            let fields: [Field]
            /// `true` if the script sends the form at once.
            var isSent = false
        }

        var tone = ""
        var emblem: String
        let headline: Sentence
        let explanation: Sentence
        var link: Link?
        var form: Form?
        var note: Sentence?
        var reference: String?
        var testID: String?
        var isAddressCopied = false

        /// Takes the words of a message. The message names the link to `target`, if the page has this link.
        init(_ message: Message, tone: String = "", emblem: String, target: String? = nil, testID: String) {
            self.headline = message.headline
            self.explanation = message.explanation
            self.tone = tone
            self.emblem = emblem
            self.testID = testID
            if let target, let label = message.link { self.link = Link(label: label, target: target) }
        }
    }

    /// The values for a template that has all words itself.
    private struct EmblemView {
        let emblem: String
    }

    /// Renders a result.
    public func html(_ page: ResultPage) -> RenderedPage {
        let (tone, emblem) =
            switch page.outcome {
            case .done: ("good", PageAssets.checkEmblem)
            case .refused: ("bad", PageAssets.crossEmblem)
            case .tooLate: ("bad", PageAssets.clockEmblem)
            }
        let message = self.language.message(page.notice)
        var view = MessageView(message, tone: tone, emblem: emblem, target: page.target, testID: "result")
        view.reference = page.reference
        return self.render(view, template: "message", title: message.title)
    }

    /// Renders an error.
    public func html(_ page: ErrorPage) -> RenderedPage {
        let message = self.language.message(page.failure)
        var view = MessageView(message, tone: "bad", emblem: PageAssets.crossEmblem, testID: "error")
        view.link = page.way.map(self.link)
        view.note = page.detail.map { self.language.words(.forOperators(detail: $0)) }
        view.reference = page.requestID
        view.isAddressCopied = page.isAddressCopied
        return self.render(view, template: "message", title: message.title)
    }

    private func link(_ way: ErrorPage.Way) -> MessageView.Link {
        switch way {
        // The empty address is the address of the page itself (RFC 3986, section 4.4). So the page repeats no part of
        // the address.
        case .again: MessageView.Link(label: self.language.words(.tryAgain), target: "")
        case .service(let name, let address):
            MessageView.Link(label: self.language.words(.goTo(name: name)), target: address)
        }
    }

    /// Renders the page after signing out.
    public func html(_ page: SignedOutPage) -> RenderedPage {
        let message = self.language.message(.signedOut(client: page.clientName))
        let view = MessageView(
            message, tone: "good", emblem: PageAssets.checkEmblem, target: page.returnLink, testID: "signed-out")
        return self.render(view, template: "message", title: message.title)
    }

    /// Renders the question before signing out.
    public func html(_ page: SignOutQuestionPage) -> RenderedPage {
        let fields = page.fields.map { MessageView.Form.Field(name: $0.name, value: $0.value) }
        let message = self.language.message(
            .signOut(client: page.clientName, operatorName: self.serviceName) as Question)
        var view = MessageView(
            message, emblem: PageAssets.keyEmblem,
            // The operator registered the address, and the server checked the address before asking the person.
            target: page.returnOrigin.map { $0 + "/" }, testID: "sign-out")
        view.form = MessageView.Form(action: SignOutQuestionPage.path, label: message.submit, fields: fields)
        view.note = page.returnOrigin == nil ? self.language.words(.closeToStay) : nil
        return self.render(
            view, template: "message", title: message.title, formTargets: page.returnOrigin.map { [$0] } ?? [])
    }

    /// Renders the page whose form goes back to a service by itself.
    public func html(_ page: PostedAnswerPage) -> RenderedPage {
        let fields = page.fields.map { MessageView.Form.Field(name: $0.name, value: $0.value) }
        let message = self.language.message(.postedAnswer(origin: page.origin))
        var view = MessageView(message, emblem: PageAssets.phoneEmblem, testID: "posted-answer")
        view.form = MessageView.Form(action: page.address, label: message.submit, fields: fields, isSent: true)
        return self.render(view, template: "message", title: message.title, formTargets: [page.origin])
    }

    /// Renders the page for a link that no app took.
    public func html(_ page: OpenInAppPage) -> RenderedPage {
        self.render(
            EmblemView(emblem: PageAssets.phoneEmblem), template: "open", title: self.language.words(.openWithApp))
    }

    /// Renders the page of the one-time administrator link.
    public func html(_ page: AdministratorSetUpPage) -> RenderedPage {
        self.render(EmblemView(emblem: PageAssets.keyEmblem), template: "set-up", title: self.language.words(.setUp))
    }
}

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

/// The values for the template of a message.
struct MessageView: PageView {
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

    static let template = "message"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title"{{#testID}} data-testid="{{.}}"{{/testID}}>
        <div class="emblem {{tone}}">{{{emblem}}}</div>
        <h1 id="title">{{headline}}</h1>
        <p class="lead">{{explanation}}</p>
        {{#form}}
        <form class="actions" method="post" action="{{action}}"{{#isSent}} id="sent"{{/isSent}}>
        {{#fields}}<input type="hidden" name="{{name}}" value="{{value}}">{{/fields}}
        <button type="submit" data-testid="confirm">{{label}}</button>
        </form>
        {{/form}}
        {{#link}}
        <p class="actions"><a class="button{{#form}} quiet{{/form}}" href="{{target}}" data-testid="link">{{label}}</a></p>
        {{/link}}
        {{#isAddressCopied}}
        <p><button type="button" class="quiet" data-copy="" hidden>\(words(.copyPageAddress))</button> \
        <span class="small" id="copied" role="status"></span></p>
        {{/isAddressCopied}}
        {{#note}}
        <p class="small">{{.}}</p>
        {{/note}}
        {{#reference}}
        <p class="reference small">\(words(.helpNumber("<code>{{.}}</code>")))</p>
        {{/reference}}
        </section>
        {{/main}}{{/frame}}
        """
    }
}

private struct OpenInAppView: PageView {
    let emblem: String

    static let template = "open"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">\(words(.openThis))</h1>
        <p class="lead">\(words(.meantForApp))</p>
        <div class="paper">
        <ol class="steps">
        <li><span>\(words(.installApp))</span></li>
        <li><span>\(words(.openAgain))</span></li>
        <li><span>\(words(.checkInApp))</span></li>
        </ol>
        <p class="notice">\(words(.worksOnce))</p>
        <p><button type="button" class="quiet" data-copy="" hidden>\(words(.copyAddress))</button> \
        <span class="small" id="copied" role="status"></span></p>
        </div>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

private struct AdministratorSetUpView: PageView {
    let emblem: String

    static let template = "set-up"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card message" id="set-up" aria-labelledby="title" data-tokens="/admin/v1/tokens" \
        data-missing="\(words(.secretMissing))" \
        data-spent="\(words(.linkSpent))" \
        data-failed="\(words(.serverUnreachable))">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">\(words(.setUpServer))</h1>
        <p class="lead">\(words(.tokenLead))</p>
        <noscript><p class="notice">\
        \(words(.needsScript(command: "<code>countersign admin login</code>")))</p></noscript>
        <p class="notice bad" id="problem" role="alert" hidden data-testid="error"></p>
        <div class="actions" id="start" hidden>
        <button type="button" id="create" data-testid="create-token">\(words(.createToken))</button>
        </div>
        <div class="paper" id="done" hidden>
        <h2 id="done-title" tabindex="-1">\(words(.yourToken))</h2>
        <code class="secret" id="token" data-testid="admin-token"></code>
        <p>\(words(.useInShell))</p>
        <pre><code id="lines"></code></pre>
        <p><button type="button" class="quiet" data-copy="lines" hidden>\(words(.copyLines))</button> \
        <span class="small" id="copied" role="status"></span></p>
        <p class="notice">\(words(.keepToken))</p>
        </div>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

extension ResultPage: Page {
    /// Renders a result.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let (tone, emblem) =
            switch self.outcome {
            case .done: ("good", PageAssets.checkEmblem)
            case .refused: ("bad", PageAssets.crossEmblem)
            case .tooLate: ("bad", PageAssets.clockEmblem)
            }
        let message = renderer.language.message(self.notice)
        var view = MessageView(message, tone: tone, emblem: emblem, target: self.target, testID: "result")
        view.reference = self.reference
        return renderer.render(view, title: message.title)
    }
}

extension ErrorPage: Page {
    /// Renders an error.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let message = renderer.language.message(self.failure)
        var view = MessageView(message, tone: "bad", emblem: PageAssets.crossEmblem, testID: "error")
        view.link = self.way.map { $0.link(in: renderer.language) }
        view.note = self.detail.map { renderer.language.words(.forOperators(detail: $0)) }
        view.reference = self.requestID
        view.isAddressCopied = self.isAddressCopied
        return renderer.render(view, title: message.title)
    }
}

extension ErrorPage.Way {
    /// Returns the link that leads on, in words of a language.
    fileprivate func link(in language: any Language) -> MessageView.Link {
        switch self {
        // The empty address is the address of the page itself (RFC 3986, section 4.4). So the page repeats no part of
        // the address.
        case .again: MessageView.Link(label: language.words(.tryAgain), target: "")
        case .service(let name, let address):
            MessageView.Link(label: language.words(.goTo(name: name)), target: address)
        }
    }
}

extension SignedOutPage: Page {
    /// Renders the page after signing out.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let message = renderer.language.message(.signedOut(client: self.clientName))
        let view = MessageView(
            message, tone: "good", emblem: PageAssets.checkEmblem, target: self.returnLink, testID: "signed-out")
        return renderer.render(view, title: message.title)
    }
}

extension SignOutQuestionPage: Page {
    /// Renders the question before signing out.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let fields = self.fields.map { MessageView.Form.Field(name: $0.name, value: $0.value) }
        let message = renderer.language.message(
            .signOut(client: self.clientName, operatorName: renderer.serviceName) as Question)
        var view = MessageView(
            message, emblem: PageAssets.keyEmblem,
            // The operator registered the address, and the server checked the address before asking the person.
            target: self.returnOrigin.map { $0 + "/" }, testID: "sign-out")
        view.form = MessageView.Form(action: SignOutQuestionPage.path, label: message.submit, fields: fields)
        view.note = self.returnOrigin == nil ? renderer.language.words(.closeToStay) : nil
        return renderer.render(
            view, title: message.title, formTargets: self.returnOrigin.map { [$0] } ?? [])
    }
}

extension PostedAnswerPage: Page {
    /// Renders the page whose form goes back to a service by itself.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let fields = self.fields.map { MessageView.Form.Field(name: $0.name, value: $0.value) }
        let message = renderer.language.message(.postedAnswer(origin: self.origin))
        var view = MessageView(message, emblem: PageAssets.phoneEmblem, testID: "posted-answer")
        view.form = MessageView.Form(action: self.address, label: message.submit, fields: fields, isSent: true)
        return renderer.render(view, title: message.title, formTargets: [self.origin])
    }
}

extension OpenInAppPage: Page {
    /// Renders the page for a link that no app took.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        renderer.render(
            OpenInAppView(emblem: PageAssets.phoneEmblem), title: renderer.language.words(.openWithApp))
    }
}

extension AdministratorSetUpPage: Page {
    /// Renders the page of the one-time administrator link.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        renderer.render(AdministratorSetUpView(emblem: PageAssets.keyEmblem), title: renderer.language.words(.setUp))
    }
}

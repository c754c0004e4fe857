public import Texts

/// The question that a person answers before a change of the account. The person's phone confirms the change.
public struct ChangeQuestionPage: Sendable {
    /// The change and its meaning.
    public var question: Question
    /// The path to which the form is sent.
    public var action: String
    /// The hidden fields of the form, names and values.
    public var fields: [(name: String, value: String)]

    /// Creates a question.
    public init(_ question: Question, action: String, fields: [(name: String, value: String)]) {
        self.question = question
        self.action = action
        self.fields = fields
    }
}

/// The question about a change that was made, and the form that answers the question.
public struct ChangeDecisionPage: Sendable {
    /// The question, the change, and the consequences of the answer.
    public var question: Question
    /// The path to which the form is sent.
    public var action: String
    /// The hidden fields of the form, names and values.
    public var fields: [(name: String, value: String)]

    /// Creates a question.
    public init(_ question: Question, action: String, fields: [(name: String, value: String)]) {
        self.question = question
        self.action = action
        self.fields = fields
    }
}

/// The latest changes of an account.
public struct AccountChangesPage: Sendable {
    /// A change.
    public struct Change: Sendable {
        /// The identifier of the change.
        public var id: String
        /// The change, in words.
        public var what: String
        /// The moment of the change, as RFC 3339.
        public var moment: String
        /// The moment of the change, as people read it.
        public var shownMoment: String
        /// The latest decision about the change.
        public var state: ChangeText
        /// The question that the person can answer; `nil` for none.
        public var question: ChangeText?

        /// Describes a change.
        public init(
            id: String, what: String, moment: String, shownMoment: String, state: ChangeText, question: ChangeText?
        ) {
            self.id = id
            self.what = what
            self.moment = moment
            self.shownMoment = shownMoment
            self.state = state
            self.question = question
        }
    }

    /// A change that another provider has confirmed, and whose delay still runs or has just ended.
    public struct Delayed: Sendable {
        /// The reference of the change.
        public var reference: String
        /// The change, in words.
        public var what: String
        /// The moment from which the change can be made, as RFC 3339.
        public var moment: String
        /// The moment from which the change can be made, as people read it.
        public var shownMoment: String
        /// The path of the page that makes the change; `nil` before the moment.
        public var target: String?

        /// Describes a change.
        public init(reference: String, what: String, moment: String, shownMoment: String, target: String?) {
            self.reference = reference
            self.what = what
            self.moment = moment
            self.shownMoment = shownMoment
            self.target = target
        }
    }

    /// The path of the form that stops a change.
    public static let stop = IdentityPaths.changes + "/stop"

    /// The changes, the latest first.
    public var changes: [Change]
    /// The changes that wait, the latest first.
    public var delayed: [Delayed]
    /// The sign that a form stood on a page of this server.
    public var confirmation: String

    /// Creates a list.
    public init(changes: [Change], delayed: [Delayed], confirmation: String) {
        self.changes = changes
        self.delayed = delayed
        self.confirmation = confirmation
    }
}

/// The form by which an account with neither phone nor password confirms a change: another provider authenticates the
/// person afresh.
public struct ChangeProviderPage: Sendable {
    /// The path to which the form is sent.
    public static let path = "/account/change/provider"

    /// The reference of the change.
    public var request: String
    /// The change, in the words that a phone would sign.
    public var text: String
    /// The providers to choose from, names and titles.
    public var providers: [(name: String, title: String)]
    /// The sign that the form stood on a page of this server.
    public var confirmation: String
    /// The hours that the change waits; `nil` for a change that waits for nothing.
    public var hours: Int?
    /// The reason why the form is shown once more; `nil` the first time.
    public var problem: FormProblem?
    /// The number of the request in the server's log, if there is a problem.
    public var reference: String?

    /// Creates a form.
    public init(
        request: String, text: String, providers: [(name: String, title: String)], confirmation: String, hours: Int?,
        problem: FormProblem? = nil
    ) {
        self.request = request
        self.text = text
        self.providers = providers
        self.confirmation = confirmation
        self.hours = hours
        self.problem = problem
    }
}

/// The form by which an account without a phone confirms a change: with its password, and a code beside the password.
public struct ChangePasswordPage: Sendable {
    /// The path to which the form is sent.
    public static let path = "/account/change/password"

    /// The reference of the change.
    public var request: String
    /// The change, in the words that a phone would sign.
    public var text: String
    /// The user name of the account.
    public var username: String
    /// `true` if the form asks for a code of an authenticator app.
    public var asksForCode: Bool
    /// `true` if the password was right, and the form asks for the code that was mailed.
    public var asksForMailedCode: Bool
    /// The sign that the form stood on a page of this server.
    public var confirmation: String
    /// The reason why the form is shown once more; `nil` the first time.
    public var problem: FormProblem?
    /// The number of the refusal in the log, if there was a problem.
    public var reference: String?

    /// Creates a form.
    public init(
        request: String, text: String, username: String, asksForCode: Bool, asksForMailedCode: Bool,
        confirmation: String, problem: FormProblem? = nil
    ) {
        self.asksForMailedCode = asksForMailedCode
        self.asksForCode = asksForCode
        self.request = request
        self.text = text
        self.username = username
        self.confirmation = confirmation
        self.problem = problem
    }
}

extension FormView.Hidden {
    /// Returns the field that names a confirmed change; no field without a confirmed change.
    static func change(_ reference: String?) -> [Self] {
        reference.map { [Self(hiddenName: ConfirmedChange.field, hiddenValue: $0)] } ?? []
    }
}

/// The name under which pages and forms carry a confirmed change.
public enum ConfirmedChange {
    /// The parameter, and the field.
    public static let field = "change"
}

/// The form as the template reads the form.
private struct ChangeProviderView: PageView {
    struct Provider {
        let name: String
        let title: String
    }

    let text: String
    let problem: Sentence?
    let reference: String?
    let wait: Sentence?
    let request: String
    let confirmation: String
    let providers: [Provider]
    let action = ChangeProviderPage.path
    let back = IdentityPaths.overview

    static let template = "change-provider"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card form" aria-labelledby="title" data-testid="change-provider">
        <h1 id="title">\(words(.confirmThisChange))</h1>
        <p class="lead">{{text}}</p>
        {{#problem}}<p class="notice bad" id="problem" role="alert" data-testid="problem">{{.}}</p>{{/problem}}
        {{#reference}}<p class="reference small">\(words(.helpNumber("<code>{{.}}</code>")))</p>{{/reference}}
        <p>\(words(.noPhoneNoPassword))</p>
        {{#wait}}<p data-testid="wait">{{.}}</p>{{/wait}}
        {{#providers}}
        <form method="post" action="{{action}}">
        <input type="hidden" name="request" value="{{request}}"><input type="hidden" name="confirmation" value="{{confirmation}}">
        <input type="hidden" name="provider" value="{{name}}">
        <button type="submit" data-testid="by-{{name}}">\(words(.confirmBy(provider: "<bdi>{{title}}</bdi>")))</button>
        </form>
        {{/providers}}
        <p class="other"><a href="{{back}}" data-testid="back">\(words(.backToIdentity))</a></p>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

/// The list as the template reads the list.
private struct ChangesView: PageView {
    struct Change {
        let changeID: String
        let what: String
        let moment: String
        let shownMoment: String
        let state: Sentence
        let question: Sentence?
        let target: String
    }

    struct Delayed {
        let reference: String
        let what: String
        let moment: String
        let shownMoment: String
        let target: String?
    }

    let hasChanges: Bool
    let hasDelayed: Bool
    let confirmation: String
    let delayed: [Delayed]
    let changes: [Change]
    let stop = AccountChangesPage.stop
    let back = IdentityPaths.overview

    static let template = "changes"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card account" aria-labelledby="title" data-testid="changes">
        <h1 id="title">\(words(.changes))</h1>
        <p class="lead">\(words(.changesLead))</p>
        {{#hasDelayed}}<h2>\(words(ChangeText.waiting))</h2>
        <p class="small">\(words(.waitingLead))</p>
        <ul class="things">
        {{#delayed}}
        <li data-testid="delayed">
        <p><strong><bdi>{{what}}</bdi></strong></p>
        <p class="small">\
        \(words(.canBeMade(from: "<time datetime=\"{{moment}}\">{{shownMoment}}</time>")))</p>
        {{#target}}<p><a href="{{.}}" data-testid="go-on">\(words(.goOnHere))</a></p>{{/target}}
        <form method="post" action="{{stop}}">
        <input type="hidden" name="request" value="{{reference}}"><input type="hidden" name="confirmation" value="{{confirmation}}">
        <button type="submit" class="quiet" data-testid="stop">\(words(.stop))</button>
        </form>
        </li>
        {{/delayed}}
        </ul>{{/hasDelayed}}
        {{#hasChanges}}<ul class="things">
        {{#changes}}
        <li data-testid="change" data-id="{{changeID}}">
        <p><strong><bdi>{{what}}</bdi></strong></p>
        <p class="small">{{state}} · <time datetime="{{moment}}">{{shownMoment}}</time></p>
        {{#question}}<p><a href="{{target}}" data-testid="question">{{question}}</a></p>{{/question}}
        </li>
        {{/changes}}
        </ul>{{/hasChanges}}
        {{^hasChanges}}<p class="small" data-testid="no-changes">\(words(.nothingChanged))</p>{{/hasChanges}}
        <p class="other"><a href="{{back}}" data-testid="back">\(words(.backToIdentity))</a></p>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

extension ChangeQuestionPage: Page {
    /// Renders the question before a change.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let message = renderer.language.message(self.question)
        var view = MessageView(
            message, emblem: PageAssets.phoneEmblem, target: IdentityPaths.overview, testID: "change-question")
        view.form = MessageView.Form(
            action: self.action, label: message.submit,
            fields: self.fields.map { .init(name: $0.name, value: $0.value) })
        return renderer.render(view, title: message.title)
    }
}

extension ChangeDecisionPage: Page {
    /// Renders the question about a change that was made.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let message = renderer.language.message(self.question)
        var view = MessageView(message, emblem: PageAssets.keyEmblem, testID: "change-decision")
        view.form = MessageView.Form(
            action: self.action, label: message.submit,
            fields: self.fields.map { .init(name: $0.name, value: $0.value) })
        return renderer.render(view, title: message.title)
    }
}

extension ChangeProviderPage: Page {
    /// Renders the form that leads to another provider.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let view = ChangeProviderView(
            text: self.text, problem: self.problem.map { renderer.language.words($0) }, reference: self.reference,
            wait: self.hours.map { renderer.language.words(.waits(hours: $0)) }, request: self.request,
            confirmation: self.confirmation,
            providers: self.providers.map { ChangeProviderView.Provider(name: $0.name, title: $0.title) })
        return renderer.render(view, title: renderer.language.words(.confirmThisChange))
    }
}

extension AccountChangesPage: Page {
    /// Renders the latest changes of an account.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let view = ChangesView(
            hasChanges: !self.changes.isEmpty, hasDelayed: !self.delayed.isEmpty, confirmation: self.confirmation,
            delayed: self.delayed.map { change in
                ChangesView.Delayed(
                    reference: change.reference, what: change.what, moment: change.moment,
                    shownMoment: change.shownMoment, target: change.target)
            },
            changes: self.changes.map { change in
                ChangesView.Change(
                    changeID: change.id, what: change.what, moment: change.moment, shownMoment: change.shownMoment,
                    state: renderer.language.words(change.state),
                    question: change.question.map { renderer.language.words($0) },
                    target: IdentityPaths.address("\(IdentityPaths.changes)/question", "id", change.id))
            })
        return renderer.render(view, title: renderer.language.words(.changes))
    }
}

extension ChangePasswordPage: Page {
    /// Renders the form that confirms a change by a password.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        var view = FormView(
            testID: "change-password", renderer.language.message(.confirmChange(text: self.text)),
            action: ChangePasswordPage.path)
        view.problem = self.problem.map { renderer.language.words($0) }
        view.reference = self.reference
        view.hidden = [
            .init(hiddenName: "confirmation", hiddenValue: self.confirmation),
            .init(hiddenName: "request", hiddenValue: self.request),
        ]
        guard !self.asksForMailedCode else {
            view.fields = [
                .init(
                    id: "mailed-code", label: renderer.language.words(FieldText.code), type: "text",
                    autocomplete: "one-time-code", hint: renderer.language.words(.mailedCodeHint))
            ]
            view.links = [.toIdentity(in: renderer.language)]
            return renderer.render(view, title: view.headline)
        }
        view.fields = [
            .init(
                id: "username", label: renderer.language.words(.name), type: "text", autocomplete: "username",
                value: self.username,
                isReadOnly: true),
            .init(
                id: "password", label: renderer.language.words(.yourPassword), type: "password",
                autocomplete: "current-password"),
        ]
        if self.asksForCode {
            view.fields.append(
                .init(
                    id: "code", label: renderer.language.words(FieldText.code), type: "text",
                    autocomplete: "one-time-code", hint: renderer.language.words(.codeHint)))
        }
        view.links = [.toIdentity(in: renderer.language)]
        return renderer.render(view, title: view.headline)
    }
}

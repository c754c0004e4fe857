/// The question that stands before a change of the account which the person's phone confirms.
public struct ChangeQuestionPage: Sendable {
    /// The change, in a short sentence.
    public var headline: String
    /// The meaning of the change, in a sentence.
    public var explanation: String
    /// The path to which the form is sent.
    public var action: String
    /// The hidden fields of the form, names and values.
    public var fields: [(name: String, value: String)]

    /// A question.
    public init(headline: String, explanation: String, action: String, fields: [(name: String, value: String)]) {
        self.headline = headline
        self.explanation = explanation
        self.action = action
        self.fields = fields
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
    /// The sign that the form stood on a page of this server.
    public var confirmation: String
    /// The reason why the form is shown once more; `nil` the first time.
    public var problem: String?

    /// A form.
    public init(
        request: String, text: String, username: String, asksForCode: Bool, confirmation: String, problem: String? = nil
    ) {
        self.asksForCode = asksForCode
        self.request = request
        self.text = text
        self.username = username
        self.confirmation = confirmation
        self.problem = problem
    }
}

extension FormView.Hidden {
    /// The field that names a confirmed change, and is there where a change was confirmed.
    static func change(_ reference: String?) -> [Self] {
        reference.map { [Self(hiddenName: ConfirmedChange.field, hiddenValue: $0)] } ?? []
    }
}

/// The name under which pages and forms carry a confirmed change.
public enum ConfirmedChange {
    /// The parameter, and the field.
    public static let field = "change"
}

extension PageRenderer {
    /// Renders the question before a change.
    public func html(_ page: ChangeQuestionPage) -> RenderedPage {
        let view = MessageView(
            emblem: PageAssets.phoneEmblem, headline: page.headline,
            explanation: "\(page.explanation) Your phone asks you to confirm this first.",
            link: MessageView.Link(label: "No", target: IdentityPaths.overview),
            form: MessageView.Form(
                action: page.action, label: "Confirm on your phone",
                fields: page.fields.map { .init(name: $0.name, value: $0.value) }), testID: "change-question")
        return self.render(view, template: "message", title: page.headline)
    }

    /// Renders the form that confirms a change by a password.
    public func html(_ page: ChangePasswordPage) -> RenderedPage {
        var view = FormView(
            testID: "change-password", headline: "Confirm this change", lead: page.text, problem: page.problem,
            action: ChangePasswordPage.path, submit: "Confirm")
        view.hidden = [
            .init(hiddenName: "confirmation", hiddenValue: page.confirmation),
            .init(hiddenName: "request", hiddenValue: page.request),
        ]
        view.fields = [
            .init(
                id: "username", label: "Name", type: "text", autocomplete: "username", value: page.username,
                isReadOnly: true),
            .init(id: "password", label: "Your password", type: "password", autocomplete: "current-password"),
        ]
        if page.asksForCode {
            view.fields.append(
                .init(
                    id: "code", label: "Code", type: "text", autocomplete: "one-time-code",
                    hint: "Of your authenticator app, or a recovery code."))
        }
        view.links = [.init(target: IdentityPaths.overview, linkID: "back", words: "Back to your identity")]
        return self.render(view, template: "form", title: view.headline)
    }
}

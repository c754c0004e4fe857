public import Texts

/// The page on which a person enters a password or a code.
public struct PasswordPage: Sendable {
    /// The kind of input that the page asks for.
    public enum Question: Sendable, Equatable {
        /// The name and the password. The name may be known already.
        case password(username: String)
        /// A code beside the password.
        case code
        /// A new password in place of a password for one use, with the user name and the least length.
        case newPassword(username: String, fewestCharacters: Int)
    }

    /// The sign-in.
    public var frame: SignInFrame
    /// The kind of input that the page asks for.
    public var question: Question
    /// The problem with the last form.
    public var problem: FormProblem?
    /// The number of the refusal in the log, if there was a problem.
    public var reference: String?
    /// `true` if the person can sign in another way, too.
    public var hasOtherWays: Bool
    /// `true` if the server can mail a link for a new password.
    public var hasMail: Bool

    /// Creates a question.
    public init(
        frame: SignInFrame, question: Question, problem: FormProblem? = nil, hasOtherWays: Bool = false,
        hasMail: Bool = false
    ) {
        self.frame = frame
        self.question = question
        self.problem = problem
        self.hasOtherWays = hasOtherWays
        self.hasMail = hasMail
    }
}

extension PasswordPage: Page {
    /// Renders the page that asks for a password, or for a code beside a password.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let frame = self.frame
        var view: FormView
        switch self.question {
        case .password(let username):
            view = FormView(
                testID: "password-form",
                renderer.language.message(.password(client: frame.clientName, operatorName: renderer.serviceName)),
                action: "/sign-in/password")
            view.fields = [
                .init(
                    id: "username", label: renderer.language.words(.name), type: "text", autocomplete: "username",
                    value: username),
                .init(
                    id: "password", label: renderer.language.words(.password), type: "password",
                    autocomplete: "current-password"),
            ]
        case .code:
            view = FormView(
                testID: "code-form", renderer.language.message(.code), action: "/sign-in/code")
            view.fields = [
                .init(
                    id: "code", label: renderer.language.words(FieldText.code), type: "text",
                    autocomplete: "one-time-code")
            ]
        case .newPassword(let username, let fewest):
            view = FormView(
                testID: "new-password-form", renderer.language.message(.newPassword), action: "/sign-in/new-password")
            view.fields = FormView.Field.newPassword(
                username: username, fewestCharacters: fewest, in: renderer.language)
        }
        view.problem = self.problem.map { renderer.language.words($0) }
        view.reference = self.reference
        view.hidden =
            [.init(hiddenName: "request", hiddenValue: frame.requestID)]
            + (frame.client.map { [.init(hiddenName: "client", hiddenValue: $0)] } ?? [])
        if self.hasOtherWays, case .password = self.question {
            view.links = [
                .init(
                    target: "/sign-in" + frame.query, linkID: "other-ways",
                    words: renderer.language.words(.signInAnotherWay))
            ]
        }
        if self.hasMail, case .password = self.question {
            view.links.append(
                .init(
                    target: ForgottenPasswordPage.path, linkID: "forgotten",
                    words: renderer.language.words(.forgottenPassword)))
        }
        view.leave = .init(requestID: frame.requestID, client: frame.client, clientName: frame.clientName)
        return renderer.render(
            view, title: view.headline, formTargets: frame.returnOrigin.map { [$0] } ?? [])
    }
}

extension FormView.Field {
    /// Returns the fields of a form that sets a password. The name is for password managers, which would otherwise not
    /// know the account of the password.
    static func newPassword(username: String, fewestCharacters: Int, in language: any Language) -> [Self] {
        [
            .init(
                id: "username", label: language.words(.name), type: "text", autocomplete: "username",
                value: username, isReadOnly: true),
            .init(
                id: "new-password", label: language.words(FieldText.newPassword), type: "password",
                autocomplete: "new-password", hint: language.words(.newPasswordHint(fewest: fewestCharacters))),
        ]
    }
}

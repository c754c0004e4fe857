public import Texts

/// The page on which a person who has forgotten their password requests a link for a new password.
public struct ForgottenPasswordPage: Sendable {
    /// The path of the page and of the page's form.
    public static let path = "/account/forgotten"

    /// Creates a page.
    public init() {}
}

/// The page behind a mailed link, on which a person chooses a new password.
public struct PasswordResetPage: Sendable {
    /// The field of the form by which a person keeps their password, and makes the server know this browser.
    public static let keepField = "keep"

    /// The value of the link.
    public var link: String
    /// The user name of the account.
    public var username: String
    /// `true` if the form asks for a code beside the link.
    public var asksForCode: Bool
    /// The least number of characters in a new password.
    public var fewestCharacters: Int
    /// The path to which the form is sent: the path of the link.
    public var action: String
    /// The problem with the last form.
    public var problem: FormProblem?
    /// The number of the refusal in the log, if there was a problem.
    public var reference: String?

    /// Creates a page with these values.
    public init(
        link: String, username: String, asksForCode: Bool, fewestCharacters: Int, action: String,
        problem: FormProblem? = nil
    ) {
        self.link = link
        self.username = username
        self.asksForCode = asksForCode
        self.fewestCharacters = fewestCharacters
        self.action = action
        self.problem = problem
    }
}

extension ForgottenPasswordPage: Page {
    /// Renders the page for a person who has forgotten their password.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        var view = FormView(
            testID: "forgotten-password",
            renderer.language.message(.forgottenPassword(operatorName: renderer.serviceName)),
            action: ForgottenPasswordPage.path)
        view.fields = [
            .init(id: "username", label: renderer.language.words(.name), type: "text", autocomplete: "username")
        ]
        return renderer.render(view, title: view.headline)
    }
}

extension PasswordResetPage: Page {
    /// Renders the page on which a person chooses a new password.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        var view = FormView(
            testID: "password-reset", renderer.language.message(.resetPassword), action: self.action)
        view.problem = self.problem.map { renderer.language.words($0) }
        view.reference = self.reference
        view.hidden = [.init(hiddenName: "link", hiddenValue: self.link)]
        view.other = .init(
            name: PasswordResetPage.keepField,
            about: renderer.language.words(.keepsPassword), words: renderer.language.words(.keepPassword))
        view.fields = FormView.Field.newPassword(
            username: self.username, fewestCharacters: self.fewestCharacters, in: renderer.language)
        if self.asksForCode {
            view.fields.append(
                .init(
                    id: "code", label: renderer.language.words(FieldText.code), type: "text",
                    autocomplete: "one-time-code",
                    hint: renderer.language.words(.codeHint)))
        }
        return renderer.render(view, title: view.headline)
    }
}

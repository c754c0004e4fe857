public import Texts

/// The sign-in that a page belongs to.
public struct SignInFrame: Sendable {
    /// The authorization request.
    public var requestID: String
    /// The service that the person signs in to, as people know the service.
    public var clientName: String
    /// The service's identifier, for the page's addresses.
    public var client: String?
    /// The origin to which the browser goes back in the end, for the policy of the page's forms.
    public var returnOrigin: String?

    /// Describes a sign-in.
    public init(requestID: String, clientName: String, client: String? = nil, returnOrigin: String? = nil) {
        self.requestID = requestID
        self.clientName = clientName
        self.client = client
        self.returnOrigin = returnOrigin
    }

    /// The query that every address of the sign-in carries.
    var query: String {
        "?request=" + percentEncoded(self.requestID) + (self.client.map { "&client=" + percentEncoded($0) } ?? "")
    }
}

/// The question how a person wants to sign in, for a service that takes more than one way.
public struct SignInChoicePage: Sendable {
    /// A way to sign in.
    public enum Way: Sendable, Hashable {
        case phone, password
        /// Another provider, by its name in addresses and its title for people.
        case provider(name: String, title: String)
    }

    /// The sign-in.
    public var frame: SignInFrame
    /// The ways, the best first.
    public var ways: [Way]

    /// Creates a question.
    public init(frame: SignInFrame, ways: [Way]) {
        self.frame = frame
        self.ways = ways
    }
}

/// The question how a person wants to sign in to an app, before anything has begun. Each answer is an address.
public struct SignInStartPage: Sendable {
    /// The app, as people know the app.
    public var clientName: String
    /// The ways, each with its address, the best first.
    public var ways: [(way: SignInChoicePage.Way, address: String)]

    /// Creates a question.
    public init(clientName: String, ways: [(way: SignInChoicePage.Way, address: String)]) {
        self.clientName = clientName
        self.ways = ways
    }
}

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

extension PageRenderer {
    private struct ChoiceView {
        struct Way {
            let target: String
            let wayID: String
            let words: Sentence
            let isQuiet: Bool
        }

        /// The authorization request; `nil` if nothing has begun that the person could give up.
        var requestID: String?
        let clientName: String
        var client: String?
        let ways: [Way]
    }

    /// Returns the words for a way, and the name by which a test finds the way.
    private func words(_ way: SignInChoicePage.Way) -> (words: Sentence, name: String) {
        switch way {
        case .phone: (self.language.words(.byPhone), "phone")
        case .password: (self.language.words(.byPassword), "password")
        case .provider(let name, let title): (self.language.words(.byProvider(title: title)), name)
        }
    }

    /// Renders the question how a person wants to sign in to an app.
    public func html(_ page: SignInStartPage) -> RenderedPage {
        let ways = page.ways.enumerated().map { index, way in
            let (words, name) = self.words(way.way)
            return ChoiceView.Way(target: way.address, wayID: "by-\(name)", words: words, isQuiet: index > 0)
        }
        return self.render(
            ChoiceView(clientName: page.clientName, ways: ways), template: "choice",
            title: self.language.words(.signInTo(client: page.clientName)), formTargets: [])
    }

    /// Renders the question how a person wants to sign in.
    public func html(_ page: SignInChoicePage) -> RenderedPage {
        let ways = page.ways.enumerated().map { index, way in
            let (words, name) = self.words(way)
            let path =
                switch way {
                case .phone: "/sign-in"
                case .password: "/sign-in/password"
                case .provider(let name, _): "/sign-in/provider/\(percentEncoded(name))"
                }
            return ChoiceView.Way(
                target: path + page.frame.query + (way == .phone ? "&by=phone" : ""), wayID: "by-\(name)",
                words: words, isQuiet: index > 0)
        }
        let view = ChoiceView(
            requestID: page.frame.requestID, clientName: page.frame.clientName, client: page.frame.client, ways: ways)
        return self.render(
            view, template: "choice", title: self.language.words(.signInTo(client: page.frame.clientName)),
            formTargets: page.frame.returnOrigin.map { [$0] } ?? [])
    }

    /// Renders the page that asks for a password, or for a code beside a password.
    public func html(_ page: PasswordPage) -> RenderedPage {
        let frame = page.frame
        var view: FormView
        switch page.question {
        case .password(let username):
            view = FormView(
                testID: "password-form",
                self.language.message(.password(client: frame.clientName, operatorName: self.serviceName)),
                action: "/sign-in/password")
            view.fields = [
                .init(
                    id: "username", label: self.language.words(.name), type: "text", autocomplete: "username",
                    value: username),
                .init(
                    id: "password", label: self.language.words(.password), type: "password",
                    autocomplete: "current-password"),
            ]
        case .code:
            view = FormView(
                testID: "code-form", self.language.message(.code), action: "/sign-in/code")
            view.fields = [
                .init(
                    id: "code", label: self.language.words(FieldText.code), type: "text",
                    autocomplete: "one-time-code")
            ]
        case .newPassword(let username, let fewest):
            view = FormView(
                testID: "new-password-form", self.language.message(.newPassword), action: "/sign-in/new-password")
            view.fields = self.newPasswordFields(username: username, fewestCharacters: fewest)
        }
        view.problem = page.problem.map { self.language.words($0) }
        view.reference = page.reference
        view.hidden =
            [.init(hiddenName: "request", hiddenValue: frame.requestID)]
            + (frame.client.map { [.init(hiddenName: "client", hiddenValue: $0)] } ?? [])
        if page.hasOtherWays, case .password = page.question {
            view.links = [
                .init(
                    target: "/sign-in" + frame.query, linkID: "other-ways",
                    words: self.language.words(.signInAnotherWay))
            ]
        }
        if page.hasMail, case .password = page.question {
            view.links.append(
                .init(
                    target: ForgottenPasswordPage.path, linkID: "forgotten",
                    words: self.language.words(.forgottenPassword)))
        }
        view.leave = .init(requestID: frame.requestID, client: frame.client, clientName: frame.clientName)
        return self.render(
            view, template: "form", title: view.headline, formTargets: frame.returnOrigin.map { [$0] } ?? [])
    }

    /// Returns the fields of a form that sets a password. The name is for password managers, which would otherwise not
    /// know the account of the password.
    func newPasswordFields(username: String, fewestCharacters: Int) -> [FormView.Field] {
        [
            .init(
                id: "username", label: self.language.words(.name), type: "text", autocomplete: "username",
                value: username, isReadOnly: true),
            .init(
                id: "new-password", label: self.language.words(FieldText.newPassword), type: "password",
                autocomplete: "new-password", hint: self.language.words(.newPasswordHint(fewest: fewestCharacters))),
        ]
    }
}

public import Texts

/// A page on which a person changes their own password, their second factor or their recovery codes.
public struct OwnPasswordPage: Sendable {
    /// The kinds of change.
    public enum Matter: String, Sendable, CaseIterable {
        case password, secondFactor = "second-factor", recoveryCodes = "recovery-codes"

        /// The path of the page and of the page's form.
        public var path: String { "/account/\(self.rawValue)" }
    }

    /// The path that receives the first code of a new authenticator app.
    public static let confirmationPath = "/account/second-factor/code"

    /// The kind of the change.
    public var matter: Matter
    /// The user name of the account.
    public var username: String
    /// `true` if the form asks for a code beside the password.
    public var asksForCode: Bool
    /// The number of recovery codes that are left.
    public var recoveryCodes: Int
    /// The least number of characters in a new password.
    public var fewestCharacters: Int
    /// The sign that the form stood on a page of this server.
    public var confirmation: String
    /// The problem with the last form.
    public var problem: FormProblem?
    /// The number of the refusal in the log, if there was a problem.
    public var reference: String?
    /// The confirmed change; `nil` if the account has no phone.
    public var change: String?

    /// Creates a page with these values.
    public init(
        matter: Matter, username: String, asksForCode: Bool, recoveryCodes: Int, fewestCharacters: Int,
        confirmation: String, problem: FormProblem? = nil
    ) {
        self.matter = matter
        self.username = username
        self.asksForCode = asksForCode
        self.recoveryCodes = recoveryCodes
        self.fewestCharacters = fewestCharacters
        self.confirmation = confirmation
        self.problem = problem
    }
}

/// The secret of a new authenticator app, to scan or to type, and the field for the app's first code.
public struct SecondFactorOfferPage: Sendable {
    /// The content of the QR code.
    public var address: String
    /// The secret, for typing.
    public var typedSecret: String
    /// The sealed secret, which the form brings back. Only this server can open the sealed secret.
    public var sealed: String
    /// The sign that the form stood on a page of this server.
    public var confirmation: String
    /// The problem with the last form.
    public var problem: FormProblem?
    /// The number of the refusal in the log, if there was a problem.
    public var reference: String?

    /// Creates an offer.
    public init(address: String, typedSecret: String, sealed: String, confirmation: String, problem: FormProblem? = nil)
    {
        self.address = address
        self.typedSecret = typedSecret
        self.sealed = sealed
        self.confirmation = confirmation
        self.problem = problem
    }
}

/// New recovery codes, shown this once.
public struct RecoveryCodesPage: Sendable {
    /// The codes.
    public var codes: [String]

    /// Creates a page with these codes.
    public init(codes: [String]) { self.codes = codes }
}

/// The recovery code in place of a used code, shown this once.
public struct ReplacedCodePage: Sendable {
    /// The code.
    public var code: String
    /// The address of the next page; `nil` if nothing follows.
    public var next: String?

    /// Creates a page with the code and the way on.
    public init(code: String, next: String?) {
        self.code = code
        self.next = next
    }
}

private struct ReplacedCodeView: PageView {
    let code: String
    let next: String?

    static let template = "replaced-code"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card form" aria-labelledby="title" data-testid="replaced-code">
        <h1 id="title">\(words(.recoveryCodeReplaced))</h1>
        <p class="lead">\(words(.recoveryCodeReplacedUse))</p>
        <ul class="codes"><li><code data-testid="code">{{code}}</code></li></ul>
        <p class="notice">\(words(.recoveryCodeReplacedOnce))</p>
        {{#next}}<p class="actions"><a class="button" href="{{.}}" data-testid="continue">\(words(.goOn))</a></p>{{/next}}
        </section>
        {{/main}}{{/frame}}
        """
    }
}

private struct CodesView: PageView {
    let codes: [String]

    static let template = "codes"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card form" aria-labelledby="title" data-testid="recovery-codes">
        <h1 id="title">\(words(.recoveryCodes))</h1>
        <p class="lead">\(words(.recoveryCodesUse))</p>
        <ul class="codes">{{#codes}}<li><code>{{.}}</code></li>{{/codes}}</ul>
        <p class="notice">\(words(.recoveryCodesOnce))</p>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

extension OwnPasswordPage: Page {
    /// Renders a page about a person's own password or second factor.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let question: Question =
            switch self.matter {
            case .password: .changePassword
            case .secondFactor: .secondFactor(replaces: self.asksForCode)
            case .recoveryCodes: .recoveryCodes(left: self.recoveryCodes)
            }
        var view = FormView(
            testID: "own-\(self.matter.rawValue)", renderer.language.message(question), action: self.matter.path)
        view.problem = self.problem.map { renderer.language.words($0) }
        view.reference = self.reference
        view.hidden =
            [.init(hiddenName: "confirmation", hiddenValue: self.confirmation)] + FormView.Hidden.change(self.change)
        view.fields = [
            .init(
                id: "username", label: renderer.language.words(.name), type: "text", autocomplete: "username",
                value: self.username,
                isReadOnly: true),
            .init(
                id: "password", label: renderer.language.words(.passwordNow), type: "password",
                autocomplete: "current-password"),
        ]
        if self.asksForCode {
            view.fields.append(
                .init(
                    id: "code", label: renderer.language.words(FieldText.code), type: "text",
                    autocomplete: "one-time-code",
                    hint: renderer.language.words(.codeHint)))
        }
        if self.matter == .password {
            view.fields += FormView.Field.newPassword(
                username: self.username, fewestCharacters: self.fewestCharacters, in: renderer.language
            ).dropFirst()
        }
        return renderer.render(view, title: view.headline)
    }
}

extension SecondFactorOfferPage: Page {
    public typealias RenderingFailure = QRCodeError

    /// Renders the secret of a new authenticator app. Throws ``QRCodeError`` if the address is too long for a picture.
    public func html(by renderer: PageRenderer) throws(QRCodeError) -> RenderedPage {
        var view = FormView(
            testID: "second-factor-offer", renderer.language.message(.secondFactorOffer),
            action: OwnPasswordPage.confirmationPath)
        view.problem = self.problem.map { renderer.language.words($0) }
        view.reference = self.reference
        view.picture = try QRCode(text: self.address).svg(label: renderer.language.words(.authenticatorQR).plain)
        view.secret = self.typedSecret
        view.hidden = [
            .init(hiddenName: "confirmation", hiddenValue: self.confirmation),
            .init(hiddenName: "offer", hiddenValue: self.sealed),
        ]
        view.fields = [
            .init(
                id: "code", label: renderer.language.words(FieldText.code), type: "text", autocomplete: "one-time-code",
                isNumber: true)
        ]
        return renderer.render(view, title: view.headline)
    }
}

extension ReplacedCodePage: Page {
    /// Renders the code and the way on.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        renderer.render(
            ReplacedCodeView(code: self.code, next: self.next), title: renderer.language.words(.recoveryCodeReplaced))
    }
}

extension RecoveryCodesPage: Page {
    /// Renders recovery codes.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        renderer.render(CodesView(codes: self.codes), title: renderer.language.words(.recoveryCodes))
    }
}

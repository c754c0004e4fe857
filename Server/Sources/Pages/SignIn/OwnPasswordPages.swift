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

extension PageRenderer {
    private struct CodesView {
        let codes: [String]
    }

    /// Renders a page about a person's own password or second factor.
    public func html(_ page: OwnPasswordPage) -> RenderedPage {
        let question: Question =
            switch page.matter {
            case .password: .changePassword
            case .secondFactor: .secondFactor(replaces: page.asksForCode)
            case .recoveryCodes: .recoveryCodes(left: page.recoveryCodes)
            }
        var view = FormView(
            testID: "own-\(page.matter.rawValue)", self.language.message(question), action: page.matter.path)
        view.problem = page.problem.map { self.language.words($0) }
        view.reference = page.reference
        view.hidden =
            [.init(hiddenName: "confirmation", hiddenValue: page.confirmation)] + FormView.Hidden.change(page.change)
        view.fields = [
            .init(
                id: "username", label: self.language.words(.name), type: "text", autocomplete: "username",
                value: page.username,
                isReadOnly: true),
            .init(
                id: "password", label: self.language.words(.passwordNow), type: "password",
                autocomplete: "current-password"),
        ]
        if page.asksForCode {
            view.fields.append(
                .init(
                    id: "code", label: self.language.words(FieldText.code), type: "text", autocomplete: "one-time-code",
                    hint: self.language.words(.codeHint)))
        }
        if page.matter == .password {
            view.fields += self.newPasswordFields(username: page.username, fewestCharacters: page.fewestCharacters)
                .dropFirst()
        }
        return self.render(view, template: "form", title: view.headline)
    }

    /// Renders the secret of a new authenticator app. Throws ``QRCodeError`` if the address is too long for a picture.
    public func html(_ page: SecondFactorOfferPage) throws(QRCodeError) -> RenderedPage {
        var view = FormView(
            testID: "second-factor-offer", self.language.message(.secondFactorOffer),
            action: OwnPasswordPage.confirmationPath)
        view.problem = page.problem.map { self.language.words($0) }
        view.reference = page.reference
        view.picture = try QRCode(text: page.address).svg(label: self.language.words(.authenticatorQR).plain)
        view.secret = page.typedSecret
        view.hidden = [
            .init(hiddenName: "confirmation", hiddenValue: page.confirmation),
            .init(hiddenName: "offer", hiddenValue: page.sealed),
        ]
        view.fields = [
            .init(
                id: "code", label: self.language.words(FieldText.code), type: "text", autocomplete: "one-time-code",
                isNumber: true)
        ]
        return self.render(view, template: "form", title: view.headline)
    }

    /// Renders recovery codes.
    public func html(_ page: RecoveryCodesPage) -> RenderedPage {
        self.render(CodesView(codes: page.codes), template: "codes", title: self.language.words(.recoveryCodes))
    }
}

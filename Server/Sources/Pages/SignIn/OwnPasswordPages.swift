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
    /// The problem with the last form: a fixed sentence of this server.
    public var problem: String?
    /// The number of the refusal in the log, if there was a problem.
    public var reference: String?
    /// The confirmed change; `nil` if the account has no phone.
    public var change: String?

    /// Creates a page with these values.
    public init(
        matter: Matter, username: String, asksForCode: Bool, recoveryCodes: Int, fewestCharacters: Int,
        confirmation: String, problem: String? = nil
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
    /// The problem with the last form: a fixed sentence of this server.
    public var problem: String?
    /// The number of the refusal in the log, if there was a problem.
    public var reference: String?

    /// Creates an offer.
    public init(address: String, typedSecret: String, sealed: String, confirmation: String, problem: String? = nil) {
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
        let (headline, lead, submit): (String, String, String) =
            switch page.matter {
            case .password:
                (
                    "Change your password", "You are signed out everywhere then, and sign in with the new one.",
                    "Change it"
                )
            case .secondFactor:
                (
                    page.asksForCode ? "Use another authenticator app" : "Use an authenticator app",
                    "Beside your password you are asked for a code of the app from then on. "
                        + (page.asksForCode ? "The app that you use now, and its recovery codes, count no more." : ""),
                    "Go on"
                )
            case .recoveryCodes:
                (
                    "Make new recovery codes",
                    "A recovery code stands in once for a code of your app. You have \(page.recoveryCodes) left; they count no more when you make new ones.",
                    "Make them"
                )
            }
        var view = FormView(
            testID: "own-\(page.matter.rawValue)", headline: headline, lead: lead, problem: page.problem,
            reference: page.reference, action: page.matter.path, submit: submit)
        view.hidden =
            [.init(hiddenName: "confirmation", hiddenValue: page.confirmation)] + FormView.Hidden.change(page.change)
        view.fields = [
            .init(
                id: "username", label: "Name", type: "text", autocomplete: "username", value: page.username,
                isReadOnly: true),
            .init(id: "password", label: "Your password now", type: "password", autocomplete: "current-password"),
        ]
        if page.asksForCode {
            view.fields.append(
                .init(
                    id: "code", label: "Code", type: "text", autocomplete: "one-time-code",
                    hint: "Of your authenticator app, or a recovery code."))
        }
        if page.matter == .password {
            view.fields += Self.newPasswordFields(username: page.username, fewestCharacters: page.fewestCharacters)
                .dropFirst()
        }
        return self.render(view, template: "form", title: headline)
    }

    /// Renders the secret of a new authenticator app. Throws ``QRCodeError`` if the address is too long for a picture.
    public func html(_ page: SecondFactorOfferPage) throws(QRCodeError) -> RenderedPage {
        var view = FormView(
            testID: "second-factor-offer", headline: "Add this to your authenticator app",
            lead: "Scan the picture in the app, or type the secret. Then type the code that the app shows.",
            problem: page.problem, reference: page.reference, action: OwnPasswordPage.confirmationPath,
            submit: "Use this app")
        view.picture = try QRCode(text: page.address).svg(label: "QR code to scan with an authenticator app")
        view.secret = page.typedSecret
        view.hidden = [
            .init(hiddenName: "confirmation", hiddenValue: page.confirmation),
            .init(hiddenName: "offer", hiddenValue: page.sealed),
        ]
        view.fields = [
            .init(id: "code", label: "Code", type: "text", autocomplete: "one-time-code", isNumber: true)
        ]
        return self.render(view, template: "form", title: view.headline)
    }

    /// Renders recovery codes.
    public func html(_ page: RecoveryCodesPage) -> RenderedPage {
        self.render(CodesView(codes: page.codes), template: "codes", title: "Your recovery codes")
    }
}

/// A page on which a person changes something of their own password, or of what is asked for beside it.
public struct OwnPasswordPage: Sendable {
    /// What is changed.
    public enum Matter: String, Sendable, CaseIterable {
        case password, secondFactor = "second-factor", recoveryCodes = "recovery-codes"

        /// Where the page is, and where its form goes.
        public var path: String { "/account/\(self.rawValue)" }
    }

    /// Where the first code of a new authenticator app goes.
    public static let confirmationPath = "/account/second-factor/code"

    /// What is changed.
    public var matter: Matter
    /// Whose it is.
    public var username: String
    /// Whether a code is asked for beside the password.
    public var asksForCode: Bool
    /// How many recovery codes are left.
    public var recoveryCodes: Int
    /// How long a new password is at least.
    public var fewestCharacters: Int
    /// What the form carries as a sign that it stood on our page.
    public var confirmation: String
    /// What was wrong with what came before: a sentence of ours.
    public var problem: String?
    /// The number of the refusal in the log, where something was wrong.
    public var reference: String?
    /// The confirmed change; `nil` where the account has no phone.
    public var change: String?

    /// A page of these values.
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

/// The secret of a new authenticator app, to be scanned or typed, and the field for its first code.
public struct SecondFactorOfferPage: Sendable {
    /// What the QR code carries.
    public var address: String
    /// The secret, to be typed.
    public var typedSecret: String
    /// The secret as the form brings it back, which only this server can read.
    public var sealed: String
    /// What the form carries as a sign that it stood on our page.
    public var confirmation: String
    /// What was wrong with what came before: a sentence of ours.
    public var problem: String?
    /// The number of the refusal in the log, where something was wrong.
    public var reference: String?

    /// An offer.
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

    /// These codes.
    public init(codes: [String]) { self.codes = codes }
}

extension PageRenderer {
    private struct CodesView {
        let codes: [String]
    }

    /// Renders a page of a person's own.
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

    /// Renders the secret of a new authenticator app. Throws ``QRCodeError`` where the address is too long for a picture.
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

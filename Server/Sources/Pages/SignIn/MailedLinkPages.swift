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
    /// The problem with the last form.
    public var problem: FormProblem?
    /// The number of the refusal in the log, if there was a problem.
    public var reference: String?

    /// Creates a page with these values.
    public init(link: String, username: String, asksForCode: Bool, fewestCharacters: Int, problem: FormProblem? = nil) {
        self.link = link
        self.username = username
        self.asksForCode = asksForCode
        self.fewestCharacters = fewestCharacters
        self.problem = problem
    }
}

/// The page on which a person who is signed in requests a link by mail, to prove that an address is theirs.
public struct OwnAddressPage: Sendable {
    /// The path of the page and of the page's form.
    public static let path = "/account/address"

    /// The address; `nil` if the account has none.
    public var address: String?
    /// `true` if the address is known to be the person's.
    public var isVerified: Bool
    /// The sign that the form stood on a page of this server.
    public var confirmation: String
    /// The identifier of an address beside the account's first address; `nil` for the first address.
    public var further: String?
    /// The confirmed change by which the server mails the link; `nil` before the person has confirmed.
    public var change: String?

    /// Creates a page with these values.
    public init(
        address: String?, isVerified: Bool, confirmation: String, further: String? = nil, change: String? = nil
    ) {
        self.further = further
        self.change = change
        self.address = address
        self.isVerified = isVerified
        self.confirmation = confirmation
    }
}

/// The page behind a mailed link, on which a person confirms that an address is theirs.
public struct AddressConfirmationPage: Sendable {
    /// The value of the link.
    public var link: String
    /// The user name of the account that the address belongs to.
    public var username: String
    /// The address.
    public var address: String
    /// The sign that the form stood on a page of this server in this person's browser; `nil` if no person is signed in
    /// there.
    ///
    /// The link is no such sign: everybody who reads the mailbox has the link, too.
    public var confirmation: String?

    /// Creates a page with these values.
    public init(link: String, username: String, address: String, confirmation: String? = nil) {
        self.link = link
        self.username = username
        self.address = address
        self.confirmation = confirmation
    }
}

extension PageRenderer {
    /// Renders the page for a person who has forgotten their password.
    public func html(_ page: ForgottenPasswordPage) -> RenderedPage {
        var view = FormView(
            testID: "forgotten-password",
            self.language.message(.forgottenPassword(operatorName: self.serviceName)),
            action: ForgottenPasswordPage.path)
        view.fields = [.init(id: "username", label: self.language.words(.name), type: "text", autocomplete: "username")]
        return self.render(view, template: "form", title: view.headline)
    }

    /// Renders the page on which a person chooses a new password.
    public func html(_ page: PasswordResetPage, action: String) -> RenderedPage {
        var view = FormView(
            testID: "password-reset", self.language.message(.resetPassword), action: action)
        view.problem = page.problem.map { self.language.words($0) }
        view.reference = page.reference
        view.hidden = [.init(hiddenName: "link", hiddenValue: page.link)]
        view.other = .init(
            name: PasswordResetPage.keepField,
            about: self.language.words(.keepsPassword), words: self.language.words(.keepPassword))
        view.fields = self.newPasswordFields(username: page.username, fewestCharacters: page.fewestCharacters)
        if page.asksForCode {
            view.fields.append(
                .init(
                    id: "code", label: self.language.words(FieldText.code), type: "text", autocomplete: "one-time-code",
                    hint: self.language.words(.codeHint)))
        }
        return self.render(view, template: "form", title: view.headline)
    }

    /// Renders the page of a person's own address.
    public func html(_ page: OwnAddressPage) -> RenderedPage {
        guard let address = page.address, !page.isVerified else {
            return self.html(
                page.address.map { ResultPage(.done, .addressKnown(address: $0)) }
                    ?? ResultPage(.refused, .noAddress(operatorName: self.serviceName)))
        }
        var view = FormView(
            testID: "own-address",
            self.language.message(.ownAddress(address: address, isConfirmed: page.change != nil)),
            action: OwnAddressPage.path)
        view.hidden =
            [.init(hiddenName: "confirmation", hiddenValue: page.confirmation)] + FormView.Hidden.change(page.change)
        if let further = page.further { view.hidden.append(.init(hiddenName: "address", hiddenValue: further)) }
        return self.render(view, template: "form", title: view.headline)
    }

    /// Renders the page on which a person confirms that an address is theirs.
    public func html(_ page: AddressConfirmationPage, action: String) -> RenderedPage {
        var view = FormView(
            testID: "address-confirmation",
            self.language.message(
                .isThisYourAddress(
                    address: page.address, username: page.username, operatorName: self.serviceName)),
            action: action)
        view.hidden = [.init(hiddenName: "link", hiddenValue: page.link)]
        if let confirmation = page.confirmation {
            view.hidden.append(.init(hiddenName: "confirmation", hiddenValue: confirmation))
        }
        return self.render(view, template: "form", title: view.headline)
    }
}

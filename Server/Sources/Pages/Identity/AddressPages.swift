import Texts

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
    /// The path to which the form is sent: the path of the link.
    public var action: String
    /// The sign that the form stood on a page of this server in this person's browser; `nil` if no person is signed in
    /// there.
    ///
    /// The link is no such sign: everybody who reads the mailbox has the link, too.
    public var confirmation: String?

    /// Creates a page with these values.
    public init(link: String, username: String, address: String, action: String, confirmation: String? = nil) {
        self.link = link
        self.username = username
        self.address = address
        self.action = action
        self.confirmation = confirmation
    }
}

extension OwnAddressPage: Page {
    /// Renders the page of a person's own address.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        guard let address = self.address, !self.isVerified else {
            return renderer.html(
                self.address.map { ResultPage(.done, .addressKnown(address: $0)) }
                    ?? ResultPage(.refused, .noAddress(operatorName: renderer.serviceName)))
        }
        var view = FormView(
            testID: "own-address",
            renderer.language.message(.ownAddress(address: address, isConfirmed: self.change != nil)),
            action: OwnAddressPage.path)
        view.hidden =
            [.init(hiddenName: "confirmation", hiddenValue: self.confirmation)] + FormView.Hidden.change(self.change)
        if let further = self.further { view.hidden.append(.init(hiddenName: "address", hiddenValue: further)) }
        return renderer.render(view, title: view.headline)
    }
}

extension AddressConfirmationPage: Page {
    /// Renders the page on which a person confirms that an address is theirs.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        var view = FormView(
            testID: "address-confirmation",
            renderer.language.message(
                .isThisYourAddress(
                    address: self.address, username: self.username, operatorName: renderer.serviceName)),
            action: self.action)
        view.hidden = [.init(hiddenName: "link", hiddenValue: self.link)]
        if let confirmation = self.confirmation {
            view.hidden.append(.init(hiddenName: "confirmation", hiddenValue: confirmation))
        }
        return renderer.render(view, title: view.headline)
    }
}

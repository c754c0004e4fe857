/// The form on which a person adds a value that services can request.
public struct OwnValuePage: Sendable {
    /// The kind of a value.
    public enum Kind: Sendable { case email, phone }

    /// The problem with the value that the person sent.
    public enum Problem: Sendable { case invalid, tooManyValues, tooManyAddresses }

    /// The kind of the value.
    public var kind: Kind
    /// The sign that the form stood on a page of this server.
    public var confirmation: String
    /// The value that the person typed before.
    public var value: String
    /// The problem with the value; `nil` for none.
    public var problem: Problem?
    /// `true` if the server can mail a link, by which a person proves that an address is theirs.
    public var sendsMail: Bool
    /// The confirmed change by which the server adds the value; `nil` before the person has confirmed.
    public var change: String?

    /// Creates a form.
    public init(
        _ kind: Kind, confirmation: String, value: String = "", problem: Problem? = nil, sendsMail: Bool = true
    ) {
        self.kind = kind
        self.confirmation = confirmation
        self.value = value
        self.problem = problem
        self.sendsMail = sendsMail
    }
}

/// The form that renames a value.
public struct RenameValuePage: Sendable {
    /// The identifier of the value.
    public var id: String
    /// The attribute, in words.
    public var attribute: String
    /// The present name, or the name that the server refused.
    public var alias: String
    /// The sign that the form stood on a page of this server.
    public var confirmation: String
    /// The greatest number of characters in a name, if the server refused the last name.
    public var refusedBeyond: Int?

    /// Creates a form.
    public init(id: String, attribute: String, alias: String, confirmation: String, refusedBeyond: Int? = nil) {
        self.id = id
        self.attribute = attribute
        self.alias = alias
        self.confirmation = confirmation
        self.refusedBeyond = refusedBeyond
    }
}

/// The question that a person answers before the server removes a value.
public struct RemoveValuePage: Sendable {
    /// The identifier of the value.
    public var id: String
    /// The attribute, in words.
    public var attribute: String
    /// The person's name for the value.
    public var alias: String
    /// The services that get the value.
    public var services: [String]
    /// The sign that the form stood on a page of this server.
    public var confirmation: String

    /// Creates a question.
    public init(id: String, attribute: String, alias: String, services: [String], confirmation: String) {
        self.id = id
        self.attribute = attribute
        self.alias = alias
        self.services = services
        self.confirmation = confirmation
    }
}

/// The question that a person answers before the server removes a further address.
public struct RemoveAddressPage: Sendable {
    /// The identifier of the address.
    public var id: String
    /// The address.
    public var address: String
    /// `true` if the address is known to be the person's.
    public var isVerified: Bool
    /// The sign that the form stood on a page of this server.
    public var confirmation: String

    /// Creates a question.
    public init(id: String, address: String, isVerified: Bool, confirmation: String) {
        self.id = id
        self.address = address
        self.isVerified = isVerified
        self.confirmation = confirmation
    }
}

extension PageRenderer {
    private static let back = FormView.Link(
        target: IdentityPaths.overview, linkID: "back", words: "Back to your identity")

    /// Renders the form for a value.
    public func html(_ page: OwnValuePage) -> RenderedPage {
        let isEmail = page.kind == .email
        let emailLead =
            page.sendsMail
            ? "A link is mailed there, by which you show that the address is yours. Then services can ask for it; you "
                + "say to each what it gets."
            : "It is one that is known to be yours: no link is mailed here. Any other is entered by the people who run this "
                + "service."
        let problem: String? =
            switch page.problem {
            case .invalid?:
                isEmail
                    ? "This is no e-mail address: it is NAME@HOST, in letters without accents."
                    : "This is no phone number: it begins with a plus sign and the country’s code, as +49 30 123456."
            case .tooManyValues?: "You have as many of them as one can have: remove one first."
            case .tooManyAddresses?: "You have as many further addresses as one can have: remove one first."
            case nil: nil
            }
        var view = FormView(
            testID: isEmail ? "own-email" : "own-phone",
            headline: isEmail ? "Add an e-mail address" : "Add a phone number",
            lead: isEmail
                ? emailLead
                : "Services can ask for it; you say to each what it gets. Nobody checks the number, and services are told so.",
            problem: problem, action: isEmail ? IdentityPaths.email : IdentityPaths.phone,
            submit: page.change == nil
                ? "Confirm on your phone" : isEmail && page.sendsMail ? "Mail me the link" : "Add it"
        )
        view.hidden =
            [.init(hiddenName: "confirmation", hiddenValue: page.confirmation)] + FormView.Hidden.change(page.change)
        view.fields = [
            isEmail
                ? .init(
                    id: "email", label: "E-mail address", type: "email", autocomplete: "email", value: page.value,
                    isReadOnly: page.change != nil)
                : .init(
                    id: "phone", label: "Phone number", type: "tel", autocomplete: "tel", value: page.value,
                    isReadOnly: page.change != nil, hint: "With the country’s code, as +49 30 123456.")
        ]
        view.links = [Self.back]
        return self.render(view, template: "form", title: view.headline)
    }

    /// Renders the form for a value's name.
    public func html(_ page: RenameValuePage) -> RenderedPage {
        var view = FormView(
            testID: "rename-value", headline: "Rename this value",
            lead:
                "\(page.attribute): the app shows you the name, and never the value, when you choose what a service gets.",
            problem: page.refusedBeyond.map {
                "A name is one line of 1 to \($0) characters that can be seen, with no space around it."
            }, action: IdentityPaths.valueName, submit: "Rename it")
        view.hidden = [
            .init(hiddenName: "confirmation", hiddenValue: page.confirmation),
            .init(hiddenName: "value", hiddenValue: page.id),
        ]
        view.fields = [
            .init(id: "name", label: "What it is called", type: "text", autocomplete: "off", value: page.alias)
        ]
        view.links = [Self.back]
        return self.render(view, template: "form", title: view.headline)
    }

    /// Renders the question before the server removes a value.
    public func html(_ page: RemoveValuePage) -> RenderedPage {
        let services =
            page.services.isEmpty
            ? "No service gets it."
            : "It goes to \(page.services.joined(separator: ", ")): what has got it keeps it, and you are asked again when "
                + "you sign in there the next time."
        return self.question(
            "Remove this value?", "\(page.attribute): \(page.alias). \(services)", action: IdentityPaths.valueEnd,
            field: .init(name: "value", value: page.id), page.confirmation, testID: "end-value")
    }

    /// Renders the question before the server removes an address.
    public func html(_ page: RemoveAddressPage) -> RenderedPage {
        let consequence =
            page.isVerified
            ? "Where services get it, they are told from then on that nobody knows whether it is yours."
            : "It counts for nothing as long as it is not confirmed."
        return self.question(
            "Remove this address?", "\(page.address). \(consequence)", action: IdentityPaths.addressEnd,
            field: .init(name: "address", value: page.id), page.confirmation, testID: "end-address")
    }

    private func question(
        _ headline: String, _ explanation: String, action: String, field: MessageView.Form.Field,
        _ confirmation: String, testID: String
    ) -> RenderedPage {
        let view = MessageView(
            emblem: PageAssets.keyEmblem, headline: headline, explanation: explanation,
            link: MessageView.Link(label: "No", target: IdentityPaths.overview),
            form: MessageView.Form(
                action: action, label: "Remove it",
                fields: [field, .init(name: "confirmation", value: confirmation)]), testID: testID)
        return self.render(view, template: "message", title: headline)
    }
}

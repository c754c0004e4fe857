import Texts

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
    /// The name of the attribute, as in messages.
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
    /// The name of the attribute, as in messages.
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

extension FormView.Link {
    /// Returns the link that leads back to the person's identity.
    static func toIdentity(in language: any Language) -> Self {
        Self(target: IdentityPaths.overview, linkID: "back", words: language.words(.backToIdentity))
    }
}

extension OwnValuePage: Page {
    /// Renders the form for a value.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let isEmail = self.kind == .email
        let question: Question =
            switch self.kind {
            case .email: .email(sendsMail: self.sendsMail, isConfirmed: self.change != nil)
            case .phone: .phone(isConfirmed: self.change != nil)
            }
        let problem: FormProblem? =
            switch self.problem {
            case .invalid?: isEmail ? .noEmail : .noPhone
            case .tooManyValues?: .tooManyValues
            case .tooManyAddresses?: .tooManyAddresses
            case nil: nil
            }
        var view = FormView(
            testID: isEmail ? "own-email" : "own-phone", renderer.language.message(question),
            action: isEmail ? IdentityPaths.email : IdentityPaths.phone)
        view.problem = problem.map { renderer.language.words($0) }
        view.hidden =
            [.init(hiddenName: "confirmation", hiddenValue: self.confirmation)] + FormView.Hidden.change(self.change)
        view.fields = [
            isEmail
                ? .init(
                    id: "email", label: renderer.language.words(FieldText.email), type: "email", autocomplete: "email",
                    value: self.value, isReadOnly: self.change != nil)
                : .init(
                    id: "phone", label: renderer.language.words(FieldText.phone), type: "tel", autocomplete: "tel",
                    value: self.value, isReadOnly: self.change != nil, hint: renderer.language.words(.phoneHint))
        ]
        view.links = [.toIdentity(in: renderer.language)]
        return renderer.render(view, title: view.headline)
    }
}

extension RenameValuePage: Page {
    /// Renders the form for a value's name.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        var view = FormView(
            testID: "rename-value", renderer.language.message(.renameValue(attribute: self.attribute)),
            action: IdentityPaths.valueName)
        view.problem = self.refusedBeyond.map { renderer.language.words(.noName(most: $0)) }
        view.hidden = [
            .init(hiddenName: "confirmation", hiddenValue: self.confirmation),
            .init(hiddenName: "value", hiddenValue: self.id),
        ]
        view.fields = [
            .init(
                id: "name", label: renderer.language.words(.newName), type: "text", autocomplete: "off",
                value: self.alias)
        ]
        view.links = [.toIdentity(in: renderer.language)]
        return renderer.render(view, title: view.headline)
    }
}

extension RemoveValuePage: Page {
    /// Renders the question before the server removes a value.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        renderer.render(
            .removeValue(attribute: self.attribute, alias: self.alias, services: self.services),
            action: IdentityPaths.valueEnd,
            field: .init(name: "value", value: self.id), self.confirmation, testID: "end-value")
    }
}

extension RemoveAddressPage: Page {
    /// Renders the question before the server removes an address.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        renderer.render(
            .removeAddress(address: self.address, isVerified: self.isVerified), action: IdentityPaths.addressEnd,
            field: .init(name: "address", value: self.id), self.confirmation, testID: "end-address")
    }
}

extension PageRenderer {
    /// Renders a question about something of the person's own, with the form that answers yes.
    fileprivate func render(
        _ question: Question, action: String, field: MessageView.Form.Field, _ confirmation: String, testID: String
    ) -> RenderedPage {
        let message = self.language.message(question)
        var view = MessageView(
            message, emblem: PageAssets.keyEmblem, target: IdentityPaths.overview, testID: testID)
        view.form = MessageView.Form(
            action: action, label: message.submit, fields: [field, .init(name: "confirmation", value: confirmation)])
        return self.render(view, title: message.title)
    }
}

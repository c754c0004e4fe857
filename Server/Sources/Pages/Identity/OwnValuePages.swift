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

extension PageRenderer {
    private var back: FormView.Link {
        FormView.Link(target: IdentityPaths.overview, linkID: "back", words: self.language.words(.backToIdentity))
    }

    /// Renders the form for a value.
    public func html(_ page: OwnValuePage) -> RenderedPage {
        let isEmail = page.kind == .email
        let question: Question =
            switch page.kind {
            case .email: .email(sendsMail: page.sendsMail, isConfirmed: page.change != nil)
            case .phone: .phone(isConfirmed: page.change != nil)
            }
        let problem: FormProblem? =
            switch page.problem {
            case .invalid?: isEmail ? .noEmail : .noPhone
            case .tooManyValues?: .tooManyValues
            case .tooManyAddresses?: .tooManyAddresses
            case nil: nil
            }
        var view = FormView(
            testID: isEmail ? "own-email" : "own-phone", self.language.message(question),
            action: isEmail ? IdentityPaths.email : IdentityPaths.phone)
        view.problem = problem.map { self.language.words($0) }
        view.hidden =
            [.init(hiddenName: "confirmation", hiddenValue: page.confirmation)] + FormView.Hidden.change(page.change)
        view.fields = [
            isEmail
                ? .init(
                    id: "email", label: self.language.words(FieldText.email), type: "email", autocomplete: "email",
                    value: page.value, isReadOnly: page.change != nil)
                : .init(
                    id: "phone", label: self.language.words(FieldText.phone), type: "tel", autocomplete: "tel",
                    value: page.value, isReadOnly: page.change != nil, hint: self.language.words(.phoneHint))
        ]
        view.links = [self.back]
        return self.render(view, template: "form", title: view.headline)
    }

    /// Renders the form for a value's name.
    public func html(_ page: RenameValuePage) -> RenderedPage {
        var view = FormView(
            testID: "rename-value", self.language.message(.renameValue(attribute: page.attribute)),
            action: IdentityPaths.valueName)
        view.problem = page.refusedBeyond.map { self.language.words(.noName(most: $0)) }
        view.hidden = [
            .init(hiddenName: "confirmation", hiddenValue: page.confirmation),
            .init(hiddenName: "value", hiddenValue: page.id),
        ]
        view.fields = [
            .init(
                id: "name", label: self.language.words(.newName), type: "text", autocomplete: "off", value: page.alias)
        ]
        view.links = [self.back]
        return self.render(view, template: "form", title: view.headline)
    }

    /// Renders the question before the server removes a value.
    public func html(_ page: RemoveValuePage) -> RenderedPage {
        self.question(
            .removeValue(attribute: page.attribute, alias: page.alias, services: page.services),
            action: IdentityPaths.valueEnd,
            field: .init(name: "value", value: page.id), page.confirmation, testID: "end-value")
    }

    /// Renders the question before the server removes an address.
    public func html(_ page: RemoveAddressPage) -> RenderedPage {
        self.question(
            .removeAddress(address: page.address, isVerified: page.isVerified), action: IdentityPaths.addressEnd,
            field: .init(name: "address", value: page.id), page.confirmation, testID: "end-address")
    }

    private func question(
        _ question: Question, action: String, field: MessageView.Form.Field, _ confirmation: String, testID: String
    ) -> RenderedPage {
        let message = self.language.message(question)
        var view = MessageView(
            message, emblem: PageAssets.keyEmblem, target: IdentityPaths.overview, testID: testID)
        view.form = MessageView.Form(
            action: action, label: message.submit, fields: [field, .init(name: "confirmation", value: confirmation)])
        return self.render(view, template: "message", title: message.title)
    }
}

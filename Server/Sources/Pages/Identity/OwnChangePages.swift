import Texts

/// The form that renames a device.
public struct RenameActivationPage: Sendable {
    /// The identifier of the device.
    public var id: String
    /// The present name, or the name that the server refused.
    public var name: String
    /// The sign that the form stood on a page of this server.
    public var confirmation: String
    /// The greatest number of characters in a name, if the server refused the last name.
    public var refusedBeyond: Int?

    /// Creates a form.
    public init(id: String, name: String, confirmation: String, refusedBeyond: Int? = nil) {
        self.id = id
        self.name = name
        self.confirmation = confirmation
        self.refusedBeyond = refusedBeyond
    }
}

/// The question that a person answers before the server forgets the choices for a service.
public struct ForgetChoicePage: Sendable {
    /// The identifier of the service.
    public var id: String
    /// The name of the service.
    public var service: String
    /// The values that the service gets.
    public var choices: [NamedValue]
    /// The sign that the form stood on a page of this server.
    public var confirmation: String

    /// Creates a question.
    public init(id: String, service: String, choices: [NamedValue], confirmation: String) {
        self.id = id
        self.service = service
        self.choices = choices
        self.confirmation = confirmation
    }
}

extension RenameActivationPage: Page {
    /// Renders the form for a device's name.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        var view = FormView(
            testID: "rename-activation", renderer.language.message(.renameDevice), action: IdentityPaths.activationName)
        view.problem = self.refusedBeyond.map { renderer.language.words(.noName(most: $0)) }
        view.hidden = [
            .init(hiddenName: "confirmation", hiddenValue: self.confirmation),
            .init(hiddenName: "activation", hiddenValue: self.id),
        ]
        view.fields = [
            .init(
                id: "name", label: renderer.language.words(.newName), type: "text", autocomplete: "off",
                value: self.name)
        ]
        view.links = [.toIdentity(in: renderer.language)]
        return renderer.render(view, title: view.headline)
    }
}

extension ForgetChoicePage: Page {
    /// Renders the question before the server forgets a choice.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let message = renderer.language.message(
            .forgetChoice(service: self.service, choices: self.choices.map { $0.words(in: renderer.language) }))
        var view = MessageView(
            message, emblem: PageAssets.keyEmblem, target: IdentityPaths.overview, testID: "forget-choice")
        view.form = MessageView.Form(
            action: IdentityPaths.choice, label: message.submit,
            fields: [
                .init(name: "service", value: self.id), .init(name: "confirmation", value: self.confirmation),
            ])
        return renderer.render(view, title: message.title)
    }
}

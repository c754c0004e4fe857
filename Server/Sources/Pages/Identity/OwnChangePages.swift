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
    /// The values that the service gets, by attribute and alias.
    public var choices: [String]
    /// The sign that the form stood on a page of this server.
    public var confirmation: String

    /// Creates a question.
    public init(id: String, service: String, choices: [String], confirmation: String) {
        self.id = id
        self.service = service
        self.choices = choices
        self.confirmation = confirmation
    }
}

extension PageRenderer {
    /// Renders the form for a device's name.
    public func html(_ page: RenameActivationPage) -> RenderedPage {
        var view = FormView(
            testID: "rename-activation", headline: "Rename this device",
            lead: "You know it again by its name. Nothing else changes.",
            problem: page.refusedBeyond.map {
                "A name is one line of 1 to \($0) characters that can be seen, with no space around it."
            }, action: IdentityPaths.activationName, submit: "Rename it")
        view.hidden = [
            .init(hiddenName: "confirmation", hiddenValue: page.confirmation),
            .init(hiddenName: "activation", hiddenValue: page.id),
        ]
        view.fields = [
            .init(id: "name", label: "What it is called", type: "text", autocomplete: "off", value: page.name)
        ]
        view.links = [.init(target: IdentityPaths.overview, linkID: "back", words: "Back to your identity")]
        return self.render(view, template: "form", title: view.headline)
    }

    /// Renders the question before the server forgets a choice.
    public func html(_ page: ForgetChoicePage) -> RenderedPage {
        let view = MessageView(
            emblem: PageAssets.keyEmblem, headline: "Ask you again?",
            explanation:
                "\(page.service) gets \(page.choices.joined(separator: ", ")). Once this is forgotten, the app asks you "
                + "what it is to get when you sign in there the next time. What it has got already it keeps.",
            link: MessageView.Link(label: "No", target: IdentityPaths.overview),
            form: MessageView.Form(
                action: IdentityPaths.choice, label: "Ask me again",
                fields: [
                    .init(name: "service", value: page.id), .init(name: "confirmation", value: page.confirmation),
                ]), testID: "forget-choice")
        return self.render(view, template: "message", title: view.headline)
    }
}

/// The form that gives a device another name.
public struct RenameActivationPage: Sendable {
    /// What the device is told by.
    public var id: String
    /// What it is called, or was to be.
    public var name: String
    /// What the form carries as a sign that it stood on our page.
    public var confirmation: String
    /// How many characters a name has at most, where the last one could not be taken.
    public var refusedBeyond: Int?

    /// A form.
    public init(id: String, name: String, confirmation: String, refusedBeyond: Int? = nil) {
        self.id = id
        self.name = name
        self.confirmation = confirmation
        self.refusedBeyond = refusedBeyond
    }
}

/// The question whether it is forgotten what a person has chosen for a service.
public struct ForgetChoicePage: Sendable {
    /// What the service is told by.
    public var id: String
    /// What it is called.
    public var service: String
    /// What it gets, by attribute and alias.
    public var choices: [String]
    /// What the form carries as a sign that it stood on our page.
    public var confirmation: String

    /// A question.
    public init(id: String, service: String, choices: [String], confirmation: String) {
        self.id = id
        self.service = service
        self.choices = choices
        self.confirmation = confirmation
    }
}

extension PageRenderer {
    /// Renders the form of a device's name.
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

    /// Renders the question whether a choice is forgotten.
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

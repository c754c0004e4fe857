/// The organisation or the service to which a person is invited.
public struct InvitationMatter: Sendable {
    /// The organisation; `nil` if the invitation is to no organisation.
    public var organisation: String?
    /// The service, and the role at the service.
    public var place: (service: String, role: String)?
    /// The end of the invitation, as people read the time.
    public var until: String

    /// Describes an invitation.
    public init(organisation: String?, place: (service: String, role: String)?, until: String) {
        self.organisation = organisation
        self.place = place
        self.until = until
    }
}

/// The question by which a person who is signed in accepts an invitation.
public struct AcceptInvitationPage: Sendable {
    /// The value of the link.
    public var link: String
    /// The organisation or the service of the invitation.
    public var matter: InvitationMatter
    /// The user name of the person who is signed in.
    public var username: String
    /// The sign that the form stood on a page of this server.
    public var confirmation: String
    /// The path to which the answer goes: the path of the link.
    public var action: String

    /// Creates a question.
    public init(link: String, matter: InvitationMatter, username: String, confirmation: String, action: String) {
        self.action = action
        self.link = link
        self.matter = matter
        self.username = username
        self.confirmation = confirmation
    }
}

extension PageRenderer {
    /// Renders the question by which a person accepts an invitation.
    public func html(_ page: AcceptInvitationPage) -> RenderedPage {
        let view = MessageView(
            emblem: PageAssets.keyEmblem, headline: self.headline(of: page.matter),
            explanation: "\(self.sentence(of: page.matter)) You are signed in as \(page.username).",
            link: MessageView.Link(label: "Somebody else", target: SignOutQuestionPage.path),
            form: MessageView.Form(
                action: page.action, label: "Accept",
                fields: [
                    .init(name: "link", value: page.link), .init(name: "confirmation", value: page.confirmation),
                ]), testID: "invitation")
        return self.render(view, template: "message", title: view.headline)
    }

    /// Renders the instructions for an invitation to an existing account, for a person who is not signed in to the
    /// account.
    ///
    /// `home` is a service at which the person can sign in, if the server knows a service.
    public func html(_ matter: InvitationMatter, signedInAs other: String?, home: (name: String, address: String)?)
        -> RenderedPage
    {
        let way = home.map { "Sign in at \($0.name) with your app" } ?? "Sign in to a service with your app"
        let explanation =
            "\(self.sentence(of: matter)) You have an identity here already. "
            + (other.map { "In this browser \($0) is signed in, who has not this address: sign out first. " } ?? "")
            + "\(way), in this browser, and open this link again to accept. If you have no app any more, ask the people "
            + "who run \(self.serviceName) for a code."
        let link: MessageView.Link? =
            other != nil
            ? MessageView.Link(label: "Sign out", target: SignOutQuestionPage.path)
            : home.map { MessageView.Link(label: "Go to \($0.name)", target: $0.address) }
        let view = MessageView(
            emblem: PageAssets.phoneEmblem, headline: self.headline(of: matter), explanation: explanation, link: link,
            testID: "invitation")
        return self.render(view, template: "message", title: view.headline)
    }

    func headline(of matter: InvitationMatter) -> String {
        "You are invited to \(matter.organisation ?? matter.place?.service ?? self.serviceName)"
    }

    func sentence(of matter: InvitationMatter) -> String {
        let role = matter.place.map { "As \($0.role) at \($0.service), by" } ?? "By"
        return "\(role) the people who run \(self.serviceName). You can accept until \(matter.until)."
    }
}

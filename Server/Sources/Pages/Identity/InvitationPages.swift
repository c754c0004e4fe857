/// What somebody is invited to.
public struct InvitationMatter: Sendable {
    /// The organisation, if it is to one.
    public var organisation: String?
    /// The service, and the role there.
    public var place: (service: String, role: String)?
    /// Until when it can be accepted, as people read it.
    public var until: String

    /// Describes an invitation.
    public init(organisation: String?, place: (service: String, role: String)?, until: String) {
        self.organisation = organisation
        self.place = place
        self.until = until
    }
}

/// The question whether somebody who is signed in accepts an invitation.
public struct AcceptInvitationPage: Sendable {
    /// What the link carries.
    public var link: String
    /// To what.
    public var matter: InvitationMatter
    /// Who is signed in.
    public var username: String
    /// What the form carries as a sign that it stood on our page.
    public var confirmation: String
    /// Where the answer goes: the path of the link.
    public var action: String

    /// A question.
    public init(link: String, matter: InvitationMatter, username: String, confirmation: String, action: String) {
        self.action = action
        self.link = link
        self.matter = matter
        self.username = username
        self.confirmation = confirmation
    }
}

extension PageRenderer {
    /// Renders the question whether an invitation is accepted.
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

    /// Renders what somebody is told of an invitation that is for an account that is there, and who is not signed in to it.
    /// `home` is a service where they can sign in, if one is known.
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

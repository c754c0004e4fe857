import Texts

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
        let message = self.language.message(
            .acceptInvitation(self.invitation(page.matter), username: page.username))
        var view = MessageView(
            message, emblem: PageAssets.keyEmblem, target: SignOutQuestionPage.path, testID: "invitation")
        view.form = MessageView.Form(
            action: page.action, label: message.submit,
            fields: [
                .init(name: "link", value: page.link), .init(name: "confirmation", value: page.confirmation),
            ])
        return self.render(view, template: "message", title: message.title)
    }

    /// Renders the instructions for an invitation to an existing account, for a person who is not signed in to the
    /// account.
    ///
    /// `home` is a service at which the person can sign in, if the server knows a service.
    public func html(_ matter: InvitationMatter, signedInAs other: String?, home: (name: String, address: String)?)
        -> RenderedPage
    {
        let message = self.language.message(
            .invitationElsewhere(
                self.invitation(matter), operatorName: self.serviceName, other: other, home: home?.name))
        let view = MessageView(
            message, emblem: PageAssets.phoneEmblem, target: other != nil ? SignOutQuestionPage.path : home?.address,
            testID: "invitation")
        return self.render(view, template: "message", title: message.title)
    }

    /// Returns an invitation as a language describes it. An invitation to no organisation and no service is to this
    /// server.
    func invitation(_ matter: InvitationMatter) -> Invitation {
        Invitation(
            headline: matter.organisation ?? matter.place?.service ?? self.serviceName, place: matter.place,
            operatorName: self.serviceName, until: matter.until)
    }
}

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

/// The instructions for an invitation to an existing account, for a person who is not signed in to the account.
public struct InvitationElsewherePage: Sendable {
    /// The organisation or the service of the invitation.
    public var matter: InvitationMatter
    /// The user name of the account that the person is signed in to; `nil` if the person is not signed in.
    public var other: String?
    /// A service at which the person can sign in, if the server knows a service.
    public var home: (name: String, address: String)?

    /// Creates instructions.
    public init(_ matter: InvitationMatter, signedInAs other: String?, home: (name: String, address: String)?) {
        self.matter = matter
        self.other = other
        self.home = home
    }
}

extension AcceptInvitationPage: Page {
    /// Renders the question by which a person accepts an invitation.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let message = renderer.language.message(
            .acceptInvitation(self.matter.invitation(operatorName: renderer.serviceName), username: self.username))
        var view = MessageView(
            message, emblem: PageAssets.keyEmblem, target: SignOutQuestionPage.path, testID: "invitation")
        view.form = MessageView.Form(
            action: self.action, label: message.submit,
            fields: [
                .init(name: "link", value: self.link), .init(name: "confirmation", value: self.confirmation),
            ])
        return renderer.render(view, title: message.title)
    }
}

extension InvitationElsewherePage: Page {
    /// Renders the instructions.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let message = renderer.language.message(
            .invitationElsewhere(
                self.matter.invitation(operatorName: renderer.serviceName), operatorName: renderer.serviceName,
                other: self.other, home: self.home?.name))
        let view = MessageView(
            message, emblem: PageAssets.phoneEmblem,
            target: self.other != nil ? SignOutQuestionPage.path : self.home?.address, testID: "invitation")
        return renderer.render(view, title: message.title)
    }
}

extension InvitationMatter {
    /// Returns the invitation as a language describes it. An invitation to no organisation and no service is to the
    /// server of the operator.
    func invitation(operatorName: String) -> Invitation {
        Invitation(
            headline: self.organisation ?? self.place?.service ?? operatorName, place: self.place,
            operatorName: operatorName, until: self.until)
    }
}

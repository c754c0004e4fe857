import Texts

/// The page on which a person without an identity requests an invitation to a service by mail.
public struct NewcomerPage: Sendable {
    /// The path of the page and of the page's form.
    public static let path = "/sign-in/newcomer"

    /// The sign-in that led to the page, and that goes on afterwards.
    public var frame: SignInFrame
    /// `true` if the person typed no valid address.
    public var isNoAddress: Bool

    /// Creates a page for a sign-in.
    public init(frame: SignInFrame, isNoAddress: Bool = false) {
        self.frame = frame
        self.isNoAddress = isNoAddress
    }
}

/// The page after a person has requested an invitation by mail, whether or not a letter was sent. The page says how the
/// person goes on once they have an identity.
public struct InvitedNewcomerPage: Sendable {
    /// The sign-in that led to the page, and that goes on afterwards.
    public var frame: SignInFrame

    /// Creates a page for a sign-in.
    public init(frame: SignInFrame) { self.frame = frame }
}

extension NewcomerPage: Page {
    /// Renders the page that asks for the address.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let frame = self.frame
        var view = FormView(
            testID: "newcomer", renderer.language.message(.newcomer(client: frame.clientName)),
            action: NewcomerPage.path)
        view.problem = self.isNoAddress ? renderer.language.words(.noEmail) : nil
        view.hidden =
            [.init(hiddenName: "request", hiddenValue: frame.requestID)]
            + (frame.client.map { [.init(hiddenName: "client", hiddenValue: $0)] } ?? [])
        view.fields = [
            .init(id: "email", label: renderer.language.words(FieldText.email), type: "email", autocomplete: "email")
        ]
        view.links = [
            .init(
                target: frame.signInByPhone, linkID: "have-identity", words: renderer.language.words(.haveIdentity))
        ]
        view.leave = .init(requestID: frame.requestID, client: frame.client, clientName: frame.clientName)
        return renderer.render(
            view, title: view.headline, formTargets: frame.returnOrigin.map { [$0] } ?? [])
    }
}

extension InvitedNewcomerPage: Page {
    /// Renders the page that announces a letter. The text is the same whether or not the server sends a letter.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        renderer.html(
            ResultPage(
                .done,
                .newcomerInvited(client: self.frame.clientName, operatorName: renderer.serviceName),
                target: self.frame.signInByPhone))
    }
}

extension SignInFrame {
    /// The path on which the sign-in goes on with a phone, even if the service offers other ways.
    fileprivate var signInByPhone: String { "/sign-in\(self.query)&by=phone" }
}

import Texts

/// The page on which a person types the name that the phone is to ask for.
public struct AskedPhonePage: Sendable {
    /// The path of the page.
    public static let path = "/sign-in/ask"

    /// The sign-in.
    public var frame: SignInFrame
    /// The name that the service has told; empty for none.
    public var username: String
    /// `true` if the person can sign in another way, too.
    public var hasOtherWays: Bool

    /// Creates the page.
    public init(frame: SignInFrame, username: String = "", hasOtherWays: Bool = false) {
        self.frame = frame
        self.username = username
        self.hasOtherWays = hasOtherWays
    }
}

extension AskedPhonePage: Page {
    /// Renders the form with the name.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let (frame, language) = (self.frame, renderer.language)
        var view = FormView(
            testID: "ask-form", language.message(.askedPhone(client: frame.clientName)), action: Self.path)
        view.fields = [
            .init(
                id: "username", label: language.words(.name), type: "text", autocomplete: "username",
                value: self.username)
        ]
        view.hidden =
            [.init(hiddenName: "request", hiddenValue: frame.requestID)]
            + (frame.client.map { [.init(hiddenName: "client", hiddenValue: $0)] } ?? [])
        if self.hasOtherWays {
            view.links = [
                .init(
                    target: "/sign-in" + frame.query, linkID: "other-ways", words: language.words(.signInAnotherWay))
            ]
        }
        view.leave = .init(requestID: frame.requestID, client: frame.client, clientName: frame.clientName)
        return renderer.render(view, title: view.headline, formTargets: frame.returnOrigin.map { [$0] } ?? [])
    }
}

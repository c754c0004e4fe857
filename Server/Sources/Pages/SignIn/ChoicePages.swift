public import Texts

/// The sign-in that a page belongs to.
public struct SignInFrame: Sendable {
    /// The authorization request.
    public var requestID: String
    /// The service that the person signs in to, as people know the service.
    public var clientName: String
    /// The service's identifier, for the page's addresses.
    public var client: String?
    /// The origin to which the browser goes back in the end, for the policy of the page's forms.
    public var returnOrigin: String?

    /// Describes a sign-in.
    public init(requestID: String, clientName: String, client: String? = nil, returnOrigin: String? = nil) {
        self.requestID = requestID
        self.clientName = clientName
        self.client = client
        self.returnOrigin = returnOrigin
    }

    /// The query that every address of the sign-in carries.
    var query: String {
        "?request=" + percentEncoded(self.requestID) + (self.client.map { "&client=" + percentEncoded($0) } ?? "")
    }
}

/// The question how a person wants to sign in, for a service that takes more than one way.
public struct SignInChoicePage: Sendable {
    /// A way to sign in.
    public struct Way: Sendable {
        /// The words for the person.
        public var text: SignInText
        /// The name by which a test finds the way.
        public var name: String
        /// The path of the page on which a sign-in goes on in this way.
        public var path: String
        /// `true` if the path is the path of the question itself: the person's choice then stands in the address.
        public var isHere: Bool

        /// Describes a way.
        public init(_ text: SignInText, name: String, path: String, isHere: Bool = false) {
            self.text = text
            self.name = name
            self.path = path
            self.isHere = isHere
        }

        /// The parameter of the address that says which way the person has chosen.
        fileprivate var choice: String { self.isHere ? "&by=\(self.name)" : "" }
    }

    /// The sign-in.
    public var frame: SignInFrame
    /// The ways, the best first.
    public var ways: [Way]

    /// Creates a question.
    public init(frame: SignInFrame, ways: [Way]) {
        self.frame = frame
        self.ways = ways
    }
}

/// The question how a person wants to sign in to an app, before anything has begun. Each answer is an address.
public struct SignInStartPage: Sendable {
    /// The app, as people know the app.
    public var clientName: String
    /// The ways, each with its address, the best first.
    public var ways: [(way: SignInChoicePage.Way, address: String)]

    /// Creates a question.
    public init(clientName: String, ways: [(way: SignInChoicePage.Way, address: String)]) {
        self.clientName = clientName
        self.ways = ways
    }
}

extension PageRenderer {
    private struct ChoiceView {
        struct Way {
            let target: String
            let wayID: String
            let words: Sentence
            let isQuiet: Bool
        }

        /// The authorization request; `nil` if nothing has begun that the person could give up.
        var requestID: String?
        let clientName: String
        var client: String?
        let ways: [Way]
    }

    /// Returns the ways as the template shows them, each with its address.
    private func views(_ ways: [(way: SignInChoicePage.Way, address: String)]) -> [ChoiceView.Way] {
        ways.enumerated().map { index, way in
            ChoiceView.Way(
                target: way.address, wayID: "by-\(way.way.name)", words: self.language.words(way.way.text),
                isQuiet: index > 0)
        }
    }

    /// Renders the question how a person wants to sign in to an app.
    public func html(_ page: SignInStartPage) -> RenderedPage {
        self.render(
            ChoiceView(clientName: page.clientName, ways: self.views(page.ways)), template: "choice",
            title: self.language.words(.signInTo(client: page.clientName)), formTargets: [])
    }

    /// Renders the question how a person wants to sign in.
    public func html(_ page: SignInChoicePage) -> RenderedPage {
        let ways = self.views(page.ways.map { ($0, $0.path + page.frame.query + $0.choice) })
        let view = ChoiceView(
            requestID: page.frame.requestID, clientName: page.frame.clientName, client: page.frame.client, ways: ways)
        return self.render(
            view, template: "choice", title: self.language.words(.signInTo(client: page.frame.clientName)),
            formTargets: page.frame.returnOrigin.map { [$0] } ?? [])
    }
}

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
        public var text: SignInWayText
        /// The name by which a test finds the way.
        public var name: String
        /// The path of the page on which a sign-in goes on in this way.
        public var path: String
        /// `true` if the path is the path of the question itself: the person's choice then stands in the address.
        public var isHere: Bool

        /// Describes a way.
        public init(_ text: SignInWayText, name: String, path: String, isHere: Bool = false) {
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

private struct ChoiceView: PageView {
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

    static let template = "choice"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card form" aria-labelledby="title" data-testid="choice">
        <h1 id="title">{{#isChange}}\(words(.confirmOnPhone)){{/isChange}}\
        {{^isChange}}\(words(.signInTo(client: "<bdi>{{clientName}}</bdi>"))){{/isChange}}</h1>
        <p class="lead">\(words(.chooseWay))</p>
        <ul class="choice">
        {{#ways}}
        <li><a class="button{{#isQuiet}} quiet{{/isQuiet}}" href="{{target}}" data-testid="{{wayID}}">{{words}}</a></li>
        {{/ways}}
        </ul>
        {{#requestID}}
        <form class="leave" id="leave" method="post" action="/sign-in/cancel">
        <input type="hidden" name="request" value="{{.}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="cancel"><span>\
        \(words(.cancelAndGoBack(client: "<bdi>{{clientName}}</bdi>")))</span></button>
        </form>
        {{/requestID}}
        </section>
        {{/main}}{{/frame}}
        """
    }
}

extension ChoiceView.Way {
    /// Returns the ways as the template shows them, each with its address.
    fileprivate static func all(
        _ ways: [(way: SignInChoicePage.Way, address: String)], in language: any Language
    ) -> [Self] {
        ways.enumerated().map { index, way in
            Self(
                target: way.address, wayID: "by-\(way.way.name)", words: language.words(way.way.text),
                isQuiet: index > 0)
        }
    }
}

extension SignInStartPage: Page {
    /// Renders the question how a person wants to sign in to an app.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        renderer.render(
            ChoiceView(clientName: self.clientName, ways: ChoiceView.Way.all(self.ways, in: renderer.language)),
            title: renderer.language.words(.signInTo(client: self.clientName)), formTargets: [])
    }
}

extension SignInChoicePage: Page {
    /// Renders the question how a person wants to sign in.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let ways = ChoiceView.Way.all(
            self.ways.map { ($0, $0.path + self.frame.query + $0.choice) }, in: renderer.language)
        let view = ChoiceView(
            requestID: self.frame.requestID, clientName: self.frame.clientName, client: self.frame.client, ways: ways)
        return renderer.render(
            view, title: renderer.language.words(.signInTo(client: self.frame.clientName)),
            formTargets: self.frame.returnOrigin.map { [$0] } ?? [])
    }
}

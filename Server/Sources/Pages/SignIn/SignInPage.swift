import Texts

/// The page on which a person signs in with their phone, in each of the page's states.
public struct SignInPage: Sendable {
    /// The progress of the sign-in. The raw values are the words of the page's own channel.
    public enum State: String, Sendable, CaseIterable {
        /// The page shows the codes, and no phone has taken a code.
        case waiting
        /// A phone has taken a code; the person decides on the phone.
        case claimed
        /// Confirmed; this browser goes on.
        case approved
        /// Confirmed through the link on this device; the app opens the browser that goes on.
        case approvedOnDevice = "approved-on-device"
        /// Another page of this browser has gone on.
        case completed
        /// The person said no.
        case denied
        /// Nobody answered in time, the browser did not go on in time, or the sign-in was given up in the browser.
        case expired
        /// The server refused the answer, or the phone gave up.
        case failed
    }

    /// The way in which a person without an account gets an account.
    public enum Enrolment: Sendable, Equatable {
        /// By an enrolment link that an operator makes.
        case link
        /// By an invitation that an operator makes.
        case invitation
        /// By an invitation that the person requests by mail, at the given address.
        case mail(String)
    }

    /// The action that the person confirms on the phone.
    public enum Matter: Sendable {
        /// A sign-in.
        case signIn
        /// A change of the account.
        case change

        /// The path of the pages for this action.
        public var path: String {
            switch self {
            case .signIn: "/sign-in"
            case .change: "/account/change"
            }
        }
    }

    /// The three ways to reach the phone.
    public struct Codes: Sendable {
        /// The content of the QR code. The content is no link: somebody could send a link to a person to tap.
        public var qrContent: String
        /// The link for the app on the device that shows the page.
        public var sameDeviceLink: String
        /// The code that a person types, in the groups of the display; empty if the person cannot type a code.
        public var typedCode: String
        /// The remaining lifetime of all three, in seconds.
        public var secondsLeft: Int

        /// Creates the codes of one round.
        public init(qrContent: String, sameDeviceLink: String, typedCode: String, secondsLeft: Int) {
            self.qrContent = qrContent
            self.sameDeviceLink = sameDeviceLink
            self.typedCode = typedCode
            self.secondsLeft = secondsLeft
        }
    }

    /// The sign-in that the page belongs to, as the page's addresses name the sign-in.
    public var requestID: String
    /// The service that the person signs in to.
    public var clientName: String
    /// The service's identifier, for the page's addresses. After the sign-in is gone, the page finds the service by the
    /// identifier.
    public var client: String?
    /// The address at which people find the service, if an address is registered.
    public var home: String?
    /// The number of the request in the server's log, if the sign-in has ended without success.
    public var reference: String?
    /// The progress of the sign-in. ``State/waiting`` needs codes or a number.
    public var state: State
    /// The codes to scan, open or type, as long as a phone may still take part.
    public var codes: Codes?
    /// The origin to which the browser goes back in the end, for the policy of the page's form.
    public var returnOrigin: String?
    /// The way to an account that the page explains; `nil` for no explanation.
    public var enrolment: Enrolment?
    /// The text that the person agrees to. The phone shows the text, too.
    public var agreement: String?

    /// The number that the person types on the phone; `nil` for a page with codes.
    public var number: String?
    /// `true` if the sign-in began with a name. A further try begins with a name, too.
    public var isAskedByName = false
    /// `true` if the person can sign in another way, too.
    public var hasOtherWays = false
    /// The action that the person confirms.
    public var matter = Matter.signIn

    /// Creates a sign-in page.
    public init(
        requestID: String, clientName: String, client: String? = nil, state: State, codes: Codes? = nil,
        returnOrigin: String? = nil, home: String? = nil, reference: String? = nil, enrolment: Enrolment? = nil
    ) {
        self.enrolment = enrolment
        self.client = client
        self.home = home
        self.reference = reference
        self.requestID = requestID
        self.clientName = clientName
        self.state = state
        self.codes = codes
        self.returnOrigin = returnOrigin
    }
}

/// The values for the template.
private struct SignInView: PageView {
    struct Codes {
        let qr: String
        let sameDeviceLink: String
        let typedCode: String?
        let secondsLeft: Int
        let expires: Sentence
    }

    struct Enrolment {
        let how: Sentence
        /// The address on which the enrolment begins, if the enrolment begins on this server.
        let begin: String?
    }

    let requestID: String
    let clientName: String
    let client: String?
    let homeLink: String?
    let reference: String?
    let state: String
    let stateText: Sentence
    /// `true` for a page without codes and without a number.
    let isOutcome: Bool
    let ended: Bool
    let wait: String
    let codes: Codes?
    let number: String?
    /// The address of the form with the name, for a page with a number.
    let askAgain: String?
    let tone: String
    let emblem: String
    let headline: Sentence
    let explanation: Sentence
    let continueLink: String?
    let retryLink: String?
    let showsConfirmed: Bool
    let otherWays: String?
    let canLeave: Bool
    let enrolment: Enrolment?
    let agreement: String?
    /// The path of the pages for this action.
    let path: String
    /// The action by which the script chooses the addresses to ask; `nil` for a sign-in.
    let matter: String?
    let isChange: Bool

    static let template = "sign-in"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card sign-in{{#ended}} ended{{/ended}}" id="sign-in" aria-labelledby="title" \
        data-state="{{state}}" data-request="{{requestID}}"{{#client}} data-client="{{.}}"{{/client}}{{#matter}} data-matter="{{.}}"{{/matter}}\
        {{#codes}} data-seconds-left="{{secondsLeft}}"{{/codes}}>
        <div class="intro">
        <h1 id="title">{{#isChange}}\(words(.confirmOnPhone)){{/isChange}}\
        {{^isChange}}\(words(.signInTo(client: "<bdi>{{clientName}}</bdi>"))){{/isChange}}</h1>
        <p class="state" id="state" role="status" data-testid="state" data-state="{{state}}">{{stateText}}</p>
        {{#agreement}}<p class="small">\(words(.agreeOnPhone))</p>
        <pre class="agreement" data-testid="agreement"><bdi>{{.}}</bdi></pre>{{/agreement}}
        </div>
        {{#codes}}
        <div class="stage waiting" id="stage">
        <p class="same-device"><span class="small">\(words(.readingOnPhone))</span> <a class="button" href="{{sameDeviceLink}}" data-testid="same-device-link" \
        rel="noreferrer">\(words(SignInText.openAppHere))</a></p>
        <div class="code">
        <div class="qr" data-testid="qr-code">{{{qr}}}</div>
        <p class="expires" id="expires" role="timer" data-testid="expires">{{expires}}</p>
        <p class="renew"><a href="{{wait}}" data-testid="new-code">\(words(.showNewCode))</a></p>
        </div>
        <ol class="steps">
        <li><span>\(words(SignInText.openApp))</span></li>
        <li class="scan"><span>\(words(SignInText.scanCode))</span></li>
        <li><span>\(words(.checkName(client: "<bdi>{{clientName}}</bdi>")))</span></li>
        </ol>
        {{#typedCode}}<div class="typed">
        <h2>\(words(SignInText.noCamera))</h2>
        <p class="small">\(words(.typeCode))</p>
        <p><code data-testid="typed-code">{{.}}</code></p>
        </div>{{/typedCode}}
        <div class="confirmed" id="confirmed">
        <p class="small">\(words(.haveConfirmedQuestion))</p>
        <form method="get" action="{{path}}/wait">
        <input type="hidden" name="request" value="{{requestID}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="confirmed">\(words(.haveConfirmed))</button>
        </form>
        </div>
        </div>
        {{/codes}}
        {{#number}}
        <div class="stage" id="stage">
        <div class="number">
        <h2>\(words(.typeNumber))</h2>
        <p class="digits"><code data-testid="number">{{.}}</code></p>
        <p>\(words(.phoneAsks))</p>
        <p class="small">\(words(.numberWarning))</p>
        {{#askAgain}}<p><a href="{{.}}" data-testid="ask-again">\(words(.askOtherName))</a></p>{{/askAgain}}
        </div>
        <div class="confirmed" id="confirmed">
        <p class="small">\(words(.haveConfirmedQuestion))</p>
        <form method="get" action="{{path}}/wait">
        <input type="hidden" name="request" value="{{requestID}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="confirmed">\(words(.haveConfirmed))</button>
        </form>
        </div>
        </div>
        {{/number}}
        {{#isOutcome}}
        <div class="stage" id="stage">
        <div class="outcome">
        <div class="emblem {{tone}}">{{{emblem}}}</div>
        <h2>{{headline}}</h2>
        <p class="lead">{{explanation}}</p>
        {{#continueLink}}
        <p class="actions"><a class="button" href="{{.}}" data-testid="continue">\(words(.continueOn))</a></p>
        {{/continueLink}}
        {{#retryLink}}
        <p class="actions"><a class="button" href="{{.}}" data-testid="retry">\(words(.tryAgain))</a></p>
        {{/retryLink}}
        {{#homeLink}}
        <p class="actions"><a class="button" href="{{.}}" data-testid="home">\(words(.goTo(name: "<bdi>{{clientName}}</bdi>")))</a></p>
        {{/homeLink}}
        {{#showsConfirmed}}
        <form method="get" action="{{path}}/wait" id="confirmed">
        <input type="hidden" name="request" value="{{requestID}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="confirmed">\(words(.haveConfirmed))</button>
        </form>
        {{/showsConfirmed}}
        {{#reference}}
        <p class="small">\(words(.helpNumber("<code>{{.}}</code>")))</p>
        {{/reference}}
        </div>
        </div>
        {{/isOutcome}}
        {{#enrolment}}
        <div class="typed" data-testid="enrolment">
        <h2>\(words(.noAccountYet))</h2>
        <p class="small">{{how}}</p>
        {{#begin}}<p><a href="{{.}}" data-testid="begin-enrolment">\(words(.makeIdentity))</a></p>{{/begin}}
        </div>
        {{/enrolment}}
        {{#otherWays}}
        <p class="other"><a href="{{.}}" data-testid="other-ways">\(words(.signInAnotherWay))</a></p>
        {{/otherWays}}
        {{#canLeave}}
        <form class="leave" id="leave" method="post" action="{{path}}/cancel">
        <input type="hidden" name="request" value="{{requestID}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="cancel"><span>{{#isChange}}\(words(.cancel)){{/isChange}}\
        {{^isChange}}\(words(.cancelAndGoBack(client: "<bdi>{{clientName}}</bdi>"))){{/isChange}}</span></button>
        </form>
        {{/canLeave}}
        </section>
        {{/main}}{{/frame}}
        """
    }
}

extension SignInPage: Page {
    public typealias RenderingFailure = QRCodeError

    /// Renders the page. Throws ``QRCodeError`` if the content of the QR code is empty or too long.
    public func html(by renderer: PageRenderer) throws(QRCodeError) -> RenderedPage {
        var codes: SignInView.Codes?
        if self.state == .waiting, let shown = self.codes {
            let secondsLeft = max(0, shown.secondsLeft)
            codes = SignInView.Codes(
                qr: try QRCode(text: shown.qrContent).svg(label: renderer.language.words(SignInText.qrCode).plain),
                sameDeviceLink: shown.sameDeviceLink, typedCode: shown.typedCode.isEmpty ? nil : shown.typedCode,
                secondsLeft: secondsLeft, expires: renderer.language.words(.codeWorks(seconds: secondsLeft)))
        }
        let query =
            "?request=" + percentEncoded(self.requestID)
            + (self.client.map { "&client=" + percentEncoded($0) } ?? "")
        let isChange = self.matter == .change
        let words = renderer.language.words(self.state.progress, of: isChange ? .change : .signIn)
        let (tone, emblem) = self.state.look
        let path = self.matter.path
        let isOpen = self.state == .waiting || self.state == .claimed
        let number = self.state == .waiting ? self.number : nil
        let retry = self.isAskedByName ? AskedPhonePage.path : "\(path)\(isChange ? "/again" : "")"
        let endedWithoutSuccess = [.denied, .expired, .failed].contains(self.state)
        let view = SignInView(
            requestID: self.requestID, clientName: self.clientName, client: self.client,
            homeLink: self.state == .completed ? self.home : nil,
            reference: endedWithoutSuccess ? self.reference : nil, state: self.state.rawValue, stateText: words.state,
            isOutcome: codes == nil && number == nil, ended: codes == nil, wait: "\(path)/wait" + query, codes: codes,
            number: number, askAgain: number.map { _ in AskedPhonePage.path + query }, tone: tone, emblem: emblem,
            headline: words.headline, explanation: words.explanation,
            continueLink: self.state == .approved ? "\(path)/complete" + query : nil,
            retryLink: endedWithoutSuccess ? retry + query : nil,
            showsConfirmed: isOpen,
            otherWays: self.hasOtherWays && (isOpen || endedWithoutSuccess) ? "/sign-in" + query : nil,
            canLeave: isOpen || endedWithoutSuccess,
            enrolment: isOpen ? self.enrolment.map { SignInView.Enrolment($0, by: renderer) } : nil,
            agreement: isOpen ? self.agreement : nil, path: path, matter: isChange ? "change" : nil, isChange: isChange)
        return renderer.render(
            view,
            title: isChange
                ? renderer.language.words(.confirmOnPhone)
                : renderer.language.words(.signInTo(client: self.clientName)),
            formTargets: self.returnOrigin.map { [$0] } ?? [])
    }
}

extension SignInView.Enrolment {
    /// Describes the way to an account.
    fileprivate init(_ enrolment: SignInPage.Enrolment, by renderer: PageRenderer) {
        let language = renderer.language
        switch enrolment {
        case .link:
            self.init(how: language.words(.enrolmentByLink(operatorName: renderer.serviceName)), begin: nil)
        case .invitation:
            self.init(how: language.words(.enrolmentByInvitation(operatorName: renderer.serviceName)), begin: nil)
        case .mail(let address): self.init(how: language.words(.enrolmentByMail), begin: address)
        }
    }
}

extension SignInPage.State {
    /// The state as a language names it.
    fileprivate var progress: Progress {
        switch self {
        case .waiting: .waiting
        case .claimed: .claimed
        case .approved: .approved
        case .approvedOnDevice: .approvedOnDevice
        case .completed: .completed
        case .denied: .denied
        case .expired: .expired
        case .failed: .failed
        }
    }

    /// The tone and the drawing of the state.
    fileprivate var look: (tone: String, emblem: String) {
        switch self {
        case .waiting: ("", PageAssets.phoneEmblem)
        case .claimed: ("busy", PageAssets.phoneEmblem)
        case .approved, .approvedOnDevice, .completed: ("good", PageAssets.checkEmblem)
        case .denied, .failed: ("bad", PageAssets.crossEmblem)
        case .expired: ("bad", PageAssets.clockEmblem)
        }
    }
}

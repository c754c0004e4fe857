import Texts

/// The page on which a person requests a code for a device: for a further device, or for the first device after an
/// invitation.
public struct ActivationRequestPage: Sendable {
    /// The proof that the form carries: the form stood on a page of this server, or the person received the link.
    public enum Proof: Sendable {
        /// A person who is signed in.
        ///
        /// `change` names the confirmed change.
        case confirmation(String, change: String)
        /// A person with the link of an invitation. The path of the link is `action`.
        case invitation(link: String, to: InvitationMatter, action: String)
    }

    /// The problem with the PINs that the person sent.
    public enum Problem: Sendable, CaseIterable {
        /// Two different PINs.
        case notTheSame
        /// A PIN with other characters than digits, or with too few or too many digits.
        case noPIN
        /// A PIN that an attacker would guess first.
        case tooSimple
    }

    /// The proof of the person who asks.
    public var proof: Proof
    /// The number of digits that a PIN can have.
    public var digits: ClosedRange<Int>
    /// The problem with the PINs that the person sent; `nil` the first time.
    public var problem: Problem?

    /// Creates a page with these values.
    public init(proof: Proof, digits: ClosedRange<Int>, problem: Problem? = nil) {
        self.proof = proof
        self.digits = digits
        self.problem = problem
    }
}

/// A code that personalises an app, with all instructions for the person.
///
/// The server makes a code once. Only the answer to the request shows the code.
public struct ActivationCodePage: Sendable {
    /// The path that tells the state of the code.
    public static let statePath = "/activation"
    /// The path of the page's event channel.
    public static let eventsPath = "/activation/events"

    /// The identifier of the activation.
    public var activation: String
    /// The proof that this browser requested the code.
    public var ticket: String
    /// The code.
    public var code: String
    /// The code as a link for the device that shows the page.
    public var link: String
    /// The remaining lifetime of the code, in seconds.
    public var secondsLeft: Int
    /// The end of the code's lifetime, as people read the time.
    public var until: String
    /// The path on which a person requests another code.
    public var renewal: String
    /// `true` if the code can also bring the invitation into an identity that the person already has.
    public var merges: Bool

    /// Creates a page with these values.
    public init(
        activation: String, ticket: String, code: String, link: String, secondsLeft: Int, until: String,
        renewal: String, merges: Bool
    ) {
        self.activation = activation
        self.ticket = ticket
        self.code = code
        self.link = link
        self.secondsLeft = secondsLeft
        self.until = until
        self.renewal = renewal
        self.merges = merges
    }
}

/// The state of a code, for a page that no longer shows the code. `again` is the path on which a person requests
/// another code.
public enum ActivationStatePage: Sendable {
    /// A device can still use the code, but no page shows the code again.
    case waiting(again: String)
    /// The code has personalised a device. `home` is the service from which the person came; `nil` for none.
    case done(home: (name: String, address: String)?)
    /// No device can use the code any more.
    case over(again: String)
}

private struct ActivationView: PageView {
    let activation: String
    let ticket: String
    let code: String
    let link: String
    let qr: String
    let secondsLeft: Int
    let until: Sentence
    let renew: String
    let merges: Bool

    static let template = "activation"

    /// The template of a code's page. The template has the layout and the styles of the sign-in page.
    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card sign-in" id="activation" aria-labelledby="title" data-activation="{{activation}}" \
        data-ticket="{{ticket}}" data-seconds-left="{{secondsLeft}}" data-testid="activation">
        <div class="intro">
        <h1 id="title">\(words(.personaliseDevice))</h1>
        <p class="state" id="state" role="status" data-testid="state" data-state="waiting">\(words(.waitingForDevice))</p>
        </div>
        <div class="stage waiting" id="stage">
        <p class="same-device"><span class="small">\(words(.isThisTheDevice))</span> <a class="button" href="{{link}}" \
        data-testid="same-device-link" rel="noreferrer">\(words(ActivationText.openAppHere))</a></p>
        <div class="code">
        <div class="qr" data-testid="qr-code">{{{qr}}}</div>
        <p class="expires" id="expires" role="timer" data-testid="expires">{{until}}</p>
        <p class="renew"><a href="{{renew}}" data-testid="new-code">\(words(.makeAnotherCode))</a></p>
        </div>
        <ol class="steps">
        <li><span>\(words(ActivationText.openApp))</span></li>
        <li class="scan"><span>\(words(ActivationText.scanCode))</span></li>
        <li><span>\(words(.typePIN))</span></li>
        {{#merges}}<li><span>\(words(.mergeCode))</span></li>{{/merges}}
        </ol>
        <div class="typed">
        <h2>\(words(ActivationText.noCamera))</h2>
        <p class="small">\(words(.takeText))</p>
        <p class="long"><code id="code" data-testid="typed-code">{{code}}</code></p>
        <p><button type="button" class="quiet" data-copy="code" hidden>\(words(.copy))</button> <span id="copied" role="status"></span></p>
        </div>
        <div class="confirmed" id="confirmed">
        <p class="small">\(words(.isDoneQuestion))</p>
        <form method="get" action="/activation">
        <input type="hidden" name="activation" value="{{activation}}">
        <input type="hidden" name="ticket" value="{{ticket}}">
        <button type="submit" class="quiet" data-testid="confirmed">\(words(.isDone))</button>
        </form>
        </div>
        </div>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

extension ActivationRequestPage: Page {
    /// Renders the page on which a person requests a code.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let (fewest, most) = (self.digits.lowerBound, self.digits.upperBound)
        let problem: FormProblem? =
            switch self.problem {
            case .notTheSame: .notTheSamePIN
            case .noPIN: .noPIN(fewest: fewest, most: most)
            case .tooSimple: .pinTooSimple
            case nil: nil
            }
        var view: FormView
        switch self.proof {
        case .confirmation(let confirmation, let change):
            view = FormView(
                testID: "activation-request", renderer.language.message(.anotherDevice),
                action: IdentityPaths.activation)
            view.hidden =
                [.init(hiddenName: "confirmation", hiddenValue: confirmation)] + FormView.Hidden.change(change)
            view.fields = [
                .init(
                    id: "name", label: renderer.language.words(.deviceName), type: "text", autocomplete: "off",
                    hint: renderer.language.words(.deviceNameHint))
            ]
            view.links = [.toIdentity(in: renderer.language)]
        case .invitation(let link, let matter, let action):
            view = FormView(
                testID: "invitation",
                renderer.language.message(.invitation(matter.invitation(operatorName: renderer.serviceName))),
                action: action)
            view.hidden = [.init(hiddenName: "link", hiddenValue: link)]
        }
        view.problem = problem.map { renderer.language.words($0) }
        view.fields += [
            .init(
                id: "pin", label: renderer.language.words(.pin), type: "password", autocomplete: "off", isNumber: true,
                hint: renderer.language.words(.pinHint(fewest: fewest, most: most))),
            .init(
                id: "pin-again", label: renderer.language.words(.pinAgain), type: "password", autocomplete: "off",
                isNumber: true),
        ]
        return renderer.render(view, title: view.headline)
    }
}

extension ActivationCodePage: Page {
    public typealias RenderingFailure = QRCodeError

    /// Renders a code. Throws ``QRCodeError`` if the code is empty or too long for a picture.
    public func html(by renderer: PageRenderer) throws(QRCodeError) -> RenderedPage {
        let view = ActivationView(
            activation: self.activation, ticket: self.ticket, code: self.code, link: self.link,
            qr: try QRCode(text: self.code).svg(label: renderer.language.words(ActivationText.qrCode).plain),
            secondsLeft: max(0, self.secondsLeft), until: renderer.language.words(.codeWorksUntil(self.until)),
            renew: self.renewal,
            merges: self.merges)
        return renderer.render(view, title: renderer.language.words(.personaliseDevice))
    }
}

extension ActivationStatePage: Page {
    /// Renders the state of a code.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let result: ResultPage =
            switch self {
            case .waiting(let again):
                ResultPage(.tooLate, .codeWaits, target: again)
            case .done(let home):
                ResultPage(
                    .done, .devicePersonalised(home: home?.name), target: home?.address ?? IdentityPaths.overview)
            case .over(let again):
                ResultPage(.tooLate, .codeOver, target: again)
            }
        return renderer.html(result)
    }
}

import Texts

/// The page on which a person types the code that a device without a browser shows (RFC 8628, section 3.3).
public struct DeviceCodePage: Sendable {
    /// The code that stands in the field already.
    public var code: String?
    /// `true` if no device waits for the code that the person typed.
    public var isUnknown: Bool
    /// The number of the refusal in the log, if there was a problem.
    public var reference: String?

    /// Creates a page for a code.
    public init(code: String? = nil, isUnknown: Bool = false) {
        self.code = code
        self.isUnknown = isUnknown
    }
}

/// The question that a person answers, after authenticating, before a device is signed in.
public struct DeviceConfirmationPage: Sendable {
    /// The request that waits for the person, as the page's addresses name the request.
    public var requestID: String
    /// The service's identifier.
    public var client: String
    /// The code in groups. The device shows the same code.
    public var code: String
    /// The service that the device belongs to.
    public var clientName: String
    /// Scheme, host and port of the service.
    public var clientOrigin: String
    /// The user name of the person who has authenticated.
    public var username: String
    /// The proof that the form stood on this page.
    public var formToken: String

    /// Creates a question.
    public init(
        requestID: String, client: String, code: String, clientName: String, clientOrigin: String, username: String,
        formToken: String
    ) {
        self.requestID = requestID
        self.client = client
        self.code = code
        self.clientName = clientName
        self.clientOrigin = clientOrigin
        self.username = username
        self.formToken = formToken
    }
}

private struct DeviceCodeView: PageView {
    let emblem: String
    let code: String
    let problem: Sentence?
    let reference: String?

    static let template = "device"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="device">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">\(words(.device))</h1>
        <p class="lead" id="hint">\(words(.typeDeviceCode))</p>
        {{#problem}}<p class="notice bad" id="problem" role="alert" data-testid="problem">{{.}}</p>{{/problem}}
        {{#reference}}<p class="reference small">\(words(.helpNumber("<code>{{.}}</code>")))</p>{{/reference}}
        <form class="entry" method="post" action="/device">
        <label for="user-code">\(words(FieldText.code))</label>
        <input id="user-code" name="user_code" value="{{code}}" type="text" autocomplete="off" autocapitalize="characters" \
        spellcheck="false" required maxlength="64"{{#problem}} aria-invalid="true"{{/problem}} \
        aria-describedby="{{#problem}}problem {{/problem}}hint">
        <button type="submit" data-testid="continue">\(words(.continueOn))</button>
        </form>
        <p class="small">\(words(.deviceWarning))</p>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

private struct DeviceConfirmationView: PageView {
    let emblem: String
    let requestID: String
    let client: String
    let code: String
    let clientName: String
    let clientOrigin: String
    let username: String
    let formToken: String

    static let template = "device-confirmation"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card message" aria-labelledby="title" data-testid="device-confirmation">
        <div class="emblem">{{{emblem}}}</div>
        <h1 id="title">\(words(.isThisYourDevice))</h1>
        <p class="lead">\
        \(words(.deviceWants(client: "<bdi>{{clientName}}</bdi>", username: "<bdi>{{username}}</bdi>")))</p>
        <dl class="facts">
        <div><dt>\(words(FieldText.code))</dt><dd><code data-testid="user-code">{{code}}</code></dd></div>
        <div><dt>\(words(.service))</dt><dd data-testid="service"><bdi>{{clientName}}</bdi></dd></div>
        <div><dt>\(words(.itsAddress))</dt><dd data-testid="origin">{{clientOrigin}}</dd></div>
        </dl>
        <form class="actions" method="post" action="/device/confirm">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <input type="hidden" name="confirmation" value="{{formToken}}">
        <button type="submit" data-testid="confirm">\(words(.yesSignIn))</button>
        </form>
        <form class="actions" method="post" action="/sign-in/cancel">
        <input type="hidden" name="request" value="{{requestID}}">
        <input type="hidden" name="client" value="{{client}}">
        <button type="submit" class="quiet" data-testid="refuse">\(words(.no))</button>
        </form>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

extension DeviceCodePage: Page {
    /// Renders the page for a code.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let problem = self.isUnknown ? renderer.language.words(FormProblem.deviceCodeUnknown) : nil
        return renderer.render(
            DeviceCodeView(
                emblem: PageAssets.phoneEmblem, code: self.code ?? "", problem: problem, reference: self.reference),
            title: renderer.language.words(.device))
    }
}

extension DeviceConfirmationPage: Page {
    /// Renders the question.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        renderer.render(
            DeviceConfirmationView(
                emblem: PageAssets.keyEmblem, requestID: self.requestID, client: self.client, code: self.code,
                clientName: self.clientName, clientOrigin: self.clientOrigin, username: self.username,
                formToken: self.formToken), title: renderer.language.words(.isThisYourDevice))
    }
}

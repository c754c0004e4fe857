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

extension PageRenderer {
    private struct DeviceCodeView {
        let emblem: String
        let code: String
        let problem: Sentence?
        let reference: String?
    }

    private struct DeviceConfirmationView {
        let emblem: String
        let requestID: String
        let client: String
        let code: String
        let clientName: String
        let clientOrigin: String
        let username: String
        let formToken: String
    }

    /// Renders the page for a code.
    public func html(_ page: DeviceCodePage) -> RenderedPage {
        let problem = page.isUnknown ? self.language.words(FormProblem.deviceCodeUnknown) : nil
        return self.render(
            DeviceCodeView(
                emblem: PageAssets.phoneEmblem, code: page.code ?? "", problem: problem, reference: page.reference),
            template: "device", title: self.language.words(.device))
    }

    /// Renders the question.
    public func html(_ page: DeviceConfirmationPage) -> RenderedPage {
        self.render(
            DeviceConfirmationView(
                emblem: PageAssets.keyEmblem, requestID: page.requestID, client: page.client, code: page.code,
                clientName: page.clientName, clientOrigin: page.clientOrigin, username: page.username,
                formToken: page.formToken),
            template: "device-confirmation", title: self.language.words(.isThisYourDevice))
    }
}

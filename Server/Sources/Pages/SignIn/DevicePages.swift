/// The page on which a person types the code that a device without a browser shows (RFC 8628, section 3.3).
public struct DeviceCodePage: Sendable {
    /// What stands in the field already.
    public var code: String?
    /// Whether no device waits for what was typed.
    public var isUnknown: Bool
    /// The number of the refusal in the log, where something was wrong.
    public var reference: String?

    /// A page for a code.
    public init(code: String? = nil, isUnknown: Bool = false) {
        self.code = code
        self.isUnknown = isUnknown
    }
}

/// The question whether a device is to be signed in, after the person has authenticated.
public struct DeviceConfirmationPage: Sendable {
    /// What waits for the person, as it stands in the page's addresses.
    public var requestID: String
    /// The service's identifier.
    public var client: String
    /// The code that the device shows as well, in groups.
    public var code: String
    /// The service that the device belongs to.
    public var clientName: String
    /// Scheme, host and port of the service.
    public var clientOrigin: String
    /// Who has authenticated.
    public var username: String
    /// What shows that the form stood on this page.
    public var formToken: String

    /// A question.
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
        let problem: String?
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
        let problem =
            page.isUnknown
            ? "No device waits for this code. It may be mistyped, or its time is over: then the device shows a new one."
            : nil
        return self.render(
            DeviceCodeView(
                emblem: PageAssets.phoneEmblem, code: page.code ?? "", problem: problem, reference: page.reference),
            template: "device", title: "Sign in on a device")
    }

    /// Renders the question.
    public func html(_ page: DeviceConfirmationPage) -> RenderedPage {
        self.render(
            DeviceConfirmationView(
                emblem: PageAssets.keyEmblem, requestID: page.requestID, client: page.client, code: page.code,
                clientName: page.clientName, clientOrigin: page.clientOrigin, username: page.username,
                formToken: page.formToken),
            template: "device-confirmation", title: "Is this your device?")
    }
}

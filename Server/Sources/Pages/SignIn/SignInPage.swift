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
    /// The progress of the sign-in. ``State/waiting`` needs codes.
    public var state: State
    /// The codes to scan, open or type, as long as a phone may still take part.
    public var codes: Codes?
    /// The origin to which the browser goes back in the end, for the policy of the page's form.
    public var returnOrigin: String?
    /// The way to an account that the page explains; `nil` for no explanation.
    public var enrolment: Enrolment?
    /// The text that the person agrees to. The phone shows the text, too.
    public var agreement: String?

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

extension PageRenderer {
    /// The values for the template.
    private struct SignInView {
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
        let ended: Bool
        let wait: String
        let codes: Codes?
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
    }

    /// Renders the page. Throws ``QRCodeError`` if the content of the QR code is empty or too long.
    public func html(_ page: SignInPage) throws(QRCodeError) -> RenderedPage {
        var codes: SignInView.Codes?
        if page.state == .waiting, let shown = page.codes {
            let secondsLeft = max(0, shown.secondsLeft)
            codes = SignInView.Codes(
                qr: try QRCode(text: shown.qrContent).svg(label: self.language.words(SignInText.qrCode).plain),
                sameDeviceLink: shown.sameDeviceLink, typedCode: shown.typedCode.isEmpty ? nil : shown.typedCode,
                secondsLeft: secondsLeft, expires: self.language.words(.codeWorks(seconds: secondsLeft)))
        }
        let query =
            "?request=" + percentEncoded(page.requestID)
            + (page.client.map { "&client=" + percentEncoded($0) } ?? "")
        let isChange = page.matter == .change
        let words = self.language.words(page.state.progress, of: isChange ? .change : .signIn)
        let (tone, emblem) = page.state.look
        let path = page.matter.path
        let isOpen = page.state == .waiting || page.state == .claimed
        let endedWithoutSuccess = [.denied, .expired, .failed].contains(page.state)
        let view = SignInView(
            requestID: page.requestID, clientName: page.clientName, client: page.client,
            homeLink: page.state == .completed ? page.home : nil,
            reference: endedWithoutSuccess ? page.reference : nil, state: page.state.rawValue, stateText: words.state,
            ended: codes == nil, wait: "\(path)/wait" + query, codes: codes, tone: tone, emblem: emblem,
            headline: words.headline, explanation: words.explanation,
            continueLink: page.state == .approved ? "\(path)/complete" + query : nil,
            retryLink: endedWithoutSuccess ? "\(path)\(isChange ? "/again" : "")" + query : nil,
            showsConfirmed: isOpen,
            otherWays: page.hasOtherWays && (isOpen || endedWithoutSuccess) ? "/sign-in" + query : nil,
            canLeave: isOpen || endedWithoutSuccess,
            enrolment: isOpen ? page.enrolment.map(self.words) : nil,
            agreement: isOpen ? page.agreement : nil, path: path, matter: isChange ? "change" : nil, isChange: isChange)
        return self.render(
            view, template: "sign-in",
            title: isChange
                ? self.language.words(.confirmOnPhone) : self.language.words(.signInTo(client: page.clientName)),
            formTargets: page.returnOrigin.map { [$0] } ?? [])
    }

    private func words(_ enrolment: SignInPage.Enrolment) -> SignInView.Enrolment {
        switch enrolment {
        case .link:
            .init(how: self.language.words(.enrolmentByLink(operatorName: self.serviceName)), begin: nil)
        case .invitation:
            .init(how: self.language.words(.enrolmentByInvitation(operatorName: self.serviceName)), begin: nil)
        case .mail(let address): .init(how: self.language.words(.enrolmentByMail), begin: address)
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

/// Returns a text as a value in a query (RFC 3986, section 2.3: only unreserved letters stay).
func percentEncoded(_ text: String) -> String {
    let hexDigits = Array("0123456789ABCDEF".utf8)
    var encoded: [UInt8] = []
    for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            encoded.append(byte)
        default: encoded += [UInt8(ascii: "%"), hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]]
        }
    }
    return String(decoding: encoded, as: UTF8.self)
}

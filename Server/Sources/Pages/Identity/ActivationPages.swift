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

/// The state of a code, for a page that no longer shows the code.
public enum ActivationStatePage: Sendable {
    /// A device can still use the code, but no page shows the code again.
    case waiting
    /// The code has personalised a device. `home` is the service from which the person came; `nil` for none.
    case done(home: (name: String, address: String)?)
    /// No device can use the code any more.
    case over
}

extension PageRenderer {
    private struct ActivationView {
        let activation: String
        let ticket: String
        let code: String
        let link: String
        let qr: String
        let secondsLeft: Int
        let until: String
        let renew: String
        let merges: Bool
    }

    /// Renders the page on which a person requests a code.
    public func html(_ page: ActivationRequestPage) -> RenderedPage {
        let digits = "\(page.digits.lowerBound) to \(page.digits.upperBound) digits"
        let problem: String? =
            switch page.problem {
            case .notTheSame: "These are not the same PIN."
            case .noPIN: "A PIN has \(digits), and nothing else."
            case .tooSimple:
                "Others try that PIN first. Choose one that is no date, no row like 123456, and nothing that repeats."
            case nil: nil
            }
        var view: FormView
        switch page.proof {
        case .confirmation(let confirmation, let change):
            view = FormView(
                testID: "activation-request", headline: "Personalise another device",
                lead:
                    "You get a code for the app on that device. Whoever has the code and the PIN is you from then on.",
                problem: problem, action: IdentityPaths.activation, submit: "Make the code")
            view.hidden =
                [.init(hiddenName: "confirmation", hiddenValue: confirmation)] + FormView.Hidden.change(change)
            view.fields = [
                .init(
                    id: "name", label: "What the device is to be called", type: "text", autocomplete: "off",
                    hint: "By this you know it again on your list.")
            ]
            view.links = [
                .init(target: IdentityPaths.overview, linkID: "back", words: "Back to your identity")
            ]
        case .invitation(let link, let matter, let action):
            view = FormView(
                testID: "invitation", headline: self.headline(of: matter),
                lead: "\(self.sentence(of: matter)) Choose a PIN for the way. Then you get a code for the app on your "
                    + "phone, and with the code you accept.",
                problem: problem, action: action, submit: "Accept, and make the code")
            view.hidden = [.init(hiddenName: "link", hiddenValue: link)]
        }
        view.fields += ["pin", "pin-again"].map { id in
            .init(
                id: id, label: id == "pin" ? "A PIN for the way" : "The same PIN again", type: "password",
                autocomplete: "off", isNumber: true,
                hint: id == "pin"
                    ? "\(digits), no date, no row, nothing that repeats. The app asks for it once, after the code."
                    : nil)
        }
        return self.render(view, template: "form", title: view.headline)
    }

    /// Renders a code. Throws ``QRCodeError`` if the code is empty or too long for a picture.
    public func html(_ page: ActivationCodePage) throws(QRCodeError) -> RenderedPage {
        let view = ActivationView(
            activation: page.activation, ticket: page.ticket, code: page.code, link: page.link,
            qr: try QRCode(text: page.code).svg(label: "QR code to scan with the app on your device"),
            secondsLeft: max(0, page.secondsLeft), until: "This code works until \(page.until).", renew: page.renewal,
            merges: page.merges)
        return self.render(view, template: "activation", title: "Personalise your device")
    }

    /// Renders the state of a code. `again` is the path on which a person requests another code.
    public func html(_ page: ActivationStatePage, again: String) -> RenderedPage {
        let result: ResultPage =
            switch page {
            case .waiting:
                ResultPage(
                    outcome: .tooLate, headline: "This code still waits for a device",
                    explanation:
                        "It is shown once and never again. If you have lost it, make another one.",
                    link: ("Make another code", again))
            case .done(let home):
                ResultPage(
                    outcome: .done, headline: "This device is personalised",
                    explanation:
                        "From now on you sign in with the app on it. The code is of no use any more. If a sign-in waits in "
                        + "another page, go on there.",
                    link: home.map { ("Go to \($0.name)", $0.address) } ?? ("See your identity", IdentityPaths.overview)
                )
            case .over:
                ResultPage(
                    outcome: .tooLate, headline: "This code does not work any more",
                    explanation:
                        "Its time is over, it was taken back, or the PIN was wrong too often. Make another one.",
                    link: ("Make another code", again))
            }
        return self.html(result)
    }
}

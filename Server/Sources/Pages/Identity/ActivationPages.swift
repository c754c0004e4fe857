/// The page on which a person has a code made for a device: for another one of theirs, or for their first by an invitation.
public struct ActivationRequestPage: Sendable {
    /// What the form carries as a sign that it stood on our page, or that the person was sent the link.
    public enum Proof: Sendable {
        /// A person who is signed in.
        ///
        /// `change` names the confirmed change.
        case confirmation(String, change: String)
        /// Somebody with the link of an invitation, whose path is `action`.
        case invitation(link: String, to: InvitationMatter, action: String)
    }

    /// What was wrong with what came before.
    public enum Problem: Sendable, CaseIterable {
        /// Two different PINs.
        case notTheSame
        /// Something else than digits, or too few or too many of them.
        case noPIN
        /// A PIN that is guessed first.
        case tooSimple
    }

    /// Who asks.
    public var proof: Proof
    /// How many digits a PIN has.
    public var digits: ClosedRange<Int>
    /// What was wrong with what came before.
    public var problem: Problem?

    /// A page of these values.
    public init(proof: Proof, digits: ClosedRange<Int>, problem: Problem? = nil) {
        self.proof = proof
        self.digits = digits
        self.problem = problem
    }
}

/// A code that personalises an app, with all that a person needs for it. It is made once, and shown by nothing but the answer
/// to who has asked for it.
public struct ActivationCodePage: Sendable {
    /// Where it is asked what has become of the code.
    public static let statePath = "/activation"
    /// The channel of the page.
    public static let eventsPath = "/activation/events"

    /// What the code is told by.
    public var activation: String
    /// What shows that this browser has asked for it.
    public var ticket: String
    /// The code.
    public var code: String
    /// The same as a link for the device that shows the page.
    public var link: String
    /// How long it works, in seconds.
    public var secondsLeft: Int
    /// Until when, as people read it.
    public var until: String
    /// Where another code is made.
    public var renewal: String
    /// Whether the code also brings what somebody is invited to into an identity that they have already.
    public var merges: Bool

    /// A code.
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

/// What has become of a code, where it is not shown (any more).
public enum ActivationStatePage: Sendable {
    /// It can be used, but nobody is shown it again.
    case waiting
    /// A device is personalised by it. `home` is the service that it came from, if it came from one.
    case done(home: (name: String, address: String)?)
    /// It can be used no longer.
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

    /// Renders the page on which a code is asked for.
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

    /// Renders a code. Throws ``QRCodeError`` where it is empty or too long for a picture.
    public func html(_ page: ActivationCodePage) throws(QRCodeError) -> RenderedPage {
        let view = ActivationView(
            activation: page.activation, ticket: page.ticket, code: page.code, link: page.link,
            qr: try QRCode(text: page.code).svg(label: "QR code to scan with the app on your device"),
            secondsLeft: max(0, page.secondsLeft), until: "This code works until \(page.until).", renew: page.renewal,
            merges: page.merges)
        return self.render(view, template: "activation", title: "Personalise your device")
    }

    /// Renders what has become of a code. `again` is where another one is made.
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

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
        let until: Sentence
        let renew: String
        let merges: Bool
    }

    /// Renders the page on which a person requests a code.
    public func html(_ page: ActivationRequestPage) -> RenderedPage {
        let (fewest, most) = (page.digits.lowerBound, page.digits.upperBound)
        let problem: FormProblem? =
            switch page.problem {
            case .notTheSame: .notTheSamePIN
            case .noPIN: .noPIN(fewest: fewest, most: most)
            case .tooSimple: .pinTooSimple
            case nil: nil
            }
        var view: FormView
        switch page.proof {
        case .confirmation(let confirmation, let change):
            view = FormView(
                testID: "activation-request", self.language.message(.anotherDevice), action: IdentityPaths.activation)
            view.hidden =
                [.init(hiddenName: "confirmation", hiddenValue: confirmation)] + FormView.Hidden.change(change)
            view.fields = [
                .init(
                    id: "name", label: self.language.words(.deviceName), type: "text", autocomplete: "off",
                    hint: self.language.words(.deviceNameHint))
            ]
            view.links = [
                .init(target: IdentityPaths.overview, linkID: "back", words: self.language.words(.backToIdentity))
            ]
        case .invitation(let link, let matter, let action):
            view = FormView(
                testID: "invitation", self.language.message(.invitation(self.invitation(matter))), action: action)
            view.hidden = [.init(hiddenName: "link", hiddenValue: link)]
        }
        view.problem = problem.map { self.language.words($0) }
        view.fields += [
            .init(
                id: "pin", label: self.language.words(.pin), type: "password", autocomplete: "off", isNumber: true,
                hint: self.language.words(.pinHint(fewest: fewest, most: most))),
            .init(
                id: "pin-again", label: self.language.words(.pinAgain), type: "password", autocomplete: "off",
                isNumber: true),
        ]
        return self.render(view, template: "form", title: view.headline)
    }

    /// Renders a code. Throws ``QRCodeError`` if the code is empty or too long for a picture.
    public func html(_ page: ActivationCodePage) throws(QRCodeError) -> RenderedPage {
        let view = ActivationView(
            activation: page.activation, ticket: page.ticket, code: page.code, link: page.link,
            qr: try QRCode(text: page.code).svg(label: self.language.words(ActivationText.qrCode).plain),
            secondsLeft: max(0, page.secondsLeft), until: self.language.words(.codeWorksUntil(page.until)),
            renew: page.renewal,
            merges: page.merges)
        return self.render(view, template: "activation", title: self.language.words(.personaliseDevice))
    }

    /// Renders the state of a code. `again` is the path on which a person requests another code.
    public func html(_ page: ActivationStatePage, again: String) -> RenderedPage {
        let result: ResultPage =
            switch page {
            case .waiting:
                ResultPage(.tooLate, .codeWaits, target: again)
            case .done(let home):
                ResultPage(
                    .done, .devicePersonalised(home: home?.name), target: home?.address ?? IdentityPaths.overview)
            case .over:
                ResultPage(.tooLate, .codeOver, target: again)
            }
        return self.html(result)
    }
}

/// Who takes part in a recorded run.
public enum TraceParticipant: String, CaseIterable, Sendable {
    /// Whoever hands out enrolment links.
    case administrator
    case browser
    /// The service that a person signs in to.
    case relyingParty
    case server
    case phone
}

/// An arrow of a recorded run: what happened, and between whom. It never carries anything of the request itself.
///
/// The part that acts emits it, from the message that it handled. The cases stand in the order of a whole run.
public enum TraceEvent: String, CaseIterable, Sendable {
    case activationCreated = "activation-created"
    case signInWanted = "sign-in-wanted"
    case authorizationRequested = "authorization-requested"
    case codeShown = "code-shown"
    case transferWanted = "transfer-wanted"
    case transactionDispatched = "transaction-dispatched"
    case transactionCodeShown = "transaction-code-shown"
    case tokenRedeemed = "token-redeemed"
    case requestAnswered = "request-answered"
    case personVerified = "person-verified"
    case registrationSent = "registration-sent"
    case confirmationNumberShown = "confirmation-number-shown"
    case activationConfirmed = "activation-confirmed"
    case authenticationSent = "authentication-sent"
    case authenticationAccepted = "authentication-accepted"
    case approvalAnnounced = "approval-announced"
    case continuationOpened = "continuation-opened"
    case signInCompleted = "sign-in-completed"
    case authorizationCodeSent = "authorization-code-sent"
    case codeExchanged = "code-exchanged"
    case tokensIssued = "tokens-issued"
    case signedIn = "signed-in"
    case resultSigned = "result-signed"
    case receiptShown = "receipt-shown"

    /// Who acts, and towards whom.
    public var participants: (from: TraceParticipant, to: TraceParticipant) {
        switch self {
        case .activationCreated, .activationConfirmed: (.administrator, .server)
        case .signInWanted, .transferWanted: (.browser, .relyingParty)
        case .authorizationRequested, .continuationOpened, .signInCompleted: (.browser, .server)
        case .codeShown, .approvalAnnounced, .authorizationCodeSent: (.server, .browser)
        case .transactionDispatched, .codeExchanged: (.relyingParty, .server)
        case .transactionCodeShown, .signedIn, .receiptShown: (.relyingParty, .browser)
        case .tokenRedeemed, .registrationSent, .authenticationSent: (.phone, .server)
        case .requestAnswered, .confirmationNumberShown, .authenticationAccepted: (.server, .phone)
        case .personVerified: (.phone, .phone)
        case .tokensIssued, .resultSigned: (.server, .relyingParty)
        }
    }

    /// The arrow's text.
    public var label: String {
        switch self {
        case .activationCreated: "create an enrolment link"
        case .signInWanted: "sign in with my phone"
        case .authorizationRequested: "authorization request (PKCE, state, nonce)"
        case .codeShown: "page with QR code, link and typed code"
        case .transferWanted: "transfer money"
        case .transactionDispatched: "dispatch: text to confirm"
        case .transactionCodeShown: "page with QR code and link"
        case .tokenRedeemed: "redeem the one-time token"
        case .requestAnswered: "UAF request, who asks and from where"
        case .personVerified: "show, ask, verify the person"
        case .registrationSent: "UAF registration response"
        case .confirmationNumberShown: "pending: number to pass on"
        case .activationConfirmed: "confirm device and number"
        case .authenticationSent: "UAF authentication response, signed"
        case .authenticationAccepted: "accepted"
        case .approvalAnnounced: "event: approved"
        case .continuationOpened: "continuation, with the browser's cookie"
        case .signInCompleted: "complete, with the browser's cookie"
        case .authorizationCodeSent: "redirect with code, state, iss"
        case .codeExchanged: "code, verifier, client secret"
        case .tokensIssued: "ID token, access token"
        case .signedIn: "signed in"
        case .resultSigned: "signed result with the transaction's hash"
        case .receiptShown: "receipt"
        }
    }

    /// The event's place in a run, for events of which neither their recorders nor their times tell which was first.
    var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// Whether a program gets the message, which answers at once; a person at a page or a phone may think.
    var isToProgram: Bool { [.server, .relyingParty].contains(self.participants.to) }
}

/// A participant of a recorded run.
public enum TraceParticipant: String, CaseIterable, Sendable {
    /// The person or program that hands out enrolment links.
    case administrator
    case browser
    /// The service that a person signs in to.
    case relyingParty
    /// The person in front of an app that signs in.
    case user
    /// The app's store of secrets: the Keychain, or its substitute.
    case storage
    /// An app that signs a person in.
    case app
    /// A page of the service inside the app.
    case webView
    case server
    /// Another identity provider, to which the server sends people.
    case identityProvider
    case phone
}

/// An arrow of a recorded run: the event, and its two participants. An event never carries anything of the request
/// itself.
///
/// The acting participant emits the event, from the message that the participant handled. The cases have the order of a
/// whole run.
public enum TraceEvent: String, CaseIterable, Sendable {
    case enrolmentLinkCreated = "activation-created"
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
    case enrolmentConfirmed = "activation-confirmed"
    case authenticationSent = "authentication-sent"
    case authenticationAccepted = "authentication-accepted"
    // A person personalises an app with an activation's code.
    case activationOpened = "activation-opened"
    case activationDescribed = "activation-described"
    case activationProofSent = "activation-proof-sent"
    case activationProofJudged = "activation-proof-judged"
    case pinAsked = "pin-asked"
    case pinEvaluated = "pin-evaluated"
    case activationKeysSent = "activation-keys-sent"
    case activationEnrolled = "activation-enrolled"
    // A person signs in with a personalised app.
    case sessionClaimed = "session-claimed"
    case sessionDescribed = "session-described"
    case answersSent = "answers-sent"
    case answersJudged = "answers-judged"
    case factorsSent = "factors-sent"
    case factorsJudged = "factors-judged"
    case approvalAnnounced = "approval-announced"
    case continuationOpened = "continuation-opened"
    case signInCompleted = "sign-in-completed"
    case authorizationCodeSent = "authorization-code-sent"
    case codeExchanged = "code-exchanged"
    case tokensIssued = "tokens-issued"
    case signedIn = "signed-in"
    case resultSigned = "result-signed"
    case receiptShown = "receipt-shown"
    // A person signs in to an app by user name and password.
    case credentialsEntered = "credentials-entered"
    case passwordSent = "password-sent"
    case passwordJudged = "password-judged"
    case resultShown = "result-shown"
    case biometricsOffered = "biometrics-offered"
    case biometricsAccepted = "biometrics-accepted"
    case credentialsSaved = "credentials-saved"
    case credentialsSought = "credentials-sought"
    case credentialsFound = "credentials-found"
    case biometricsAsked = "biometrics-asked"
    case biometricsGiven = "biometrics-given"
    case credentialsUnlocked = "credentials-unlocked"
    case credentialsReleased = "credentials-released"
    // A person signs in to an app in a browser, at a provider of choice.
    case signInTapped = "sign-in-tapped"
    case signInStarted = "sign-in-started"
    case providersShown = "providers-shown"
    case providerChosen = "provider-chosen"
    case providerAsked = "provider-asked"
    case providerAskedPerson = "provider-asked-person"
    case personAnsweredProvider = "person-answered-provider"
    case personConfirmed = "person-confirmed"
    case codeHandedOver = "code-handed-over"
    case sessionWanted = "session-wanted"
    case sessionGiven = "session-given"
    case tokenSaved = "token-saved"
    case tokenKept = "token-kept"
    // A person opens the app again.
    case tokenSought = "token-sought"
    case tokenFound = "token-found"
    case tokenUnlocked = "token-unlocked"
    case tokenReleased = "token-released"
    case renewalWanted = "renewal-wanted"
    case renewalGiven = "renewal-given"
    // The app's session carries over into a web view, and the session ends.
    case deviceSecretSaved = "device-secret-saved"
    case webSessionWanted = "web-session-wanted"
    case webSessionGiven = "web-session-given"
    case cookiesPlaced = "cookies-placed"
    case sessionHinted = "session-hinted"
    case pageRequested = "page-requested"
    case revocationWanted = "revocation-wanted"
    case revocationDone = "revocation-done"

    /// The participant that acts, and the participant that the arrow points to.
    public var participants: (from: TraceParticipant, to: TraceParticipant) { (self.arrow.from, self.arrow.to) }

    /// The arrow's text.
    public var label: String { self.arrow.label }

    /// `true` if the event answers the arrow above, and is drawn like an answer.
    public var isAnswer: Bool { self.arrow.isAnswer }

    /// The event's place in a run, for events whose order neither their recorders nor their times determine.
    var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// `true` if the receiver is a program, which answers at once. A person at a page or a phone may take time.
    var isToProgram: Bool { [.server, .relyingParty, .identityProvider, .storage].contains(self.arrow.to) }

    private struct Arrow {
        let from: TraceParticipant
        let to: TraceParticipant
        let label: String
        var isAnswer = false
    }

    private var arrow: Arrow {
        switch self {
        case .enrolmentLinkCreated: Arrow(from: .administrator, to: .server, label: "create an enrolment link")
        case .signInWanted: Arrow(from: .browser, to: .relyingParty, label: "sign in with my phone")
        case .authorizationRequested:
            Arrow(from: .browser, to: .server, label: "authorization request (PKCE, state, nonce)")
        case .codeShown: Arrow(from: .server, to: .browser, label: "page with QR code, link and typed code")
        case .transferWanted: Arrow(from: .browser, to: .relyingParty, label: "transfer money")
        case .transactionDispatched: Arrow(from: .relyingParty, to: .server, label: "dispatch: text to confirm")
        case .transactionCodeShown: Arrow(from: .relyingParty, to: .browser, label: "page with QR code and link")
        case .tokenRedeemed: Arrow(from: .phone, to: .server, label: "redeem the one-time token")
        case .requestAnswered: Arrow(from: .server, to: .phone, label: "UAF request, who asks and from where")
        case .personVerified: Arrow(from: .phone, to: .phone, label: "show, ask, verify the person")
        case .registrationSent: Arrow(from: .phone, to: .server, label: "UAF registration response")
        case .confirmationNumberShown: Arrow(from: .server, to: .phone, label: "pending: number to pass on")
        case .enrolmentConfirmed: Arrow(from: .administrator, to: .server, label: "confirm device and number")
        case .authenticationSent: Arrow(from: .phone, to: .server, label: "UAF authentication response, signed")
        case .authenticationAccepted: Arrow(from: .server, to: .phone, label: "accepted")
        case .activationOpened: Arrow(from: .phone, to: .server, label: "open the code's activation")
        case .activationDescribed:
            Arrow(from: .server, to: .phone, label: "what a proof of its PIN is made over", isAnswer: true)
        case .activationProofSent: Arrow(from: .phone, to: .server, label: "a proof of the PIN, sealed")
        case .activationProofJudged: Arrow(from: .server, to: .phone, label: "the verdict, signed", isAnswer: true)
        case .activationKeysSent: Arrow(from: .phone, to: .server, label: "the device's and its factors' keys, sealed")
        case .activationEnrolled: Arrow(from: .server, to: .phone, label: "the receipt, signed", isAnswer: true)
        case .sessionClaimed:
            Arrow(from: .phone, to: .server, label: "claim the code's session, with the device's proof")
        case .sessionDescribed:
            Arrow(from: .server, to: .phone, label: "who asks, in which roles, for what", isAnswer: true)
        case .answersSent: Arrow(from: .phone, to: .server, label: "the role, and what the person says")
        case .answersJudged:
            Arrow(from: .server, to: .phone, label: "what is to be signed, or corrected", isAnswer: true)
        case .pinAsked: Arrow(from: .phone, to: .server, label: "the PIN, blinded, for the PIN service")
        case .pinEvaluated:
            Arrow(from: .server, to: .phone, label: "its evaluation with a proof, signed", isAnswer: true)
        case .factorsSent: Arrow(from: .phone, to: .server, label: "the document, signed by factors and sealed")
        case .factorsJudged: Arrow(from: .server, to: .phone, label: "the verdict, signed", isAnswer: true)
        case .approvalAnnounced: Arrow(from: .server, to: .browser, label: "event: approved")
        case .continuationOpened: Arrow(from: .browser, to: .server, label: "continuation, with the browser's cookie")
        case .signInCompleted: Arrow(from: .browser, to: .server, label: "complete, with the browser's cookie")
        case .authorizationCodeSent: Arrow(from: .server, to: .browser, label: "redirect with code, state, iss")
        case .codeExchanged: Arrow(from: .relyingParty, to: .server, label: "code, verifier, client secret")
        case .tokensIssued: Arrow(from: .server, to: .relyingParty, label: "ID token, access token")
        case .signedIn: Arrow(from: .relyingParty, to: .browser, label: "signed in")
        case .resultSigned: Arrow(from: .server, to: .relyingParty, label: "signed result with the transaction's hash")
        case .receiptShown: Arrow(from: .relyingParty, to: .browser, label: "receipt")
        case .credentialsEntered: Arrow(from: .user, to: .app, label: "user name and password")
        case .passwordSent: Arrow(from: .app, to: .server, label: "user name and password, in a body")
        case .passwordJudged: Arrow(from: .server, to: .app, label: "the verdict", isAnswer: true)
        case .resultShown: Arrow(from: .app, to: .user, label: "the result", isAnswer: true)
        case .biometricsOffered: Arrow(from: .app, to: .user, label: "biometrics from the next time on?")
        case .biometricsAccepted: Arrow(from: .user, to: .app, label: "yes", isAnswer: true)
        case .credentialsSaved:
            Arrow(from: .app, to: .storage, label: "keep user name and password, guarded by biometrics")
        case .credentialsSought: Arrow(from: .app, to: .storage, label: "are a user name and a password there?")
        case .credentialsFound: Arrow(from: .storage, to: .app, label: "they are", isAnswer: true)
        case .biometricsAsked: Arrow(from: .app, to: .user, label: "biometrics, and what for")
        case .biometricsGiven: Arrow(from: .user, to: .app, label: "given", isAnswer: true)
        case .credentialsUnlocked: Arrow(from: .app, to: .storage, label: "read them, the person is verified")
        case .credentialsReleased: Arrow(from: .storage, to: .app, label: "user name and password", isAnswer: true)
        case .signInTapped: Arrow(from: .user, to: .app, label: "sign me in")
        case .signInStarted: Arrow(from: .app, to: .server, label: "sign-in page (PKCE, state), in the browser")
        case .providersShown: Arrow(from: .server, to: .user, label: "the providers that the app allows")
        case .providerChosen: Arrow(from: .user, to: .server, label: "this one", isAnswer: true)
        case .providerAsked:
            Arrow(from: .server, to: .identityProvider, label: "authenticate the person, at this level", isAnswer: true)
        case .providerAskedPerson: Arrow(from: .identityProvider, to: .user, label: "who are you?")
        case .personAnsweredProvider:
            Arrow(from: .user, to: .identityProvider, label: "what it asks for", isAnswer: true)
        case .personConfirmed:
            Arrow(from: .identityProvider, to: .server, label: "who it is, at which level", isAnswer: true)
        case .codeHandedOver: Arrow(from: .server, to: .app, label: "code, state, iss", isAnswer: true)
        case .sessionWanted: Arrow(from: .app, to: .server, label: "code and verifier, for tokens")
        case .sessionGiven: Arrow(from: .server, to: .app, label: "tokens of a new session", isAnswer: true)
        case .tokenSaved: Arrow(from: .app, to: .storage, label: "keep the refresh token, guarded by biometrics")
        case .tokenKept: Arrow(from: .storage, to: .app, label: "kept", isAnswer: true)
        case .tokenSought: Arrow(from: .app, to: .storage, label: "is a refresh token there?")
        case .tokenFound: Arrow(from: .storage, to: .app, label: "it is", isAnswer: true)
        case .tokenUnlocked: Arrow(from: .app, to: .storage, label: "read it, the person is verified")
        case .tokenReleased: Arrow(from: .storage, to: .app, label: "the refresh token", isAnswer: true)
        case .renewalWanted: Arrow(from: .app, to: .server, label: "the old refresh token, for a new one")
        case .renewalGiven: Arrow(from: .server, to: .app, label: "a new refresh token", isAnswer: true)
        case .deviceSecretSaved: Arrow(from: .app, to: .storage, label: "keep the device's secret")
        case .webSessionWanted: Arrow(from: .app, to: .server, label: "access token and device secret, for cookies")
        case .webSessionGiven: Arrow(from: .server, to: .app, label: "cookies of a session of its own", isAnswer: true)
        case .cookiesPlaced: Arrow(from: .app, to: .webView, label: "the cookies")
        case .sessionHinted: Arrow(from: .app, to: .webView, label: "hasSession")
        case .pageRequested: Arrow(from: .webView, to: .server, label: "a page, with the cookies")
        case .revocationWanted: Arrow(from: .app, to: .server, label: "end this session, and those of the device")
        case .revocationDone: Arrow(from: .server, to: .app, label: "ended", isAnswer: true)
        }
    }
}

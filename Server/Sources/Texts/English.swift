// Registry of all sentences in English: each sentence of a page or a letter stands here, and nowhere else.
import _Primitives

/// English, as the pages and letters have it.
public struct English: Sendable {
    /// The name of the language.
    public let tag: String

    /// Creates the language.
    public init() { self.init(tag: "en") }

    /// Creates the language under another name, for tests with several languages.
    package init(tag: String) { self.tag = tag }
}

extension English: Language {
    // MARK: - Pages of several rooms

    /// The words that several pages have.
    public func words(_ text: SharedText) -> Sentence {
        switch text {
        case .skipToContent: "Skip to content"
        case .youAreAt(let host): "You are at \(host). Make sure that your browser shows the same."
        case .helpNumber(let number): "If you ask for help, give this number: \(number)"
        case .forOperators(let detail): "For the people who run the service: \(detail)"
        case .cancelAndGoBack(let client): "Cancel and go back to \(client)"
        case .goTo(let name): "Go to \(name)"
        case .signedInAs(let username): "You are signed in as \(username)."
        case .closeToStay: "To stay signed in, close this page."
        case .cancel: "Cancel"
        case .continueOn: "Continue"
        case .goOn: "Go on"
        case .tryAgain: "Try again"
        case .no: "No"
        case .signInAnotherWay: "Sign in another way"
        case .backToIdentity: "Back to your identity"
        case .confirmOnPhone: "Confirm on your phone"
        case .signOut: "Sign out"
        case .remove: "Remove"
        case .copy: "Copy"
        case .copyPageAddress: "Copy the address of this page"
        case .copied: "Copied."
        }
    }

    /// The words of fields.
    public func words(_ text: FieldText) -> Sentence {
        switch text {
        case .name: "Name"
        case .code: "Code"
        case .password: "Password"
        case .yourPassword: "Your password"
        case .passwordNow: "Your password now"
        case .newPassword: "New password"
        case .email: "E-mail address"
        case .phone: "Phone number"
        case .deviceName: "What the device is to be called"
        case .newName: "What it is called"
        case .pin: "A PIN for the way"
        case .pinAgain: "The same PIN again"
        case .codeHint: "Of your authenticator app, or a recovery code."
        case .mailedCodeHint: "A code is on its way to your e-mail address. Type the code here."
        case .newPasswordHint(let fewest): "\(fewest) characters or more. Several words are easier to keep in mind."
        case .pinHint(let fewest, let most):
            """
            \(self.digits(fewest, most)), no date, no row, nothing that repeats. The app asks for it once, after the \
            code.
            """
        case .phoneHint: "With the country’s code, as +49 30 123456."
        case .deviceNameHint: "By this you know it again on your list."
        case .keepsPassword: "Do you know your password, and it rests because somebody else typed wrong ones?"
        case .keepPassword: "Keep my password, and let me sign in here"
        case .forgottenPassword: "Forgotten your password?"
        case .haveIdentity: "Do you have an identity? Sign in with it"
        case .authenticatorQR: "QR code to scan with an authenticator app"
        case .recoveryCodes: "Your recovery codes"
        case .recoveryCodesUse:
            "Each stands in once for a code of your authenticator app. Keep them where you keep papers."
        case .recoveryCodesOnce: "They are shown this once. Codes from before count no more."
        case .recoveryCodeReplaced: "Your new recovery code"
        case .recoveryCodeReplacedUse:
            "The recovery code that you used counts no more. This one is in its place: write it where you keep the others."
        case .recoveryCodeReplacedOnce: "It is shown this once. Your other codes count as before."
        }
    }

    private func digits(_ fewest: Int, _ most: Int) -> Sentence { "\(fewest) to \(most) digits" }

    /// The problems of forms.
    public func words(_ problem: FormProblem) -> Sentence {
        switch problem {
        case .signInRefused:
            """
            This did not work. Name or password are not right, or the password cannot be used just now. \
            After several wrong ones it rests for a while.
            """
        case .codeRefused: "This code does not count. Wait for the next one, or use a recovery code."
        case .proofRefused:
            "This did not work: the password or the code is not right, or rests after several wrong ones."
        case .mailedCodeRefused:
            "This code does not count: it is not right, too old, or rests after several wrong ones."
        case .noCodeMailed:
            "No code was mailed: several letters were mailed just now. Wait a while, then try again."
        case .passwordTooShort(let fewest): "A password has \(fewest) characters or more."
        case .passwordTooLong(let most): "A password has \(most) characters at most."
        case .passwordNotShown: "A password cannot have characters that do not show."
        case .passwordBreached:
            "This password is in a list that attackers have, from a break-in somewhere. Choose another one."
        case .passwordRefused: "This password cannot be taken. Choose another one."
        case .noAuthenticatorApp: "There is no authenticator app to go with them yet."
        case .offerOver: "This took too long, or something else was changed meanwhile. Begin again."
        case .firstCodeWrong: "This code is not the one that the app should show. Is its clock right?"
        case .notTheSamePIN: "These are not the same PIN."
        case .noPIN(let fewest, let most): "A PIN has \(self.digits(fewest, most)), and nothing else."
        case .pinTooSimple:
            "Others try that PIN first. Choose one that is no date, no row like 123456, and nothing that repeats."
        case .noEmail: "This is no e-mail address: it is NAME@HOST, in letters without accents."
        case .noPhone:
            "This is no phone number: it begins with a plus sign and the country’s code, as +49 30 123456."
        case .tooManyValues: "You have as many of them as one can have: remove one first."
        case .tooManyAddresses: "You have as many further addresses as one can have: remove one first."
        case .noName(let most):
            "A name is one line of 1 to \(most) characters that can be seen, with no space around it."
        case .deviceCodeUnknown:
            "No device waits for this code. It may be mistyped, or its time is over: then the device shows a new one."
        case .providerCrowded: "Too many sign-ins were begun here. Wait a minute."
        case .providerOfAnother: "You signed in there as somebody else. Sign in as the person of this account."
        case .providerDeclined: "You did not sign in there. Nothing was changed."
        case .providerStale:
            """
            The provider does not say that you signed in just now. Sign out there and try again; if that does not \
            help, ask the people who run this service.
            """
        case .providerFailed: "The provider did not answer as it should. Try again in a moment."
        }
    }

    // MARK: - Signing in

    /// The words of a sign-in.
    public func words(_ text: SignInText) -> Sentence {
        switch text {
        case .signInTo(let client): "Sign in to \(client)"
        case .agreeOnPhone: "You agree to this on your phone, which shows the same:"
        case .readingOnPhone: "Reading this on your phone?"
        case .openAppHere: "Open the app on this phone"
        case .codeWorks(let seconds): "This code works for \(seconds) seconds."
        case .newCodeIn(let clock): "New code in \(clock)"
        case .showNewCode: "Show a new code"
        case .openApp: "Open the authenticator app on your phone."
        case .scanCode: "Scan the code in the app. Your phone’s own camera does not open it."
        case .checkName(let client): "Check that it names \(client), then confirm on the phone."
        case .noCamera: "No camera, or the app is on another phone?"
        case .typeCode: "Type this code into the app:"
        case .typeNumber: "Type this number on your phone"
        case .phoneAsks:
            """
            If the app on your phone belongs to the name that you have typed, it asks for the number. Open the app if \
            your phone stays silent.
            """
        case .numberWarning: "Type the number yourself, and tell it to nobody."
        case .askOtherName: "Another name, or another number"
        case .haveConfirmedQuestion: "Have you confirmed on your phone? Then go on here."
        case .haveConfirmed: "I have confirmed on my phone"
        case .noAccountYet: "Have you no account yet?"
        case .makeIdentity: "Make an identity"
        case .enrolmentByMail: "You make one with the app on your phone. All that it takes is your e-mail address."
        case .enrolmentByLink(let operatorName):
            """
            Accounts here are opened by the people who run \(operatorName). Ask them for an enrolment link, open it \
            with the authenticator app on your phone, and tell them the number that the app shows. Then sign in on \
            this page.
            """
        case .enrolmentByInvitation(let operatorName):
            """
            Identities here are given out by the people who run \(operatorName). Ask them for an invitation, open its \
            link, and read the code that you get there with the app on your phone. Then sign in on this page.
            """
        case .qrCode: "QR code to scan with the authenticator app on your phone"
        case .chooseWay: "Choose how you show who you are."
        case .device: "Sign in on a device"
        case .typeDeviceCode: "Type the code that the device shows. Small and capital letters are the same."
        case .deviceWarning:
            """
            Go on only where you have started this yourself, on a device that you can see. Who sends you a code wants \
            to be signed in as you.
            """
        case .isThisYourDevice: "Is this your device?"
        case .service: "Service"
        case .itsAddress: "Its address"
        case .yesSignIn: "Yes, sign the device in"
        case .deviceWants(let client, let username):
            """
            A device wants to be signed in to \(client) as \(username). Say yes only where it is in front of you and \
            shows this code.
            """
        }
    }

    /// The words of the ways to sign in.
    public func words(_ way: SignInWayText) -> Sentence {
        switch way {
        case .byPhone: "Sign in with your phone"
        case .byAskedPhone: "Ask my phone"
        case .byPassword: "Sign in with a password"
        case .byProvider(let title): "Sign in with \(title)"
        }
    }

    /// The words of the forms by which a person signs in.
    public func message(_ question: SignInQuestion) -> Message {
        switch question {
        case .password(let client, let operatorName):
            .init(
                self.words(.signInTo(client: client)),
                "With the name and the password that you have at \(operatorName).", submit: "Sign in")
        case .askedPhone(let client):
            .init(
                self.words(.signInTo(client: client)),
                "Type your name. This page then shows a number, which you type on your phone.", submit: "Ask my phone")
        case .code:
            .init(
                "Show a code", "Type the code that your authenticator app shows now, or one of your recovery codes.",
                submit: "Go on")
        case .newPassword:
            .init(
                "Choose a password",
                "The password that you have used works once. Choose the one that you want to keep.",
                submit: "Keep it and sign in")
        }
    }

    /// The words for a progress.
    public func words(_ progress: Progress, of matter: ProgressMatter) -> ProgressWords {
        switch (progress, matter) {
        case (.waiting, _):
            .init("Waiting for your phone", "Open the app on your phone", "A new code is on its way.")
        case (.claimed, _):
            .init(
                "Look at your phone", "Your phone has the request",
                "Check there who asks, then confirm. This page goes on by itself.")
        case (.approved, .signIn):
            .init("Confirmed on your phone", "You are signed in", "You are being taken back to the service.")
        case (.approved, .change):
            .init("Confirmed on your phone", "You have confirmed", "You are being taken to the change.")
        case (.approvedOnDevice, _):
            .init(
                "Confirmed in the app", "Go on in the page that the app opened",
                """
                The app has opened your browser again, and you can close this page. If that was another browser, its \
                page says how to go on in this one.
                """)
        case (.completed, .signIn):
            .init(
                "Finished in another tab", "You went on in another tab",
                "This sign-in is finished. You can close this page.")
        case (.completed, .change): .init("Done", "This change is made", "You can close this page.")
        case (.denied, .signIn):
            .init(
                "Declined on your phone", "Nobody was signed in",
                "The request was declined on the phone. If you did not start it, there is nothing to do.")
        case (.denied, .change):
            .init(
                "Declined on your phone", "Nothing was changed.",
                """
                The change was declined on the phone. If you did not ask for the change, somebody else is signed in as \
                you: end that session in the app.
                """)
        case (.expired, .signIn):
            .init(
                "Time is over", "This sign-in took too long",
                "Nobody was signed in. You can try again with a new code.")
        case (.expired, .change):
            .init("Time is over", "This took too long", "Nothing was changed. You can try again with a new code.")
        case (.failed, .signIn):
            .init(
                "Not signed in", "The phone could not confirm",
                "Nobody was signed in. The app on your phone says more. You can try again.")
        case (.failed, .change):
            .init(
                "Not confirmed", "The phone could not confirm",
                "Nothing was changed. The app on your phone says more. You can try again.")
        }
    }

    /// The words of decisions.
    public func words(_ text: DecisionText) -> Sentence {
        switch text {
        case .mayHave(let client): "May \(client) have this?"
        case .whatMayHave(let client): "What \(client) may have"
        case .serviceWouldGet(let origin): "The service at \(origin) would get:"
        case .stranger:
            """
            The people who run this server do not know this service. Anybody can offer such a service. Allow this only \
            if you have come from it yourself, just now.
            """
        case .andWouldGet: "And it would get this, which you have signed on your phone:"
        case .allow: "Allow"
        case .doNotAllow: "Do not allow"
        case .askedEachTime: "You are asked this each time."
        case .askedOnce: "You are asked this once."
        case .canTakeBack:
            "You can take it back later: in your authenticator app, or by asking the people who run this server."
        case .identity: "that it is you, each time you come, by a number that no other service gets"
        case .username: "your user name"
        case .personName: "your name"
        case .profile: "your picture, your language and your time zone"
        case .email: "your e-mail address"
        case .phone: "your telephone number"
        case .address: "your postal address"
        case .offlineAccess: "all this also while you are away, until you take it back"
        case .deviceSSO: "to let the other apps of its maker on your device sign you in, until you sign out"
        case .scope(let name): "what it calls “\(name)”"
        case .resource(let resource): "to act for you at \(resource)"
        case .terms: "Terms of use"
        case .termsOf(let operatorName): "The terms of use of \(operatorName)"
        case .beforeGoingOn(let client):
            "Before you go on to \(client), read the terms and say whether you agree to them."
        case .readTerms(let version): "Read the terms, version \(version) (in a new tab)"
        case .agree: "I agree"
        case .doNotAgree: "I do not agree"
        case .askedOncePerVersion: "You are asked once for each version."
        case .connectAccount: "Connect an account"
        case .letSignIn(let provider): "Let \(provider) sign you in?"
        case .connectionMeans(let provider):
            """
            If you connect this account, whoever can sign in at \(provider) as you did just now can sign in to it from \
            then on.
            """
        case .haveConfirmedThis: "You have confirmed this."
        case .askedToConfirmFirst: "You are asked to confirm this first."
        case .connect: "Connect"
        case .doNotConnect: "Do not connect"
        case .connectionWarning: "If you did not ask for this, do not connect: somebody else may have."
        }
    }

    /// The words behind links.
    public func words(_ text: OpeningText) -> Sentence {
        switch text {
        case .openWithApp: "Open with your app"
        case .openThis: "Open this with your authenticator app"
        case .meantForApp:
            """
            This address is meant for the app on your phone. You see it in a browser because no app on this device has \
            taken it.
            """
        case .installApp:
            "Install the authenticator app that your service named, if it is not on this device yet."
        case .openAgain: "Open the address again. Or copy it, and paste it where the app asks for a link or a code."
        case .checkInApp: "Check in the app who asks and what for, before you confirm."
        case .worksOnce: "The address works once and for a short time. Do not send it to anybody."
        case .copyAddress: "Copy the address"
        case .setUp: "Set up"
        case .setUpServer: "Set up this server"
        case .tokenLead:
            "You get a token with which the command line and scripts administer this server. It is shown once."
        case .secretMissing:
            """
            This address has no secret in it. Open the whole link that the server printed. While there is no \
            administrator, it prints a new one when it starts.
            """
        case .linkSpent:
            """
            This link has been used, or its time is over. While there is no administrator, the server prints a new one \
            when it starts.
            """
        case .serverUnreachable: "The server could not be reached. Open the link again in a moment."
        case .needsScript(let command):
            """
            This page needs JavaScript: without it a browser does not send the secret of the link. Run \(command) \
            instead, and give it the whole link.
            """
        case .createToken: "Create the administrator token"
        case .yourToken: "Your token"
        case .useInShell: "To use it in a shell:"
        case .copyLines: "Copy these lines"
        case .keepToken:
            """
            Keep it like a password. Nobody can show it again; the link that brought you here is used up.
            """
        }
    }

    // MARK: - Identities

    /// The words of an identity.
    public func words(_ text: IdentityText) -> Sentence {
        switch text {
        case .yourIdentity: "Your identity"
        case .yourDevices: "Your devices"
        case .waitingCodes: "Codes that wait for a device"
        case .values: "What services can ask for"
        case .furtherAddresses: "Your further e-mail addresses"
        case .yourServices: "Your services"
        case .yourOrganisations: "Your organisations"
        case .nobodyElseSees: "Nobody but you sees this page."
        case .noDevice: "No device is personalised for you."
        case .noValue: "Nothing. A service that needs something asks you for it in the app."
        case .noService: "You have not been to any."
        case .rename: "Rename"
        case .endThisDevice: "End this device"
        case .takeBack: "Take it back"
        case .anotherDevice: "Personalise another device"
        case .addEmail: "Add an e-mail address"
        case .addPhone: "Add a phone number"
        case .mailLink: "Mail me a link to confirm it"
        case .askAgain: "Ask me again"
        case .factorDevice: "the device itself"
        case .factorPIN: "PIN"
        case .factorBiometric: "fingerprint or face"
        case .deviceTimes(let since, let used?): "Since \(since), used \(used)"
        case .deviceTimes(let since, nil): "Since \(since), not used yet"
        case .deviceRests(let until): "Rests until \(until), after wrong attempts."
        case .deviceDisabled: "Disabled: it signs nobody in any more. Personalise the app anew, with a new code."
        case .aDevice: "A device"
        case .aDeviceWithin: "a device"
        case .until(let moment): "until \(moment)"
        case .offeredFirst: "offered first"
        case .knownToBeTrue: "known to be true"
        case .notConfirmed: "not confirmed"
        case .addressConfirmed: "confirmed"
        case .addressUnconfirmed: "not confirmed: it counts for nothing yet"
        case .noRole: "no role"
        case .gets(let values): "Gets \(values.joined(separator: ", "))"
        case .attribute(let name): "\(Self.attribute(name))"
        case .namedValue(let attribute, let alias): "\(Self.attribute(attribute)): \(alias)"
        case .typedValue(let attribute): "\(Self.attribute(attribute)), as you have typed it"
        case .receipts: "What you have confirmed"
        case .receiptsLead:
            """
            This server has signed a receipt for each. Save your copy: it proves what your device signed, also years \
            from now. It has what the service does not get, so keep it to yourself until there is a dispute.
            """
        case .contentHash(let hash): "SHA-256 of the content: \(hash)"
        case .saveCopy: "Save your copy"
        case .history: "What your identity was used for"
        case .historyLead:
            """
            The newest is at the top. What you do not know was somebody else: end the devices that are not yours.
            """
        case .nothingYet: "Nothing yet."
        case .nothingOlder: "Nothing older."
        case .older: "Older"
        case .newest: "The newest"
        case .agreed: "What you have agreed to"
        case .role(let role): "as \(role)"
        case .given(let values): "It got: \(values)"
        case .finished: "Done"
        case .failed: "Failed, or its time was over"
        case .aborted: "Given up"
        case .changeOfAccount: "A change of your account"
        case .signIn: "Sign-in"
        case .signInOfApp: "Sign-in of an app"
        case .addedFactor: "A further factor"
        case .anotherPIN: "Another PIN"
        case .codeForDevice: "A code for another device"
        case .endOfIdentity: "The end of the identity"
        case .merge: "An invitation into this identity"
        }
    }

    /// Returns the name of an attribute in words: `givenName` is "Given name".
    private static func attribute(_ name: String) -> String {
        let words = name.unicodeScalars.reduce(into: "") { words, letter in
            words += letter.properties.isUppercase ? " \(letter.properties.lowercaseMapping)" : String(letter)
        }
        return String(words.prefix(1)).asciiUppercased + words.dropFirst()
    }

    /// The words of a device's code.
    public func words(_ text: ActivationText) -> Sentence {
        switch text {
        case .personaliseDevice: "Personalise your device"
        case .waitingForDevice: "Waiting for your device"
        case .isThisTheDevice: "Is this the device?"
        case .openAppHere: "Open the app on this device"
        case .codeWorksUntil(let moment): "This code works until \(moment)."
        case .codeWorksFor(let clock): "This code works for \(clock)."
        case .makeAnotherCode: "Make another code"
        case .openApp: "Open the app on the device that is to be yours."
        case .scanCode:
            "Scan the code in the app, and show it to nobody: it is made once, and not shown again."
        case .typePIN: "Type the PIN that you have just chosen. Then the app asks for the one that it is to have."
        case .mergeCode:
            """
            Do you have an app here already? Scan the code with that one: your identity gets what you are invited to, \
            and no second one is made.
            """
        case .noCamera: "No camera?"
        case .takeText: "Take this text to the app instead:"
        case .isDoneQuestion: "Has the app said that the device is yours? Then go on here."
        case .isDone: "The device is personalised"
        case .qrCode: "QR code to scan with the app on your device"
        }
    }

    /// The words of changes.
    public func words(_ text: ChangeText) -> Sentence {
        switch text {
        case .changes: "Changes of your account"
        case .changesLead: "The latest of the last seven days. If one was not you, say so: it rests then."
        case .waiting: "Waiting"
        case .waitingLead: "Another provider has confirmed these. Stop what you did not ask for."
        case .canBeMade(let moment): "Can be made from \(moment) on"
        case .goOnHere: "Go on in the browser that asked"
        case .stop: "Stop this change"
        case .nothingChanged: "Nothing was changed."
        case .stands: "Stands"
        case .disowned: "Rests: you said that this was not you"
        case .reclaimed: "Stands: you said that this was you after all"
        case .ownDevices: "Your devices"
        case .ownDevicesLead:
            "A device that you have lost rests as soon as you say so: it signs nobody in, and nothing on it is deleted."
        case .noDevices: "You have no device."
        case .inUse(let moment): "In use since \(moment)"
        case .reportedLost(let moment): "Reported as lost, \(moment)"
        case .reportLost: "I have lost this device"
        case .haveItAgain: "I have it again"
        case .notMe: "This was not me"
        case .me: "This was me"
        case .confirmThisChange: "Confirm this change"
        case .noPhoneNoPassword:
            "You have no phone and no password here. The provider that signs you in asks who you are once more."
        case .waits(let hours):
            """
            The change can then be made after \(hours) hours, in this browser. Until then you can stop it on every \
            page where you are signed in.
            """
        case .confirmBy(let provider): "Confirm by \(provider)"
        }
    }

    // MARK: - Results

    /// The words of results.
    public func message(_ notice: Notice) -> Message {
        switch notice {
        case .nobodyIsSignedIn(mayBeInvited: false):
            .init("Nobody is signed in here", "Sign in to a service first, and come back in the same browser.")
        case .nobodyIsSignedIn(mayBeInvited: true):
            .init(
                "Nobody is signed in here",
                """
                Sign in to a service first, and come back in the same browser. If you came by an invitation, open its \
                link again.
                """)
        case .deviceSignedIn(let client):
            .init("Go on at your device", "It is being signed in to \(client). You can close this page.")
        case .deviceRefused:
            .init(
                "The device was not signed in",
                "It is told so. If you did not start this yourself, there is nothing else to do.")
        case .signedOut(let client?):
            .init(
                "You are signed out",
                "Your session at \(client) has ended. Services where you signed in may have their own.",
                title: "Signed out", link: "Back to the service")
        case .signedOut(nil):
            .init(
                "You are signed out",
                "This browser has no session here any more. Services where you signed in may have their own.",
                title: "Signed out", link: "Back to the service")
        case .connectionTaken(let provider):
            self.notConnected(
                """
                What you are at \(provider) is connected with another account here. You are signed in all the same.
                """)
        case .connectionFull:
            self.notConnected(
                """
                Your account has as many connections as it can have. Ask the people who run this server to end one. \
                You are signed in all the same.
                """)
        case .connectionOver:
            self.notConnected(
                """
                It took too long. You can ask for it when you sign in the next time. You are signed in all the same.
                """)
        case .staleSignIn(.endOfDevice, let minutes):
            self.stale("A device is ended \(self.afterFreshSignIn(minutes))")
        case .staleSignIn(.lostDevice, let minutes):
            self.stale("A lost device is reported or taken back \(self.afterFreshSignIn(minutes))")
        case .staleSignIn(.values, let minutes):
            self.stale("What services can ask for is changed \(self.afterFreshSignIn(minutes))")

        case .unknownPerson(let provider, let operatorName, let client, canConnect: true):
            .init(
                "You are not known here yet",
                """
                \(provider) knows you, but nobody at \(operatorName) is connected with that. If you have an account \
                here, connect it: sign in to it once in your usual way, and from then on \(provider) will do. If you \
                have none, ask the people who run \(client).
                """, submit: "Connect my account", link: "Sign in another way")
        case .unknownPerson(let provider, let operatorName, let client, canConnect: false):
            .init(
                "You are not known here yet",
                """
                \(provider) knows you, but nobody at \(operatorName) is connected with that. Ask the people who run \
                \(client) how to get in.
                """, link: self.againOrAnotherWay)
        case .crowded(let provider):
            .init(
                "Very many people are signing in",
                """
                You have signed in at \(provider), and so have very many others at this moment. Wait a few seconds and \
                go on: nothing is lost.
                """, link: "Go on")
        case .declined(let provider):
            .init(
                "You did not sign in at \(provider)",
                "Nothing has happened. You can try it again, or sign in another way.", link: self.againOrAnotherWay)
        case .failedAt(let provider):
            .init(
                "Signing in with \(provider) did not work",
                """
                It is not your doing, and nobody has been signed in. Try it again in a moment, or sign in another way.
                """, link: self.againOrAnotherWay)
        case .stale(let provider):
            .init(
                "\(provider) has to ask you anew",
                """
                The service wants to be sure that it is you, now. Sign out at \(provider) and try it again, or sign in \
                another way.
                """, link: self.againOrAnotherWay)
        case .keptOut(let provider):
            .init(
                "This account cannot sign in",
                "\(provider) knows you, but your account here is locked. Ask the people who run the service.",
                link: self.againOrAnotherWay)
        case .busy:
            .init(
                "Too many sign-ins at once",
                """
                Very many sign-ins were started from the network that you are in. Wait a minute, then try again.
                """, link: self.againOrAnotherWay)

        case .resetLinkMailed:
            .init(
                "Look into your mailbox",
                """
                If this name has a password and an e-mail address that is confirmed, a link is on its way there. It \
                works for a quarter of an hour.
                """)
        case .passwordReset:
            .init(
                "You have a new password",
                "You are signed out everywhere. Go back to the service, and sign in with the new password.")
        case .passwordChanged:
            .init(
                "You have a new password",
                "You are signed out everywhere. Sign in with the new password from now on.")
        case .browserKnown:
            .init(
                "You can sign in here",
                """
                Go back to the service, and sign in with your password in this browser. Wrong passwords of other \
                people do not keep you waiting here.
                """)
        case .addressLinkOver:
            .init(
                "This link does not work any more",
                """
                A link works once, and for a quarter of an hour. Your identity says whether the address is confirmed, \
                and has a new one mailed.
                """, link: "Look at your identity")
        case .resetLinkOver:
            .init(
                "This link does not work any more",
                "A link works once, and for a quarter of an hour. Ask for a new one.", link: "Ask for a new link")
        case .changeLinkOver:
            .init("This link does not work any more", "A link works once, and for a quarter of an hour.")
        case .noPasswordHere:
            .init(
                "There is nothing to change here",
                """
                Nobody is signed in in this browser, or the account has no password. Sign in to a service first, and \
                come back in the same browser.
                """)
        case .addressLinkMailed:
            .init("Look into your mailbox", "A link is on its way. It works for a quarter of an hour.")
        case .addressLinkResting:
            .init("No link was mailed", "Several were mailed just now. Wait a while, then try again.")
        case .nothingToConfirm:
            .init("No link was mailed", "There is no address that would have to be confirmed.")
        case .addressKnown(let address): .init("This address is confirmed", "\(address) is known to be yours.")
        case .noAddress(let operatorName):
            .init(
                "There is no address",
                "The people who run \(operatorName) have entered no e-mail address for you.")
        case .addressConfirmed(isComplete: true):
            .init(
                "This address is confirmed", "It is known to be yours from now on.", link: "Look at your identity")
        case .addressConfirmed(isComplete: false):
            .init(
                "This address is confirmed",
                """
                It is known to be yours from now on. Services cannot ask for it yet: you have as many e-mail addresses \
                for them as one can have. Remove one, then add this one.
                """, link: "Look at your identity")

        case .changeCancelled:
            .init("Nothing was changed", "You have cancelled the change.", link: self.words(.backToIdentity))
        case .changeUnconfirmable:
            .init(
                "This change cannot be confirmed here",
                """
                Your phone confirms a change, or your password, or the provider that signs you in, in the browser \
                that is signed in. Your account has none of them, or nobody is signed in here, or all are younger \
                than the change in question. Ask the people who run this service.
                """, link: self.words(.backToIdentity))
        case .decisionUnconfirmed(let minutes):
            .init(
                "This was not confirmed",
                """
                The phone or the password that confirms has to be older than the change, and the confirmation works \
                once, for \(minutes) minutes. Begin again, or ask the people who run this service.
                """)
        case .changeRests(let change):
            .init(
                "The change rests",
                """
                \(change) counts for nothing now, and everybody is signed out. Nothing that the change took away has \
                come back. Sign in by what is left to you, or ask for a new password by mail; if nothing is left, ask \
                the people who run this service.
                """, link: "Ask for a new password")
        case .changeCounts(let change):
            .init(
                "The change counts again",
                """
                \(change) counts again, unless something newer stands in its place. Everybody is signed out. If \
                anybody disagrees, the people who run this service decide.
                """)
        case .changeTooOld:
            .init(
                "Nothing can be said of this change any more",
                """
                A change can be disowned once within seven days, and that can be taken back once. After that the \
                people who run this service decide.
                """)
        case .changeLinkMailed:
            .init(
                "Look into your mailbox",
                """
                If the change is younger than seven days and the account has a confirmed e-mail address, a link is on \
                its way there. It works for a quarter of an hour.
                """)
        case .changeWaits(let moment):
            .init(
                "This change waits",
                """
                You have confirmed this change. It can be made from \(moment) on, in this browser: open the list of \
                changes then. Until then you can stop it there.
                """, link: self.words(.changes))
        case .changeStopped:
            .init(
                "The change is stopped",
                """
                Nothing was changed. If you did not ask for the change, end your sessions and change your password at \
                the provider that signs you in.
                """, link: self.words(.changes))
        case .changeNotWaiting:
            .init(
                "This change does not wait any more", "It was made, was stopped, or is too old.",
                link: self.words(.changes))

        case .noDevice:
            .init(
                "There is no such device", "It has ended already, or the code was used or is over.",
                link: self.words(.backToIdentity))
        case .noValue:
            .init(
                "There is no such value", "It may have been removed before.", link: self.words(.backToIdentity))
        case .noReceipt:
            .init(
                "There is no such receipt", "It may be too old: the newest are in the list.",
                link: self.words(.receipts))
        case .deviceEnded:
            .init(
                "It has ended",
                "It signs you in nowhere any more. If you were signed in here by it, that has ended, too.",
                link: self.words(.backToIdentity))
        case .deviceRests(let name):
            .init(
                "\(name) rests", "It signs you in nowhere until you take it back. Nothing on it was deleted.",
                link: self.words(.ownDevices))
        case .deviceReturned(let name):
            .init("\(name) is in use again", "It signs you in as before.", link: self.words(.ownDevices))
        case .deviceIsLimited(let until):
            .init(
                "Not by this device yet",
                """
                You have signed in by a device that was added a short time ago. Until \(until) it reports no other device \
                as lost. Sign in by another device, or in another way.
                """, link: self.words(.ownDevices))
        case .tooManyCodes:
            .init(
                "No code was made", "As many codes wait for a device as can be. Take one of them back first.",
                link: self.words(.backToIdentity))
        case .deviceNamed(let name):
            .init(
                "It has its name", "On your pages the device is called \(name) from now on.",
                link: self.words(.backToIdentity))
        case .valueNamed(let name):
            .init(
                "It has its name", "The app calls the value \(name) from now on.", link: self.words(.backToIdentity))
        case .nothingChosen:
            .init(
                "Nothing is chosen there",
                "The app asks you what that service is to get when you sign in there.",
                link: self.words(.backToIdentity))
        case .choiceForgotten:
            .init(
                "You are asked again",
                "The app asks you what that service is to get when you sign in there the next time.",
                link: self.words(.backToIdentity))
        case .emailAdded:
            .init(
                "Services can ask for it", "The address was known to be yours, and is a value now.",
                link: self.words(.backToIdentity))
        case .emailKnown:
            .init("You have this address", "Services can ask for it already.", link: self.words(.backToIdentity))
        case .emailUnconfirmable:
            .init(
                "No link can be mailed",
                """
                Somebody has to see to it that the address is yours: ask the people who run this service to enter it.
                """, link: self.words(.backToIdentity))
        case .emailLinkMailed(isFirst: true):
            .init(
                "Look into your mailbox",
                """
                A link is on its way. It works for a quarter of an hour: open it in this browser. Then add it here \
                once more: it is your account's own address.
                """, link: self.words(.backToIdentity))
        case .emailLinkMailed(isFirst: false):
            .init(
                "Look into your mailbox",
                """
                A link is on its way. It works for a quarter of an hour: open it in this browser. Then services can \
                ask for it.
                """, link: self.words(.backToIdentity))
        case .emailLinkResting:
            .init(
                "No link was mailed",
                "Several were mailed just now. Wait a while, then add the address here once more.",
                link: self.words(.backToIdentity))
        case .emailNothingToConfirm:
            .init(
                "No link was mailed",
                """
                There is nothing to confirm any more: look at your identity, and add the address again if it is not \
                there.
                """, link: self.words(.backToIdentity))
        case .phoneAdded:
            .init(
                "Services can ask for it",
                "Nobody has checked the number, and services that get it are told so.",
                link: self.words(.backToIdentity))
        case .phoneKnown:
            .init("You have this number", "Services can ask for it already.", link: self.words(.backToIdentity))
        case .valueRemoved:
            .init(
                "It is removed",
                "No service gets it any more; where one got it, you are asked again the next time.",
                link: self.words(.backToIdentity))
        case .addressRemoved:
            .init(
                "It is removed", "Your account has this further address no more.", link: self.words(.backToIdentity))

        case .codeWaits:
            .init(
                "This code still waits for a device",
                "It is shown once and never again. If you have lost it, make another one.",
                link: self.words(.makeAnotherCode))
        case .codeOver:
            .init(
                "This code does not work any more",
                "Its time is over, it was taken back, or the PIN was wrong too often. Make another one.",
                link: self.words(.makeAnotherCode))
        case .codeOfAnotherBrowser:
            .init(
                "This browser has not asked for this code",
                "Only the browser that has asked is told what has become of it.", link: "See your identity")
        case .devicePersonalised(let home):
            .init(
                "This device is personalised",
                """
                From now on you sign in with the app on it. The code is of no use any more. If a sign-in waits in \
                another page, go on there.
                """, link: home.map { self.words(.goTo(name: $0)) } ?? "See your identity")
        case .invitationUnknown(let operatorName):
            .init(
                "This link opens no invitation",
                """
                It is not whole, or its invitation is long over. Follow the whole link, or ask the people who run \
                \(operatorName) for another.
                """, link: "See your identity")
        case .invitationAccepted(let operatorName):
            .init(
                "This invitation is accepted",
                """
                There is nothing more to do here: sign in with your app. If it was not you who accepted, tell the \
                people who run \(operatorName) at once.
                """, link: "See your identity")
        case .invitationRevoked(let operatorName):
            .init(
                "This invitation was taken back",
                "Ask the people who run \(operatorName) if you did not expect that.", link: "See your identity")
        case .invitationOver(let operatorName):
            .init(
                "This invitation is over",
                "Nobody has accepted it in time. Ask the people who run \(operatorName) for another.",
                link: "See your identity")
        case .accepted:
            .init(
                "You have accepted", "What you were invited to is yours from now on.", link: "See your identity")
        case .newcomerInvited(let client, let operatorName):
            .init(
                "Look into your mailbox",
                """
                A letter is on its way to that address. Open its link, choose a PIN, and read the code that you get \
                with the app on your phone. Then go on here, and sign in to \(client) with it. If no letter comes, ask \
                the people who run \(operatorName).
                """, link: "I have the app ready: sign in")
        case .invitationElsewhere(let invitation, let operatorName, let other, let home):
            .init(
                self.headline(of: invitation),
                """
                \(self.sentences(of: invitation)) You have an identity here already. \(self.signOutFirst(other))\
                \(self.signIn(at: home)), in this browser, and open this link again to accept. If you have no app any \
                more, ask the people who run \(operatorName) for a code.
                """, link: other != nil ? self.words(.signOut) : home.map { self.words(.goTo(name: $0)) })
        }
    }

    private var againOrAnotherWay: Sentence { "Try again or sign in another way" }

    private func notConnected(_ explanation: Sentence) -> Message {
        Message("Your account was not connected", explanation, title: "Not connected", link: self.words(.goOn))
    }

    private func afterFreshSignIn(_ minutes: Int) -> Sentence {
        """
        within \(minutes) minutes of a sign-in by two factors here, as with your app. Sign out here, sign in again, \
        and come back.
        """
    }

    private func stale(_ explanation: Sentence) -> Message {
        Message("Sign in once more", explanation, link: self.words(.signOut))
    }

    private func headline(of invitation: Invitation) -> Sentence { "You are invited to \(invitation.headline)" }

    private func sentences(of invitation: Invitation) -> Sentence {
        guard let place = invitation.place else {
            return "By the people who run \(invitation.operatorName). You can accept until \(invitation.until)."
        }
        return """
            As \(place.role) at \(place.service), by the people who run \(invitation.operatorName). You can accept \
            until \(invitation.until).
            """
    }

    private func signOutFirst(_ other: String?) -> Sentence {
        guard let other else { return "" }
        return "In this browser \(other) is signed in, who has not this address: sign out first. "
    }

    private func signIn(at home: String?) -> Sentence {
        guard let home else { return "Sign in to a service with your app" }
        return "Sign in at \(home) with your app"
    }

    // MARK: - Failures

    /// The words of failures.
    public func message(_ failure: Failure) -> Message {
        switch failure {
        case .wrongBrowser(let service):
            .init(
                "This is not the browser that started",
                """
                A sign-in can only be finished in the browser in which it began. If somebody sent you this link, do \
                not follow it. If you began it yourself, go back to \(self.name(service)) and start again in this \
                browser.
                """)
        case .signInOver(let service):
            .init(
                "This sign-in has run out",
                "Its time is over, or it was started in another browser. \(self.goBack(service))")
        case .browserUnknown(let service, let host):
            .init(
                "This browser does not know the sign-in",
                """
                A sign-in goes on in the browser that began it, and needs a cookie there. \(self.goBack(service)) If \
                this page comes again, allow cookies for \(host).
                """)
        case .tooManySignIns(let service, let pause, let isReadAgain):
            .init(
                "Too many sign-ins at once",
                """
                Very many sign-ins were started from the network that you are in. Wait \(self.words(pause)), then \
                \(self.nextTry(service, isReadAgain)).
                """)
        case .busy(let service, let isReadAgain):
            .init(
                "The server is busy",
                "Nothing is lost. Wait a moment, then \(self.nextTry(service, isReadAgain)).")
        case .faulty(let service):
            .init("Something went wrong", "It is not your doing. \(self.goBack(service))")
        case .damagedAddress(let service):
            .init("This address is not complete", "A part of it is missing or damaged. \(self.goBack(service))")
        case .anotherBrowser(let words):
            .init(
                "Go on in \(words)",
                """
                It began there, and ends there alone: open the address of this page in \(words) now. The address works \
                once and for a short time. Nothing has happened in this browser. If you did not begin it, or somebody \
                sent you the link, close this page, and give its address to nobody.
                """)
        case .wrongRequest(let service):
            .init(
                "The service’s request cannot be followed",
                """
                The page that sent you here made a mistake. \(self.goBack(service)) If that does not help, tell the \
                people who run the service what is below.
                """)
        case .noPage:
            .init("There is no page here", "The address may be incomplete. \(self.goBackAndTry)")
        case .notAPage:
            .init("This address is no page", "It belongs to a form or to a program. \(self.goBackAndTry)")
        case .faultyOutside: .init("Something went wrong", "It is not your doing. \(self.goBackAndTry)")
        case .unanswerable:
            .init(
                "This request cannot be answered",
                "Something is wrong with its address, or with the browser. \(self.goBackAndTry)")
        }
    }

    private var goBackAndTry: Sentence { "Go back to where you came from and try again." }

    private func name(_ service: Failure.Service) -> String { service.name ?? "the service" }

    private func goBack(_ service: Failure.Service) -> Sentence {
        "Go back to \(self.name(service)) and start again."
    }

    private func nextTry(_ service: Failure.Service, _ isReadAgain: Bool) -> Sentence {
        isReadAgain ? "try again" : "go back to \(self.name(service)) and start again"
    }

    private func words(_ pause: Failure.Pause) -> Sentence {
        switch pause {
        case .seconds("1"): "a second"
        case .seconds(let number): "\(number) seconds"
        case .moment: "a moment"
        }
    }

    // MARK: - Questions

    /// The words of questions.
    public func message(_ question: Question) -> Message {
        switch question {
        case .signOut(let client?, let operatorName):
            .init(
                "Sign out?", "\(client) asks to end your session at \(operatorName) in this browser.",
                title: "Sign out", submit: "Sign out", link: "Stay signed in")
        case .signOut(nil, let operatorName):
            .init(
                "Sign out?", "You are about to end your session at \(operatorName) in this browser.",
                title: "Sign out", submit: "Sign out", link: "Stay signed in")
        case .postedAnswer(let origin):
            .init(
                "Back to the service",
                "This page goes on to \(origin) by itself. If it does not, press the button.", submit: "Continue")
        case .newcomer(let client):
            .init(
                "Are you new to \(client)?",
                """
                Type your e-mail address. You get a letter with a link, by which you make your identity with the app \
                on your phone. Then you sign in with it.
                """, submit: "Mail me a link")

        case .forgottenPassword(let operatorName):
            .init(
                self.words(.forgottenPassword),
                """
                Type the name that you sign in with. A link to choose a new password is mailed to the address that \
                \(operatorName) has of you.
                """, submit: "Mail me a link")
        case .resetPassword: .init("Choose a new password", self.signedOutThen, submit: "Keep it")
        case .changePassword: .init("Change your password", self.signedOutThen, submit: "Change it")
        case .secondFactor(replaces: true):
            .init(
                "Use another authenticator app",
                """
                Beside your password you are asked for a code of the app from then on. The app that you use now, and \
                its recovery codes, count no more.
                """, submit: "Go on")
        case .secondFactor(replaces: false):
            .init(
                "Use an authenticator app", "\(self.askedForCodes) ", submit: "Go on")
        case .recoveryCodes(let left):
            .init(
                "Make new recovery codes",
                """
                A recovery code stands in once for a code of your app. You have \(left) left; they count no more when \
                you make new ones.
                """, submit: "Make them")
        case .secondFactorOffer:
            .init(
                "Add this to your authenticator app",
                "Scan the picture in the app, or type the secret. Then type the code that the app shows.",
                submit: "Use this app")
        case .ownAddress(let address, let isConfirmed):
            .init(
                "Is this your address?", "A link is mailed to \(address). Open it to show that the address is yours.",
                submit: isConfirmed ? "Mail me the link" : self.words(.confirmOnPhone))
        case .isThisYourAddress(let address, let username, let operatorName):
            .init(
                "Is this your address?", "\(address) is the address of the name \(username) at \(operatorName).",
                submit: "Yes, it is mine")

        case .beforePassword: self.before("Change your password", self.signedOutThen)
        case .beforeSecondFactor: self.before("Use an authenticator app", self.askedForCodes)
        case .beforeRecoveryCodes:
            self.before(
                "Make new recovery codes",
                "A recovery code stands in once for a code of your app. The former ones end.")
        case .beforeDevice: self.before(self.words(.anotherDevice), self.codeAndPIN)
        case .confirmChange(let text): .init(self.words(.confirmThisChange), "\(text)", submit: "Confirm")
        case .disown(let change, let made, let isConfirmed):
            .init(
                self.words(.notMe),
                """
                \(change), \(made). It rests, and everybody is signed out, also the services that go on by themselves. \
                Nothing that it took away comes back. A phone or a password that is older than the change confirms \
                this first.
                """, submit: isConfirmed ? "Let it rest, and sign out everywhere" : self.words(.notMe))
        case .reclaim(let change, let made, let isConfirmed):
            .init(
                self.words(.me),
                "\(change), \(made). It counts again, and everybody is signed out. You can say so once.",
                submit: isConfirmed ? "Let it count again" : self.words(.me))
        case .anotherChangeLink:
            .init(
                "This link does not work any more",
                """
                A link works once, and for a quarter of an hour. Another one goes to the account's confirmed e-mail \
                address.
                """, submit: "Mail another link")

        case .reportDevice(let name):
            .init(
                "Have you lost \(name)?",
                """
                It signs nobody in until you take it back, and everybody whom it has signed in is signed out. Nothing on it \
                is deleted. Your other devices and your e-mail addresses are told.
                """, submit: "It is lost")
        case .returnDevice(let name):
            .init(
                "Do you have \(name) again?",
                """
                It signs you in again. Another device of yours confirms this first; without one, your password and a code \
                do. Your devices and your e-mail addresses are told.
                """, submit: "Take it back")

        case .anotherDevice: .init(self.words(.anotherDevice), self.codeAndPIN, submit: "Make the code")
        case .endDevice(let name, isLast: false):
            .init(
                "End this device?", "\(self.endOf(name))", submit: "End it", link: self.words(.no))
        case .endDevice(let name, isLast: true):
            .init(
                "End this device?",
                """
                \(self.endOf(name)) It is the last device that you have: only an operator can give you another.
                """, submit: "End it", link: self.words(.no))
        case .endCode(let name):
            .init(
                "Take this code back?", "The code for \(name) works no more then.", submit: self.words(.takeBack),
                link: self.words(.no))
        case .renameDevice:
            .init(
                "Rename this device", "You know it again by its name. Nothing else changes.", submit: "Rename it")
        case .renameValue(let attribute):
            .init(
                "Rename this value",
                """
                \(Self.attribute(attribute)): the app shows you the name, and never the value, when you choose what a \
                service gets.
                """, submit: "Rename it")
        case .forgetChoice(let service, let choices):
            .init(
                "Ask you again?",
                """
                \(service) gets \(choices.joined(separator: ", ")). Once this is forgotten, the app asks you what it \
                is to get when you sign in there the next time. What it has got already it keeps.
                """, submit: self.words(.askAgain), link: self.words(.no))
        case .email(sendsMail: true, let isConfirmed):
            .init(
                self.words(.addEmail),
                """
                A link is mailed there, by which you show that the address is yours. Then services can ask for it; you \
                say to each what it gets.
                """, submit: isConfirmed ? "Mail me the link" : self.words(.confirmOnPhone))
        case .email(sendsMail: false, let isConfirmed):
            .init(
                self.words(.addEmail),
                """
                It is one that is known to be yours: no link is mailed here. Any other is entered by the people who \
                run this service.
                """, submit: isConfirmed ? "Add it" : self.words(.confirmOnPhone))
        case .phone(let isConfirmed):
            .init(
                self.words(.addPhone),
                """
                Services can ask for it; you say to each what it gets. Nobody checks the number, and services are told \
                so.
                """, submit: isConfirmed ? "Add it" : self.words(.confirmOnPhone))
        case .removeValue(let attribute, let alias, let services):
            .init(
                "Remove this value?", "\(Self.attribute(attribute)): \(alias). \(self.goesTo(services))",
                submit: "Remove it", link: self.words(.no))
        case .removeAddress(let address, isVerified: true):
            .init(
                "Remove this address?",
                """
                \(address). Where services get it, they are told from then on that nobody knows whether it is yours.
                """, submit: "Remove it", link: self.words(.no))
        case .removeAddress(let address, isVerified: false):
            .init(
                "Remove this address?", "\(address). It counts for nothing as long as it is not confirmed.",
                submit: "Remove it", link: self.words(.no))

        case .invitation(let invitation):
            .init(
                self.headline(of: invitation),
                """
                \(self.sentences(of: invitation)) Choose a PIN for the way. Then you get a code for the app on your \
                phone, and with the code you accept.
                """, submit: "Accept, and make the code")
        case .acceptInvitation(let invitation, let username):
            .init(
                self.headline(of: invitation),
                "\(self.sentences(of: invitation)) \(self.words(.signedInAs(username: username)))", submit: "Accept",
                link: "Somebody else")
        }
    }

    private var signedOutThen: Sentence { "You are signed out everywhere then, and sign in with the new one." }

    private var askedForCodes: Sentence {
        "Beside your password you are asked for a code of the app from then on."
    }

    private var codeAndPIN: Sentence {
        "You get a code for the app on that device. Whoever has the code and the PIN is you from then on."
    }

    private func before(_ headline: Sentence, _ explanation: Sentence) -> Message {
        Message(
            headline, "\(explanation) Your phone asks you to confirm this first.",
            submit: self.words(.confirmOnPhone), link: self.words(.no))
    }

    private func endOf(_ device: String) -> Sentence {
        "\(device) signs you in nowhere any more then, and what it has signed in to ends."
    }

    private func goesTo(_ services: [String]) -> Sentence {
        guard !services.isEmpty else { return "No service gets it." }
        return """
            It goes to \(services.joined(separator: ", ")): what has got it keeps it, and you are asked again when you \
            sign in there the next time.
            """
    }

    // MARK: - Letters

    /// The words of letters.
    public func letter(_ letter: Letter) -> LetterWords {
        switch letter {
        case .passwordReset(let service, let name, let link):
            .init(
                subject: "A new password at \(service)",
                text: """
                    Somebody has asked for a new password for the name \(name) at \(service).

                    If it was you, open this address and choose one. It works once, and for a quarter of an hour at \
                    most:

                    \(link)

                    If it was not you, there is nothing to do: your password stays as it is.

                    """)
        case .addressConfirmation(let service, let name, let link):
            .init(
                subject: "Is this your address?",
                text: """
                    \(name.isEmpty ? "An account" : "The name \(name)") at \(service) has this e-mail address.

                    If that is you, open this address and say so. It works once, and for a quarter of an hour at most:

                    \(link)

                    If you do not know \(service), there is nothing to do.

                    """)
        case .passwordChanged(let service, let name, let question):
            .init(
                subject: "Your password at \(service) was changed",
                text: """
                    The password of the name \(name) at \(service) is another one now, and everybody who was signed in \
                    with that name was signed out.

                    If it was not you, \(self.answer(question, service))

                    """)
        case .secondFactorChanged(let service, let name, let question):
            .init(
                subject: "Your codes at \(service) were changed",
                text: """
                    The authenticator app or the recovery codes of the name \(name) at \(service) are others now.

                    If it was not you, \(self.answer(question, service))

                    """)
        case .recoveryCodeUsed(let service, let name):
            .init(
                subject: "A recovery code at \(service) was used",
                text: """
                    A recovery code of the name \(name) at \(service) was used just now. It counts no more.

                    If it was you, there is nothing to do. If it was not you, change your password, make new recovery \
                    codes, and tell the operator of \(service).

                    """)
        case .deviceRested(let service, let name, let devices):
            .init(
                subject: "A device at \(service) was reported as lost",
                text: """
                    A device of the name \(name) at \(service) was reported as lost. It signs nobody in until it is taken \
                    back. Nothing on it was deleted.

                    If it was not you, somebody else may be signed in with your name. Sign in, take the device back and \
                    change your password:

                    \(devices)

                    """)
        case .deviceReturned(let service, let name, let devices):
            .init(
                subject: "A lost device at \(service) is in use again",
                text: """
                    A device of the name \(name) at \(service) that was reported as lost signs you in again.

                    If it was not you, sign in and report the device once more, and tell the operator of \(service):

                    \(devices)

                    """)
        case .accountChanged(let service, let name, let change, let made, let question):
            .init(
                subject: "Your account at \(service) was changed",
                text: """
                    The account of the name \(name) at \(service) was changed, \(made): \(change).

                    If it was you, there is nothing to do. If it was not you, \(self.answer(question, service))

                    """)
        case .changeDisowned(let service, let name, let change, let made, let question):
            .init(
                subject: "A change at \(service) rests",
                text: """
                    Somebody has said of a change of the name \(name) at \(service) that it was not you: \(change), \
                    \(made). It rests now, and everybody who was signed in with that name was signed out.

                    If the change was yours, \(self.answer(question, service))

                    """)
        case .changeReclaimed(let service, let name, let change, let made):
            .init(
                subject: "A change at \(service) counts again",
                text: """
                    Somebody has said of a change of the name \(name) at \(service) that it was you after all: \
                    \(change), \(made). It counts again.

                    If that is not so, tell the people who run \(service) at once.

                    """)
        case .changeWaits(let service, let name, let text, let from, let changes):
            .init(
                subject: "A change at \(service) waits",
                text: """
                    Somebody has signed in again with the name \(name) at \(service), to confirm this change:

                    \(text)

                    The change can be made from \(from) on. If it was you, there is nothing to do until then. If it \
                    was not you, sign in, open this address, and stop the change:

                    \(changes)

                    """)
        case .changeCode(let service, let name, let text, let code):
            .init(
                subject: "Your code for \(service)",
                text: """
                    \(code)

                    Type this code on the page in your own browser where you have asked for this:

                    \(text)

                    The code works for a quarter of an hour at most. If it was not you, tell nobody the code: somebody \
                    knows the password of the name \(name). Set another one, and tell the people who run \(service) at \
                    once.

                    """)
        case .invitation(let service, let link, let until):
            .init(
                subject: "You are invited to \(service)",
                text: """
                    Somebody who runs \(service) has invited this address. Open this one to see to what, and to accept:

                    \(link)

                    It is for you alone: whoever opens it can accept in your place.\(self.works(until))

                    If you do not know \(service), there is nothing to do.

                    """)
        case .newActivation(let service, let name, let link, let until):
            .init(
                subject: "Another device for \(service)",
                text: """
                    An app of the name \(name) has asked for a code for another device. Open this address on that \
                    device, with the app there:

                    \(link)

                    The app asks for the PIN that was chosen with it, which nobody else has to know.\(self.works(until))

                    If it was not you, tell the people who run \(service) at once.

                    """)
        case .test(let service):
            .init(
                subject: "A test of mail at \(service)",
                text: """
                    Somebody who runs \(service) has sent this letter to see whether mail arrives. There is nothing to \
                    do.

                    """)
        }
    }

    private func answer(_ question: String?, _ service: String) -> Sentence {
        guard let question else { return "tell the people who run \(service) at once." }
        return """
            open this address and say so. It works once, and for a quarter of an hour; for seven days it offers to \
            mail another one:

            \(question)
            """
    }

    private func works(_ until: String?) -> Sentence {
        guard let until else { return "" }
        return " It works until \(until)."
    }
}

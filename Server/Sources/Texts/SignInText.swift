/// An answer to the question how a person wants to sign in: one for each way to sign in.
public enum SignInWayText: Sendable {
    /// The phone, by a code that the page shows.
    case byPhone
    /// The phone, which asks after a name.
    case byAskedPhone
    /// The password.
    case byPassword
    /// Another provider.
    case byProvider(title: String)
}

/// A form by which a person signs in, of a way to sign in that has forms.
public enum SignInQuestion: Sendable {
    /// The name and the password at a service.
    case password(client: String, operatorName: String)
    /// The name of the person whose phone is to ask.
    case askedPhone(client: String)
    /// A code beside the password, or a password in place of a password for one use.
    case code, newPassword
}

/// Words of the pages of a sign-in.
public enum SignInText: Sendable {
    /// The heading of a sign-in.
    case signInTo(client: String)
    /// The line above a text that the person agrees to.
    case agreeOnPhone
    /// The way to the app on the device that shows the page.
    case readingOnPhone, openAppHere
    /// The remaining time of the codes, without script and with it. `clock` shows minutes and seconds.
    case codeWorks(seconds: Int), newCodeIn(clock: String), showNewCode
    /// The steps.
    case openApp, scanCode
    /// The last step.
    case checkName(client: String)
    /// The code that a person types.
    case noCamera, typeCode
    /// The number of a page that has named a person: the heading, what the phone does, and the warning.
    case typeNumber, phoneAsks, numberWarning
    /// The way to the form with the name.
    case askOtherName
    /// The way on without script.
    case haveConfirmedQuestion, haveConfirmed
    /// The way to an account.
    case noAccountYet, makeIdentity, enrolmentByMail
    /// The way to an account by the people who run the service.
    case enrolmentByLink(operatorName: String), enrolmentByInvitation(operatorName: String)
    /// The label of the QR code for people who do not see the code.
    case qrCode
    /// The question how a person wants to sign in.
    case chooseWay
    /// The page on which a person types a device's code.
    case device, typeDeviceCode, deviceWarning
    /// The question about a device that waits.
    case isThisYourDevice, service, itsAddress, yesSignIn
    /// The device that waits, its service and its person.
    case deviceWants(client: String, username: String)
}

/// Words of the pages on which a person decides.
public enum DecisionText: Sendable {
    /// The heading and the title of the question about a service's data.
    case mayHave(client: String), whatMayHave(client: String)
    /// The line above the list of the data.
    case serviceWouldGet(origin: String)
    /// The warning about a service that the operator does not know.
    case stranger
    /// The line above a text that the person has signed.
    case andWouldGet
    /// The buttons.
    case allow, doNotAllow
    /// How often the person is asked, and the way back.
    case askedEachTime, askedOnce, canTakeBack
    /// The data.
    case identity, username, personName, profile, email, phone, address, offlineAccess, deviceSSO
    /// A scope of the service, and a resource.
    case scope(String), resource(String)

    /// The title and the heading of the question about terms.
    case terms, termsOf(operatorName: String)
    /// The reason for the question.
    case beforeGoingOn(client: String)
    /// The link to the terms.
    case readTerms(version: String)
    /// The buttons, and how often the person is asked.
    case agree, doNotAgree, askedOncePerVersion

    /// The title of the question about a connection with another provider.
    case connectAccount
    /// The heading, and the meaning of a connection.
    case letSignIn(provider: String), connectionMeans(provider: String)
    /// The state of the confirmation.
    case haveConfirmedThis, askedToConfirmFirst
    /// The buttons, and the warning.
    case connect, doNotConnect, connectionWarning
}

/// The progress of a sign-in, or of a change that a phone confirms.
public enum Progress: Sendable {
    case waiting, claimed, approved, approvedOnDevice, completed, denied, expired, failed
}

/// The action that a phone confirms.
public enum ProgressMatter: Sendable {
    case signIn, change
}

/// The words for a progress.
public struct ProgressWords: Sendable {
    /// The state, in few words.
    public let state: Sentence
    /// A short sentence.
    public let headline: Sentence
    /// The meaning, and the next step.
    public let explanation: Sentence

    /// Creates the words for a progress.
    public init(_ state: Sentence, _ headline: Sentence, _ explanation: Sentence) {
        self.state = state
        self.headline = headline
        self.explanation = explanation
    }
}

/// Words of the pages behind links for the app and for the first administrator.
public enum OpeningText: Sendable {
    /// The page of a link that no app took: title, heading and lead.
    case openWithApp, openThis, meantForApp
    /// The steps, the warning and the button.
    case installApp, openAgain, checkInApp, worksOnce, copyAddress
    /// The page of the one-time link: title, heading and lead.
    case setUp, setUpServer, tokenLead
    /// The answers of the page's script.
    case secretMissing, linkSpent, serverUnreachable
    /// The way without script. `command` is the program's command.
    case needsScript(command: String)
    /// The button, and the token with its instructions.
    case createToken, yourToken, useInShell, copyLines, keepToken
}

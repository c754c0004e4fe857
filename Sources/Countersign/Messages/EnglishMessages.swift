/// The messages of errors in English.
public struct EnglishMessages: MessageLanguage {
    /// The name of the language.
    public let tag = "en"

    /// Creates the language.
    public init() {}

    /// Returns the words of an event.
    public func words(_ event: ErrorEvent) -> Wording {
        switch event {
        // The network and the server
        case .serverSilent: "The server does not answer."
        case .serverNotProven: "The server's identity does not hold."
        case .serverKeyNotPinned: "The server could not prove that it is the right one. Nothing was sent."
        case .addressNotSecure: "The server's address is not secure. Nothing was sent."
        case .otherProtocolVersion: "The server speaks another version of the protocol."
        case .refusedOrMalformed: "The server refused, or its answer makes no sense."
        case .refused: "The server refused."
        case .answerMalformed: "The server's answer makes no sense."
        case .appNotTrusted: "The server does not trust this app."
        case .clocksDiffer: "This device's clock and the server's clock differ too much."
        case .tooManyRequests: "There were too many requests."

        // The app and the device
        case .appMistaken: "This app is not configured rightly."
        case .appFaulty: "This app has made a mistake."
        case .doneBefore: "This was done before."
        case .notAsked: "This app did not ask what it had to ask. Nothing was signed."
        case .headerNotSendable: "This app had something to send that no request can carry. Nothing was sent."
        case .serverNameInvalid: "This app named a server that is none. Nothing was sent."
        case .appRenamed(let former?): "This app was called \(former) when it was enrolled. Nothing is lost."
        case .appRenamed(nil): "This app has another name than when it was enrolled. Nothing is lost."
        case .appTooOld: "This app is too old."
        case .appNotProven: "This app could not prove that it is genuine. This device was not registered."
        case .keysInUse: "Another program uses this device's keys."
        case .storageUnreadable: "What is stored on this device cannot be opened."
        case .storageNewer: "A later version of this app has written what is stored on this device."
        case .storageFailed: "This device's storage failed."
        case .noDevicePasscode: "This device has no passcode."
        case .protectionRemoved: "This device's own protection was removed."
        case .deviceNotSecure: "This device is not sound enough."
        case .deviceNameTaken: "Another device of yours has this name."
        case .deviceLimited: "This device was added a short time ago. It may do this only later."
        case .newDeviceNotAdded: "The new device was not added."
        case .deviceNotReached: "The server does not send messages to this device."
        case .pushServiceUnknown: "The server does not use this device's push service."
        case .noRoom: "There is no room for another key."
        case .unforeseen: "Something went wrong."

        // Codes and links
        case .notACode: "That is not a code of this product."
        case .codeOfOtherKind: "This code is for something else."
        case .codeOfOtherVersion: "This code is of another version of the product."
        case .codeOfOtherDevice: "This code was meant for another device."
        case .codeExpired: "The code has expired."
        case .codeUsed: "The code was used before, perhaps by somebody else."
        case .codeUsedHere: "You have used this code in this app before."
        case .codeUnknown: "The server does not know this code."
        case .codeOfForeignServer: "The code points to a server that this app does not trust."
        case .codeInLink: "This code is for scanning, and came in a link. Nobody was signed in."

        // Accounts and keys
        case .authenticationNeeded: "The server wants to know first who you are."
        case .deviceUnknown: "The server does not know this device any more."
        case .accountAtOtherServer: "This device has an account of that name at another server."
        case .accountMissing: "This device has no account of that name."
        case .accountLocked: "The account is locked."
        case .sessionGone: "There is no such session or grant, or it has ended."
        case .pinLocked: "Too many wrong PINs: the PIN is locked."
        case .noPin: "The account has no PIN on this device."
        case .passwordLocked: "Too many wrong passwords: the password is locked."
        case .noPassword: "The account has no password on this device."
        case .noSuchAuthenticator: "The account has no such authenticator on this device."
        case .noSuitableAuthenticator: "Nothing on this device can answer that."
        case .authenticatorRefused: "The authenticator refused."
        case .tooManyTries: "Too many wrong tries."
        case .keyGone: "The key is gone, because the enrolled fingers, faces or passcode have changed."
        case .nothingEnrolled: "No finger, face or passcode is set up on this device."

        // The person
        case .personRefused: "You said no."
        case .cancelled: "That was cancelled."
        case .numberWrong: "This is not the number that was shown. Nobody was signed in."
        case .numberFormat: "That is not a number of this length."
        case .personSilent: "Nobody answered in time."
        case .contentNotShowable: "What is to be confirmed cannot be shown safely. Nothing was signed."

        // Sign-in of an app
        case .signInDenied: "You were not signed in."
        case .foreignAnswer: "The answer was not to your sign-in. Nobody was signed in."
        case .notSignedIn: "Nobody is signed in."
        case .signedOut: "You are not signed in any more."
        case .renewedElsewhere: "This app has been used elsewhere since."
        case .biometricsNotMatched: "The finger or the face was not recognised."
        case .sensorLocked: "The sensor is locked after too many tries."
        case .biometricsChanged: "The enrolled fingers or faces have changed."
        case .sensorSilent: "The sensor does not answer, or no finger and no face is enrolled."
        case .wrongCredentials: "The name or the password is wrong."
        case .wrongSecondFactors: "The codes were wrong."
        case .signInInterrupted: "This app was closed while you signed in."
        case .browserNeeded: "The server wants to know more of you."

        // Personalised identities
        case .serverUnknown: "This app does not know that server."
        case .notPersonalized: "This app has no identity of that server."
        case .alreadyPersonalized: "This app has an identity of that server already."
        case .identityNotValid: "This identity is not valid any more."
        case .identityKeysGone: "The keys of this identity are gone."
        case .activationCodeExpired: "The activation code has expired."
        case .activationCodeUsed: "The activation code was used before."
        case .timeOver: "The time is over."
        case .processEnded: "The process has ended."
        case .processReplaced: "The service has begun a newer request."
        case .noRoleChosen: "No role was chosen."
        case .dataMissing: "Something that the service needs is missing."
        case .dataWrongTooOften: "The data were wrong too often."
        case .dataChanged: "What was confirmed is not there any more."
        case .consentNeeded: "Something has to be agreed to first, in a browser."
        case .noRole: "You have no role at this service."
        case .serviceInactive: "The service is switched off."
        case .membersOnly: "The service is for members of an organisation."
        case .invitedOnly: "The service is for invited persons."
        case .foreignPage: "The page is not one of the service's."
        case .factorMissing: "A factor is missing."
        case .factorNotEnrolled: "This identity has no such factor here."
        case .factorEnrolled: "This identity has such a factor already."
        case .factorNotSupported: "This app has no such factor."
        case .pinRefused: "That PIN is not taken."
        case .otherPinEvaluated: "Another PIN was typed before."
        case .accountsNotMergeable: "The accounts cannot be merged any more."
        case .lockedOut(let seconds):
            """
            There were too many failed attempts. Nothing is judged for another \
            \(self.words(RoundedDuration(seconds: seconds))).
            """
        case .lockedOutForNow: "There were too many failed attempts."
        case .lockedOutForGood: "There were too many failed attempts. This identity is not valid any more."

        // Answers to screens
        case .wrongPin: "That is not your PIN."
        case .pinFormat: "The PIN has the wrong length, or has something else than digits."
        case .pinDigitsTooFew(let minimum): "The PIN has fewer than \(minimum) different digits."
        case .pinDigitRepeated(let maximum): "The PIN repeats a digit more than \(maximum) times in a row."
        case .pinRun(let maximum): "The PIN has more than \(maximum) neighbouring digits in a row."
        case .pinPattern: "The PIN repeats a pattern."
        case .pinRow: "The PIN is a row of neighbouring digits."
        case .pinDate: "The PIN is a date."
        case .pinCommon: "Too many people choose this PIN."
        case .samePin: "The new PIN is the old PIN."
        case .wrongPassword: "That is not your password."
        case .samePassword: "The new password is the old password."
        case .passwordLength(let minimum, let maximum): "A password has \(minimum) to \(maximum) characters."
        case .passwordUnbounded: "This password is too long, or has too many marks on a letter."
        case .passwordNotJudged: "This password was not judged."
        case .tooEarly: "That was too early, and was not counted."
        case .wrongSecondFactor: "That code is wrong, too old, or was used before."
        case .valueValid: "This is right as it is."
        case .valueInvalid: "This value does not have the right form."
        case .valueNotWanted: "This value cannot be given here."
        case .valueMissing: "This value is missing."
        case .valueNotChosen: "None of the values was chosen."
        case .supplied(let text): "\(text)"
        }
    }

    /// Returns the words of an advice.
    public func words(_ advice: ErrorAdvice) -> Wording {
        switch advice {
        case .nothing: "There is nothing to do."
        case .tryAgain: "Try again."
        case .waitAndTryAgain(let seconds): "Wait for \(self.words(RoundedDuration(seconds: seconds))), and try again."
        case .waitAWhile: "Wait a while, and try again."
        case .checkOutcome: "It may be done. Look where you started before you do it again."
        case .haveCodeShownAgain: "Have a new code shown where you started."
        case .askForNewActivationCode: "Ask for a new activation code."
        case .beCareful:
            "Somebody may be trying to sign in as you. Only scan codes from pages that you have opened yourself."
        case .closePage: "Close the page that showed the code."
        case .changeNetwork: "Use another network. If that does not help, update this app."
        case .authenticate: "Confirm first that it is you."
        case .chooseAnotherAuthenticator: "Choose another way to confirm that it is you."
        case .enrolAgain: "Enrol this device again."
        case .replaceLockedKey:
            """
            Ask for a new link and enrol again with it: the new key takes the place of the locked one. Your \
            other accounts are not touched.
            """
        case .unlockDevice: "Lock this device, unlock it, and try again."
        case .setUpDevice: "Set up a finger, a face or a passcode in this device's settings first."
        case .setDevicePasscode: "Set a passcode in this device's settings first."
        case .setClock: "Set this device's clock, and try again."
        case .removeAccountOfThatName:
            "Remove the account of this name that is at the other server, if you do not need it any more."
        case .makeRoom: "Remove an account in this app that you do not use any more."
        case .chooseAnotherName: "Choose another name for this device."
        case .askService: "Ask the service that you wanted to use."
        case .askForInvitation: "Ask the service for an invitation."
        case .askForMembership: "Ask the organisation to take you in."
        case .updateApp: "Update this app."
        case .tellMakers: "Tell the makers of this app."
        case .signIn: "Sign in."
        case .beginAgainCarefully:
            "Somebody may be trying to sign you in as somebody else. Begin again here in the app."
        case .tryAgainOrOtherwise: "Try again, or sign in otherwise."
        case .typeBothAgain: "Type both again."
        case .waitForNextCode: "Wait for the next code, and sign in again."
        case .signInAgain: "Sign in again here in the app."
        case .useBrowser: "Sign in with the browser."
        case .agreeInBrowser: "Sign in to the service in a browser once, and agree there. Then try again."
        case .personalize: "Ask for an activation code, and use it in this app."
        case .personalizeAnew: "Remove this identity from the app, and ask for a new activation code."
        case .removeIdentityFirst: "Remove the present identity from the app first, if you want another one."
        case .beginAgain: "Begin again."
        case .chooseRole: "Choose a role."
        case .completeData: "Complete the data."
        case .chooseDataAgain: "Begin again, and choose the data anew. Nothing was counted."
        case .useAnotherFactor: "Use another factor."
        case .replaceFactor: "Use another factor, and set this one up again in the app."
        case .giveFactors: "Give all the factors that are asked for."
        case .addFactor: "Set the factor up in the app, or use another one."
        case .chooseAnotherPin: "Choose another PIN."
        case .beginAgainWithRightPin: "Wait a moment, and begin again with the right PIN."
        case .askInviter: "Ask the person who has invited you."
        case .chooseAnotherPassword: "Choose another password."
        case .typeAgain: "Type it again."
        case .waitAMoment: "Wait a moment, and type it again."
        case .typeNextCode: "Type the next code of your authenticator app."
        case .leaveValue: "Leave it out."
        case .chooseValue: "Choose one."
        }
    }

    private func words(_ duration: RoundedDuration) -> Wording {
        switch duration {
        case .seconds(1): "\(1) second"
        case .seconds(let seconds): "\(seconds) seconds"
        case .minutes(1): "\(1) minute"
        case .minutes(let minutes): "\(minutes) minutes"
        case .hours(1): "\(1) hour"
        case .hours(let hours): "\(hours) hours"
        }
    }
}

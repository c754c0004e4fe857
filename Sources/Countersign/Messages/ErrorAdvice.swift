/// The person's next step after an error. Each language has a sentence for each step.
public enum ErrorAdvice: Hashable, Sendable {
    /// Nothing is to be done.
    case nothing
    /// Try again.
    case tryAgain
    /// Wait for this number of seconds, and try again.
    case waitAndTryAgain(seconds: Int)
    /// Wait a while, and try again.
    case waitAWhile
    /// Look at the place where the operation started, before anything is repeated.
    case checkOutcome
    /// Have a new code shown.
    case haveCodeShownAgain
    /// Ask for a new activation code.
    case askForNewActivationCode
    /// Be careful: an attacker may be at work.
    case beCareful
    /// Close the page that showed the code.
    case closePage
    /// Use another network, and then update the app.
    case changeNetwork
    /// Authenticate first.
    case authenticate
    /// Choose another authenticator.
    case chooseAnotherAuthenticator
    /// Enrol the device again.
    case enrolAgain
    /// Enrol over the locked key with a new link.
    case replaceLockedKey
    /// Unlock the device, and try again.
    case unlockDevice
    /// Set up a finger, a face or a passcode in the settings of the device.
    case setUpDevice
    /// Set a passcode in the settings of the device.
    case setDevicePasscode
    /// Set the clock of the device.
    case setClock
    /// Remove the account of the same name at another server.
    case removeAccountOfThatName
    /// Remove an account that is no longer used.
    case makeRoom
    /// Choose another name for the device.
    case chooseAnotherName
    /// Ask the service.
    case askService
    /// Ask the service for an invitation.
    case askForInvitation
    /// Ask the organisation for membership.
    case askForMembership
    /// Update the app.
    case updateApp
    /// Report the error to the makers of the app.
    case tellMakers
    /// Sign in.
    case signIn
    /// Begin the sign-in again in the app, and be careful.
    case beginAgainCarefully
    /// Try again, or sign in another way.
    case tryAgainOrOtherwise
    /// Type the name and the password again.
    case typeBothAgain
    /// Wait for the next code of the authenticator app.
    case waitForNextCode
    /// Sign in again in the app.
    case signInAgain
    /// Sign in with the browser.
    case useBrowser
    /// Sign in to the service in a browser once, and agree there.
    case agreeInBrowser
    /// Make an identity in the app first.
    case personalize
    /// Make the identity in the app anew.
    case personalizeAnew
    /// Remove the present identity from the app first.
    case removeIdentityFirst
    /// Begin again.
    case beginAgain
    /// Choose a role.
    case chooseRole
    /// Complete the data.
    case completeData
    /// Choose the data again. Nothing was counted.
    case chooseDataAgain
    /// Use another factor.
    case useAnotherFactor
    /// Use another factor, and set this factor up again.
    case replaceFactor
    /// Give all factors that are requested.
    case giveFactors
    /// Set the factor up in the app, or use another factor.
    case addFactor
    /// Choose another PIN.
    case chooseAnotherPin
    /// Wait a moment, and begin again with the right PIN.
    case beginAgainWithRightPin
    /// Ask the person who sent the invitation.
    case askInviter
    /// Choose another password.
    case chooseAnotherPassword
    /// Type the value again.
    case typeAgain
    /// Wait a moment, and type the value again.
    case waitAMoment
    /// Type the next code of the authenticator app.
    case typeNextCode
    /// Leave the value out.
    case leaveValue
    /// Choose one of the values.
    case chooseValue
}

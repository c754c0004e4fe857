/// The event of an error, as a person reads the event. Each language has a sentence for each event.
///
/// Several codes of errors can have the same event. The parameters are values that no language changes.
public enum ErrorEvent: Hashable, Sendable {
    // MARK: The network and the server

    /// The server did not answer.
    case serverSilent
    /// The server's certificate, name or signature is not valid.
    case serverNotProven
    /// The server's key is not a pinned key. Nothing was sent.
    case serverKeyNotPinned
    /// The address of the server is not secure. Nothing was sent.
    case addressNotSecure
    /// The server uses a version of the protocol that the app does not know.
    case otherProtocolVersion
    /// The server refused, or its answer is malformed.
    case refusedOrMalformed
    /// The server refused a sign-in.
    case refused
    /// The server's answer is malformed.
    case answerMalformed
    /// The server does not trust the app.
    case appNotTrusted
    /// The clocks of device and server differ too much.
    case clocksDiffer
    /// The server received too many requests.
    case tooManyRequests

    // MARK: The app and the device

    /// The configuration of the app is wrong.
    case appMistaken
    /// The code of the app has a mistake.
    case appFaulty
    /// The app executed an operation twice.
    case doneBefore
    /// The app did not ask the person a necessary question. Nothing was signed.
    case notAsked
    /// The app had a header field that no request can carry. Nothing was sent.
    case headerNotSendable
    /// The app named a server that is none. Nothing was sent.
    case serverNameInvalid
    /// The app had another name at the enrolment; `nil` if the former name is unknown. Nothing is lost.
    case appRenamed(former: String?)
    /// The app is older than its data or than the server.
    case appTooOld
    /// The app could not prove to the server that it is the genuine app. Nobody was registered.
    case appNotProven
    /// Another program uses the keys of the device.
    case keysInUse
    /// The stored data cannot be opened.
    case storageUnreadable
    /// A later version of the app has written the stored data.
    case storageNewer
    /// The storage failed.
    case storageFailed
    /// The device has no passcode.
    case noDevicePasscode
    /// The protection of the operating system was removed.
    case protectionRemoved
    /// The device is less secure than the server or the app requires.
    case deviceNotSecure
    /// Another device of the person has the name.
    case deviceNameTaken
    /// The server sends no messages to the device.
    case deviceNotReached
    /// The server does not use the push service of the device.
    case pushServiceUnknown
    /// Another device approved this device a short time ago, so this device approves and removes no device yet.
    case deviceLimited
    /// The new device that was to be approved was not added.
    case newDeviceNotAdded
    /// The device has no room for another key.
    case noRoom
    /// An unforeseen error.
    case unforeseen

    // MARK: Codes and links

    /// The text is no code of this product.
    case notACode
    /// The code belongs to another kind of process.
    case codeOfOtherKind
    /// The code comes from another version of the product.
    case codeOfOtherVersion
    /// The code was meant for another device.
    case codeOfOtherDevice
    /// The code has expired.
    case codeExpired
    /// The code was used before, perhaps by another person.
    case codeUsed
    /// The code was used before on this device.
    case codeUsedHere
    /// The server does not know the code.
    case codeUnknown
    /// The code names a server that the app does not trust.
    case codeOfForeignServer
    /// A code for scanning arrived in a link. Nobody was signed in.
    case codeInLink

    // MARK: Accounts and keys

    /// The server requires the person's authentication first.
    case authenticationNeeded
    /// The server does not know the device any more.
    case deviceUnknown
    /// The device has an account of the same name at another server.
    case accountAtOtherServer
    /// The device has no account of the name.
    case accountMissing
    /// The account is locked.
    case accountLocked
    /// The session or grant has ended.
    case sessionGone
    /// Too many wrong PINs locked the PIN.
    case pinLocked
    /// The account has no PIN on this device.
    case noPin
    /// Too many wrong passwords locked the password.
    case passwordLocked
    /// The account has no password on this device.
    case noPassword
    /// The account has no such authenticator on this device.
    case noSuchAuthenticator
    /// Nothing on the device meets the server's policy.
    case noSuitableAuthenticator
    /// The authenticator refused.
    case authenticatorRefused
    /// Too many wrong tries.
    case tooManyTries
    /// The key is gone because the enrolled fingers, faces or passcode have changed.
    case keyGone
    /// No finger, face or passcode is enrolled in the operating system.
    case nothingEnrolled

    // MARK: The person

    /// The person refused.
    case personRefused
    /// The person gave up, or the task was cancelled.
    case cancelled
    /// The person typed another number than the shown number. Nobody was signed in.
    case numberWrong
    /// The person typed no number of the necessary length. Nothing was sent.
    case numberFormat
    /// The person did not answer in time.
    case personSilent
    /// The content to confirm cannot be shown safely. Nothing was signed.
    case contentNotShowable

    // MARK: Sign-in of an app

    /// The person, or the identity provider, refused the sign-in.
    case signInDenied
    /// The browser's answer does not belong to the sign-in. Nobody was signed in.
    case foreignAnswer
    /// Nobody is signed in.
    case notSignedIn
    /// The person is no longer signed in.
    case signedOut
    /// Another process of the app has renewed the session.
    case renewedElsewhere
    /// The finger or face did not match.
    case biometricsNotMatched
    /// The operating system has locked the sensor.
    case sensorLocked
    /// The enrolled fingers or faces have changed.
    case biometricsChanged
    /// The sensor does not answer.
    case sensorSilent
    /// The name or the password is wrong.
    case wrongCredentials
    /// The codes of the authenticator app were wrong.
    case wrongSecondFactors
    /// The app was closed during the sign-in.
    case signInInterrupted
    /// The server requires more than a name and a password.
    case browserNeeded

    // MARK: Personalised identities

    /// The app does not know the server.
    case serverUnknown
    /// The app has no identity of the server.
    case notPersonalized
    /// The app already has an identity of the server.
    case alreadyPersonalized
    /// The identity is no longer valid.
    case identityNotValid
    /// The keys of the identity are gone.
    case identityKeysGone
    /// The activation code has expired.
    case activationCodeExpired
    /// The activation code was used before.
    case activationCodeUsed
    /// The time for the process is over.
    case timeOver
    /// The process has ended.
    case processEnded
    /// The service began a newer request.
    case processReplaced
    /// No role was chosen.
    case noRoleChosen
    /// Data that the service needs is missing.
    case dataMissing
    /// The data was wrong too often.
    case dataWrongTooOften
    /// The confirmed data has changed since.
    case dataChanged
    /// The person must agree to something in a browser.
    case consentNeeded
    /// The person has no role at the service.
    case noRole
    /// The service is switched off.
    case serviceInactive
    /// The service is for members only.
    case membersOnly
    /// The service is for invited persons only.
    case invitedOnly
    /// The page does not belong to the service.
    case foreignPage
    /// A factor is missing.
    case factorMissing
    /// The identity does not have the factor on this device.
    case factorNotEnrolled
    /// The identity already has the factor.
    case factorEnrolled
    /// The app does not support the factor.
    case factorNotSupported
    /// The server does not accept the new PIN.
    case pinRefused
    /// Another PIN was already evaluated.
    case otherPinEvaluated
    /// The accounts can no longer be merged.
    case accountsNotMergeable
    /// Too many failed attempts locked the identity for this number of seconds.
    case lockedOut(seconds: Int)
    /// Too many failed attempts locked the identity.
    case lockedOutForNow
    /// Too many failed attempts ended the identity.
    case lockedOutForGood

    // MARK: Answers to screens

    /// The PIN is wrong.
    case wrongPin
    /// The PIN has the wrong length, or other characters than digits.
    case pinFormat
    /// The PIN has too few different digits.
    case pinDigitsTooFew(minimum: Int)
    /// A digit stands too often in a row.
    case pinDigitRepeated(maximum: Int)
    /// Too many neighbouring digits stand in a row.
    case pinRun(maximum: Int)
    /// The PIN repeats a pattern.
    case pinPattern
    /// The PIN is a row of neighbouring digits.
    case pinRow
    /// The PIN is a date.
    case pinDate
    /// The PIN is one that many people choose.
    case pinCommon
    /// The new PIN is the present PIN.
    case samePin
    /// The password is wrong.
    case wrongPassword
    /// The new password is the present password.
    case samePassword
    /// The password does not have this number of characters.
    case passwordLength(minimum: Int, maximum: Int)
    /// The password is too long, or a letter has too many marks.
    case passwordUnbounded
    /// The password was not judged.
    case passwordNotJudged
    /// The answer came before the waiting time was over.
    case tooEarly
    /// The code of the authenticator app is wrong.
    case wrongSecondFactor
    /// The value of the attribute is right.
    case valueValid
    /// The value does not have the form of the attribute.
    case valueInvalid
    /// The attribute cannot be supplied here.
    case valueNotWanted
    /// The attribute needs a value.
    case valueMissing
    /// None of several values was chosen.
    case valueNotChosen
    /// A text that the app or the sensor has supplied, in the language of the supplier.
    case supplied(String)
}

/// The kind of a ``CountersignError``, with advice for the app. The set is open: an app that switches over the codes
/// needs a default.
public struct CountersignErrorCode: Hashable, Sendable, CustomStringConvertible {
    fileprivate enum Base: String, CaseIterable {
        case notInitialized, alreadyInitialized, invalidConfiguration, connectionError, timeout, tlsError
        case tlsPinMismatch, serverSignatureInvalid, unknownManager, protocolVersionUnsupported, malformedData
        case notPersonalized, alreadyPersonalized, activationUnknown, activationDisabled, activationDataExpired
        case activationDataConsumed
        case sessionExpired, sessionConsumed, sessionAborted, sessionSuperseded, wrongProcess
        case codeCameByLink
        case roleNotSelected, attributesIncomplete, correctionLimitExceeded, notDisclosed
        case factorNotRequested, factorMissing, factorNotEnrolled, factorAlreadyEnrolled, factorNotSupported
        case biometricInvalidated, biometricCancelled, biometricUnavailable, biometricLockedOut
        case keyRemovedBySystem, appRenamed, deviceLockNotSet
        case serviceInactive, membershipRequired, invitationRequired, noRole, originRefused
        case grantExpired, pinMissing, pinRefused, pinAlreadyAsked, mergeConflict, consentRequired, answersOutdated
        case clockSkew, securityInsufficient, lockedOut, tooManyRequests, untrustedFacetID
        case storageUnavailable, storageCorrupt, storageNewer
        case cancelled, unexpected
    }
    fileprivate let base: Base
    public var description: String { self.base.rawValue }

    // MARK: The SDK itself

    /// ``CountersignSDK/initialize(_:platform:transport:traceRecorder:)`` was not called, or has not finished. A
    /// mistake in the app's code.
    public static let notInitialized = Self(base: .notInitialized)
    /// The SDK was already initialised. A mistake in the app's code.
    public static let alreadyInitialized = Self(base: .alreadyInitialized)
    /// The configuration is invalid: no server, an address that is not secure, an invalid root key, an invalid facet
    /// ID, a transport that cannot enforce the pins, or no security inspection although the called function needs one.
    /// A mistake in the app's code.
    public static let invalidConfiguration = Self(base: .invalidConfiguration)
    /// The device's storage failed, or the device has no room for another key. Try again, then report the error.
    public static let storageUnavailable = Self(base: .storageUnavailable)
    /// The stored data cannot be opened. The identities are lost: the app wipes the storage, and the person is
    /// personalised again.
    public static let storageCorrupt = Self(base: .storageCorrupt)
    /// A later version of the app has written the stored data. Nothing is lost: ask the person to update the app.
    public static let storageNewer = Self(base: .storageNewer)
    /// The operating system or the person has removed the device's keys, or the device can no longer open the secret of
    /// the PIN. Personalise again.
    public static let keyRemovedBySystem = Self(base: .keyRemovedBySystem)
    /// The app had another name when the identity was made: ``CountersignError/formerFacetID``. Nothing is lost: with
    /// the former name all factors sign again.
    ///
    /// The cause is a mistake of the build or its configuration. Do not ask the person to personalise again, and remove
    /// no identity from the device.
    public static let appRenamed = Self(base: .appRenamed)
    /// The device has no passcode, and the app requires one. Ask the person to set a passcode.
    public static let deviceLockNotSet = Self(base: .deviceLockNotSet)
    /// The task was cancelled. Messages that had not been sent by then were never sent; the server may have accepted a
    /// message that was on its way.
    public static let cancelled = Self(base: .cancelled)
    /// An unforeseen error. Try again, then report the error.
    public static let unexpected = Self(base: .unexpected)

    // MARK: The server

    /// The server's operator has not listed this app (`countersign serve --facets`; <doc:Facets>), which is identified
    /// by ``IdentityConfiguration/facetID``. A mistake of the deployment.
    ///
    /// The error costs the person no attempt, unless the server has a PIN service (`pin/2`). A PIN that was already
    /// sent to the PIN service still counts as an attempt, and the app is told a lockout.
    public static let untrustedFacetID = Self(base: .untrustedFacetID)
    /// The server does not answer, its keys were never fetched, or the result of an earlier request is still unknown.
    /// Transient: let the person try again.
    ///
    /// If a step had already been sent, the server may have accepted the step. The documentation of the function says
    /// if the app can call the function once more.
    public static let connectionError = Self(base: .connectionError)
    /// The server did not answer in time. Transient, like ``connectionError``.
    public static let timeout = Self(base: .timeout)
    /// The server's certificate or name is not valid. Nothing was sent. Report the error.
    public static let tlsError = Self(base: .tlsError)
    /// The server's key is not among the pinned keys (``IdentityConfiguration/tlsPins``). Nothing was sent. Let the
    /// person use another network; if the error stays, ask the person to update the app.
    public static let tlsPinMismatch = Self(base: .tlsPinMismatch)
    /// A message in the server's name has no valid signature of the server. Nothing in the message was used. For a
    /// code, call ``CommonProcesses/refreshServerKeys()`` and read the code again. Otherwise report the error.
    public static let serverSignatureInvalid = Self(base: .serverSignatureInvalid)
    /// The server is not among the servers of the app's configuration. Nothing was sent.
    public static let unknownManager = Self(base: .unknownManager)
    /// App and server have no version of the protocol in common. Ask the person to update the app.
    public static let protocolVersionUnsupported = Self(base: .protocolVersionUnsupported)
    /// The code, the link or the server's answer is malformed, or the typed PIN is empty. The SDK sends nothing more.
    /// If an answer is malformed, the server may have accepted the step.
    public static let malformedData = Self(base: .malformedData)
    /// The device's clock differs too much from the server's clock, and the SDK's correction did not help. Ask the
    /// person to set the clock.
    public static let clockSkew = Self(base: .clockSkew)
    /// The server received too many requests. Wait for the time in ``CountersignError/retryAfter``, or for a while, and
    /// try again.
    public static let tooManyRequests = Self(base: .tooManyRequests)

    // MARK: Identities

    /// This device has no identity of the server. Personalise first.
    public static let notPersonalized = Self(base: .notPersonalized)
    /// This device already has an identity of the server. A device has at most one identity of each server.
    public static let alreadyPersonalized = Self(base: .alreadyPersonalized)
    /// The server does not know the activation, or does not accept this device's proof. Depersonalise, and personalise
    /// again.
    public static let activationUnknown = Self(base: .activationUnknown)
    /// The activation is disabled permanently. Depersonalise, and request a new activation from another device or from
    /// the organisation.
    public static let activationDisabled = Self(base: .activationDisabled)
    /// The activation's code was not used in time. Request a new code.
    public static let activationDataExpired = Self(base: .activationDataExpired)
    /// The activation's code was used before. Request a new code, unless this device was the device that used the code.
    public static let activationDataConsumed = Self(base: .activationDataConsumed)
    /// The invitation's account cannot be merged with this one any more.
    public static let mergeConflict = Self(base: .mergeConflict)

    // MARK: Sessions

    /// The session's time is over. Begin again.
    public static let sessionExpired = Self(base: .sessionExpired)
    /// Another device has taken the code, or the process has ended. Begin again.
    public static let sessionConsumed = Self(base: .sessionConsumed)
    /// The session was given up, on this device or at the service.
    public static let sessionAborted = Self(base: .sessionAborted)
    /// The service has begun a newer session in place of this session.
    public static let sessionSuperseded = Self(base: .sessionSuperseded)
    /// The data belongs to another kind of process, for example the code of an activation passed to an authentication.
    /// The cause is a mistake in the app's code, or the person scanned another code.
    ///
    /// The error also occurs if the server treats a process that was begun in this app as another kind of process: the
    /// app then uses nothing of the server's answer; report the error. Finally, the error occurs for a step that the
    /// server does not expect now: the documentation of the function says what to do.
    public static let wrongProcess = Self(base: .wrongProcess)
    /// A code that was made to be scanned from a page arrived in a link. The sender of the link waits at the page to be
    /// signed in as this person. The process was given up. Warn the person.
    public static let codeCameByLink = Self(base: .codeCameByLink)
    /// The request has several roles, and none was chosen. Let the person choose.
    public static let roleNotSelected = Self(base: .roleNotSelected)
    /// Reserved: no function of this version throws this error. If a required attribute is missing, preparing ends with
    /// ``PrepareAuthenticationUserInformationResult/failure(_:)``, and each attribute states its error.
    public static let attributesIncomplete = Self(base: .attributesIncomplete)
    /// The attributes were wrong too often. The process is over.
    public static let correctionLimitExceeded = Self(base: .correctionLimitExceeded)
    /// The confirmed answers can no longer be handed over: a value was removed meanwhile, or the account has no room
    /// for another value. The error does not count as a failed attempt. Begin again, and let the person choose again.
    public static let answersOutdated = Self(base: .answersOutdated)
    /// The person must first agree to something that an app cannot present: the server's terms, or the service's access
    /// to data. Ask the person to sign in to the service once in a browser, and begin again.
    public static let consentRequired = Self(base: .consentRequired)
    /// The request has a text that the person must agree to, and the app has not read the text. Nothing was signed. A
    /// mistake in the app's code.
    public static let notDisclosed = Self(base: .notDisclosed)
    /// The person holds no role at the service.
    public static let noRole = Self(base: .noRole)
    /// The service is switched off.
    public static let serviceInactive = Self(base: .serviceInactive)
    /// The service admits only members of an organisation.
    public static let membershipRequired = Self(base: .membershipRequired)
    /// The service admits only invited persons.
    public static let invitationRequired = Self(base: .invitationRequired)
    /// The page that sent the request does not belong to the service.
    public static let originRefused = Self(base: .originRefused)
    /// The operation that the authentication permitted was not finished in time. Begin again.
    public static let grantExpired = Self(base: .grantExpired)

    // MARK: Factors

    /// No combination requests this factor. The factor was not taken. A mistake in the app's code.
    public static let factorNotRequested = Self(base: .factorNotRequested)
    /// Nothing was signed. Sign with the factors of a combination first.
    public static let factorMissing = Self(base: .factorMissing)
    /// This identity does not have the factor on this device.
    public static let factorNotEnrolled = Self(base: .factorNotEnrolled)
    /// This identity already has the factor, and the factor works; or the server has another factor of the type.
    public static let factorAlreadyEnrolled = Self(base: .factorAlreadyEnrolled)
    /// No device of this version has the factor.
    public static let factorNotSupported = Self(base: .factorNotSupported)
    /// The enrolled fingers or faces have changed since the factor was made, and the factor is gone. Use another
    /// combination; ``Personalizer/startAddAuthenticationFactor(_:type:)`` replaces the factor.
    public static let biometricInvalidated = Self(base: .biometricInvalidated)
    /// The person cancelled, or the finger or face did not match.
    public static let biometricCancelled = Self(base: .biometricCancelled)
    /// The device has no sensor, the sensor gave no result, or no finger or face is enrolled in the operating system.
    public static let biometricUnavailable = Self(base: .biometricUnavailable)
    /// The operating system has locked the sensor. The person unlocks the sensor with the device's passcode.
    public static let biometricLockedOut = Self(base: .biometricLockedOut)
    /// A PIN is needed, and no valid PIN was set.
    public static let pinMissing = Self(base: .pinMissing)
    /// The server does not accept the new PIN. Let the person choose another PIN.
    public static let pinRefused = Self(base: .pinRefused)

    /// The server has already evaluated another PIN for the same content, and evaluates no second PIN. This happens if
    /// the person corrected the PIN after an answer was lost. Nothing was signed. Begin again, after the lockout that
    /// the first PIN costs.
    public static let pinAlreadyAsked = Self(base: .pinAlreadyAsked)

    // MARK: Those with an error of their own

    /// A lockout is running or has begun: ``CountersignLockoutError``.
    public static let lockedOut = Self(base: .lockedOut)
    /// The device is less secure than required: ``CountersignSecurityInsufficientError``.
    public static let securityInsufficient = Self(base: .securityInsufficient)
}

extension CountersignErrorCode: CaseIterable {
    /// All codes of this version.
    public static var allCases: [Self] { Base.allCases.map(Self.init) }
}

extension CountersignErrorCode: ExplainedError {
    /// The event of the error. The event of a ``CountersignError`` can say more.
    public var event: ErrorEvent {
        switch self.base {
        case .notInitialized, .alreadyInitialized, .factorNotRequested: .appFaulty
        case .invalidConfiguration: .appMistaken
        case .connectionError, .timeout: .serverSilent
        case .tlsError, .serverSignatureInvalid: .serverNotProven
        case .tlsPinMismatch: .serverKeyNotPinned
        case .unknownManager: .serverUnknown
        case .protocolVersionUnsupported, .storageNewer: .appTooOld
        case .untrustedFacetID: .appNotTrusted
        case .malformedData: .notACode
        case .notPersonalized: .notPersonalized
        case .alreadyPersonalized: .alreadyPersonalized
        case .activationUnknown, .activationDisabled: .identityNotValid
        case .activationDataExpired: .activationCodeExpired
        case .activationDataConsumed: .activationCodeUsed
        case .codeCameByLink: .codeInLink
        case .wrongProcess: .codeOfOtherKind
        case .sessionExpired, .grantExpired: .timeOver
        case .sessionConsumed, .sessionAborted: .processEnded
        case .sessionSuperseded: .processReplaced
        case .roleNotSelected: .noRoleChosen
        case .attributesIncomplete: .dataMissing
        case .correctionLimitExceeded: .dataWrongTooOften
        case .answersOutdated: .dataChanged
        case .consentRequired: .consentNeeded
        case .notDisclosed: .notAsked
        case .noRole: .noRole
        case .serviceInactive: .serviceInactive
        case .membershipRequired: .membersOnly
        case .invitationRequired: .invitedOnly
        case .originRefused: .foreignPage
        case .factorMissing, .pinMissing: .factorMissing
        case .factorNotEnrolled: .factorNotEnrolled
        case .factorAlreadyEnrolled: .factorEnrolled
        case .factorNotSupported: .factorNotSupported
        case .biometricInvalidated: .biometricsChanged
        case .biometricCancelled: .biometricsNotMatched
        case .biometricUnavailable: .sensorSilent
        case .biometricLockedOut: .sensorLocked
        case .keyRemovedBySystem: .identityKeysGone
        case .appRenamed: .appRenamed(former: nil)
        case .deviceLockNotSet: .noDevicePasscode
        case .pinAlreadyAsked: .otherPinEvaluated
        case .pinRefused: .pinRefused
        case .mergeConflict: .accountsNotMergeable
        case .clockSkew: .clocksDiffer
        case .securityInsufficient: .deviceNotSecure
        case .lockedOut: .lockedOutForNow
        case .tooManyRequests: .tooManyRequests
        case .storageUnavailable: .storageFailed
        case .storageCorrupt: .storageUnreadable
        case .cancelled: .cancelled
        case .unexpected: .unforeseen
        }
    }

    /// The person's next step. The step of a ``CountersignError`` can say more.
    public var advice: ErrorAdvice {
        switch self.base {
        case .notInitialized, .alreadyInitialized, .invalidConfiguration, .factorNotRequested, .notDisclosed,
            .tlsError, .serverSignatureInvalid, .untrustedFacetID, .appRenamed, .unexpected:
            .tellMakers
        case .connectionError, .timeout, .storageUnavailable, .biometricCancelled: .tryAgain
        case .tlsPinMismatch: .changeNetwork
        case .unknownManager, .noRole, .serviceInactive, .securityInsufficient: .askService
        case .protocolVersionUnsupported, .storageNewer: .updateApp
        case .malformedData: .haveCodeShownAgain
        case .notPersonalized, .storageCorrupt: .personalize
        case .alreadyPersonalized: .removeIdentityFirst
        case .activationUnknown, .activationDisabled, .keyRemovedBySystem: .personalizeAnew
        case .activationDataExpired, .activationDataConsumed: .askForNewActivationCode
        case .codeCameByLink: .beCareful
        case .wrongProcess, .sessionExpired, .grantExpired, .sessionConsumed, .sessionAborted, .sessionSuperseded,
            .correctionLimitExceeded:
            .beginAgain
        case .roleNotSelected: .chooseRole
        case .attributesIncomplete: .completeData
        case .answersOutdated: .chooseDataAgain
        case .consentRequired: .agreeInBrowser
        case .membershipRequired: .askForMembership
        case .invitationRequired: .askForInvitation
        case .originRefused: .closePage
        case .factorMissing, .pinMissing: .giveFactors
        case .factorNotEnrolled: .addFactor
        case .factorNotSupported: .useAnotherFactor
        case .biometricInvalidated: .replaceFactor
        case .biometricUnavailable: .setUpDevice
        case .biometricLockedOut: .unlockDevice
        case .deviceLockNotSet: .setDevicePasscode
        case .pinAlreadyAsked: .beginAgainWithRightPin
        case .pinRefused: .chooseAnotherPin
        case .mergeConflict: .askInviter
        case .clockSkew: .setClock
        case .lockedOut, .tooManyRequests: .waitAWhile
        case .factorAlreadyEnrolled, .cancelled: .nothing
        }
    }
}

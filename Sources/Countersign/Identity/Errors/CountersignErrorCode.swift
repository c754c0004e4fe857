/// What has happened to a process of a personalised identity, and what the app does about it. The set is open: an app that
/// switches over it has a default.
public struct CountersignErrorCode: Hashable, Sendable, CustomStringConvertible {
    fileprivate enum Base: String {
        case notInitialized, alreadyInitialized, invalidConfiguration, connectionError, timeout, tlsError
        case serverSignatureInvalid, unknownManager, protocolVersionUnsupported, malformedData
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

    /// ``CountersignSDK/initialize(_:platform:transport:traceRecorder:)`` was not called, or has not ended. A mistake in
    /// the app's code.
    public static let notInitialized = Self(base: .notInitialized)
    /// It was initialised before. A mistake in the app's code.
    public static let alreadyInitialized = Self(base: .alreadyInitialized)
    /// The configuration does not do: no server, an address that is not secure, a root key that is none. A mistake in the
    /// app's code.
    public static let invalidConfiguration = Self(base: .invalidConfiguration)
    /// The device's storage failed. Transient: try again, then report it.
    public static let storageUnavailable = Self(base: .storageUnavailable)
    /// What is stored cannot be opened. The identities are lost: the app wipes the storage, and the person is personalised
    /// anew.
    public static let storageCorrupt = Self(base: .storageCorrupt)
    /// A later version of the app has written what is stored. Nothing is lost: have the person update the app.
    public static let storageNewer = Self(base: .storageNewer)
    /// The operating system or the person has removed the device's keys. Personalise anew.
    public static let keyRemovedBySystem = Self(base: .keyRemovedBySystem)
    /// The app had another name when the identity was made: ``CountersignError/formerFacetID``. Nothing is lost: with that
    /// name all factors sign again. A mistake of the build or its configuration; do not have the person personalise anew, and
    /// take no identity off the device.
    public static let appRenamed = Self(base: .appRenamed)
    /// The device has no passcode, and the app wants one. Ask the person to set one.
    public static let deviceLockNotSet = Self(base: .deviceLockNotSet)
    /// The task was cancelled. What had not left by then has not happened.
    public static let cancelled = Self(base: .cancelled)
    /// Something that nobody foresaw. Try again, then report it.
    public static let unexpected = Self(base: .unexpected)

    // MARK: The server

    /// The server's operator has not listed this app (`countersign serve --facets`; <doc:Facets>), which is named by
    /// ``IdentityConfiguration/facetID``. A mistake of the deployment; it costs the person no attempt, unless the server has
    /// a PIN service (`pin/2`): who has asked that keeps the attempt, and is told a lockout.
    public static let untrustedFacetID = Self(base: .untrustedFacetID)
    /// The server does not answer, or its keys were never fetched. Transient: let the person try again. Where a step had left,
    /// the server may have taken it: the function says whether it can be called once more.
    public static let connectionError = Self(base: .connectionError)
    /// The server did not answer in time. Transient, as ``connectionError`` is.
    public static let timeout = Self(base: .timeout)
    /// The server's certificate or name does not hold. Nothing was sent. Report it.
    public static let tlsError = Self(base: .tlsError)
    /// No key of the server has signed what came in its name. Nothing of it was used. Report it.
    public static let serverSignatureInvalid = Self(base: .serverSignatureInvalid)
    /// The server is none of those that the app was configured with. Nothing was sent.
    public static let unknownManager = Self(base: .unknownManager)
    /// App and server have no version of the protocol in common. Ask the person to update the app.
    public static let protocolVersionUnsupported = Self(base: .protocolVersionUnsupported)
    /// The code, the link or the server's answer makes no sense. Nothing was sent on its account.
    public static let malformedData = Self(base: .malformedData)
    /// The device's clock is too far from the server's, and to correct it did not help. Ask the person to set the clock.
    public static let clockSkew = Self(base: .clockSkew)
    /// Too many requests. Wait as long as ``CountersignError/retryAfter`` says, or a while, and try again.
    public static let tooManyRequests = Self(base: .tooManyRequests)

    // MARK: Identities

    /// There is no identity of that server on this device. Personalise first.
    public static let notPersonalized = Self(base: .notPersonalized)
    /// There is an identity of that server on this device already, and a device has one.
    public static let alreadyPersonalized = Self(base: .alreadyPersonalized)
    /// The server does not know the activation. Depersonalise, and personalise anew.
    public static let activationUnknown = Self(base: .activationUnknown)
    /// The activation is disabled for good. Depersonalise, and ask another device, or the organisation, for a new one.
    public static let activationDisabled = Self(base: .activationDisabled)
    /// The activation's code was not used in time. Ask for a new one.
    public static let activationDataExpired = Self(base: .activationDataExpired)
    /// The activation's code was used before. Ask for a new one, unless it was this device that used it.
    public static let activationDataConsumed = Self(base: .activationDataConsumed)
    /// The invitation's account cannot be merged with this one any more.
    public static let mergeConflict = Self(base: .mergeConflict)

    // MARK: Sessions

    /// The session's time is over. Begin anew.
    public static let sessionExpired = Self(base: .sessionExpired)
    /// Another device has taken the code, or the process has ended. Begin anew.
    public static let sessionConsumed = Self(base: .sessionConsumed)
    /// The session was given up, here or at the service.
    public static let sessionAborted = Self(base: .sessionAborted)
    /// The service has begun a newer session in its place.
    public static let sessionSuperseded = Self(base: .sessionSuperseded)
    /// What was handed over belongs to another kind of process, such as the code of an activation to an authentication: a
    /// mistake in the app's code, or the person scanned another code. Or the server took for something else what was begun in
    /// this app, and nothing came of it: report it.
    public static let wrongProcess = Self(base: .wrongProcess)
    /// A code that was made to be scanned from a page came in a link: whoever sent the link waits at that page to be signed in
    /// as this person. The process was given up. Warn the person.
    public static let codeCameByLink = Self(base: .codeCameByLink)
    /// There are several roles, and none was chosen. Have the person choose.
    public static let roleNotSelected = Self(base: .roleNotSelected)
    /// Reserved: no function of this version throws it. Where a required attribute is missing, preparing ends with
    /// ``PrepareAuthenticationUserInformationResult/failure(_:)``, and each attribute says what is wrong with it.
    public static let attributesIncomplete = Self(base: .attributesIncomplete)
    /// The attributes were wrong too often; the process is over.
    public static let correctionLimitExceeded = Self(base: .correctionLimitExceeded)
    /// What was confirmed cannot be handed over any more: a value was removed meanwhile, or the account has no room for
    /// another one. It counts for no failed attempt. Begin anew, and let the person choose again.
    public static let answersOutdated = Self(base: .answersOutdated)
    /// The person has to agree to something first that no app can ask them: the server's terms, or what the service is to
    /// get. Have them sign in to the service in a browser once, and begin anew.
    public static let consentRequired = Self(base: .consentRequired)
    /// There is a text to agree to, and the app has not read it. Nothing was signed. A mistake in the app's code.
    public static let notDisclosed = Self(base: .notDisclosed)
    /// The person holds no role at the service.
    public static let noRole = Self(base: .noRole)
    /// The service is switched off.
    public static let serviceInactive = Self(base: .serviceInactive)
    /// The service is for the members of an organisation.
    public static let membershipRequired = Self(base: .membershipRequired)
    /// The service is for those who were invited.
    public static let invitationRequired = Self(base: .invitationRequired)
    /// The page that asked is not one of the service's.
    public static let originRefused = Self(base: .originRefused)
    /// What the authentication permitted was not finished in time. Begin anew.
    public static let grantExpired = Self(base: .grantExpired)

    // MARK: Factors

    /// No combination asks for that factor. Nothing was taken. A mistake in the app's code.
    public static let factorNotRequested = Self(base: .factorNotRequested)
    /// Nothing was signed. Sign with the factors of one combination first.
    public static let factorMissing = Self(base: .factorMissing)
    /// This identity has no such factor on this device.
    public static let factorNotEnrolled = Self(base: .factorNotEnrolled)
    /// This identity has such a factor already, and it works.
    public static let factorAlreadyEnrolled = Self(base: .factorAlreadyEnrolled)
    /// No device of this version has such a factor.
    public static let factorNotSupported = Self(base: .factorNotSupported)
    /// The enrolled fingers or faces are others than when the factor was made, and the factor is gone. Use another
    /// combination; ``Personalizer/startAddAuthenticationFactor(_:type:)`` replaces it.
    public static let biometricInvalidated = Self(base: .biometricInvalidated)
    /// The person gave up, or the finger or face was not theirs.
    public static let biometricCancelled = Self(base: .biometricCancelled)
    /// There is no sensor, or nobody is enrolled with the operating system.
    public static let biometricUnavailable = Self(base: .biometricUnavailable)
    /// The operating system has locked the sensor: the person unlocks it with the device's passcode.
    public static let biometricLockedOut = Self(base: .biometricLockedOut)
    /// A PIN is needed, and none that is valid was set.
    public static let pinMissing = Self(base: .pinMissing)
    /// The server does not take the new PIN. Have the person choose another.
    public static let pinRefused = Self(base: .pinRefused)

    /// The server has had another PIN evaluated for what is to be signed, and evaluates no further one: the person has
    /// corrected it after an answer was lost. Nothing was signed. Begin anew, after the rest that the first one costs.
    public static let pinAlreadyAsked = Self(base: .pinAlreadyAsked)

    // MARK: Those with an error of their own

    /// A lockout runs or has begun: ``CountersignLockoutError``.
    public static let lockedOut = Self(base: .lockedOut)
    /// The device is not as sound as it has to be: ``CountersignSecurityInsufficientError``.
    public static let securityInsufficient = Self(base: .securityInsufficient)
}

extension CountersignErrorCode {
    /// What has happened, in English and fit to be shown.
    var explanation: String {
        switch self.base {
        case .notInitialized, .alreadyInitialized, .invalidConfiguration, .wrongProcess, .notDisclosed,
            .factorNotRequested:
            "This app has made a mistake."
        case .connectionError, .timeout: "The server does not answer."
        case .tlsError, .serverSignatureInvalid: "The server's identity does not hold."
        case .unknownManager: "This app does not know that server."
        case .protocolVersionUnsupported, .storageNewer: "This app is too old."
        case .untrustedFacetID: "The server does not take this app."
        case .malformedData: "That code is not one of ours."
        case .notPersonalized: "This app has no identity of that server."
        case .alreadyPersonalized: "This app has an identity of that server already."
        case .activationUnknown, .activationDisabled: "This identity is not valid any more."
        case .activationDataExpired: "The activation code has expired."
        case .activationDataConsumed: "The activation code was used before."
        case .codeCameByLink: "This code is for scanning. If somebody sent it to you, tell nobody anything."
        case .sessionExpired, .grantExpired: "The time is over."
        case .sessionConsumed, .sessionAborted, .sessionSuperseded: "The process has ended."
        case .roleNotSelected: "No role was chosen."
        case .attributesIncomplete: "Something that the service needs is missing."
        case .correctionLimitExceeded: "The data were wrong too often."
        case .answersOutdated: "What was confirmed is not there any more."
        case .consentRequired: "Something has to be agreed to first, in a browser."
        case .noRole, .serviceInactive, .membershipRequired, .invitationRequired, .originRefused:
            "The service is not for this identity."
        case .factorMissing, .pinMissing: "A factor is missing."
        case .factorNotEnrolled: "This identity has no such factor here."
        case .factorAlreadyEnrolled: "This identity has such a factor already."
        case .factorNotSupported: "This app has no such factor."
        case .biometricInvalidated: "The enrolled fingers or faces have changed."
        case .biometricCancelled: "The finger or the face was not recognised."
        case .biometricUnavailable: "No finger and no face is enrolled on this device."
        case .biometricLockedOut: "The sensor is locked."
        case .keyRemovedBySystem: "The keys of this identity are gone."
        case .appRenamed: "This app has another name than when it was enrolled. Nothing is lost."
        case .deviceLockNotSet: "This device has no passcode."
        case .pinAlreadyAsked: "Another PIN was typed before."
        case .pinRefused: "That PIN is not taken."
        case .mergeConflict: "The accounts cannot be merged any more."
        case .clockSkew: "This device's clock is wrong."
        case .securityInsufficient: "This device is not sound enough."
        case .lockedOut: "There were too many failed attempts."
        case .tooManyRequests: "There were too many requests."
        case .storageUnavailable, .storageCorrupt: "This device's storage failed."
        case .cancelled: "That was cancelled."
        case .unexpected: "Something went wrong."
        }
    }
}

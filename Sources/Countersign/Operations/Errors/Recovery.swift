public import Ceremony

extension OperationError {
    /// The app's remedy for an error. A single `switch` over all cases is a complete error handling.
    ///
    /// ``InitializationError``, ``OutOfBandPayloadError`` and ``DeleteAuthenticatorError`` have a recovery too.
    public enum Recovery: Hashable, Sendable, CaseIterable {
        /// No remedy is needed: the person gave up, or the desired state is already reached. Show the present state.
        case nothing
        /// Transient: let the person try again.
        case tryAgain
        /// The signed answer was sent, and its outcome is unknown on this device: the operation may be done. Ask the
        /// person to look at the place where the operation started, before anything is repeated.
        case checkOutcome
        /// The code is no longer usable. Ask the person to have a new code shown at the place of the first code.
        case haveCodeShownAgain
        /// An attacker may be trying to sign in as this person. Warn the person, and let the person start again on
        /// their own.
        case warnPerson
        /// The server has another key than the app expects: somebody may listen on the network, or the app is too old.
        /// Nothing was sent. Ask the person to use another network, and to update the app if the error stays.
        case changeNetwork
        /// Authenticate the person in the app, and pass the new authorization provider to a new operation.
        case authenticate
        /// Let the person choose another authenticator, or enrol an authenticator that the service accepts.
        case chooseAnotherAuthenticator
        /// The key is no longer usable. Ask the person to enrol this device again.
        case enrollAgain
        /// Too many wrong tries have locked the key, and only a new enrolment replaces the key. Ask the person to
        /// request a new link, and to enrol over the account. Delete nothing; no other account is touched.
        case replaceLockedKey
        /// The operating system has locked the finger, face or passcode. Ask the person to unlock the device, and to
        /// try again.
        case unlockDevice
        /// Nothing is enrolled in the operating system. Ask the person to enrol a finger, a face or a passcode in the
        /// device's settings.
        case enrollWithOperatingSystem
        /// This device's account of the same name belongs to another server. Ask the person if the other account is
        /// still needed. If not, forget it (``LocalData/forget(_:)``), and try again. No other account is in the way.
        case forgetAccountOfThatName
        /// This device has no room for another key, and unconfirmed keys were already removed. Let the person choose an
        /// account that is no longer used, deregister it, and try again.
        case makeRoom
        /// Another device of the person has the name. Ask the person for another name of this device.
        case chooseAnotherName
        /// Only the service can help. Refer the person to the service.
        case contactService
        /// The app and the server use different versions. Ask the person to update the app.
        case updateApp
        /// The app's code or configuration, or the server's configuration, has a mistake. The person can do nothing.
        case correctApp
        /// The cause is unknown. Report the error's description to the app's developers.
        case report
    }
}

extension OperationError.Recovery {
    init(of code: OperationError.Code, _ fidoErrorCode: FidoErrorCode?, serverStatusCode: Int?) {
        self =
            switch code.base {
            case .fidoError: Self(of: fidoErrorCode ?? .unknown, serverStatusCode: serverStatusCode)
            case .networkError, .storageError, .sessionUnknown, .clockSkewTooBig, .dispatchTargetUnknown,
                .deviceLimited:
                .tryAgain
            case .notAuthorized: .authenticate
            case .userNotRegisteredInServer: .enrollAgain
            case .userAlreadyRegisteredInAnotherServer: .forgetAccountOfThatName
            case .tokenExpired, .tokenUnknown, .malformedPayload, .decryptionError, .wrongNumber,
                .newDeviceNotAdded:
                .haveCodeShownAgain
            case .tokenAlreadyRedeemed, .hostNotAllowed, .codeCameByLink: .warnPerson
            case .tlsPinMismatch: .changeNetwork
            case .accountLocked, .appAttestation: .contactService
            case .missingInteraction, .operationReused, .appRenamed, .invalidRequestHeader, .invalidServerURL,
                .dispatcherUnknown:
                .correctApp
            case .nameAlreadyExists: .chooseAnotherName
            case .unknownUsername, .pinNotEnrolled, .passwordNotEnrolled: .nothing
            case .pinLocked, .passwordLocked: .replaceLockedKey
            case .unknown: .report
            }
    }

    /// The remedy for an app that did not prove itself.
    init(of failure: EngineError.AppProofFailure) {
        self =
            switch failure {
            case .noAttestor: .correctApp
            case .unavailable: .tryAgain
            case .unsupported, .refused: .contactService
            }
    }

    private init(of code: FidoErrorCode, serverStatusCode: Int?) {
        self =
            switch code {
            case .userCanceled: .nothing
            case .userNotResponsive: .tryAgain
            // The server has judged the message, and would judge another try the same way.
            case .protocolError: serverStatusCode == nil ? .tryAgain : .contactService
            case .unsupportedVersion: .updateApp
            case .noSuitableAuthenticator, .authenticatorAccessDenied: .chooseAnotherAuthenticator
            case .keyDisappearedPermanently: .enrollAgain
            case .userLockout: .replaceLockedKey
            case .userNotEnrolled: .enrollWithOperatingSystem
            case .insufficientAuthenticatorResources: .makeRoom
            case .invalidTransactionContent: .contactService
            case .insecureTransport, .untrustedFacetID: .correctApp
            default: .report
            }
    }
}

extension OutOfBandPayloadError {
    /// The remedy for the app.
    public var recovery: OperationError.Recovery {
        switch self.code {
        case .malformedPayload: .haveCodeShownAgain
        case .unsupportedVersion: .updateApp
        case .decryptionError: .enrollAgain
        case .operationReused: .correctApp
        default: .report
        }
    }
}

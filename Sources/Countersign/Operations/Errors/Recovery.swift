public import Ceremony

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

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
            case .networkError, .storageError, .sessionUnknown, .clockSkewTooBig, .dispatchTargetUnknown: .tryAgain
            case .notAuthorized: .authenticate
            case .userNotRegisteredInServer: .enrollAgain
            case .userAlreadyRegisteredInAnotherServer: .forgetAccountOfThatName
            case .tokenExpired, .tokenUnknown, .malformedPayload, .decryptionError, .wrongNumber: .haveCodeShownAgain
            case .tokenAlreadyRedeemed, .hostNotAllowed, .codeCameByLink: .warnPerson
            case .tlsPinMismatch: .changeNetwork
            case .accountLocked: .contactService
            case .missingInteraction, .operationReused, .appRenamed, .invalidRequestHeader, .invalidServerURL,
                .dispatcherUnknown:
                .correctApp
            case .nameAlreadyExists: .chooseAnotherName
            case .unknownUsername, .pinNotEnrolled, .passwordNotEnrolled: .nothing
            case .pinLocked, .passwordLocked: .replaceLockedKey
            case .unknown: .report
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

    /// The suggestion for the person, in a sentence.
    var suggestion: String {
        switch self {
        case .nothing: "There is nothing to do."
        case .tryAgain: "Try again."
        case .checkOutcome: "It may be done. Look where you started before you do it again."
        case .haveCodeShownAgain: "Have a new code shown where you started."
        case .warnPerson:
            "Somebody may be trying to sign in as you. Only scan codes from pages that you have opened yourself."
        case .changeNetwork: "Use another network. If that does not help, update this app."
        case .authenticate: "Confirm first that it is you."
        case .chooseAnotherAuthenticator: "Choose another way to confirm that it is you."
        case .enrollAgain: "Enrol this device again."
        case .replaceLockedKey:
            "Ask for a new link and enrol again with it: the new key takes the place of the locked one. "
                + "Your other accounts are not touched."
        case .unlockDevice: "Lock this device, unlock it, and try again."
        case .enrollWithOperatingSystem: "Set up a finger, a face or a passcode in this device's settings first."
        case .forgetAccountOfThatName:
            "Remove the account of this name that is at the other server, if you do not need it any more."
        case .makeRoom: "Remove an account in this app that you do not use any more."
        case .chooseAnotherName: "Choose another name for this device."
        case .contactService: "Ask the service that you wanted to use."
        case .updateApp: "Update this app."
        case .correctApp, .report: "Tell the makers of this app."
        }
    }
}

extension OperationError: LocalizedError {
    /// A description of the error in English, fit to be shown. No part of the text comes from the server.
    public var errorDescription: String? {
        switch self.code.base {
        case .fidoError: self.fidoErrorCode?.sentence ?? FidoErrorCode.unknown.sentence
        case .networkError: "The server does not answer."
        case .notAuthorized: "The server wants to know first who you are."
        case .userNotRegisteredInServer: "The server does not know this device any more."
        case .userAlreadyRegisteredInAnotherServer: "This device has an account of that name at another server."
        case .tokenExpired: "The code has expired."
        case .tokenAlreadyRedeemed:
            self.recovery == .haveCodeShownAgain
                ? "You have used this code in this app before." : "The code was used before, perhaps by somebody else."
        case .tokenUnknown: "The server does not know this code."
        case .tlsPinMismatch: "The server could not prove that it is the right one. Nothing was sent."
        case .hostNotAllowed: "The code points to a server that this app does not trust."
        case .codeCameByLink: "This code is for scanning, and came in a link. Nobody was signed in."
        case .malformedPayload: "That is not a link of this product."
        case .decryptionError: "This link was meant for another device."
        case .accountLocked: "The account is locked."
        case .sessionUnknown: "There is no such session or grant, or it has ended."
        case .unknownUsername: "This device has no account of that name."
        case .pinLocked: "Too many wrong PINs: the PIN is locked."
        case .pinNotEnrolled: "The account has no PIN on this device."
        case .passwordLocked: "Too many wrong passwords: the password is locked."
        case .passwordNotEnrolled: "The account has no password on this device."
        case .nameAlreadyExists: "Another device of yours has this name."
        case .dispatchTargetUnknown: "The server does not send messages to this device."
        case .dispatcherUnknown: "The server does not use this device's push service."
        case .appRenamed:
            "This app was called \(self.formerFacetID ?? "something else") when it was enrolled. Nothing is lost."
        case .missingInteraction: "This app did not ask what it had to ask. Nothing was signed."
        case .operationReused: "This was done before."
        case .invalidRequestHeader: "This app had something to send that no request can carry. Nothing was sent."
        case .invalidServerURL: "This app named a server that is none. Nothing was sent."
        case .storageError: "This device's storage failed."
        case .wrongNumber: "This is not the number that was shown. Nobody was signed in."
        case .clockSkewTooBig: "This device's clock and the server's clock differ too much."
        case .unknown: FidoErrorCode.unknown.sentence
        }
    }

    /// A suggestion for the person in English, fit to be shown.
    public var recoverySuggestion: String? { self.recovery.suggestion }
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

extension FidoErrorCode {
    fileprivate var sentence: String {
        switch self {
        case .insecureTransport: "The server's address is not secure. Nothing was sent."
        case .userCanceled: "You said no."
        case .unsupportedVersion: "The server speaks another version of the protocol."
        case .noSuitableAuthenticator: "Nothing on this device can answer that."
        case .protocolError: "The server refused, or its answer makes no sense."
        case .untrustedFacetID: "The server does not trust this app."
        case .keyDisappearedPermanently:
            "The key is gone, because the enrolled fingers, faces or passcode have changed."
        case .authenticatorAccessDenied: "The authenticator refused."
        case .invalidTransactionContent: "What is to be confirmed cannot be shown safely. Nothing was signed."
        case .userNotResponsive: "Nobody answered in time."
        case .insufficientAuthenticatorResources: "There is no room for another key."
        case .userLockout: "Too many wrong tries."
        case .userNotEnrolled: "No finger, face or passcode is set up on this device."
        default: "Something went wrong."
        }
    }
}

public import Ceremony

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension OperationError.Code: CaseIterable {
    /// All codes of this version.
    public static var allCases: [Self] { Base.allCases.map(Self.init) }
}

extension OperationError: ExplainedError {
    /// The event of the error.
    public var event: ErrorEvent {
        switch self.code.base {
        case .fidoError: self.fidoErrorCode?.event ?? .unforeseen
        case .networkError: .serverSilent
        case .notAuthorized: .authenticationNeeded
        case .userNotRegisteredInServer: .deviceUnknown
        case .userAlreadyRegisteredInAnotherServer: .accountAtOtherServer
        case .tokenExpired: .codeExpired
        case .tokenAlreadyRedeemed: self.recovery == .haveCodeShownAgain ? .codeUsedHere : .codeUsed
        case .tokenUnknown: .codeUnknown
        case .hostNotAllowed: .codeOfForeignServer
        case .codeCameByLink: .codeInLink
        case .tlsPinMismatch: .serverKeyNotPinned
        case .accountLocked: .accountLocked
        case .sessionUnknown: .sessionGone
        case .unknownUsername: .accountMissing
        case .pinLocked: .pinLocked
        case .pinNotEnrolled: .noPin
        case .passwordLocked: .passwordLocked
        case .passwordNotEnrolled: .noPassword
        case .appRenamed: .appRenamed(former: self.formerFacetID)
        case .missingInteraction: .notAsked
        case .operationReused: .doneBefore
        case .invalidRequestHeader: .headerNotSendable
        case .invalidServerURL: .serverNameInvalid
        case .storageError: .storageFailed
        case .clockSkewTooBig: .clocksDiffer
        case .malformedPayload: .notACode
        case .decryptionError: .codeOfOtherDevice
        case .nameAlreadyExists: .deviceNameTaken
        case .dispatchTargetUnknown: .deviceNotReached
        case .dispatcherUnknown: .pushServiceUnknown
        case .wrongNumber: .numberWrong
        case .deviceLimited: .deviceLimited
        case .newDeviceNotAdded: .newDeviceNotAdded
        case .appAttestation: .appNotProven
        case .unknown: .unforeseen
        }
    }

    /// The person's next step: the step of the ``recovery``. A clock that is off has a step of its own.
    public var advice: ErrorAdvice {
        self.code == .clockSkewTooBig && self.recovery == .tryAgain ? .setClock : self.recovery.advice
    }
}

extension OperationError.Recovery {
    /// The person's next step.
    public var advice: ErrorAdvice {
        switch self {
        case .nothing: .nothing
        case .tryAgain: .tryAgain
        case .checkOutcome: .checkOutcome
        case .haveCodeShownAgain: .haveCodeShownAgain
        case .warnPerson: .beCareful
        case .changeNetwork: .changeNetwork
        case .authenticate: .authenticate
        case .chooseAnotherAuthenticator: .chooseAnotherAuthenticator
        case .enrollAgain: .enrolAgain
        case .replaceLockedKey: .replaceLockedKey
        case .unlockDevice: .unlockDevice
        case .enrollWithOperatingSystem: .setUpDevice
        case .forgetAccountOfThatName: .removeAccountOfThatName
        case .makeRoom: .makeRoom
        case .chooseAnotherName: .chooseAnotherName
        case .contactService: .askService
        case .updateApp: .updateApp
        case .correctApp, .report: .tellMakers
        }
    }
}

extension FidoErrorCode: ExplainedError {
    /// The event of the code.
    public var event: ErrorEvent {
        switch self {
        case .insecureTransport: .addressNotSecure
        case .userCanceled: .personRefused
        case .unsupportedVersion: .otherProtocolVersion
        case .noSuitableAuthenticator: .noSuitableAuthenticator
        case .protocolError: .refusedOrMalformed
        case .untrustedFacetID: .appNotTrusted
        case .keyDisappearedPermanently: .keyGone
        case .authenticatorAccessDenied: .authenticatorRefused
        case .invalidTransactionContent: .contentNotShowable
        case .userNotResponsive: .personSilent
        case .insufficientAuthenticatorResources: .noRoom
        case .userLockout: .tooManyTries
        case .userNotEnrolled: .nothingEnrolled
        default: .unforeseen
        }
    }

    /// The person's next step. The step of an ``OperationError`` with the code can be another one.
    public var advice: ErrorAdvice { OperationError.fido(self).recovery.advice }
}

extension OperationError: LocalizedError {
    /// The event in English, fit to be shown. No part of the text comes from the server.
    public var errorDescription: String? { EnglishMessages().words(self.event).text }

    /// The person's next step in English, fit to be shown.
    public var recoverySuggestion: String? { EnglishMessages().words(self.advice).text }
}

extension OutOfBandPayloadError: ExplainedError {
    /// The event of the error.
    public var event: ErrorEvent {
        switch self.code {
        case .malformedPayload: .notACode
        case .unsupportedVersion: .codeOfOtherVersion
        case .decryptionError: .codeOfOtherDevice
        case .operationReused: .doneBefore
        default: .unforeseen
        }
    }

    /// The person's next step.
    public var advice: ErrorAdvice { self.recovery.advice }
}

extension OutOfBandPayloadError: LocalizedError {
    /// The event in English, fit to be shown. No part of the text comes from the payload.
    public var errorDescription: String? { EnglishMessages().words(self.event).text }

    /// The person's next step in English, fit to be shown.
    public var recoverySuggestion: String? { EnglishMessages().words(self.advice).text }
}

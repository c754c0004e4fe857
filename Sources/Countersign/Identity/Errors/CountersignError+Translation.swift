import Ceremony
import JOSE
import UAF
import UAFClient
import _Primitives

extension CountersignError {
    /// Runs an operation of the app. Throws ``CountersignError`` and nothing else.
    static func running<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch { throw self.translating(error) }
    }

    /// Does the same as ``running(_:)-(()_async->Value)``, for an operation that does not wait.
    static func running<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch { throw self.translating(error) }
    }

    /// Translates errors of the lower layers into errors of the identities. No other place translates them.
    static func translating(_ error: any Error) -> CountersignError {
        switch error {
        case let error as CountersignError: error
        case is CancellationError: CountersignError(.cancelled)
        case let error as Refused: self.translating(error.problem, at: error.now)
        case let error as Unsettled: self.translating(error.cause)
        case let error as IdentityProblem: self.translating(error, at: nil)
        case let error as FailedAttempt:
            CountersignLockoutError(LockoutInformation(error.notice, at: error.now))
        case let error as EngineError: self.translating(error)
        case let error as IdentityMessageError: CountersignError(Self.code(of: error), error.description)
        case let error as SessionDocumentError:
            CountersignError(
                error.code == .unsupportedVersion ? .protocolVersionUnsupported : .malformedData, error.description)
        case let error as TransportError: CountersignError(Self.code(of: error), error.reason)
        case let error as StorageError: CountersignError(Self.code(of: error), error.reason)
        case let error as OperationFailure: CountersignError(Self.code(of: error), error.reason)
        case let error as UserVerificationError:
            CountersignError(error == .unavailable ? .biometricUnavailable : .biometricCancelled, "\(error)")
        case is SensorError: CountersignError(.biometricUnavailable, "\(error)")
        case let error as ServerPinError:
            CountersignError(error == .repeatedVersion ? .malformedData : .keyRemovedBySystem, "\(error)")
        case DeviceKeyError.uncounted(let error): CountersignError(.storageUnavailable, "\(error)")
        case let error as DeviceKeyError:
            CountersignError(
                [.noRoom, .lockedOut].contains(error) ? .storageUnavailable : .keyRemovedBySystem, "\(error)")
        case let error as PinSchemeError:
            CountersignError(Self.code(of: error), error.description)
        case let error as JOSEError: CountersignError(.malformedData, error.code.description)
        case let error as JSONError: CountersignError(.malformedData, error.reason)
        case let error as UAFError: CountersignError(.malformedData, "\(error)")
        default: CountersignError(.unexpected, "\(type(of: error))")
        }
    }

    /// Translates a refusal of the server. Without an answer of the server (`now` is `nil`), the app's own policy has
    /// refused.
    private static func translating(_ problem: IdentityProblem, at now: Timestamp?) -> CountersignError {
        switch problem.code {
        case .lockedOut:
            if let lockout = problem.lockout, let now {
                CountersignLockoutError(LockoutInformation(lockout, at: now))
            } else {
                CountersignError(.lockedOut)
            }
        case .securityInsufficient: CountersignSecurityInsufficientError(reasons: problem.reasons)
        case .serviceInactive: CountersignError(.serviceInactive)
        case .originRefused: CountersignError(.originRefused)
        case .activationDisabled: CountersignError(.activationDisabled)
        case .activationUnknown, .notProven: CountersignError(.activationUnknown, "\(problem.code)")
        case .activationDataExpired: CountersignError(.activationDataExpired)
        case .activationDataConsumed: CountersignError(.activationDataConsumed)
        case .sessionExpired: CountersignError(.sessionExpired)
        case .sessionConsumed, .sessionUnknown: CountersignError(.sessionConsumed, "\(problem.code)")
        case .sessionAborted: CountersignError(.sessionAborted)
        case .sessionSuperseded: CountersignError(.sessionSuperseded)
        case .membershipRequired: CountersignError(.membershipRequired)
        case .invitationRequired: CountersignError(.invitationRequired)
        case .noRole: CountersignError(.noRole)
        case .roleNotSelected: CountersignError(.roleNotSelected)
        case .correctionLimitExceeded: CountersignError(.correctionLimitExceeded)
        case .grantExpired: CountersignError(.grantExpired)
        case .pinAlreadyAsked: CountersignError(.pinAlreadyAsked)
        case .pinRefused: CountersignError(.pinRefused)
        case .factorAlreadyEnrolled: CountersignError(.factorAlreadyEnrolled)
        case .mergeConflict: CountersignError(.mergeConflict)
        case .consentRequired: CountersignError(.consentRequired)
        case .answersOutdated: CountersignError(.answersOutdated)
        case .untrustedFacetId: CountersignError(.untrustedFacetID)
        case .outOfOrder: CountersignError(.wrongProcess, "out of order")
        case .clockSkew: CountersignError(.clockSkew)
        case .protocolVersionUnsupported: CountersignError(.protocolVersionUnsupported)
        case .tooManyRequests:
            CountersignError(.tooManyRequests, retryAfter: problem.retryAfter.map { Duration.seconds($0) })
        case .serverError: CountersignError(.connectionError, "the server failed")
        case .invalidRequest, .replayRefused, .unknown: CountersignError(.unexpected, "\(problem.code)")
        }
    }

    private static func translating(_ error: EngineError) -> CountersignError {
        if case .appRenamed(let former) = error.cause {
            return CountersignError(.appRenamed, error.reason, formerFacetID: former)
        }
        let code: CountersignErrorCode =
            switch error.cause {
            case .unavailable: .connectionError
            case .foreignHost: .unknownManager
            case .insecureAddress, .misconfigured, .unusableHeader: .invalidConfiguration
            case .unknownAccount: .notPersonalized
            case .knownAccount: .alreadyPersonalized
            case .noSuchFactor: .factorNotEnrolled
            case .factorInvalidated: .biometricInvalidated
            case .sensorLocked: .biometricLockedOut
            case .undisclosed: .notDisclosed
            case .unreadable, .malformed: .malformedData
            case .notAuthorized, .tokenOfOtherDevice, .accountLocked, .tokenUnknown, .tokenSpent, .tokenSpentHere,
                .tokenExpired, .refused, .unknownKey, .nameTaken, .targetInvalid, .targetUnknown, .dispatcherUnknown,
                .wrongNumber, .appNotProven:
                .unexpected
            case .appRenamed: .appRenamed
            case .clockSkew: .clockSkew
            }
        guard let status = error.httpStatus else { return CountersignError(code, error.reason) }
        return CountersignHttpError(code, httpStatus: status, error.reason)
    }

    private static func code(of error: IdentityMessageError) -> CountersignErrorCode {
        switch error.code {
        case .wrongSignature, .wrongReceiver: .serverSignatureInvalid
        case .unsupported: .protocolVersionUnsupported
        case .expired: .clockSkew
        default: .malformedData
        }
    }

    private static func code(of error: PinSchemeError) -> CountersignErrorCode {
        switch error.code {
        case .unavailable: .unexpected
        // The case is the same as an answer with another signer: the answer does not come from the server of the
        // enrolment.
        case .notProven: .serverSignatureInvalid
        default: .malformedData
        }
    }

    private static func code(of error: TransportError) -> CountersignErrorCode {
        switch error.code {
        case .unreachable: .connectionError
        case .timedOut: .timeout
        case .untrustedServer: .tlsError
        case .tlsPinMismatch: .tlsPinMismatch
        case .insecure, .cannotPin: .invalidConfiguration
        default: .malformedData
        }
    }

    private static func code(of error: StorageError) -> CountersignErrorCode {
        switch error.code {
        case .corrupt: .storageCorrupt
        case .newer: .storageNewer
        default: .storageUnavailable
        }
    }

    private static func code(of error: OperationFailure) -> CountersignErrorCode {
        switch error.code {
        case .userCancelled, .userNotResponsive: .biometricCancelled
        case .userLockout: .biometricLockedOut
        case .userNotEnrolled, .noSuitableAuthenticator: .biometricUnavailable
        case .keyDisappearedPermanently: .keyRemovedBySystem
        case .insufficientAuthenticatorResources: .storageUnavailable
        default: .unexpected
        }
    }
}

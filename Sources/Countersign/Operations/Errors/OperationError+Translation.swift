import Ceremony
import UAF
import UAFClient
import _Primitives

extension OperationError {
    /// Creates the error for a name that no account of this device has. The name itself appears in no log.
    init(unknown username: Username) { self.init(.unknownUsername, "no account of that name on this device") }

    /// Creates the error for a payload that cannot be read. The recovery is the payload error's recovery.
    init(_ error: OutOfBandPayloadError) {
        let code: Code = error.code == .decryptionError ? .decryptionError : .malformedPayload
        self.init(code, recovery: error.code == .unsupportedVersion ? .updateApp : nil, error.reason)
    }

    /// Creates the error of an operation whose answer was already sent.
    init(_ error: Unanswered) {
        self = error.isJudgementLost ? OperationError(lost: error.cause) : OperationError(translating: error.cause)
    }

    /// Creates the error for a failure after a signed answer was sent, or after a server has judged the answer. If the
    /// outcome at the server is unknown, the recovery says so, because repeating the operation could mean paying twice.
    init(lost error: any Error) {
        let known =
            error is CancellationError
            ? OperationError(.networkError, "the transport gave up") : OperationError(translating: error)
        let isJudged =
            known.serverStatusCode != nil || [400..<408, 409..<500].contains { $0.contains(known.httpStatus ?? 0) }
        let isUnknown = known.code == .networkError || known == .fido(.protocolError)
        guard isUnknown, !isJudged else {
            self = known
            return
        }
        self.init(
            known.code, fidoErrorCode: known.fidoErrorCode, httpStatus: known.httpStatus, recovery: .checkOutcome,
            known.reason)
    }

    /// Translates errors of the lower layers into errors of the SDK. No other place translates them.
    init(translating error: any Error) {
        switch error {
        case let error as OperationError: self = error
        case let error as Unanswered: self.init(error)
        case let error as EngineError: self.init(error)
        case let error as OperationFailure:
            let recovery: Recovery? =
                switch error.lockHolder {
                case .operatingSystem: .unlockDevice
                case .keyStore: .tryAgain
                case nil: nil
                }
            self = .fido(FidoErrorCode(rawValue: error.code.rawValue), recovery: recovery, error.reason)
        case is CancellationError: self = .fido(.userCanceled, "the task was cancelled")
        case is Denied: self = .fido(.userCanceled, "the person denied the request")
        case let error as UserVerificationError:
            switch error {
            case .cancelled: self = .fido(.userCanceled, "the person gave up")
            case .notResponsive: self = .fido(.userNotResponsive, "no answer in time")
            default: self = .fido(.authenticatorAccessDenied, "\(error)")
            }
        case let error as TransportError where error.code == .insecure: self = .fido(.insecureTransport, error.reason)
        case let error as TransportError where error.code == .tlsPinMismatch:
            self.init(.tlsPinMismatch, error.reason)
        case let error as TransportError: self.init(.networkError, "\(error)")
        case let error as StorageError: self.init(.storageError, "\(error)")
        case let error as UAFError: self = .fido(.protocolError, "\(error)")
        case let error as JSONError: self = .fido(.protocolError, "\(error)")
        default: self.init(.unknown, "\(type(of: error))")
        }
    }
    private init(_ error: EngineError) {
        switch error.cause {
        case .unavailable: self.init(.networkError, httpStatus: error.httpStatus, error.reason)
        case .notAuthorized, .tokenOfOtherDevice:
            self.init(.notAuthorized, httpStatus: error.httpStatus, error.reason)
        case .clockSkew: self.init(.clockSkewTooBig, httpStatus: error.httpStatus, error.reason)
        case .accountLocked: self.init(.accountLocked, httpStatus: error.httpStatus, error.reason)
        case .tokenUnknown: self.init(.tokenUnknown, httpStatus: error.httpStatus, error.reason)
        case .tokenSpent: self.init(.tokenAlreadyRedeemed, httpStatus: error.httpStatus, error.reason)
        case .tokenSpentHere:
            self.init(
                .tokenAlreadyRedeemed, httpStatus: error.httpStatus, recovery: .haveCodeShownAgain, error.reason)
        case .tokenExpired: self.init(.tokenExpired, httpStatus: error.httpStatus, error.reason)
        case .foreignHost: self.init(.hostNotAllowed, error.reason)
        case .insecureAddress: self = .fido(.insecureTransport, recovery: .warnPerson, error.reason)
        case .misconfigured: self.init(.unknown, recovery: .correctApp, error.reason)
        case .unusableHeader: self.init(.invalidRequestHeader, error.reason)
        case .unreadable: self = .fido(.protocolError, recovery: .updateApp, error.reason)
        case .malformed: self = .fido(.protocolError, httpStatus: error.httpStatus, error.reason)
        case .refused: self = .fido(.protocolError, serverStatusCode: error.status?.rawValue, error.reason)
        case .wrongNumber: self.init(.wrongNumber, serverStatusCode: error.status?.rawValue, error.reason)
        case .appNotProven(let failure):
            self.init(
                .appAttestation, serverStatusCode: error.status?.rawValue, recovery: Recovery(of: failure),
                error.reason)
        case .unknownKey:
            self.init(.userNotRegisteredInServer, serverStatusCode: error.status?.rawValue, error.reason)
        case .unknownAccount, .knownAccount, .noSuchFactor, .factorInvalidated, .sensorLocked:
            // These causes occur only with identities.
            self.init(.unknown, recovery: .correctApp, error.reason)
        case .nameTaken: self.init(.nameAlreadyExists, httpStatus: error.httpStatus, error.reason)
        case .targetInvalid: self.init(.missingInteraction, httpStatus: error.httpStatus, error.reason)
        case .targetUnknown: self.init(.dispatchTargetUnknown, httpStatus: error.httpStatus, error.reason)
        case .dispatcherUnknown: self.init(.dispatcherUnknown, httpStatus: error.httpStatus, error.reason)
        case .appRenamed(let former): self.init(.appRenamed, formerFacetID: former, error.reason)
        case .undisclosed: self.init(.missingInteraction, error.reason)
        }
    }
}

/// The codes with which an operation's error is reported to the server.
struct FailureReport {
    let code: ErrorCode
    let asmStatus: ASMStatusCode?

    init(_ error: any Error) {
        if let failure = error as? OperationFailure {
            self.code = failure.code
            self.asmStatus = failure.asmStatus
        } else {
            self.code =
                OperationError(translating: error).fidoErrorCode.map { ErrorCode(rawValue: $0.rawValue) } ?? .unknown
            self.asmStatus = nil
        }
    }
}

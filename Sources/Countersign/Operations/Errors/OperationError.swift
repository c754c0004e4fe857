#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The reason why an operation failed. All operations use this error, however they were started.
///
/// ``code`` states the kind of the error, and ``recovery`` the remedy. Two errors are equal if their codes and their
/// FIDO codes are equal. The sentences (`localizedDescription`) are in English and fit to be shown; ``reason`` is for
/// the log.
public struct OperationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of the error. A struct, because a later version may have more kinds.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        enum Base: String, CaseIterable {
            case fidoError, networkError, notAuthorized, userNotRegisteredInServer, userAlreadyRegisteredInAnotherServer
            case tokenExpired, tokenAlreadyRedeemed, tokenUnknown, hostNotAllowed, codeCameByLink, tlsPinMismatch
            case malformedPayload, decryptionError
            case accountLocked, sessionUnknown, unknownUsername, appRenamed, missingInteraction, operationReused,
                invalidRequestHeader, invalidServerURL, storageError, clockSkewTooBig, wrongNumber, appAttestation,
                unknown
            case pinLocked, pinNotEnrolled, passwordLocked, passwordNotEnrolled
            case nameAlreadyExists, dispatchTargetUnknown, dispatcherUnknown
            case deviceLimited, newDeviceNotAdded
        }
        let base: Base
        /// The client, an authenticator or the server refused: see ``OperationError/fidoErrorCode``.
        public static let fidoError = Self(base: .fidoError)
        /// The server gave no answer, or an answer that cannot be used, or its certificate is not valid. Usually
        /// transient: let the person try again. A token may be used up. After a signed answer was sent,
        /// ``OperationError/recovery`` is `checkOutcome` instead.
        public static let networkError = Self(base: .networkError)
        /// The server requires the person's authentication first. Authenticate, and pass the new provider to the
        /// operation.
        public static let notAuthorized = Self(base: .notAuthorized)
        /// The server no longer knows the key; the key was deleted on this device too. Ask the person to enrol again.
        public static let userNotRegisteredInServer = Self(base: .userNotRegisteredInServer)
        /// This device has an account of the same name for another server. Forget the other server's account first, and
        /// keep all other accounts.
        public static let userAlreadyRegisteredInAnotherServer = Self(base: .userAlreadyRegisteredInAnotherServer)
        /// The code was not used in time. Ask the person to have a new code shown.
        public static let tokenExpired = Self(base: .tokenExpired)
        /// The code was used before.
        ///
        /// If this device may have used the code, for example before the app was killed, ``OperationError/recovery`` is
        /// `haveCodeShownAgain`. Otherwise another party used the code, and the person must be warned.
        public static let tokenAlreadyRedeemed = Self(base: .tokenAlreadyRedeemed)
        /// The server does not know the code. Ask the person to type a typed code again, or to have a new code shown.
        public static let tokenUnknown = Self(base: .tokenUnknown)
        /// The code names a server that is missing from the configuration. Nothing was sent. Warn the person.
        public static let hostNotAllowed = Self(base: .hostNotAllowed)
        /// The server's key is not among the pinned keys (``ClientConfiguration/tlsPins``). Nothing was sent over this
        /// connection. Let the person use another network; if the error stays, ask the person to update the app.
        public static let tlsPinMismatch = Self(base: .tlsPinMismatch)
        /// The payload came by a link, but its code was made to be scanned or typed. An attacker may have put the code
        /// of their own sign-in page into a link.
        ///
        /// The person was asked nothing, and the server has ended the operation. Warn the person: a person signs in
        /// only with a code that the person scans in the app, from a page that the person opened.
        public static let codeCameByLink = Self(base: .codeCameByLink)
        /// The link or the server's answer to a request for an enrolment is none (``AuthCloudApiRegistration``). Nothing
        /// was sent. Ask the service for a new link. If the payload is of another version,
        /// ``OperationError/recovery`` is `updateApp`.
        public static let malformedPayload = Self(base: .malformedPayload)
        /// The link's payload is encrypted, and no key of this device opens the payload
        /// (``AuthCloudApiRegistration``). Nothing was sent. Ask the person to use the other device, or the service for
        /// a new link.
        public static let decryptionError = Self(base: .decryptionError)
        /// The account is locked; its browsers are signed out. Refer the person to the operator of the service.
        public static let accountLocked = Self(base: .accountLocked)
        /// The account has no such session or grant: it has ended. Fetch the list again.
        public static let sessionUnknown = Self(base: .sessionUnknown)
        /// This device has no account of the name. Nothing was sent. Show the accounts that the device has now
        /// (``LocalData/accounts``).
        public static let unknownUsername = Self(base: .unknownUsername)
        /// Too many wrong PINs have locked the PIN that was to be changed. Ask the person to enrol over the account with a
        /// new link. Delete nothing.
        public static let pinLocked = Self(base: .pinLocked)
        /// The account has no PIN on this device, so that there is no PIN to change. Show the authenticators that the
        /// account has now (``LocalData/authenticators``).
        public static let pinNotEnrolled = Self(base: .pinNotEnrolled)
        /// Too many wrong passwords have locked the password that was to be changed. Ask the person to enrol over the
        /// account with a new link. Delete nothing.
        public static let passwordLocked = Self(base: .passwordLocked)
        /// The account has no password on this device, so that there is no password to change. Show the authenticators
        /// that the account has now (``LocalData/authenticators``).
        public static let passwordNotEnrolled = Self(base: .passwordNotEnrolled)
        /// Another device of the person has the name that this device is to have. Ask the person for another name.
        public static let nameAlreadyExists = Self(base: .nameAlreadyExists)
        /// The server has no dispatch target for this device, or has no dispatch targets at all. Execute
        /// ``DeviceInformationSync``, which creates the target, and try again.
        public static let dispatchTargetUnknown = Self(base: .dispatchTargetUnknown)
        /// The server has no dispatcher with the name in the ``PushAddress``. A mistake in the app's code, or in the
        /// server's configuration.
        public static let dispatcherUnknown = Self(base: .dispatcherUnknown)
        /// Another device of the person approved this device a short time ago: this device approves and removes no device
        /// until ``OperationError/limitedUntil``. Everything else works.
        public static let deviceLimited = Self(base: .deviceLimited)
        /// The new device that this device was to approve gave up, or another device or an operator has ended its
        /// enrolment (``DeviceApproval``). Begin again, with a new code.
        public static let newDeviceNotAdded = Self(base: .newDeviceNotAdded)
        /// The app had another name when the account was enrolled: ``OperationError/formerFacetID``. Nothing is lost:
        /// with the former name all keys sign again.
        ///
        /// The cause is a mistake of the build or its configuration. Do not ask the person to enrol again, and delete
        /// nothing.
        public static let appRenamed = Self(base: .appRenamed)
        /// The operation lacks a part (a selector, a verifier, a name, a provider, a callback), or no screen received
        /// the content to be confirmed. Nothing was signed. If the server's request was already fetched, the server has
        /// been told, and a token is used up. A mistake in the app's code.
        public static let missingInteraction = Self(base: .missingInteraction)
        /// The operation was executed before, or a password was judged a second time
        /// (``PasswordValidationHandler``). Create a new operation. A mistake in the app's code.
        public static let operationReused = Self(base: .operationReused)
        /// The app or its authorization provider has a header field that cannot be sent: a field that the SDK itself
        /// sets, a malformed name, a value with a line break, or a field beyond a bound. Nothing was sent. A mistake in
        /// the app's code, or a damaged token.
        public static let invalidRequestHeader = Self(base: .invalidRequestHeader)
        /// The address that the app has given to `serverURL` is not a server: it has a path, a query, user information
        /// or no host. Nothing was sent. A mistake in the app's code.
        public static let invalidServerURL = Self(base: .invalidServerURL)
        /// The server refused this device's signature for its time, although the SDK signed once more by the server's
        /// time. The keys stay valid. Let the person try again, and ask the person to set the device's clock.
        public static let clockSkewTooBig = Self(base: .clockSkewTooBig)
        /// The person typed another number than the number that is shown where the person began. The server has ended the
        /// operation and counted the try. Begin again there, with a new number.
        public static let wrongNumber = Self(base: .wrongNumber)
        /// The server wants to know which app registers, and the app could not prove itself: the platform has no
        /// ``AppAttestor``, the service of the operating system gave no evidence, or the server refused the evidence.
        /// No key is left on the device. ``OperationError/recovery`` tells the cases apart.
        public static let appAttestation = Self(base: .appAttestation)
        /// The device's storage failed. Counted attempts remain counted. Try again, then report the error.
        public static let storageError = Self(base: .storageError)
        /// Another error. Report the error.
        public static let unknown = Self(base: .unknown)
        public var description: String { self.base.rawValue }
    }

    /// The kind of the error.
    public let code: Code
    /// The UAF client's error code, with ``Code/fidoError``.
    public let fidoErrorCode: FidoErrorCode?
    /// The HTTP status of the answer that ended the operation, if the status was not 200.
    public let httpStatus: Int?
    /// The UAF status code with which the server refused, for instance 1403 while a registration waits for its
    /// confirmation.
    public let serverStatusCode: Int?
    /// With ``Code/appRenamed``: the app's name at the time when the account was enrolled
    /// (``ClientConfiguration/facetID``).
    public let formerFacetID: String?
    /// With ``Code/deviceLimited``: the time from which this device may approve and remove devices, by the server's
    /// clock.
    public let limitedUntil: Date?
    /// The session to which the failed authentication was bound, as the app gave the session: the app can go on with it,
    /// or start again. `nil` without a session. After a signed answer whose reply was lost, the server may have renewed
    /// the session, so that this session is worth nothing.
    public private(set) var sessionProvider: (any SessionProvider)?
    /// The remedy for the app.
    public let recovery: Recovery
    /// The reason for the log: never a secret.
    public let reason: String

    /// Creates an error with the code; `reason` goes only to the log. Without a given recovery, the error has the
    /// code's recovery.
    public init(
        _ code: Code, fidoErrorCode: FidoErrorCode? = nil, httpStatus: Int? = nil, serverStatusCode: Int? = nil,
        formerFacetID: String? = nil, limitedUntil: Date? = nil, recovery: Recovery? = nil, _ reason: String = ""
    ) {
        self.limitedUntil = limitedUntil
        self.code = code
        self.fidoErrorCode = fidoErrorCode
        self.httpStatus = httpStatus
        self.serverStatusCode = serverStatusCode
        self.formerFacetID = formerFacetID
        self.recovery = recovery ?? Recovery(of: code, fidoErrorCode, serverStatusCode: serverStatusCode)
        self.reason = reason
    }

    /// Returns the error of an authentication that was bound to a session. A session that the server does not accept any
    /// more is `notAuthorized`.
    func ended(in session: any SessionProvider) -> Self {
        var error = self
        if self.serverStatusCode == 1401, self.code == .fidoError {
            error = Self(.notAuthorized, serverStatusCode: 1401, self.reason)
        }
        error.sessionProvider = session
        return error
    }

    /// Creates an error of the UAF client.
    public static func fido(
        _ code: FidoErrorCode, httpStatus: Int? = nil, serverStatusCode: Int? = nil, recovery: Recovery? = nil,
        _ reason: String = ""
    ) -> Self {
        Self(
            .fidoError, fidoErrorCode: code, httpStatus: httpStatus, serverStatusCode: serverStatusCode,
            recovery: recovery, reason)
    }

    public var description: String {
        let codes = [
            self.fidoErrorCode.map { "\($0)" }, self.httpStatus.map { "HTTP \($0)" },
            self.serverStatusCode.map { "server \($0)" },
        ]
        return
            "OperationError.\(([self.code.description] + codes.compactMap(\.self)).joined(separator: ", ")): \(self.reason)"
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.fidoErrorCode == right.fidoErrorCode
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.code)
        hasher.combine(self.fidoErrorCode)
    }
}

/// The error of an authentication: another name of ``OperationError``.
public typealias AuthenticationError = OperationError

/// The error of a registration with the answer to a request for an enrolment: another name of ``OperationError``.
public typealias AuthCloudApiError = OperationError

/// The error of approving another device: another name of ``OperationError``.
public typealias DeviceApprovalError = OperationError

/// The error of redeeming a token: another name of ``OperationError``.
public typealias OutOfBandOperationError = OperationError

/// The error of showing an account's activity or ending a session: another name of ``OperationError``.
public typealias AccountActivityError = OperationError

/// The error of changing a PIN: another name of ``OperationError``.
public typealias PinChangeError = OperationError

/// The error of changing a password: another name of ``OperationError``.
public typealias PasswordChangeError = OperationError

/// The error of changing, checking or repairing the data about this device: another name of ``OperationError``.
public typealias DeviceInformationChangeError = OperationError

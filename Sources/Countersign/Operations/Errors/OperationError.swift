/// Why an operation ended without success, whichever operation it was and however it was started.
///
/// ``code`` says what happened, ``recovery`` what to do about it. Two are equal when their codes are, and their FIDO
/// codes. Its sentences (`localizedDescription`) are in English and fit to be shown; ``reason`` is for the log.
public struct OperationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What happened. A struct, because a later version may have more.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        enum Base: String {
            case fidoError, networkError, notAuthorized, userNotRegisteredInServer, userAlreadyRegisteredInAnotherServer
            case tokenExpired, tokenAlreadyRedeemed, tokenUnknown, hostNotAllowed, codeCameByLink
            case accountLocked, sessionUnknown, unknownUsername, appRenamed, missingInteraction, operationReused,
                storageError, unknown
        }
        let base: Base
        /// The client, an authenticator or the server said no: see ``OperationError/fidoErrorCode``.
        public static let fidoError = Self(base: .fidoError)
        /// No answer from the server, or none that can be used. Transient: let the person try again. A token may be
        /// used up. After a signed answer has left, ``OperationError/recovery`` is `checkOutcome` instead.
        public static let networkError = Self(base: .networkError)
        /// The server wants to know the person first. Authenticate, and give the new provider to the operation.
        public static let notAuthorized = Self(base: .notAuthorized)
        /// The server does not know the key any more; it was deleted here too. Ask the person to enrol again.
        public static let userNotRegisteredInServer = Self(base: .userNotRegisteredInServer)
        /// An account of that name is there for another server. Forget that one first, and no other.
        public static let userAlreadyRegisteredInAnotherServer = Self(base: .userAlreadyRegisteredInAnotherServer)
        /// The code was not used in time. Ask the person to have a new one shown.
        public static let tokenExpired = Self(base: .tokenExpired)
        /// The code was used before. Where this device may have been it, as after the app was killed,
        /// ``OperationError/recovery`` is `haveCodeShownAgain`; else somebody else was, and the person looks out.
        public static let tokenAlreadyRedeemed = Self(base: .tokenAlreadyRedeemed)
        /// The server does not know the code. Ask the person to scan or type it again.
        public static let tokenUnknown = Self(base: .tokenUnknown)
        /// The code names a server that the configuration does not. Nothing was sent. Warn the person.
        public static let hostNotAllowed = Self(base: .hostNotAllowed)
        /// The payload came by a link, but its code was made to be scanned or typed: somebody may have put the code of
        /// their own sign-in page into a link. Nobody was asked, and the server has ended it. Warn the person: they
        /// sign in only with a code that they scan, in the app, from a page that they opened themselves.
        public static let codeCameByLink = Self(base: .codeCameByLink)
        /// The account is locked; its browsers are signed out. Send the person to whoever runs the service.
        public static let accountLocked = Self(base: .accountLocked)
        /// The account has no such session: it has ended. Fetch the list again.
        public static let sessionUnknown = Self(base: .sessionUnknown)
        /// This device has no account of that name. Nothing was sent. Show the accounts that are there now
        /// (``LocalData/accounts``).
        public static let unknownUsername = Self(base: .unknownUsername)
        /// The app had another name when the account was enrolled: ``OperationError/formerFacetID``. Nothing is lost: with that
        /// name all keys sign again. A mistake of the build or its configuration; do not have the person enrol anew, and delete
        /// nothing.
        public static let appRenamed = Self(base: .appRenamed)
        /// A part of the operation was not given: a selector, a verifier, a name; or what was to be confirmed was given
        /// to no screen. Nothing was signed, and the server has heard of it; a token is used up. A mistake in the app's
        /// code.
        public static let missingInteraction = Self(base: .missingInteraction)
        /// The operation was executed before. Make a new one. A mistake in the app's code.
        public static let operationReused = Self(base: .operationReused)
        /// The device's storage failed. Nothing was given back that was counted; try again, then report it.
        public static let storageError = Self(base: .storageError)
        /// Something else. Report it.
        public static let unknown = Self(base: .unknown)
        public var description: String { self.base.rawValue }
    }

    /// What happened.
    public let code: Code
    /// The UAF client's code, with ``Code/fidoError``.
    public let fidoErrorCode: FidoErrorCode?
    /// The HTTP status of the answer that ended the operation, where it was another one than 200.
    public let httpStatus: Int?
    /// The UAF status code with which the server refused, for instance 1403 while a registration waits for its
    /// confirmation.
    public let serverStatusCode: Int?
    /// With ``Code/appRenamed``: the name that the app had when the account was enrolled (``ClientConfiguration/facetID``).
    public let formerFacetID: String?
    /// What the app does about it.
    public let recovery: Recovery
    /// For the log: never a secret.
    public let reason: String

    /// An error of that code; `reason` goes to the log alone. The recovery is the code's, unless it is given.
    public init(
        _ code: Code, fidoErrorCode: FidoErrorCode? = nil, httpStatus: Int? = nil, serverStatusCode: Int? = nil,
        formerFacetID: String? = nil, recovery: Recovery? = nil, _ reason: String = ""
    ) {
        self.code = code
        self.fidoErrorCode = fidoErrorCode
        self.httpStatus = httpStatus
        self.serverStatusCode = serverStatusCode
        self.formerFacetID = formerFacetID
        self.recovery = recovery ?? Recovery(of: code, fidoErrorCode, serverStatusCode: serverStatusCode)
        self.reason = reason
    }

    /// An error of the UAF client.
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

/// Why an authentication ended without success: the name of ``OperationError`` there.
public typealias AuthenticationError = OperationError

/// Why a token could not be redeemed: the name of ``OperationError`` there.
public typealias OutOfBandOperationError = OperationError

/// Why an account's activity could not be shown, or a session not be ended: the name of ``OperationError`` there.
public typealias AccountActivityError = OperationError

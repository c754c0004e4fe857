import UAF
import UAFClient

/// A code of the UAF client (UAF Application API 1.1, ErrorCode), which the server's status shows too.
public struct FidoErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The address is not `https`. Nothing was sent. A mistake in the configuration.
    public static let insecureTransport = Self(rawValue: 0x02)
    /// The person, the app or the operating system gave up. Nothing to do.
    public static let userCanceled = Self(rawValue: 0x03)
    /// The server speaks another version of UAF. Ask the person to update the app.
    public static let unsupportedVersion = Self(rawValue: 0x04)
    /// Nothing on this device meets the server's policy, or the chosen authenticator does not. Ask the person to choose
    /// another one, or to enrol.
    public static let noSuitableAuthenticator = Self(rawValue: 0x05)
    /// The exchange failed: malformed, expired, or refused by the server. Start again; if that fails too, the
    /// enrolment does not hold any more.
    public static let protocolError = Self(rawValue: 0x06)
    /// The server does not list this app. A mistake in the server's or the app's configuration.
    public static let untrustedFacetId = Self(rawValue: 0x07)
    /// The key is gone, for instance because the enrolled fingers changed. Ask the person to enrol again.
    public static let keyDisappearedPermanently = Self(rawValue: 0x09)
    /// The authenticator refused, the app has no screen for it, or nobody is enrolled with the operating system any
    /// more. Ask the person to enrol there, or to choose another authenticator.
    public static let authenticatorAccessDenied = Self(rawValue: 0x0C)
    /// What is to be confirmed cannot be shown. Nothing was signed; tell the person that the service sent it wrongly.
    public static let invalidTransactionContent = Self(rawValue: 0x0D)
    /// No answer of the person in time. Let them start again.
    public static let userNotResponsive = Self(rawValue: 0x0E)
    /// No room for another key. Ask the person to delete one.
    public static let insufficientAuthenticatorResources = Self(rawValue: 0x0F)
    /// Too many wrong tries. Delete the authenticator and ask the person to enrol again; for a finger, a face and the
    /// device's passcode the operating system has locked: ask the person to unlock the device, and to try again.
    public static let userLockout = Self(rawValue: 0x10)
    /// No finger, face or passcode is enrolled with the operating system. Ask the person to enrol one there.
    public static let userNotEnrolled = Self(rawValue: 0x11)
    /// Something else. Report it.
    public static let unknown = Self(rawValue: 0xFF)

    public var description: String { "FIDO \(self.rawValue)" }
}

/// Why a registration or an out-of-band authentication ended without success.
///
/// Two are equal when their codes are, and their FIDO codes.
public struct OperationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the app should do.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case fidoError, networkError, notAuthorized, userNotRegisteredInServer, userAlreadyRegisteredInAnotherServer
            case missingInteraction, operationReused, storageError, unknown
        }
        private let base: Base
        /// The client, an authenticator or the server said no: see ``OperationError/fidoErrorCode``.
        public static let fidoError = Self(base: .fidoError)
        /// No answer from the server, or none that can be used. Transient: let the person try again.
        public static let networkError = Self(base: .networkError)
        /// The server wants to know the person first. Authenticate, and give the provider to the registration.
        public static let notAuthorized = Self(base: .notAuthorized)
        /// The server does not know the key any more; it was deleted here too. Ask the person to enrol again.
        public static let userNotRegisteredInServer = Self(base: .userNotRegisteredInServer)
        /// An account of that name is there for another server. Delete that one first.
        public static let userAlreadyRegisteredInAnotherServer = Self(base: .userAlreadyRegisteredInAnotherServer)
        /// A part of the operation was not given: a selector, a verifier, a name. A mistake in the app's code.
        public static let missingInteraction = Self(base: .missingInteraction)
        /// The operation was executed before. Make a new one. A mistake in the app's code.
        public static let operationReused = Self(base: .operationReused)
        /// The device's storage failed. Nothing was given back that was counted; try again, then report it.
        public static let storageError = Self(base: .storageError)
        /// Something else. Report it.
        public static let unknown = Self(base: .unknown)
        public var description: String { self.base.rawValue }
    }

    /// What happened, and what to do about it.
    public let code: Code
    /// The UAF client's code, with ``Code/fidoError``.
    public let fidoErrorCode: FidoErrorCode?
    /// The UAF status code with which the server refused, for instance 1403 while a registration waits for its
    /// confirmation.
    public let serverStatusCode: Int?
    /// For the log: never a secret.
    public let reason: String

    /// An error of that code; `reason` goes to the log alone.
    public init(
        _ code: Code, fidoErrorCode: FidoErrorCode? = nil, serverStatusCode: Int? = nil, _ reason: String = ""
    ) {
        self.code = code
        self.fidoErrorCode = fidoErrorCode
        self.serverStatusCode = serverStatusCode
        self.reason = reason
    }

    /// An error of the UAF client.
    public static func fido(_ code: FidoErrorCode, serverStatusCode: Int? = nil, _ reason: String = "") -> Self {
        Self(.fidoError, fidoErrorCode: code, serverStatusCode: serverStatusCode, reason)
    }

    public var description: String {
        let codes = [self.fidoErrorCode.map { "\($0)" }, self.serverStatusCode.map { "server \($0)" }]
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

    /// The one place where errors of the layers below become the SDK's.
    init(translating error: any Error) {
        switch error {
        case let error as OperationError: self = error
        case let error as OperationFailure:
            self = .fido(FidoErrorCode(rawValue: error.code.rawValue), error.reason)
        case is CancellationError: self = .fido(.userCanceled, "the task was cancelled")
        case let error as UserVerificationError:
            switch error {
            case .cancelled: self = .fido(.userCanceled, "the person gave up")
            case .notResponsive: self = .fido(.userNotResponsive, "no answer in time")
            default: self = .fido(.authenticatorAccessDenied, "\(error)")
            }
        case let error as TransportError where error.code == .insecure: self = .fido(.insecureTransport, error.reason)
        case let error as TransportError: self.init(.networkError, "\(error)")
        case let error as StorageError: self.init(.storageError, "\(error)")
        case let error as UAFError: self = .fido(.protocolError, "\(error)")
        default: self.init(.unknown, "\(type(of: error))")
        }
    }
}

/// Why an in-app authentication ended without success. As ``OperationError``, for this one operation.
public struct AuthenticationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the app should do.
    public let code: OperationError.Code
    /// The UAF client's code, with ``OperationError/Code/fidoError``.
    public let fidoErrorCode: FidoErrorCode?
    /// The UAF status code with which the server refused.
    public let serverStatusCode: Int?
    /// For the log: never a secret.
    public let reason: String

    /// An error of that code; `reason` goes to the log alone.
    public init(_ code: OperationError.Code, fidoErrorCode: FidoErrorCode? = nil, _ reason: String = "") {
        self.code = code
        self.fidoErrorCode = fidoErrorCode
        self.serverStatusCode = nil
        self.reason = reason
    }

    init(_ error: OperationError) {
        self.code = error.code
        self.fidoErrorCode = error.fidoErrorCode
        self.serverStatusCode = error.serverStatusCode
        self.reason = error.reason
    }

    public var description: String { "AuthenticationError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.fidoErrorCode == right.fidoErrorCode
    }
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.code)
        hasher.combine(self.fidoErrorCode)
    }
}

/// Why a token could not be redeemed. Two are equal when their codes are.
public struct OutOfBandOperationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the app should do.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case tokenExpired, tokenAlreadyRedeemed, tokenUnknown, hostNotAllowed, insecureTransport, networkError
            case codeCameByLink, protocolError, missingInteraction, operationReused, userCanceled, unknown
        }
        private let base: Base
        /// The code was not used in time. Ask the person to have a new one shown.
        public static let tokenExpired = Self(base: .tokenExpired)
        /// The code was used before, perhaps by somebody else. Ask the person to have a new one shown, and to look out.
        public static let tokenAlreadyRedeemed = Self(base: .tokenAlreadyRedeemed)
        /// The server does not know the code. Ask the person to scan or type it again.
        public static let tokenUnknown = Self(base: .tokenUnknown)
        /// The code names a server that the configuration does not. Nothing was sent. Warn the person.
        public static let hostNotAllowed = Self(base: .hostNotAllowed)
        /// The code names an address that is not `https`. Nothing was sent. Warn the person.
        public static let insecureTransport = Self(base: .insecureTransport)
        /// The payload came by a link, but its code was made to be scanned or typed: somebody may have put the code of
        /// their own sign-in page into a link. Nobody was asked, and the server has ended it. Warn the person: they
        /// sign in only with a code that they scan, in the app, from a page that they opened themselves.
        public static let codeCameByLink = Self(base: .codeCameByLink)
        /// No answer from the server, or none that can be used. Transient; the token may be used up.
        public static let networkError = Self(base: .networkError)
        /// The server's answer is not of this protocol. Ask the person to update the app.
        public static let protocolError = Self(base: .protocolError)
        /// No payload, or no closure for the operation that the token stands for; in the second case the token is used
        /// up. A mistake in the app's code.
        public static let missingInteraction = Self(base: .missingInteraction)
        /// The operation was executed before. Make a new one. A mistake in the app's code.
        public static let operationReused = Self(base: .operationReused)
        /// The app cancelled the task.
        public static let userCanceled = Self(base: .userCanceled)
        /// Something else. Report it.
        public static let unknown = Self(base: .unknown)
        public var description: String { self.base.rawValue }
    }

    /// What happened, and what to do about it.
    public let code: Code
    /// For the log: never the token.
    public let reason: String

    /// An error of that code; `reason` goes to the log alone.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    public var description: String { "OutOfBandOperationError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }

    init(translating error: any Error) {
        switch error {
        case let error as Self: self = error
        case is CancellationError: self.init(.userCanceled, "cancelled")
        case let error as TransportError where error.code == .insecure: self.init(.insecureTransport, error.reason)
        case let error as TransportError: self.init(.networkError, "\(error)")
        case let error as UAFError: self.init(.protocolError, "\(error)")
        default: self.init(.unknown, "\(type(of: error))")
        }
    }
}

/// Why the client could not be initialised. Two are equal when their codes are.
public struct InitializationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the app should do.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case invalidConfiguration, storageInUse, storageCorrupt, storageUnavailable, operationReused
        }
        private let base: Base
        /// The configuration is missing, incomplete or wrong. A mistake in the app.
        public static let invalidConfiguration = Self(base: .invalidConfiguration)
        /// Another process uses the storage. Wait for it to end.
        public static let storageInUse = Self(base: .storageInUse)
        /// What is stored cannot be opened. The enrolments are lost; the app wipes the storage and enrols again.
        public static let storageCorrupt = Self(base: .storageCorrupt)
        /// The storage failed. Transient; try again later.
        public static let storageUnavailable = Self(base: .storageUnavailable)
        /// The initializer was executed before. A mistake in the app's code.
        public static let operationReused = Self(base: .operationReused)
        public var description: String { self.base.rawValue }
    }

    /// What happened, and what to do about it.
    public let code: Code
    /// For the log: never a secret.
    public let reason: String

    /// An error of that code; `reason` goes to the log alone.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    init(_ error: StorageError) {
        let code: Code =
            switch error.code {
            case .inUse: .storageInUse
            case .corrupt: .storageCorrupt
            default: .storageUnavailable
            }
        self.init(code, error.reason)
    }

    public var description: String { "InitializationError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}

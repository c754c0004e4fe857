import JOSE
import OAuth
import UAFClient
public import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The reason why a sign-in, or another function of ``SignIn``, failed. Each code states the remedy for the app. Two
/// errors are equal if their codes are equal.
public struct SignInError: CodedError {
    /// The kind of the error, with the remedy for the app.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        fileprivate enum Base: String, CaseIterable {
            case cancelled, interrupted, denied, untrustedAnswer, notSignedIn, sessionEnded, renewedElsewhere
            case biometricsNotMatched, biometricsLockedOut, biometricsChanged, biometricsUnavailable
            case wrongCredentials, wrongSecondFactor, browserNeeded, refused, networkError
            case untrustedServer, tlsPinMismatch, protocolError, storageError
            case storageNewer, misconfigured
        }
        fileprivate let base: Base
        /// The person closed the browser or the dialog, typed no code, or did not come back in time. Show the earlier
        /// screen: kept data stays, and the person can try again.
        public static let cancelled = Self(base: .cancelled)
        /// The person, or the identity provider, refused on a page. Show the sign-in screen.
        public static let denied = Self(base: .denied)
        /// The browser's answer does not belong to the request: the state, the issuer or the address differs. Nothing
        /// was exchanged. Warn the person, and let the person begin again.
        public static let untrustedAnswer = Self(base: .untrustedAnswer)
        /// No person is signed in, and no session is kept. Show the sign-in screen.
        public static let notSignedIn = Self(base: .notSignedIn)
        /// The server no longer accepts the session, and the session was deleted on this device; or the server gave no
        /// token with which the session can be renewed. Show the sign-in screen.
        public static let sessionEnded = Self(base: .sessionEnded)
        /// Another process of this app has renewed the session, and the renewed session lies behind the person's finger
        /// or face. Call ``SignIn/restore(prompt:)``.
        public static let renewedElsewhere = Self(base: .renewedElsewhere)
        /// The finger or face did not match. Kept data stays: let the person try again, or sign in another way.
        public static let biometricsNotMatched = Self(base: .biometricsNotMatched)
        /// The sensor is locked after too many failed readings. Kept data stays: ask the person to unlock the device
        /// with its passcode, and to try again.
        public static let biometricsLockedOut = Self(base: .biometricsLockedOut)
        /// The enrolled fingers or faces have changed, and the kept data is deleted. Tell the person, and show the
        /// sign-in screen.
        public static let biometricsChanged = Self(base: .biometricsChanged)
        /// The sensor does not answer, or no finger or face is enrolled. Kept data stays: let the person try again, or
        /// sign in another way.
        public static let biometricsUnavailable = Self(base: .biometricsUnavailable)
        /// The name or the password is wrong; the server does not say which. The saved name and password are deleted.
        /// Empty the password's field, and let the person type again.
        public static let wrongCredentials = Self(base: .wrongCredentials)
        /// The codes of the person's authenticator app were wrong, until the sign-in or the server accepted no more
        /// codes. After ``SignIn/withSavedPassword(prompt:secondFactor:)`` the saved name and password stay; typed ones
        /// are not saved. Show the sign-in screen.
        public static let wrongSecondFactor = Self(base: .wrongSecondFactor)
        /// The app ended while the browser was open: ``SignIn/interruption``. Tell the person, and let the person begin
        /// again.
        public static let interrupted = Self(base: .interrupted)
        /// The server requires more than a name and a password from the person. Sign in with the browser.
        public static let browserNeeded = Self(base: .browserNeeded)
        /// The server refused for another reason, which ``serverCode`` names. Refer the person to the operator of the
        /// service.
        public static let refused = Self(base: .refused)
        /// The server does not answer. Transient: let the person try again; kept data stays.
        public static let networkError = Self(base: .networkError)
        /// The server's certificate or name is not valid, or its address is not secure. Nothing secret was sent. Report
        /// the error.
        public static let untrustedServer = Self(base: .untrustedServer)
        /// The server's key is not among the pinned keys (``SignInConfiguration/tlsPins``). Nothing was sent. Let the
        /// person use another network; if the error stays, ask the person to update the app.
        public static let tlsPinMismatch = Self(base: .tlsPinMismatch)
        /// The server's answer is malformed, or an unforeseen error occurred. Usually the app and the server use
        /// different versions: ask the person to update the app.
        public static let protocolError = Self(base: .protocolError)
        /// The device's storage failed. Try again, then report the error.
        public static let storageError = Self(base: .storageError)
        /// A later version of the app has written the kept data. Nothing is lost: ask the person to update the app, or
        /// to sign in again.
        public static let storageNewer = Self(base: .storageNewer)
        /// The configuration or the platform is invalid. A mistake in the app's code.
        public static let misconfigured = Self(base: .misconfigured)
        public var description: String { self.base.rawValue }
    }

    /// The kind of the error.
    public let code: Code
    /// The error code with which the server refused: an error of OAuth, or a code of the sign-in service.
    public let serverCode: String?
    /// The reason for the log: never a secret, and never a text that the server wrote.
    public let reason: String

    /// Creates an error with the code; `reason` goes only to the log.
    public init(_ code: Code, serverCode: String? = nil, _ reason: String = "") {
        self.code = code
        self.serverCode = serverCode
        self.reason = reason
    }

    public var description: String {
        "SignInError.\(self.code)\(self.serverCode.map { ", \($0)" } ?? ""): \(self.reason)"
    }
}

extension SignInError.Code: CaseIterable {
    /// All codes of this version.
    public static var allCases: [Self] { Base.allCases.map(Self.init) }
}

extension SignInError: ExplainedError {
    /// The event of the error.
    public var event: ErrorEvent {
        switch self.code.base {
        case .cancelled: .cancelled
        case .denied: .signInDenied
        case .untrustedAnswer: .foreignAnswer
        case .notSignedIn: .notSignedIn
        case .sessionEnded: .signedOut
        case .renewedElsewhere: .renewedElsewhere
        case .biometricsNotMatched: .biometricsNotMatched
        case .biometricsLockedOut: .sensorLocked
        case .biometricsChanged: .biometricsChanged
        case .biometricsUnavailable: .sensorSilent
        case .wrongCredentials: .wrongCredentials
        case .wrongSecondFactor: .wrongSecondFactors
        case .interrupted: .signInInterrupted
        case .browserNeeded: .browserNeeded
        case .refused: .refused
        case .networkError: .serverSilent
        case .untrustedServer: .serverNotProven
        case .tlsPinMismatch: .serverKeyNotPinned
        case .protocolError: .answerMalformed
        case .storageError: .storageFailed
        case .storageNewer: .storageNewer
        case .misconfigured: .appMistaken
        }
    }

    /// The person's next step.
    public var advice: ErrorAdvice {
        switch self.code.base {
        case .cancelled: .nothing
        case .denied, .notSignedIn, .sessionEnded, .biometricsChanged: .signIn
        case .untrustedAnswer: .beginAgainCarefully
        case .renewedElsewhere, .biometricsNotMatched, .biometricsUnavailable: .tryAgainOrOtherwise
        case .biometricsLockedOut: .unlockDevice
        case .wrongCredentials: .typeBothAgain
        case .wrongSecondFactor: .waitForNextCode
        case .interrupted: .signInAgain
        case .browserNeeded: .useBrowser
        case .refused: .askService
        case .networkError, .storageError: .tryAgain
        case .tlsPinMismatch: .changeNetwork
        case .protocolError, .storageNewer: .updateApp
        case .untrustedServer, .misconfigured: .tellMakers
        }
    }
}

extension SignInError: LocalizedError {
    /// The event in English, fit to be shown. No part of the text comes from the server.
    public var errorDescription: String? { EnglishMessages().words(self.event).text }

    /// The person's next step in English, fit to be shown; `nil` if nothing is to be done.
    public var recoverySuggestion: String? {
        self.advice == .nothing ? nil : EnglishMessages().words(self.advice).text
    }
}

extension SignInError {
    /// Translates an error of a lower floor for the app. A cancelled task keeps its `CancellationError`.
    static func translating(_ error: any Error) -> any Error {
        switch error {
        case is SignInError, is CancellationError: error
        case let error as TransportError:
            switch error.code {
            case .insecure, .untrustedServer: SignInError(.untrustedServer, error.reason)
            case .tlsPinMismatch: SignInError(.tlsPinMismatch, error.reason)
            case .cannotPin: SignInError(.misconfigured, error.reason)
            case .tooLarge: SignInError(.protocolError, error.reason)
            default: SignInError(.networkError, error.reason)
            }
        case let error as WebAuthenticationError:
            SignInError(error.code == .cancelled ? .cancelled : .misconfigured, error.reason)
        case let error as StorageError: SignInError(error.code == .newer ? .storageNewer : .storageError, "\(error)")
        case let error as SensorError: SignInError(.biometricsUnavailable, "\(error)")
        case let error as JSONError: SignInError(.protocolError, error.reason)
        case let error as JOSEError: SignInError(.protocolError, error.reason)
        case let error as OAuthError: SignInError(.protocolError, error.code.rawValue)
        default: SignInError(.protocolError, "\(type(of: error))")
        }
    }
}

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
        fileprivate enum Base: String {
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

extension SignInError: LocalizedError {
    /// A description of the error in English, fit to be shown. No part of the text comes from the server.
    public var errorDescription: String? {
        switch self.code.base {
        case .cancelled: "You gave up."
        case .denied: "You were not signed in."
        case .untrustedAnswer: "The answer was not to your sign-in. Nobody was signed in."
        case .notSignedIn: "Nobody is signed in."
        case .sessionEnded: "You are not signed in any more."
        case .renewedElsewhere: "This app has been used elsewhere since."
        case .biometricsNotMatched: "That was not your finger or face."
        case .biometricsLockedOut: "There were too many tries."
        case .biometricsChanged: "The enrolled fingers or faces have changed."
        case .biometricsUnavailable: "The sensor does not answer."
        case .wrongCredentials: "The name or the password is wrong."
        case .wrongSecondFactor: "The codes were wrong."
        case .interrupted: "This app was closed while you signed in."
        case .browserNeeded: "The server wants to know more of you."
        case .refused: "The server refused."
        case .networkError: "The server does not answer."
        case .untrustedServer: "The server's address is not secure."
        case .tlsPinMismatch: "The server could not prove that it is the right one. Nothing was sent."
        case .protocolError: "The server's answer makes no sense."
        case .storageError: "This device's storage failed."
        case .storageNewer: "This app is too old."
        case .misconfigured: "This app is not set up right."
        }
    }

    /// A suggestion for the person in English, fit to be shown.
    public var recoverySuggestion: String? {
        switch self.code.base {
        case .cancelled: nil
        case .denied, .notSignedIn, .sessionEnded, .biometricsChanged: "Sign in."
        case .untrustedAnswer: "Somebody may be trying to sign you in as somebody else. Begin again here in the app."
        case .renewedElsewhere, .biometricsNotMatched, .biometricsUnavailable: "Try again, or sign in otherwise."
        case .biometricsLockedOut: "Lock this device, unlock it, and try again."
        case .wrongCredentials: "Type both again."
        case .wrongSecondFactor: "Wait for the next code, and sign in again."
        case .interrupted: "Sign in again here in the app."
        case .browserNeeded: "Sign in with the browser."
        case .refused: "Ask the service that you wanted to use."
        case .tlsPinMismatch: "Use another network. If that does not help, update this app."
        case .networkError, .storageError: "Try again."
        case .protocolError, .storageNewer: "Update this app."
        case .untrustedServer, .misconfigured: "Tell the makers of this app."
        }
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

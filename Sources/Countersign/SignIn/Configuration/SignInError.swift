import JOSE
import OAuth
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Why a person is not signed in, or not signed out. Each code says what the app does; two are equal when their codes are.
public struct SignInError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What happened, and what the app does next.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        fileprivate enum Base: String {
            case cancelled, interrupted, denied, untrustedAnswer, notSignedIn, sessionEnded, renewedElsewhere
            case biometricsNotMatched, biometricsLockedOut, biometricsChanged, biometricsUnavailable
            case wrongCredentials, wrongSecondFactor, browserNeeded, refused, networkError, untrustedServer,
                protocolError, storageError
            case storageNewer, misconfigured
        }
        fileprivate let base: Base
        /// The person closed the browser or the dialog. Show what was there before: what is kept stays, and they can try
        /// again.
        public static let cancelled = Self(base: .cancelled)
        /// The person, or who vouches for them, said no on a page. Show the sign-in screen.
        public static let denied = Self(base: .denied)
        /// What came back from the browser is no answer to what was asked: another state, another issuer, another address.
        /// Nothing was exchanged. Warn the person, and let them begin anew.
        public static let untrustedAnswer = Self(base: .untrustedAnswer)
        /// Nobody is signed in, and nothing is kept. Show the sign-in screen.
        public static let notSignedIn = Self(base: .notSignedIn)
        /// The server does not take what is kept any more; it was deleted here. Show the sign-in screen.
        public static let sessionEnded = Self(base: .sessionEnded)
        /// Another process of this app has renewed the session, and what it has lies behind the person's finger or face. Call
        /// ``SignIn/restore(prompt:)``.
        public static let renewedElsewhere = Self(base: .renewedElsewhere)
        /// Not the person's finger or face. What is kept stays: let them try again, or sign in otherwise.
        public static let biometricsNotMatched = Self(base: .biometricsNotMatched)
        /// Too many misses. What is kept stays: ask the person to unlock the device with its passcode, and to try again.
        public static let biometricsLockedOut = Self(base: .biometricsLockedOut)
        /// The enrolled fingers or faces are others than before; what was kept is gone. Say so, and show the sign-in screen.
        public static let biometricsChanged = Self(base: .biometricsChanged)
        /// The sensor does not answer. What is kept stays: let the person try again, or sign in otherwise.
        public static let biometricsUnavailable = Self(base: .biometricsUnavailable)
        /// The name or the password is wrong: which of them, nobody says. What was saved is gone. Empty the password's field,
        /// and let the person type again.
        public static let wrongCredentials = Self(base: .wrongCredentials)
        /// The codes of the person's authenticator app were wrong, as often as a sign-in takes one or the server does. What is
        /// saved stays. Show the sign-in screen.
        public static let wrongSecondFactor = Self(base: .wrongSecondFactor)
        /// The app ended while the browser was open: ``SignIn/interruption``. Say so, and let the person begin anew.
        public static let interrupted = Self(base: .interrupted)
        /// The server wants more of the person than a name and a password here. Sign in with the browser.
        public static let browserNeeded = Self(base: .browserNeeded)
        /// The server refused for a reason of its own, which ``serverCode`` names. Send the person to whoever runs the
        /// service.
        public static let refused = Self(base: .refused)
        /// The server does not answer. Transient: let the person try again; what is kept stays.
        public static let networkError = Self(base: .networkError)
        /// The server's certificate or name does not hold, or its address is not secure. Nothing secret was sent. Report it.
        public static let untrustedServer = Self(base: .untrustedServer)
        /// The server's answer makes no sense: app and server do not understand each other. Ask the person to update the
        /// app.
        public static let protocolError = Self(base: .protocolError)
        /// The device's storage failed. Try again, then report it.
        public static let storageError = Self(base: .storageError)
        /// A later version of the app has written what is kept. Nothing is lost: have the person update the app, or sign in
        /// anew.
        public static let storageNewer = Self(base: .storageNewer)
        /// The configuration, or what the platform was given, does not do. A mistake in the app's code.
        public static let misconfigured = Self(base: .misconfigured)
        public var description: String { self.base.rawValue }
    }

    /// What happened.
    public let code: Code
    /// The word or the number with which the server refused: an error of OAuth, or a code of the sign-in service.
    public let serverCode: String?
    /// For the log: never a secret, and nothing that the server wrote.
    public let reason: String

    /// An error of that code; `reason` goes to the log alone.
    public init(_ code: Code, serverCode: String? = nil, _ reason: String = "") {
        self.code = code
        self.serverCode = serverCode
        self.reason = reason
    }

    public var description: String {
        "SignInError.\(self.code)\(self.serverCode.map { ", \($0)" } ?? ""): \(self.reason)"
    }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}

extension SignInError: LocalizedError {
    /// What happened, in English and fit to be shown: nothing of it comes from the server.
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
        case .protocolError: "The server's answer makes no sense."
        case .storageError: "This device's storage failed."
        case .storageNewer: "This app is too old."
        case .misconfigured: "This app is not set up right."
        }
    }

    /// What a person does about it, in English and fit to be shown.
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
        case .networkError, .storageError: "Try again."
        case .protocolError, .storageNewer: "Update this app."
        case .untrustedServer, .misconfigured: "Tell the makers of this app."
        }
    }
}

extension SignInError {
    /// An error of a lower floor, as an app sees it. A cancelled task stays one.
    static func translating(_ error: any Error) -> any Error {
        switch error {
        case is SignInError, is CancellationError: error
        case let error as TransportError:
            switch error.code {
            case .insecure, .untrustedServer: SignInError(.untrustedServer, error.reason)
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

package import Countersign

/// An error of the operating system, as a domain and a number, and its meaning.
package struct SystemRefusal: Error, Hashable, Sendable {
    /// The part of the operating system that refused.
    package enum Source: Hashable, Sendable {
        /// `LAErrorDomain`.
        case localAuthentication
        /// `NSOSStatusErrorDomain`: the Keychain, and keys.
        case security
        /// `TKErrorDomain` of CryptoTokenKit: the Secure Enclave as a token.
        case token
        /// Any other domain.
        case other
    }

    package let source: Source
    package let code: Int

    package init(_ source: Source, _ code: Int) {
        self.source = source
        self.code = code
    }

    /// Creates a refusal from the domain and the number of an `NSError`.
    package init(domain: String, code: Int) {
        switch domain {
        case "com.apple.LocalAuthentication": self.init(.localAuthentication, code)
        case "NSOSStatusErrorDomain": self.init(.security, code)
        case "CryptoTokenKit": self.init(.token, code)
        default: self.init(.other, code)
        }
    }

    /// The meaning of a refusal.
    package enum Meaning: Hashable, Sendable {
        /// The result of a question to the person.
        case reading(BiometricReading)
        /// No finger, face or passcode is set up that could answer.
        case nothingEnrolled
        /// The operating system could not ask.
        case sensor(SensorError)
        /// The device is locked: nothing is lost.
        case locked
        /// The item or the key is not there, or opens to nobody any more.
        case missing
        /// A number without a meaning here.
        case unknown
    }

    /// The meaning of the number (`LAError.h`, `SecBase.h`, `TKError.h`).
    package var meaning: Meaning {
        switch self.source {
        case .localAuthentication: Self.meaning(ofLocalAuthentication: self.code)
        case .security: Self.meaning(ofSecurity: KeychainStatus(rawValue: Int32(truncatingIfNeeded: self.code)))
        case .token: Self.meaning(ofToken: self.code)
        case .other: .unknown
        }
    }

    private static func meaning(ofLocalAuthentication code: Int) -> Meaning {
        switch code {
        // authenticationFailed: the dialog has seen misses and ended.
        case -1: .reading(.noMatch(hint: ""))
        // userCancel; userFallback, for a key that the passcode does not open; systemCancel, when another app comes to
        // the front; appCancel.
        case -2, -3, -4, -9: .reading(.cancelled)
        // passcodeNotSet, biometryNotEnrolled
        case -5, -7: .nothingEnrolled
        // biometryLockout
        case -8: .reading(.lockedOut)
        // biometryNotAvailable, also if the person has forbidden the app to use faces; biometryNotPaired,
        // biometryDisconnected; notInteractive, when the app is not in front.
        case -6, -12, -13, -1004: .sensor(.disconnected)
        // invalidContext: the question was withdrawn.
        case -10: .reading(.cancelled)
        default: .unknown
        }
    }

    private static func meaning(ofSecurity status: KeychainStatus) -> Meaning {
        switch status {
        case .userCancelled: .reading(.cancelled)
        case .authenticationFailed: .reading(.noMatch(hint: ""))
        case .interactionNotAllowed, .notAvailable: .locked
        case .itemNotFound, .undecodable: .missing
        default: .unknown
        }
    }

    private static func meaning(ofToken code: Int) -> Meaning {
        switch code {
        // corruptedData, objectNotFound
        case -3, -6: .missing
        // canceledByUser
        case -4: .reading(.cancelled)
        // authenticationFailed
        case -5: .reading(.noMatch(hint: ""))
        default: .unknown
        }
    }
}

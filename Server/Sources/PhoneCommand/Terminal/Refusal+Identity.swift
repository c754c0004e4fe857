import Countersign
import Foundation
import _Primitives

extension Refusal {
    /// Makes the refusal for a lockout that the program does not wait for; `nil` for a permanent lockout.
    init(lockedFor seconds: Int?) {
        guard let seconds else {
            self.init(
                .lockedOut, .lockedOut, "locked-for-good",
                "There were too many failed attempts: this activation is disabled. `depersonalize`, and ask for a new one."
            )
            return
        }
        self.init(
            .lockedOut, .lockedOut, "locked-out",
            "There was a failed attempt, and nothing is judged for another \(seconds) seconds. Then begin again.")
    }

    /// Makes a refusal with the event in the SDK's words, and with the person's next step at this phone.
    init(_ error: CountersignError) {
        if let error = error as? CountersignLockoutError {
            self.init(lockedFor: error.information.seconds)
            return
        }
        let reason = Self.kebab(error.errorCode)
        var happened = error.errorDescription ?? "Something went wrong."
        if let error = error as? CountersignSecurityInsufficientError, !error.reasons.isEmpty {
            happened = "This device is not sound enough (\(error.reasons.joined(separator: ", ")))."
        }
        let (status, outcome, advice) = Self.ending(of: error.errorCode)
        if [.failed, .unreachable].contains(outcome), !error.reason.isEmpty {
            happened = "\(happened.dropLast()) (\(error.reason))."
        }
        self.init(status, outcome, reason, "\(happened) \(advice)")
    }

    /// Returns the end of the program and the person's next step for each cause.
    private static func ending(of code: CountersignErrorCode) -> (Ending, Outcome, String) {
        switch code {
        case .connectionError, .timeout:
            (.unreachable, .unreachable, "Try again, in two minutes where it ends so again.")
        case .tooManyRequests: (.unreachable, .unreachable, "Wait a while, and try again.")
        case .tlsError: (.unreachable, .unreachable, "Is the certificate authority right (--ca-file)?")
        case .tlsPinMismatch:
            (.refused, .refused, "Use another network, or ask the service for its new pins (--tls-pin).")
        case .notPersonalized:
            (.notFound, .notFound, "Personalise it with an activation code: `countersign-phone enroll CODE`.")
        case .serverSignatureInvalid:
            (
                .refused, .refused,
                "Nothing of it was used. Was the code damaged, or is the root key another one? Compare it with what "
                    + "`countersign admin identity root` prints, and `trust` the server anew."
            )
        case .unknownManager:
            (.refused, .refused, "Have its operator's root key, and say `countersign-phone trust SERVER --key FILE`.")
        case .alreadyPersonalized: (.refused, .refused, "`depersonalize` it first.")
        case .activationUnknown, .activationDisabled, .keyRemovedBySystem:
            (.refused, .refused, "`depersonalize`, and ask for a new activation.")
        case .activationDataExpired, .activationDataConsumed: (.refused, .refused, "Ask for a new one.")
        case .sessionExpired, .sessionConsumed, .sessionAborted, .sessionSuperseded, .grantExpired:
            (.refused, .refused, "Have a new code shown where you started, or begin again.")
        case .serviceInactive: (.refused, .refused, "The service is switched off: ask it.")
        case .membershipRequired: (.refused, .refused, "It is for members of an organisation: ask it to take you in.")
        case .invitationRequired: (.refused, .refused, "It is for those who were invited: ask for an invitation.")
        case .noRole: (.refused, .refused, "You hold no role there: ask the service.")
        case .originRefused: (.refused, .refused, "The page is not one of the service's: close it.")
        case .attributesIncomplete, .correctionLimitExceeded:
            (.refused, .refused, "Have a new code shown, and try again.")
        case .untrustedFacetID:
            (.refused, .refused, "Its operator takes apps by `serve --facets`; the log says which this one is.")
        case .answersOutdated: (.refused, .refused, "Try again, and choose anew: nothing was counted.")
        case .consentRequired:
            (.refused, .refused, "Sign in to the service in a browser once, and agree there; then try again.")
        case .biometricCancelled: (.refused, .denied, "Nothing was signed.")
        case .biometricInvalidated:
            (.refused, .refused, "Use another factor (--factor); `countersign-phone factor add` replaces it.")
        case .biometricUnavailable: (.refused, .refused, "Set the simulated device up first (`sensor`).")
        case .biometricLockedOut:
            (.lockedOut, .lockedOut, "Unlock the simulated sensor (`sensor`), and try again.")
        case .deviceLockNotSet: (.refused, .refused, "Set the simulated passcode (`sensor --passcode match`).")
        case .factorNotEnrolled: (.refused, .refused, "`countersign-phone factor add` adds one.")
        case .factorAlreadyEnrolled: (.refused, .refused, "There is nothing to do.")
        case .pinRefused: (.refused, .refused, "Choose another PIN.")
        case .pinAlreadyAsked: (.refused, .refused, "Wait a moment, and begin again with the PIN that is right.")
        case .mergeConflict: (.refused, .refused, "Ask whoever has invited you.")
        case .securityInsufficient:
            (.refused, .refused, "It counts for no failed attempt (`integrity` says what is simulated).")
        case .clockSkew: (.refused, .failed, "Set the clock (`clock`).")
        case .cancelled: (.refused, .denied, "Nothing was done.")
        case .protocolVersionUnsupported, .storageNewer: (.refused, .failed, "This phone needs an update.")
        case .storageCorrupt: (.refused, .failed, "Only `wipe` helps; then personalise it anew.")
        case .storageUnavailable: (.refused, .failed, "Is another command using this phone?")
        default: (.refused, .failed, "Try again, and then tell the makers of this phone.")
        }
    }
}

extension LockoutInformation {
    /// The length of the lockout at the server's answer, in whole seconds; `nil` for a permanent lockout.
    var seconds: Int? {
        guard !self.isPermanent else { return nil }
        return Int(max(0, self.lockedUntil.timeIntervalSince(self.serverTime)).rounded(.up))
    }
}

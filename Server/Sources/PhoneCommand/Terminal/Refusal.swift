import Ceremony
import Countersign
import Foundation
import UAFClient
import _Primitives

/// The exit codes of the program.
enum Ending: Int32 {
    case done = 0
    case refused = 1
    case usage = 2
    case notFound = 3
    case lockedOut = 4
    case unreachable = 5
}

/// The result of a command, in one word for scripts.
enum Outcome: String {
    case answered, approved, authenticated, deregistered, enrolled, forgotten, listed, opened, revoked, wiped
    case activated, added, changed, deleted, depersonalized, merged, personalized, repaired, trusted
    case denied, refused, failed, unreachable, usage
    case lockedOut = "locked-out"
    case signedIn = "signed-in"
    case signedOut = "signed-out"
    case notFound = "not-found"
}

extension JSON {
    /// The word of an outcome.
    static func outcome(_ outcome: Outcome) -> JSON { .string(outcome.rawValue) }
}

/// The end of the program, once everything has been said.
struct Ended: Error {
    let status: Ending

    func exit() -> Never {
        PhoneTerminal.restoreKeyboard()
        Foundation.exit(self.status.rawValue)
    }
}

/// The reason that a command failed: a word for scripts, a sentence for people, and the exit code.
struct Refusal: Error, Equatable {
    let status: Ending
    /// The result: a word for a failure, never for a success.
    let outcome: Outcome
    /// The cause in kebab-case, for scripts.
    let reason: String
    let sentence: String

    init(_ status: Ending, _ outcome: Outcome, _ reason: String, _ sentence: String) {
        self.status = status
        self.outcome = outcome
        self.reason = reason
        self.sentence = sentence
    }

    static func usage(_ sentence: String) -> Self { Self(.usage, .usage, "usage", sentence) }
    static func notFound(_ reason: String, _ sentence: String) -> Self {
        Self(.notFound, .notFound, reason, sentence)
    }
    static func failed(_ reason: String, _ sentence: String) -> Self { Self(.refused, .failed, reason, sentence) }

    /// Turns an error into this program's error, with a sentence in a language.
    ///
    /// In English the sentence is the program's own, with the commands that help. In another language the sentence of an
    /// error of the SDK is the message of the SDK's catalogue.
    init(_ error: any Error, in language: any MessageLanguage) {
        let english = Refusal(error)
        guard !language.tag.hasSameBytes(as: EnglishMessages().tag), let error = error as? any ExplainedError else {
            self = english
            return
        }
        self.init(english.status, english.outcome, english.reason, error.message(in: language).text)
    }

    /// Turns the errors of the layers below into this program's errors. This is the only such place.
    init(_ error: any Error) {
        switch error {
        case let refusal as Refusal: self = refusal
        case let error as PictureError: self.init(error)
        case let error as OutOfBandPayloadError: self.init(error)
        case let error as OperationError: self.init(error)
        case let error as InitializationError: self.init(error)
        case let error as SignInError: self.init(error)
        case let error as CountersignError: self.init(error)
        case let error as StorageError: self.init(error)
        case let error as TransportError where error.code == .tlsPinMismatch: self.init(OperationError(.tlsPinMismatch))
        default: self = .failed("unknown", "Something went wrong: \(error)")
        }
    }

    private init(_ error: PictureError) {
        switch error {
        case .unreadable(let path): self = .notFound("no-such-file", "There is no readable file \(path).")
        case .tooLarge: self = .failed("picture-too-large", "The picture is too large.")
        case .notPNG:
            self = .failed(
                "not-a-picture", "That is not a PNG picture. A code as text is given itself, or from a file as -.")
        case .noCode: self = .notFound("no-code", "There is no QR code in the picture.")
        case .severalCodes: self = .failed("several-codes", "There are several QR codes in the picture: show only one.")
        }
    }

    private init(_ error: OutOfBandPayloadError) {
        self = .failed(Self.kebab(error.code), "\(error.localizedDescription) \(Self.advice(error.recovery))")
    }

    private init(_ error: InitializationError) {
        switch error.code {
        case .storageInUse: self = .failed("storage-in-use", "Another command is using this phone.")
        case .storageCorrupt:
            self = .failed(
                "storage-corrupt",
                "Nothing that this phone keeps can be opened. Only `wipe` helps; then enrol each account again.")
        case .noDeviceLock:
            self = .failed(
                "no-device-lock",
                "\(error.localizedDescription) Set the simulated passcode (`sensor --passcode match`).")
        default: self = .failed(Self.kebab(error.code), "The phone cannot be switched on (\(error.reason)).")
        }
    }

    private init(_ error: StorageError) {
        switch error.code {
        case .inUse: self.init(InitializationError(.storageInUse))
        case .corrupt: self.init(InitializationError(.storageCorrupt))
        case .locked:
            self = .failed(
                "keyring-locked", "Your keyring is locked (\(error.reason)). Unlock it, and say the same again.")
        case .unsupported:
            self = .failed(
                "no-secret-service",
                "The app's key is in a keyring, and there is none here (\(error.reason)). Come from your session.")
        default: self.init(InitializationError(.storageUnavailable, error.reason))
        }
    }

    private init(_ error: SignInError) {
        let reason = Self.kebab(error.code)
        let sentence = [error.errorDescription, error.recoverySuggestion].compactMap(\.self).joined(separator: " ")
        switch error.code {
        case .cancelled, .denied: self.init(.refused, .denied, reason, sentence)
        case .notSignedIn: self = .notFound(reason, sentence)
        case .biometricsLockedOut: self.init(.lockedOut, .lockedOut, reason, sentence)
        case .networkError: self.init(.unreachable, .unreachable, reason, sentence)
        case .wrongCredentials, .refused, .sessionEnded, .browserNeeded, .untrustedAnswer, .tlsPinMismatch:
            self.init(.refused, .refused, reason, sentence)
        default: self = .failed(reason, "\(sentence) (\(error.reason))")
        }
    }

    /// Makes a refusal with the event, in the SDK's words or in plainer words, and with the next step from the SDK's
    /// recovery.
    private init(_ error: OperationError) {
        let (status, outcome, reason) = Self.ending(of: error)
        var sentence = Self.happened(error)
        if reason != "denied" { sentence += " \(Self.advice(error.recovery))" }
        self.init(status, outcome, reason, sentence)
    }

    private static func ending(of error: OperationError) -> (Ending, Outcome, String) {
        let reason = Self.kebab(error.code)
        switch error.code {
        case .fidoError: break
        case .networkError: return (.unreachable, .unreachable, "unreachable")
        case .tokenUnknown, .sessionUnknown, .dispatchTargetUnknown, .pinNotEnrolled, .passwordNotEnrolled:
            return (.notFound, .notFound, reason)
        case .unknownUsername: return (.notFound, .notFound, "no-such-account")
        case .pinLocked, .passwordLocked: return (.lockedOut, .lockedOut, "locked-out")
        case .userNotRegisteredInServer, .notAuthorized, .tokenExpired, .tokenAlreadyRedeemed, .codeCameByLink,
            .hostNotAllowed, .accountLocked, .tlsPinMismatch, .nameAlreadyExists, .deviceLimited:
            return (.refused, .refused, reason)
        default: return (.refused, .failed, reason)
        }
        switch error.fidoErrorCode ?? .unknown {
        case .userCanceled: return (.refused, .denied, "denied")
        case .userLockout: return (.lockedOut, .lockedOut, "locked-out")
        case .userNotResponsive: return (.refused, .failed, "no-answer")
        case .noSuitableAuthenticator: return (.refused, .refused, "no-suitable-authenticator")
        case .keyDisappearedPermanently: return (.refused, .failed, "key-disappeared")
        case .invalidTransactionContent: return (.refused, .refused, "invalid-transaction")
        case .untrustedFacetID: return (.refused, .refused, "untrusted-app")
        case .insecureTransport: return (.refused, .refused, "insecure-transport")
        case .protocolError where error.serverStatusCode == 1403: return (.refused, .refused, "not-allowed")
        case .protocolError where error.serverStatusCode != nil: return (.refused, .refused, "refused-by-server")
        case .protocolError: return (.refused, .failed, "protocol-error")
        case let fido: return (.refused, .failed, "fido-\(fido.rawValue)")
        }
    }

    private static func happened(_ error: OperationError) -> String {
        switch (error.code, error.fidoErrorCode ?? .unknown) {
        case (.fidoError, .userCanceled): "Denied. The service has been told."
        case (.fidoError, .protocolError) where error.serverStatusCode == 1403:
            "The server says no: not confirmed yet, or locked."
        case (.fidoError, .protocolError) where error.serverStatusCode != nil:
            "The server says no (\(error.serverStatusCode ?? 0))."
        case (.fidoError, .protocolError), (.fidoError, .unknown), (.networkError, _), (.unknown, _),
            (.missingInteraction, _), (.storageError, _), (.dispatcherUnknown, _):
            "\(error.localizedDescription.dropLast()) (\(error.reason))."
        default: error.localizedDescription
        }
    }

    /// Returns the person's next step at this phone.
    private static func advice(_ recovery: OperationError.Recovery) -> String {
        switch recovery {
        case .nothing: "There is nothing to do."
        case .tryAgain: "Try again."
        case .checkOutcome: "It may be done all the same: look where you started before you do it again."
        case .haveCodeShownAgain: "Have a new code shown where you started."
        case .warnPerson:
            "Somebody may want to sign in as you. Scan codes only from pages that you opened yourself."
        case .changeNetwork: "Use another network, or ask the service for its new pins (--tls-pin)."
        case .authenticate: "Authenticate first (`countersign-phone authenticate NAME`)."
        case .chooseAnotherAuthenticator: "Choose another one with --authenticator, or enrol one."
        case .enrollAgain: "Ask the service for a new link, and enrol again (`countersign-phone enroll LINK`)."
        case .replaceLockedKey:
            "Ask the service for a new link, and enrol again with it (`countersign-phone enroll LINK`): the new key "
                + "takes the place of the locked one. Your other accounts are not touched."
        case .unlockDevice: "The device has locked its sensor: unlock it (`sensor`), and try again."
        case .enrollWithOperatingSystem: "Set the simulated device up first (`sensor`)."
        case .forgetAccountOfThatName:
            "If you do not need the account of that name at the other server, `forget` that one alone."
        case .makeRoom: "`deregister` an account that you do not use any more."
        case .chooseAnotherName: "Choose another name (`countersign-phone device rename NAME`)."
        case .contactService: "Ask the service."
        case .updateApp: "This phone needs an update."
        case .correctApp: "This phone, or the server, is set up wrongly."
        case .report: "Tell the makers of this phone."
        }
    }

    /// Returns `tokenExpired` as `token-expired`.
    static func kebab(_ name: some CustomStringConvertible) -> String {
        name.description.reduce(into: "") { text, letter in
            text += letter.isUppercase ? "-\(letter.lowercased())" : String(letter)
        }
    }
}

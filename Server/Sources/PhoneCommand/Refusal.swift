import Ceremony
import Countersign
import UAFClient

/// Why a command did not do what it was asked to: a word for scripts, a sentence for people, and how to end.
struct Refusal: Error, Equatable {
    let status: Ending
    /// What came of it in one word: `denied`, `refused`, `failed`, `locked-out`, `unreachable`, `not-found`, `usage`.
    let outcome: String
    /// The cause in kebab-case, for scripts.
    let reason: String
    let sentence: String

    init(_ status: Ending, _ outcome: String, _ reason: String, _ sentence: String) {
        self.status = status
        self.outcome = outcome
        self.reason = reason
        self.sentence = sentence
    }

    static func usage(_ sentence: String) -> Self { Self(.usage, "usage", "usage", sentence) }
    static func notFound(_ reason: String, _ sentence: String) -> Self {
        Self(.notFound, "not-found", reason, sentence)
    }
    static func failed(_ reason: String, _ sentence: String) -> Self { Self(.refused, "failed", reason, sentence) }

    /// The one place where the errors of the layers below become this program's.
    init(_ error: any Error) {
        switch error {
        case let refusal as Refusal: self = refusal
        case let error as PictureError: self.init(error)
        case let error as OutOfBandPayloadError: self.init(error)
        case let error as OperationError: self.init(error)
        case let error as InitializationError: self.init(error)
        case let error as StorageError:
            self.init(InitializationError(error.code == .inUse ? .storageInUse : .storageCorrupt))
        default: self = .failed("unknown", "Something went wrong: \(error)")
        }
    }

    private init(_ error: PictureError) {
        switch error {
        case .unreadable(let path): self = .notFound("no-such-file", "There is no readable file \(path).")
        case .tooLarge: self = .failed("picture-too-large", "The picture is too large.")
        case .notPNG: self = .failed("not-a-picture", "That is not a PNG picture.")
        case .noCode: self = .notFound("no-code", "There is no QR code in the picture.")
        case .severalCodes: self = .failed("several-codes", "There are several QR codes in the picture: show only one.")
        }
    }

    private init(_ error: OutOfBandPayloadError) {
        let isOld = error.code == .unsupportedVersion
        self = .failed(
            Self.kebab(error.code),
            isOld ? "This code is of another version of the product." : "That is not a code of this product.")
    }

    private init(_ error: InitializationError) {
        switch error.code {
        case .storageInUse: self = .failed("storage-in-use", "Another command is using this phone.")
        case .storageCorrupt:
            self = .failed(
                "storage-corrupt",
                "Nothing that this phone keeps can be opened. Only `wipe` helps; then enrol each account again.")
        default: self = .failed(Self.kebab(error.code), "The phone cannot be switched on (\(error.reason)).")
        }
    }

    private init(_ error: OperationError) {
        let reason = Self.kebab(error.code)
        switch error.code {
        case .fidoError where error.recovery == .unlockDevice:
            self.init(
                .lockedOut, "locked-out", "locked-out",
                "Too many wrong tries: the device has locked its sensor. Unlock it (`sensor`), and try again.")
        case .fidoError: self.init(error.fidoErrorCode ?? .unknown, error.serverStatusCode, error.reason)
        case .networkError:
            self.init(.unreachable, "unreachable", "unreachable", "The server does not answer (\(error.reason)).")
        case .userNotRegisteredInServer:
            self.init(.refused, "refused", reason, "The server does not know this phone any more. Enrol again.")
        case .notAuthorized: self.init(.refused, "refused", reason, "The server wants you to authenticate again.")
        case .tokenExpired: self.init(.refused, "refused", reason, "The code has expired. Have a new one shown.")
        case .tokenAlreadyRedeemed:
            self.init(.refused, "refused", reason, "The code was used before, perhaps by somebody else.")
        case .tokenUnknown: self = .notFound(reason, "The server does not know this code.")
        case .codeCameByLink:
            self.init(
                .refused, "refused", reason,
                "This code is for scanning, and came in a link: somebody may want to sign in as you. "
                    + "Nobody was signed in. Scan the code itself, from a page that you opened.")
        case .hostNotAllowed:
            self.init(.refused, "refused", reason, "The code points to an address that is not trusted.")
        case .sessionUnknown: self = .notFound(reason, "There is no such session, or it has ended.")
        case .accountLocked: self.init(.refused, "refused", reason, "The account is locked.")
        default: self = .failed(reason, "It did not work (\(error.reason)).")
        }
    }

    private init(_ fido: FidoErrorCode, _ server: Int?, _ detail: String) {
        switch fido {
        case .userCanceled: self.init(.refused, "denied", "denied", "Denied. The service has been told.")
        case .userLockout:
            self.init(
                .lockedOut, "locked-out", "locked-out",
                "Too many wrong tries: locked. Ask the service for a new link, and enrol again with it "
                    + "(`countersign-phone enroll LINK`): the new key takes the place of the locked one. "
                    + "Your other accounts are not touched.")
        case .userNotResponsive: self = .failed("no-answer", "Nobody answered in time.")
        case .noSuitableAuthenticator:
            self.init(.refused, "refused", "no-suitable-authenticator", "Nothing on this phone can answer that.")
        case .keyDisappearedPermanently:
            self = .failed(
                "key-disappeared",
                "The key is gone, because the enrolled fingers, faces or passcode changed. Enrol again.")
        case .invalidTransactionContent:
            self.init(.refused, "refused", "invalid-transaction", "The text to confirm cannot be shown safely.")
        case .untrustedFacetId:
            self.init(.refused, "refused", "untrusted-app", "The server does not trust this program.")
        case .insecureTransport:
            self.init(
                .refused, "refused", "insecure-transport", "The code points to an address that is not trusted.")
        case .protocolError where server == 1403:
            self.init(.refused, "refused", "not-allowed", "The server says no: not confirmed yet, or locked.")
        case .protocolError where server != nil:
            self.init(.refused, "refused", "refused-by-server", "The server says no (\(server ?? 0)).")
        case .protocolError: self = .failed("protocol-error", "The server's answer makes no sense (\(detail)).")
        default: self = .failed("fido-\(fido.rawValue)", "It did not work (\(detail)).")
        }
    }

    /// `tokenExpired` as `token-expired`.
    static func kebab(_ name: some CustomStringConvertible) -> String {
        name.description.reduce(into: "") { text, letter in
            text += letter.isUppercase ? "-\(letter.lowercased())" : String(letter)
        }
    }
}

import UAF

/// The reason why the engine did not do its work: the event alone, without advice. Each face translates this error into
/// an error of its own, which tells the app what to do.
struct EngineError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The event that caused the error.
    enum Cause: Hashable, Sendable {
        /// The server has not answered, its answer says to come later, or the result of an earlier request is still
        /// unknown.
        case unavailable
        /// The server requires authentication of the caller first.
        case notAuthorized
        /// The device's clock differs from the server's clock, and the server refused a proof by its own time too, or
        /// did not tell its time.
        case clockSkew
        /// The server has locked the account.
        case accountLocked
        /// The server does not know the token.
        case tokenUnknown
        /// The token was redeemed before.
        case tokenSpent
        /// The token was not redeemed before its expiry.
        case tokenExpired
        /// The token was dispatched to another device, or the server does not accept this device's proof.
        case tokenOfOtherDevice
        /// The token's address has a host that is not configured. Nothing was sent.
        case foreignHost
        /// The token's address is not secure. Nothing was sent.
        case insecureAddress
        /// A configured path is not a valid path. Nothing was sent.
        case misconfigured
        /// A header field of the app or of its authorization provider cannot be sent. Nothing was sent.
        case unusableHeader
        /// The answer has a kind that this version does not read.
        case unreadable
        /// The answer is malformed, or does not fit the request.
        case malformed
        /// The server has judged the message and refused it.
        case refused
        /// The server has judged the message and does not know the key.
        case unknownKey
        /// There is no such account on this device. Nothing was sent.
        case unknownAccount
        /// The device already has an account at the server. Nothing was sent.
        case knownAccount
        /// The account has no such factor on this device. Nothing was sent.
        case noSuchFactor
        /// The factor has become invalid because the biometrics enrolled in the operating system changed. Nothing was
        /// sent.
        case factorInvalidated
        /// The operating system has locked the sensor. Nothing was sent.
        case sensorLocked
        /// The keys were made when the app had the name `former`; the app has another name now. Nothing was sent.
        case appRenamed(former: String)
        /// The token was redeemed before, possibly by this device.
        case tokenSpentHere
        /// Another device of the person has the name that this device is to have.
        case nameTaken
        /// The server does not accept the name or the push address of this device.
        case targetInvalid
        /// The server has no dispatch target for this device.
        case targetUnknown
        /// The server has no dispatcher with the name.
        case dispatcherUnknown
        /// The server has judged the message, and the person has typed another number than the shown number.
        case wrongNumber
        /// The app could not prove which app it is, or the server did not accept the proof.
        case appNotProven(AppProofFailure)
        /// The person had to see or answer something, and no face showed it. Nothing was signed.
        case undisclosed
    }

    /// The reason why an app did not prove itself (decision 124).
    enum AppProofFailure: Hashable, Sendable {
        /// The app gave the SDK no `AppAttestor`. Nothing was signed.
        case noAttestor
        /// The service of the operating system does not answer now. Nothing was sent.
        case unavailable
        /// The device gives no evidence. Nothing was sent.
        case unsupported
        /// The server has judged the evidence, or its absence, and refused the message.
        case refused
    }

    /// The event that caused the error.
    let cause: Cause
    /// The HTTP status of the answer, if the status was not 200.
    let httpStatus: Int?
    /// The UAF status with which the server refused.
    let status: UAFStatusCode?
    /// The reason for the log: never a secret.
    let reason: String

    init(_ cause: Cause, httpStatus: Int? = nil, status: UAFStatusCode? = nil, _ reason: String = "") {
        self.cause = cause
        self.httpStatus = httpStatus
        self.status = status
        self.reason = reason
    }

    /// Creates the error of a complete answer that refuses the message.
    init(refusedWith status: UAFStatusCode) {
        if status == .unknownKeyID {
            self.init(.unknownKey, status: status, "the server does not know the key")
        } else {
            self.init(.refused, status: status, "the server refused with \(status)")
        }
    }

    var description: String { "EngineError.\(self.cause): \(self.reason)" }
}

/// The error of an operation whose answer was already sent. The server gets no report of the error, because the server
/// has judged the answer or is still judging.
struct Unanswered: Error {
    let cause: any Error
    /// `true` if the server's judgement is lost, so that the device does not know the fate of its answer.
    let isJudgementLost: Bool
}

import UAF

/// Why the engine has not done what it was to do: what happened, and no more. What an app does about it is each face's
/// own, which translates this into an error of its own.
struct EngineError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What happened.
    enum Cause: Hashable, Sendable {
        /// No answer of the server, or one that says to come later.
        case unavailable
        /// The server wants to know first who asks.
        case notAuthorized
        /// The server has locked the account.
        case accountLocked
        /// The server does not know the token.
        case tokenUnknown
        /// The token was redeemed before.
        case tokenSpent
        /// The token was not redeemed in time.
        case tokenExpired
        /// The token's address is at a host that is not configured. Nothing was sent.
        case foreignHost
        /// The token's address is not secure. Nothing was sent.
        case insecureAddress
        /// A configured path is none. Nothing was sent.
        case misconfigured
        /// The answer is of a kind that this version does not read.
        case unreadable
        /// The answer makes no sense, or not as an answer to what was asked.
        case malformed
        /// The server has judged, and said no.
        case refused
        /// The server has judged, and does not know the key.
        case unknownKey
        /// There is no such account on this device. Nothing was sent.
        case unknownAccount
        /// There is an account at that server on this device already. Nothing was sent.
        case knownAccount
        /// The account has no such factor on this device. Nothing was sent.
        case noSuchFactor
        /// The factor has ended with what the operating system has enrolled. Nothing was sent.
        case factorInvalidated
        /// The operating system has locked the sensor. Nothing was sent.
        case sensorLocked
        /// The keys were made when the app had the name that is here, and the app has another one now. Nothing was sent.
        case appRenamed(former: String)
        /// The token was redeemed before, and this device may have been it.
        case tokenSpentHere
        /// Something was to be shown to the person, or asked, and no face did. Nothing was signed.
        case undisclosed
    }

    /// What happened.
    let cause: Cause
    /// The HTTP status of the answer, where it was another one than 200.
    let httpStatus: Int?
    /// The UAF status with which the server refused.
    let status: UAFStatusCode?
    /// For the log: never a secret.
    let reason: String

    init(_ cause: Cause, httpStatus: Int? = nil, status: UAFStatusCode? = nil, _ reason: String = "") {
        self.cause = cause
        self.httpStatus = httpStatus
        self.status = status
        self.reason = reason
    }

    /// A refusal in an answer that is complete.
    init(refusedWith status: UAFStatusCode) {
        if status == .unknownKeyID {
            self.init(.unknownKey, status: status, "the server does not know the key")
        } else {
            self.init(.refused, status: status, "the server refused with \(status)")
        }
    }

    var description: String { "EngineError.\(self.cause): \(self.reason)" }
}

/// An error of an operation whose answer has left: the server gets no report of it, because it has judged, or judges yet.
struct Unanswered: Error {
    let cause: any Error
    /// Whether the server's judgement is lost, so that nobody here knows what has become of the answer.
    let isJudgementLost: Bool
}

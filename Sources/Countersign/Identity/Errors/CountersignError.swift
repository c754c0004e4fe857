#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The reason why a process of a personalised identity has failed. Every function of ``Authenticator``,
/// ``Personalizer`` and their companions throws this error and nothing else. Three subclasses carry more information;
/// catch them before this class.
///
/// ```swift
/// do {
///     try authenticator.startAuthenticationSynchronous(data: data)
/// } catch let error as CountersignLockoutError {
///     show(error.information.lockedUntil)
/// } catch let error as CountersignError {
///     show(error.errorCode)
/// }
/// ```
// Safe to share: no property of this class or of its subclasses, which are all in this file, ever changes.
public class CountersignError: Error, @unchecked Sendable, CustomStringConvertible {
    /// The kind of the error, which also determines the app's remedy.
    public let errorCode: CountersignErrorCode
    /// The reason for the log: never a secret, and never a text that the server or a person wrote.
    public let reason: String
    /// With ``CountersignErrorCode/tooManyRequests``: the time to wait before the next try, counted from the answer, if
    /// the server has stated a time. `nil` with every other code.
    public let retryAfter: Duration?
    /// With ``CountersignErrorCode/appRenamed``: the app's name at the time when the identity was made
    /// (``IdentityConfiguration/facetID``). `nil` with every other code.
    public let formerFacetID: String?

    init(
        _ errorCode: CountersignErrorCode, _ reason: String = "", retryAfter: Duration? = nil,
        formerFacetID: String? = nil
    ) {
        self.errorCode = errorCode
        self.reason = reason
        self.retryAfter = retryAfter
        self.formerFacetID = formerFacetID
    }

    public var description: String {
        self.reason.isEmpty
            ? "\(type(of: self)).\(self.errorCode)" : "\(type(of: self)).\(self.errorCode): \(self.reason)"
    }
}

extension CountersignError: ExplainedError {
    /// The event of the error, with the length of a lockout and the former name of the app.
    public var event: ErrorEvent {
        if let formerFacetID { return .appRenamed(former: formerFacetID) }
        guard let lockout = (self as? CountersignLockoutError)?.information else { return self.errorCode.event }
        return lockout.isPermanent ? .lockedOutForGood : .lockedOut(seconds: lockout.duration.wholeSeconds)
    }

    /// The person's next step, with the time to wait.
    public var advice: ErrorAdvice {
        if let retryAfter { return .waitAndTryAgain(seconds: retryAfter.wholeSeconds) }
        let isOver = (self as? CountersignLockoutError)?.information.isPermanent ?? false
        return isOver ? .personalizeAnew : self.errorCode.advice
    }
}

extension Duration {
    /// The duration in whole seconds, rounded up.
    fileprivate var wholeSeconds: Int { Int(clamping: self.secondsRoundedUp) }
}

extension CountersignError: LocalizedError {
    /// The event in English, fit to be shown.
    public var errorDescription: String? { EnglishMessages().words(self.event).text }

    /// The person's next step in English, fit to be shown.
    public var recoverySuggestion: String? { EnglishMessages().words(self.advice).text }
}

/// The error of an HTTP answer that cannot be used, from the server or from a system on the way to the server; with the
/// HTTP status.
public final class CountersignHttpError: CountersignError, @unchecked Sendable {
    /// The HTTP status of the answer.
    public let httpStatus: Int

    init(_ errorCode: CountersignErrorCode, httpStatus: Int, _ reason: String = "") {
        self.httpStatus = httpStatus
        super.init(errorCode, reason)
    }
}

/// The activation is locked out after failed attempts: the lockout was already running, or has just begun. The process
/// is over. Wait, and begin again; a permanent lockout never ends (``LockoutInformation/isPermanent``).
public final class CountersignLockoutError: CountersignError, @unchecked Sendable {
    /// The duration of the lockout.
    public let information: LockoutInformation

    init(_ information: LockoutInformation) {
        self.information = information
        super.init(.lockedOut, information.isPermanent ? "for good" : "for a while")
    }
}

/// The device is less secure than the server, or the app itself, requires. Tell the person; the refusal does not count
/// as a failed attempt.
public final class CountersignSecurityInsufficientError: CountersignError, @unchecked Sendable {
    /// The names of the problems, such as `rooted` and `hooked`, as the server or the app's own policy names them.
    public let reasons: [String]

    init(reasons: [String]) {
        self.reasons = reasons
        super.init(.securityInsufficient)
    }
}

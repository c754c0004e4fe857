#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Why a process of a personalised identity has not come to its end: what every function of ``Authenticator``,
/// ``Personalizer`` and their neighbours throws, and nothing else. Three kinds of it carry more, and are caught before it.
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
// Safe to share: no property of it or of its kinds, which are all in this file, ever changes.
public class CountersignError: Error, @unchecked Sendable, CustomStringConvertible {
    /// What happened, and what the app does about it.
    public let errorCode: CountersignErrorCode
    /// For the log: never a secret, and nothing that the server or a person wrote.
    public let reason: String
    /// With ``CountersignErrorCode/tooManyRequests``: how long to wait before the next try, counted from the answer, where the
    /// server has said it. `nil` with every other code.
    public let retryAfter: Duration?
    /// With ``CountersignErrorCode/appRenamed``: the name that the app had when the identity was made
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

extension CountersignError: LocalizedError {
    /// What happened, in English and fit to be shown.
    public var errorDescription: String? {
        guard let formerFacetID else { return self.errorCode.explanation }
        return "This app was called \(formerFacetID) when it was enrolled. Nothing is lost."
    }
}

/// The server, or something on the way to it, has answered without an answer that can be used: its HTTP status.
public final class CountersignHttpError: CountersignError, @unchecked Sendable {
    /// The status of the answer.
    public let httpStatus: Int

    init(_ errorCode: CountersignErrorCode, httpStatus: Int, _ reason: String = "") {
        self.httpStatus = httpStatus
        super.init(errorCode, reason)
    }
}

/// The activation rests after failed attempts, or does so from now on. The process is over: wait, and begin anew.
public final class CountersignLockoutError: CountersignError, @unchecked Sendable {
    /// How long.
    public let information: LockoutInformation

    init(_ information: LockoutInformation) {
        self.information = information
        super.init(.lockedOut, information.isPermanent ? "for good" : "for a while")
    }
}

/// The device is not as sound as the server, or the app itself, wants it. Tell the person; it counts for no failed attempt.
public final class CountersignSecurityInsufficientError: CountersignError, @unchecked Sendable {
    /// In what, by the names that the server or the app's own policy has for it, such as `rooted` and `hooked`.
    public let reasons: [String]

    init(reasons: [String]) {
        self.reasons = reasons
        super.init(.securityInsufficient)
    }
}

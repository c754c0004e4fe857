public import Settings
public import _Primitives

/// The refusal of a request about accounts, administrators, services, organisations or invitations. Two errors are
/// equal if their codes are equal. A store that cannot read or write throws `StoreError` instead.
public struct AccountError: CodedError {
    /// The reason of the refusal, for code that must choose.
    public enum Code: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
        /// A named object does not exist: an account, a device, a service, a value, an invitation, a link and so on.
        case notFound = "not-found"
        /// An existing object prevents the change: a name is taken, or the number of objects has reached its limit. The
        /// reason is a whole sentence.
        case conflict
        /// The content of the request is not acceptable, for example a name, an address or a lifetime.
        case invalidRequest = "invalid-request"
        /// The source has used up its budget.
        case tooManyRequests = "too-many-requests"

        /// The name, as in problem documents.
        public var description: String { self.rawValue }
    }

    /// The reason of the refusal.
    public let code: Code
    /// A text for the log and the caller, without secrets and without values from the caller.
    public let reason: String
    /// The exhausted budget, for ``Code/tooManyRequests``.
    public let shortage: Shortage?

    /// Creates an error. `reason` must contain no secret and no value from the caller.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
        self.shortage = nil
    }

    /// Throws the refusal for an exhausted budget; does nothing for `nil`.
    static func throwShortage(_ shortage: Shortage?) throws(AccountError) {
        if let shortage { throw AccountError(shortage) }
    }

    /// Returns the error of an exhausted budget.
    static func shortage(_ shortage: Shortage) -> AccountError { AccountError(shortage) }

    private init(_ shortage: Shortage) {
        self.code = .tooManyRequests
        self.reason = "\(shortage.setting) is used up"
        self.shortage = shortage
    }
}

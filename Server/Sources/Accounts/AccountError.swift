public import Store

/// Why a change of accounts or administrators is refused. Two are equal when their codes are. A store that cannot write
/// throws `StoreError` instead.
public struct AccountError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, for code that has to choose.
    public enum Code: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
        /// There is no such account, device, administrator or link.
        case notFound = "not-found"
        /// Something that is there stands against it: a name is taken, or there is enough of its kind. The reason is a whole
        /// sentence.
        case conflict
        /// What the request holds is not acceptable: a name, an address, a lifetime.
        case invalidRequest = "invalid-request"
        /// The source has used its budget up.
        case tooManyRequests = "too-many-requests"

        /// The name as it stands in problem documents.
        public var description: String { self.rawValue }
    }

    /// What went wrong.
    public let code: Code
    /// For the log and the caller: never a secret or a value that was sent.
    public let reason: String
    /// For ``Code/tooManyRequests``: what has run out.
    public let shortage: Shortage?

    /// Makes an error. `reason` must hold no secret and no value that was sent.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
        self.shortage = nil
    }

    /// Refuses whoever has run out of a budget; does nothing for `nil`.
    static func throwShortage(_ shortage: Shortage?) throws(AccountError) {
        if let shortage { throw AccountError(shortage) }
    }

    /// The error of a budget that is used up.
    static func shortage(_ shortage: Shortage) -> AccountError { AccountError(shortage) }

    private init(_ shortage: Shortage) {
        self.code = .tooManyRequests
        self.reason = "\(shortage.setting) is used up"
        self.shortage = shortage
    }

    public var description: String {
        self.reason.isEmpty ? "AccountError.\(self.code)" : "AccountError.\(self.code): \(self.reason)"
    }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}

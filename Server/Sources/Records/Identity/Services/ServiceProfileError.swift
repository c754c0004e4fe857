public import _Primitives

/// The reason why a profile is refused. Two errors are equal when their codes are equal.
public struct ServiceProfileError: CodedError {
    /// The kind of an error, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case malformed, noRole, tooMany, repeatedRole, invalidRole, invalidFactors, unknownAttribute, invalidDomain
            case invalidNewcomers
        }
        private let base: Base
        /// The document is not a profile.
        public static let malformed = Self(base: .malformed)
        /// The profile has no role.
        public static let noRole = Self(base: .noRole)
        /// The profile has more roles or login domains than a service may have.
        public static let tooMany = Self(base: .tooMany)
        /// Two roles have the same identifier.
        public static let repeatedRole = Self(base: .repeatedRole)
        /// A role cannot have this identifier or name.
        public static let invalidRole = Self(base: .invalidRole)
        /// The authenticators of a role cannot be required.
        public static let invalidFactors = Self(base: .invalidFactors)
        /// The attribute does not exist.
        public static let unknownAttribute = Self(base: .unknownAttribute)
        /// A login domain is not a host, or is listed twice.
        public static let invalidDomain = Self(base: .invalidDomain)
        /// Newcomers would be turned away all the same.
        public static let invalidNewcomers = Self(base: .invalidNewcomers)
        public var description: String { self.base.rawValue }
    }

    /// The kind of the error.
    public let code: Code
    /// Advice about the problem, for the operator who wrote the profile.
    public let reason: String

    /// Makes an error with the code.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}

/// Why a profile is refused. Two are equal when their codes are.
public struct ServiceProfileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case malformed, noRole, tooMany, repeatedRole, invalidRole, invalidFactors, unknownAttribute, invalidDomain
            case invalidNewcomers
        }
        private let base: Base
        /// Not the document that profiles are written as.
        public static let malformed = Self(base: .malformed)
        /// No role.
        public static let noRole = Self(base: .noRole)
        /// More roles or login domains than a service has.
        public static let tooMany = Self(base: .tooMany)
        /// Two roles of one identifier.
        public static let repeatedRole = Self(base: .repeatedRole)
        /// An identifier or a name that no role has.
        public static let invalidRole = Self(base: .invalidRole)
        /// Authenticators that cannot be asked for.
        public static let invalidFactors = Self(base: .invalidFactors)
        /// An attribute that there is not.
        public static let unknownAttribute = Self(base: .unknownAttribute)
        /// Not a host, or one that is there twice.
        public static let invalidDomain = Self(base: .invalidDomain)
        /// Newcomers who would be turned away all the same.
        public static let invalidNewcomers = Self(base: .invalidNewcomers)
        public var description: String { self.base.rawValue }
    }

    /// What is wrong.
    public let code: Code
    /// What to do about it, for the operator who wrote the profile.
    public let reason: String

    /// An error of that code.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public var description: String { "ServiceProfileError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}

/// Why bytes are not the UAF message, assertion, key or statement that was expected. Two are equal when their codes are.
public struct UAFError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for code that has to choose. A struct, so that a new code is not a breaking change.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case malformedJSON, wrongArraySize, missingMember, wrongType, outOfRange, invalidValue, invalidBase64URL
            case wrongOperation, truncatedField, unexpectedTag, unknownCriticalTag, duplicateTag, missingTag
            case trailingBytes, invalidLength, unsupportedAlgorithm, invalidKey, invalidSignature, criteriaCombination
            case malformedAssertion
        }
        private let base: Base

        /// Not JSON, a null, a member name twice, or beyond the reader's limits (§1).
        public static let malformedJSON = Self(base: .malformedJSON)
        /// The message is not an array of exactly one dictionary (§2.6).
        public static let wrongArraySize = Self(base: .wrongArraySize)
        /// A required member is not there (§2).
        public static let missingMember = Self(base: .missingMember)
        /// A member has another JSON type than the dictionary says (§2).
        public static let wrongType = Self(base: .wrongType)
        /// Too short, too long, empty where that is not allowed, or a number outside its width (§1).
        public static let outOfRange = Self(base: .outOfRange)
        /// A value of the right type and size that its rule does not allow.
        public static let invalidValue = Self(base: .invalidValue)
        /// Not base64url without padding (§1).
        public static let invalidBase64URL = Self(base: .invalidBase64URL)
        /// The header names another operation than the message that was expected (§2.1).
        public static let wrongOperation = Self(base: .wrongOperation)
        /// The bytes end before the length that a field announces (§3).
        public static let truncatedField = Self(base: .truncatedField)
        /// Another tag than the one that must stand here (§3).
        public static let unexpectedTag = Self(base: .unexpectedTag)
        /// A tag with the critical bit that this reader does not know (§3).
        public static let unknownCriticalTag = Self(base: .unknownCriticalTag)
        /// A tag of a single value that occurs twice (§3).
        public static let duplicateTag = Self(base: .duplicateTag)
        /// A mandatory tag is not there (§3).
        public static let missingTag = Self(base: .missingTag)
        /// Bytes are left after the last field (§3).
        public static let trailingBytes = Self(base: .trailingBytes)
        /// A field's value does not have the length that its definition gives (§3.1).
        public static let invalidLength = Self(base: .invalidLength)
        /// A signature algorithm or key format that this code cannot work with (§4).
        public static let unsupportedAlgorithm = Self(base: .unsupportedAlgorithm)
        /// Bytes that are no public key of the announced format, or a point that is not on the curve (§4.2).
        public static let invalidKey = Self(base: .invalidKey)
        /// Bytes that are no signature of the announced encoding (§4.1).
        public static let invalidSignature = Self(base: .invalidSignature)
        /// Match criteria whose members must not stand together, or lack one that must (§2.2).
        public static let criteriaCombination = Self(base: .criteriaCombination)
        /// A response's `assertion` that is not base64url of 1 to 4096 bytes (§1, §8.2 step 5).
        public static let malformedAssertion = Self(base: .malformedAssertion)

        public var description: String { self.base.rawValue }
    }

    /// What is wrong.
    public let code: Code
    /// For the log: a place, a member's name or a length, never a value of the message. Not for a peer.
    public let reason: String

    /// Makes an error. `reason` must hold no secret and no value that a peer sent.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    public var description: String { "UAFError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}

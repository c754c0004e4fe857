public import _Primitives

/// The reason why bytes are not the expected UAF message, assertion, key or statement. Two errors are equal if their
/// codes are equal.
public struct UAFError: CodedError {
    /// The kind of error, for code that has to choose. The type is a struct, so a new code is not a breaking change.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case malformedJSON, wrongArraySize, missingMember, wrongType, outOfRange, invalidValue, invalidBase64URL
            case wrongOperation, truncatedField, unexpectedTag, unknownCriticalTag, duplicateTag, missingTag
            case trailingBytes, invalidLength, unsupportedAlgorithm, invalidKey, invalidSignature, criteriaCombination
            case malformedAssertion
        }
        private let base: Base

        /// The input is not JSON, has a null or a repeated member name, or exceeds the reader's limits (§1).
        public static let malformedJSON = Self(base: .malformedJSON)
        /// The array of a message does not have exactly one dictionary, or a request at a client does not have 1 to 8
        /// dictionaries (§2.6).
        public static let wrongArraySize = Self(base: .wrongArraySize)
        /// A required member is missing (§2).
        public static let missingMember = Self(base: .missingMember)
        /// A member has another JSON type than the dictionary requires, or is a number outside the width of its type
        /// (§2).
        public static let wrongType = Self(base: .wrongType)
        /// A value is too short, too long, empty although this is forbidden, or a number outside its bounds (§1).
        public static let outOfRange = Self(base: .outOfRange)
        /// A value has the right type and size, but its rule does not allow the value.
        public static let invalidValue = Self(base: .invalidValue)
        /// The text is not base64url without padding (§1).
        public static let invalidBase64URL = Self(base: .invalidBase64URL)
        /// The header names another operation than the expected message, or an unknown operation (§2.1).
        public static let wrongOperation = Self(base: .wrongOperation)
        /// The bytes end before the length that a field announces (§3).
        public static let truncatedField = Self(base: .truncatedField)
        /// The item has another tag than required here (§3).
        public static let unexpectedTag = Self(base: .unexpectedTag)
        /// The item has a critical tag that this reader does not know (§3).
        public static let unknownCriticalTag = Self(base: .unknownCriticalTag)
        /// The tag of a single value occurs twice (§3).
        public static let duplicateTag = Self(base: .duplicateTag)
        /// A mandatory tag is missing (§3).
        public static let missingTag = Self(base: .missingTag)
        /// Bytes remain after the last field (§3).
        public static let trailingBytes = Self(base: .trailingBytes)
        /// A field's value does not have the length of its definition (§3.1).
        public static let invalidLength = Self(base: .invalidLength)
        /// The called function does not support this signature algorithm or key format (§4). Another function may.
        public static let unsupportedAlgorithm = Self(base: .unsupportedAlgorithm)
        /// The bytes are not a public key of the announced format, the point is not on the curve (§4.2), or a device
        /// announces one key for both its uses (``DeviceKeyAnnouncement``).
        public static let invalidKey = Self(base: .invalidKey)
        /// The bytes are not a signature of the announced encoding (§4.1), or the signature in a
        /// ``DeviceKeyAnnouncement`` is wrong.
        public static let invalidSignature = Self(base: .invalidSignature)
        /// The match criteria have members that must not occur together, or lack a required member (§2.2).
        public static let criteriaCombination = Self(base: .criteriaCombination)
        /// The `assertion` of a response is not base64url of 1 to 4096 bytes (§1, §8.2 step 5).
        public static let malformedAssertion = Self(base: .malformedAssertion)

        public var description: String { self.base.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A text for the log: a place, a member's name or a length, never a value of the message. The text is not for a
    /// peer.
    public let reason: String

    /// Creates an error. `reason` must hold no secret and no value from a peer.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }
}

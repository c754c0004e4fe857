public import _Primitives

/// The reason why a JOSE object or key was refused. Two errors are equal if their codes are equal.
public struct JOSEError: CodedError {
    /// The kind of error, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case malformed, tooLarge, algorithmNotAllowed, criticalHeader, wrongType
            case unknownKey, invalidKey, unsupportedKey, invalidSignature, undecryptable
            case missingClaim, wrongIssuer, wrongAudience, expired, notYetValid
        }
        private let base: Base
        /// The text is not the compact form, contains no strict JSON, or has a member of the wrong kind.
        public static let malformed = Self(base: .malformed)
        /// The text is longer than the reader's limit.
        public static let tooLarge = Self(base: .tooLarge)
        /// The header names an algorithm that the caller did not allow, or a compression (`zip`). `none` is never
        /// allowed.
        public static let algorithmNotAllowed = Self(base: .algorithmNotAllowed)
        /// `crit` names an extension that must be understood, and the reader knows no extension (RFC 7515, section
        /// 4.1.11).
        public static let criticalHeader = Self(base: .criticalHeader)
        /// `typ` is not the expected type (RFC 8725, section 3.11).
        public static let wrongType = Self(base: .wrongType)
        /// `kid` names no key of the set, or `kid` is missing and the set does not have exactly one key.
        public static let unknownKey = Self(base: .unknownKey)
        /// The key's numbers are not a key, or its `alg`, `use` or private part do not fit the use of the key.
        public static let invalidKey = Self(base: .invalidKey)
        /// This product does not use the key's type, curve or size.
        public static let unsupportedKey = Self(base: .unsupportedKey)
        /// The signature or authentication code does not belong to the key.
        public static let invalidSignature = Self(base: .invalidSignature)
        /// The text was not encrypted to this key, or was changed. The error gives no further detail.
        public static let undecryptable = Self(base: .undecryptable)
        /// A required claim is missing. A reader of a special token also uses the code for a claim with a wrong value.
        public static let missingClaim = Self(base: .missingClaim)
        /// `iss` is another issuer.
        public static let wrongIssuer = Self(base: .wrongIssuer)
        /// `aud` does not name the expected audience.
        public static let wrongAudience = Self(base: .wrongAudience)
        /// `exp` is past. A reader of a special token also uses the code for an `iat` that is too long ago.
        public static let expired = Self(base: .expired)
        /// `nbf` or `iat` is in the future.
        public static let notYetValid = Self(base: .notYetValid)
        public var description: String { self.base.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A text for the log: a place, or the name of a member or an algorithm. Never a value of a key, a claim or a
    /// payload.
    public let reason: String

    /// Creates an error with the code; `reason` must hold no secret.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}

/// The size limits of a reader of JOSE objects.
public struct JOSELimits: Sendable {
    /// The most letters of the whole compact form.
    public var compactLength: Int
    /// The most bytes of the decoded header.
    public var headerLength: Int

    /// Creates limits, by default of 64 KiB for the whole form and 4 KiB for the header.
    public init(compactLength: Int = 65_536, headerLength: Int = 4096) {
        self.compactLength = compactLength
        self.headerLength = headerLength
    }
}

/// Why a JOSE object or key was refused. Two are equal when their codes are.
public struct JOSEError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case malformed, tooLarge, algorithmNotAllowed, criticalHeader, wrongType
            case unknownKey, invalidKey, unsupportedKey, invalidSignature, undecryptable
            case missingClaim, wrongIssuer, wrongAudience, expired, notYetValid
        }
        private let base: Base
        /// Not the compact form, not strict JSON inside, or a member of the wrong kind.
        public static let malformed = Self(base: .malformed)
        /// Longer than the reader's limit.
        public static let tooLarge = Self(base: .tooLarge)
        /// The header names an algorithm that the caller did not allow. `none` is always one.
        public static let algorithmNotAllowed = Self(base: .algorithmNotAllowed)
        /// `crit` names an extension that must be understood and is not (RFC 7515, section 4.1.11).
        public static let criticalHeader = Self(base: .criticalHeader)
        /// `typ` is not the expected one (RFC 8725, section 3.11).
        public static let wrongType = Self(base: .wrongType)
        /// No key of the set fits the header.
        public static let unknownKey = Self(base: .unknownKey)
        /// The key's numbers are not a key, or its `alg`, `use` or private part do not fit what it is used for.
        public static let invalidKey = Self(base: .invalidKey)
        /// A key type, curve or size that this product does not use.
        public static let unsupportedKey = Self(base: .unsupportedKey)
        /// The signature or authentication code is not the key's.
        public static let invalidSignature = Self(base: .invalidSignature)
        /// The text was not encrypted to this key, or was changed. Says no more than that.
        public static let undecryptable = Self(base: .undecryptable)
        /// A claim that is required is not there.
        public static let missingClaim = Self(base: .missingClaim)
        /// `iss` is another issuer.
        public static let wrongIssuer = Self(base: .wrongIssuer)
        /// `aud` does not name the expected audience.
        public static let wrongAudience = Self(base: .wrongAudience)
        /// `exp` is past.
        public static let expired = Self(base: .expired)
        /// `nbf` or `iat` is in the future.
        public static let notYetValid = Self(base: .notYetValid)
        public var description: String { self.base.rawValue }
    }

    /// What went wrong.
    public let code: Code
    /// For the log: a place, a member's or an algorithm's name. Never a value of a key, a claim or a payload.
    public let reason: String

    /// An error with that code; `reason` must hold no secret.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public var description: String { "JOSEError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}

/// How much a reader of JOSE objects takes before it refuses.
public struct JOSELimits: Sendable {
    /// Letters of the whole compact form.
    public var compactLength: Int
    /// Bytes of the decoded header.
    public var headerLength: Int

    /// The defaults: 64 KiB for the whole, 4 KiB for the header.
    public init(compactLength: Int = 65_536, headerLength: Int = 4096) {
        self.compactLength = compactLength
        self.headerLength = headerLength
    }
}

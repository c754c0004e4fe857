import Records

extension AuditEvent.Kind {
    static let identityClaimed = Self(rawValue: "identity-claimed")
    static let identityAttemptRefused = Self(rawValue: "identity-attempt-refused")
    static let identityFinished = Self(rawValue: "identity-finished")
    static let identityFailed = Self(rawValue: "identity-failed")
    static let identityAborted = Self(rawValue: "identity-aborted")
    static let identityBegun = Self(rawValue: "identity-begun")
    static let identityCompleted = Self(rawValue: "identity-completed")
    static let activationDisabled = Self(rawValue: "activation-disabled")
    static let activationOffered = Self(rawValue: "activation-offered")
    static let activationAttemptRefused = Self(rawValue: "activation-attempt-refused")
    static let activationProven = Self(rawValue: "activation-proven")
    static let activationEnrolled = Self(rawValue: "activation-enrolled")
    static let activationRevoked = Self(rawValue: "activation-revoked")
    /// An activation was renamed. The detail is its identifier.
    static let activationRenamed = Self(rawValue: "activation-renamed")
    /// An operator has lifted the lockout of an activation. The detail is its identifier.
    static let lockoutLifted = Self(rawValue: "lockout-lifted")
    /// An operator has removed a factor from an activation. The detail is the activation's identifier and the factor's
    /// type.
    static let factorRemoved = Self(rawValue: "factor-removed")
}

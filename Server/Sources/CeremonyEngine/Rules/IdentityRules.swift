public import UAF

/// What a deployment chooses for personalised identities.
public struct IdentityRules: Sendable {
    /// What somebody has to sign with who wants something done with their own account: alternatives of types.
    public var accountFactors: [[AuthenticatorType]] = [[.biometric, .device], [.pin, .device]]
    /// How long PINs are, in characters. Apps hold to it: the server never sees one that a phone has taken.
    public var pinLength = IdentityRules.anyPinLength
    /// Whether a device may say of itself that the system's protection was taken away.
    public var acceptsRooted = false
    /// Whether a device may say of itself that something has reached into the app.
    public var acceptsHooked = false
    /// Whether a device has to say something of itself.
    public var requiresSecurityReport = false

    /// How long PINs can be at all. Apps that have not heard of a deployment's own bounds go by these.
    public static let anyPinLength = 5...32

    /// The defaults.
    public init() {}
}

import Ceremony
public import UAF

/// The choices of a deployment for personalised identities.
public struct IdentityRules: Sendable {
    /// The factors that a person must sign with for actions on their own account: alternatives of types.
    public var accountFactors: [[AuthenticatorType]] = [[.biometric, .device], [.pin, .device]]
    /// The allowed lengths of PINs, in characters. Apps enforce the lengths: the server never sees a PIN that a phone
    /// has accepted.
    public var pinLength = IdentityRules.anyPinLength
    /// `true` if a device may report that the system's protection was removed.
    public var acceptsRooted = false
    /// `true` if a device may report that another program has reached into the app.
    public var acceptsHooked = false
    /// `true` if a device must send a security report.
    public var requiresSecurityReport = false

    /// The widest possible lengths of PINs. Apps without knowledge of a deployment's own bounds use this range.
    public static let anyPinLength = 5...32

    /// Creates the default rules.
    public init() {}

    /// Returns the names of a device's security faults; empty for a device that is secure enough for the server.
    func insufficiencies(of report: SecurityReport?) -> [String] {
        guard let report else { return self.requiresSecurityReport ? ["noReport"] : [] }
        return [(report.isRooted && !self.acceptsRooted, "rooted"), (report.isHooked && !self.acceptsHooked, "hooked")]
            .filter(\.0).map(\.1)
    }
}

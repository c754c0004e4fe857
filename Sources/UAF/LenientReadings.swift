/// Readings of the standard that a strict server does not make: others made them, and some products rely on them.
///
/// All are off by default. Each is named after the row of §18 that describes it, or after the section where none does.
public struct LenientReadings: Hashable, Sendable {
    /// Row 18: certificates of an attestation may be expired or not valid yet.
    public var row18ExpiredCertificates = false
    /// Row 20: who issued a certificate of an attestation may lack the extension that says so, or be of X.509 version 1.
    public var row20UnmarkedIssuers = false

    /// The strict readings, in all of them.
    public init() {}
}

/// The bounds of what is verified and read here that are no lengths of the standard. It stands below the server's `Limits`,
/// which have all others.
enum VerificationLimits {
    /// Certificates that one attestation can send. Past it: 1496.
    static let chainCertificates = 6
    /// Octets of a certificate's serial number (RFC 5280, section 4.1.2.2). Past it: 1496.
    static let serialNumberBytes = 20
    /// Bytes of the list of what is revoked. A larger one is refused when it is read.
    static let revocationListBytes = 1024 * 1024
    /// Bytes of a policy's file. A larger one is refused when it is read.
    static let policyFileBytes = 64 * 1024
    /// Bytes of a policy's name. A longer one is refused when it is read.
    static let policyNameBytes = 64
    /// Characters of an AppID; the standard's own bound for it.
    static let appIDCharacters = 512
    /// Characters of a user name; the standard's own bound for it.
    static let usernameCharacters = 128
    /// Characters of a transaction's text; the standard's own bound for it.
    static let transactionCharacters = 200
    /// Characters of the sealed state that goes with a request and comes back with its answer. A longer one is refused
    /// unread; the standard's own bound for it.
    static let serverDataCharacters = 1536
}

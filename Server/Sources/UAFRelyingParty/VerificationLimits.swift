/// The bounds for verification and reading that are not lengths of the standard. These limits stand below the server's
/// `Limits`, which contain all other limits.
enum VerificationLimits {
    /// The maximum number of certificates in one attestation. Past it: 1496.
    static let chainCertificates = 6
    /// The maximum number of octets of a certificate's serial number (RFC 5280, section 4.1.2.2). Past it: 1496.
    static let serialNumberBytes = 20
    /// The maximum size of an app's attestation or assertion in bytes. A larger object is refused unread. An
    /// attestation of Apple has about 6 KB.
    static let appAttestationBytes = 8 * 1024
    /// The number of characters of a team's identifier at Apple.
    static let teamIDCharacters = 10
    /// The maximum number of characters of an app's bundle identifier, set by Apple.
    static let bundleIDCharacters = 155
    /// The maximum size of the revocation list in bytes. A larger list is refused when it is read.
    static let revocationListBytes = 1024 * 1024
    /// The maximum size of a policy's file in bytes. A larger file is refused when it is read.
    static let policyFileBytes = 64 * 1024
    /// The maximum length of a policy's name in bytes. A longer name is refused when it is read.
    static let policyNameBytes = 64
    /// The maximum number of characters of an AppID, set by the standard.
    static let appIDCharacters = 512
    /// The maximum number of characters of a user name, set by the standard.
    static let usernameCharacters = 128
    /// The maximum number of characters of a transaction's text, set by the standard.
    static let transactionCharacters = 200
    /// The maximum number of characters of the sealed state that goes with a request and comes back with its answer,
    /// set by the standard. A longer state is refused unread.
    static let serverDataCharacters = 1536
}

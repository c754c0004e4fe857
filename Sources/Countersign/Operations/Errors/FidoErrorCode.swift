/// A code of the UAF client (UAF Application API 1.1, ErrorCode), which the server's status shows too.
public struct FidoErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The address is not `https`. Nothing was sent. A mistake in the configuration.
    public static let insecureTransport = Self(rawValue: 0x02)
    /// The person, the app or the operating system gave up. Nothing to do.
    public static let userCanceled = Self(rawValue: 0x03)
    /// The server speaks another version of UAF. Ask the person to update the app.
    public static let unsupportedVersion = Self(rawValue: 0x04)
    /// Nothing on this device meets the server's policy, or the chosen authenticator does not. Ask the person to choose
    /// another one, or to enrol.
    public static let noSuitableAuthenticator = Self(rawValue: 0x05)
    /// The exchange failed: malformed, expired, or refused by the server. Start again; if that fails too, the
    /// enrolment does not hold any more.
    public static let protocolError = Self(rawValue: 0x06)
    /// The server does not list this app. A mistake in the server's or the app's configuration.
    public static let untrustedFacetID = Self(rawValue: 0x07)
    /// The key is gone, for instance because the enrolled fingers changed. Ask the person to enrol again.
    public static let keyDisappearedPermanently = Self(rawValue: 0x09)
    /// The authenticator refused, the app has no screen for it, or nobody is enrolled with the operating system any
    /// more. Ask the person to enrol there, or to choose another authenticator.
    public static let authenticatorAccessDenied = Self(rawValue: 0x0C)
    /// What is to be confirmed cannot be shown. Nothing was signed; tell the person that the service sent it wrongly.
    public static let invalidTransactionContent = Self(rawValue: 0x0D)
    /// No answer of the person in time. Let them start again.
    public static let userNotResponsive = Self(rawValue: 0x0E)
    /// No room for another key. Have the person choose an account that they do not use any more, and deregister it.
    public static let insufficientAuthenticatorResources = Self(rawValue: 0x0F)
    /// Too many wrong tries. A PIN or a password stays locked: have the person ask for a new enrolment link and enrol over
    /// the account, which replaces the locked key; delete nothing, and no other account. For a finger, a face and the
    /// device's passcode the operating system has locked: ask the person to unlock the device, and to try again.
    public static let userLockout = Self(rawValue: 0x10)
    /// No finger, face or passcode is enrolled with the operating system. Ask the person to enrol one there.
    public static let userNotEnrolled = Self(rawValue: 0x11)
    /// Something else. Report it.
    public static let unknown = Self(rawValue: 0xFF)

    public var description: String { "FIDO \(self.rawValue)" }
}

/// An error code of the UAF client (UAF Application API 1.1, ErrorCode). The server's status uses the codes too.
public struct FidoErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The operation completed. No operation ends with this code: only the status of a server can have the code.
    public static let noError = Self(rawValue: 0x00)
    /// The person has to do something first. No operation ends with this code: only the status of a server can have the
    /// code, from another client.
    public static let waitUserAction = Self(rawValue: 0x01)
    /// The address is not `https`. Nothing was sent. A mistake in the configuration.
    public static let insecureTransport = Self(rawValue: 0x02)
    /// The person, the app or the operating system gave up. No remedy is needed.
    public static let userCanceled = Self(rawValue: 0x03)
    /// The server uses another version of UAF. Ask the person to update the app.
    public static let unsupportedVersion = Self(rawValue: 0x04)
    /// No authenticator on this device meets the server's policy, or the chosen authenticator does not. Ask the person
    /// to choose another authenticator, or to enrol.
    public static let noSuitableAuthenticator = Self(rawValue: 0x05)
    /// The exchange failed: a message was malformed, expired, or refused by the server. Start again. If the repetition
    /// fails too, the enrolment may no longer be valid.
    public static let protocolError = Self(rawValue: 0x06)
    /// The server does not list this app. A mistake in the server's or the app's configuration.
    public static let untrustedFacetID = Self(rawValue: 0x07)
    /// The key is gone, for instance because the enrolled fingers changed. Ask the person to enrol again.
    public static let keyDisappearedPermanently = Self(rawValue: 0x09)
    /// The authenticator refused, the app has no screen for the authenticator, or nothing is enrolled in the operating
    /// system any more. Ask the person to enrol in the operating system, or to choose another authenticator.
    public static let authenticatorAccessDenied = Self(rawValue: 0x0C)
    /// The content to be confirmed cannot be shown. Nothing was signed. Tell the person that the service sent invalid
    /// content.
    public static let invalidTransactionContent = Self(rawValue: 0x0D)
    /// The person did not answer in time. Let the person start again.
    public static let userNotResponsive = Self(rawValue: 0x0E)
    /// The device has no room for another key. Let the person choose an account that is no longer used, and deregister
    /// it.
    public static let insufficientAuthenticatorResources = Self(rawValue: 0x0F)
    /// The person made too many wrong tries.
    ///
    /// A PIN or a password stays locked: ask the person to request a new enrolment link and to enrol over the account,
    /// which replaces the locked key. Delete nothing, neither the locked key nor another account. A finger, a face or
    /// the device's passcode was locked by the operating system: ask the person to unlock the device, and to try again.
    public static let userLockout = Self(rawValue: 0x10)
    /// No finger, face or passcode is enrolled in the operating system. Ask the person to enrol one in the device's
    /// settings.
    public static let userNotEnrolled = Self(rawValue: 0x11)
    /// Another error. Report the error.
    public static let unknown = Self(rawValue: 0xFF)

    public var description: String { "FIDO \(self.rawValue)" }
}

extension FidoErrorCode: CaseIterable {
    /// All codes of the specification, by their numbers. The page <doc:ErrorCodes> names the cause of each code.
    public static let allCases: [Self] = [
        .noError, .waitUserAction, .insecureTransport, .userCanceled, .unsupportedVersion, .noSuitableAuthenticator,
        .protocolError, .untrustedFacetID, .keyDisappearedPermanently, .authenticatorAccessDenied,
        .invalidTransactionContent, .userNotResponsive, .insufficientAuthenticatorResources, .userLockout,
        .userNotEnrolled, .unknown,
    ]
}

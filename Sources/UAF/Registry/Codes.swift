/// The server's judgement of an operation: `statusCode` in the bodies of the HTTPS transport (§5.1).
///
/// The code describes the UAF operation. The HTTP status stays 200 for every response with a body.
public struct UAFStatusCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number on the wire.
    public let rawValue: Int
    /// Creates a status from any number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// 1200: done.
    public static let ok = Self(rawValue: 1200)
    /// 1202: accepted, not finished yet.
    public static let accepted = Self(rawValue: 1202)
    /// 1400: the message was not understood.
    public static let badRequest = Self(rawValue: 1400)
    /// 1401: the user must be authenticated first, or the key is not this user's.
    public static let unauthorized = Self(rawValue: 1401)
    /// 1403: not for this user, do not try again.
    public static let forbidden = Self(rawValue: 1403)
    /// 1404: unknown user or session.
    public static let notFound = Self(rawValue: 1404)
    /// 1408: too late.
    public static let requestTimeout = Self(rawValue: 1408)
    /// 1480: no metadata for this AAID.
    public static let unknownAAID = Self(rawValue: 1480)
    /// 1481: no such key; the client should delete it.
    public static let unknownKeyID = Self(rawValue: 1481)
    /// 1490: channel binding missing or different.
    public static let channelBindingRefused = Self(rawValue: 1490)
    /// 1491: the challenge is unknown, expired or used.
    public static let invalidRequest = Self(rawValue: 1491)
    /// 1492: the authenticator does not satisfy the policy.
    public static let unacceptableAuthenticator = Self(rawValue: 1492)
    /// 1493: the authenticator's model is revoked.
    public static let revokedAuthenticator = Self(rawValue: 1493)
    /// 1494: the key is weak, wrong or a duplicate.
    public static let unacceptableKey = Self(rawValue: 1494)
    /// 1495: the algorithm differs from metadata or registration.
    public static let unacceptableAlgorithm = Self(rawValue: 1495)
    /// 1496: the attestation's type, chain or signature is wrong.
    public static let unacceptableAttestation = Self(rawValue: 1496)
    /// 1497: the client lacks a required capability.
    public static let unacceptableClientCapabilities = Self(rawValue: 1497)
    /// 1498: the content has another error.
    public static let unacceptableContent = Self(rawValue: 1498)
    /// 1500: the server failed.
    public static let internalServerError = Self(rawValue: 1500)

    public var description: String { String(self.rawValue) }
}

/// The result of an operation in a UAF client: `ErrorCode` (§5.2).
public struct ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number of the interface.
    public let rawValue: Int
    /// Creates a code from any number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// 0x00: the operation completed.
    public static let noError = Self(rawValue: 0x00)
    /// 0x01: the user has to do something first.
    public static let waitUserAction = Self(rawValue: 0x01)
    /// 0x02: no secure transport.
    public static let insecureTransport = Self(rawValue: 0x02)
    /// 0x03: the user cancelled or denied.
    public static let userCancelled = Self(rawValue: 0x03)
    /// 0x04: no version in common.
    public static let unsupportedVersion = Self(rawValue: 0x04)
    /// 0x05: the policy cannot be met.
    public static let noSuitableAuthenticator = Self(rawValue: 0x05)
    /// 0x06: the message breaks the protocol.
    public static let protocolError = Self(rawValue: 0x06)
    /// 0x07: the caller is not trusted for this AppID.
    public static let untrustedFacetID = Self(rawValue: 0x07)
    /// 0x09: the key is gone for good.
    public static let keyDisappearedPermanently = Self(rawValue: 0x09)
    /// 0x0C: the authenticator refused.
    public static let authenticatorAccessDenied = Self(rawValue: 0x0C)
    /// 0x0D: the transaction cannot be shown.
    public static let invalidTransactionContent = Self(rawValue: 0x0D)
    /// 0x0E: the user did not react.
    public static let userNotResponsive = Self(rawValue: 0x0E)
    /// 0x0F: the authenticator has no room.
    public static let insufficientAuthenticatorResources = Self(rawValue: 0x0F)
    /// 0x10: too many wrong attempts.
    public static let userLockout = Self(rawValue: 0x10)
    /// 0x11: no user is enrolled at the authenticator.
    public static let userNotEnrolled = Self(rawValue: 0x11)
    /// 0xFF: any other error.
    public static let unknown = Self(rawValue: 0xFF)

    public var description: String { String(self.rawValue) }
}

/// The result of a command in an ASM: UAF_ASM_STATUS_* (§5.3).
package struct ASMStatusCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number of the interface.
    package let rawValue: UInt16
    /// Creates a status from any number.
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 0x00: done.
    package static let ok = Self(rawValue: 0x00)
    /// 0x01: failed.
    package static let error = Self(rawValue: 0x01)
    /// 0x02: the authenticator refused.
    package static let accessDenied = Self(rawValue: 0x02)
    /// 0x03: the user cancelled.
    package static let userCancelled = Self(rawValue: 0x03)
    /// 0x04: the transaction cannot be shown.
    package static let cannotRenderTransactionContent = Self(rawValue: 0x04)
    /// 0x09: the key is gone for good.
    package static let keyDisappearedPermanently = Self(rawValue: 0x09)
    /// 0x0B: the authenticator is disconnected.
    package static let authenticatorDisconnected = Self(rawValue: 0x0B)
    /// 0x0E: the user did not react.
    package static let userNotResponsive = Self(rawValue: 0x0E)
    /// 0x0F: the authenticator has no room.
    package static let insufficientAuthenticatorResources = Self(rawValue: 0x0F)
    /// 0x10: too many wrong attempts.
    package static let userLockout = Self(rawValue: 0x10)
    /// 0x11: no user is enrolled at the authenticator.
    package static let userNotEnrolled = Self(rawValue: 0x11)

    /// The code that the UAF client gives the app for this status (§5.3). A status outside the table gives
    /// ``ErrorCode/unknown``.
    package var errorCode: ErrorCode {
        switch self {
        case .ok: .noError
        case .accessDenied: .authenticatorAccessDenied
        case .userCancelled: .userCancelled
        case .cannotRenderTransactionContent: .invalidTransactionContent
        case .keyDisappearedPermanently: .keyDisappearedPermanently
        case .authenticatorDisconnected: .noSuitableAuthenticator
        case .userNotResponsive: .userNotResponsive
        case .insufficientAuthenticatorResources: .insufficientAuthenticatorResources
        case .userLockout: .userLockout
        case .userNotEnrolled: .userNotEnrolled
        default: .unknown
        }
    }

    package var description: String { String(self.rawValue) }
}

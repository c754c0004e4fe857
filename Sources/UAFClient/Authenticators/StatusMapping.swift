package import UAF

/// An authenticator's answer to a command (UAF Authenticator Commands 1.1, UAF_CMD_STATUS).
package struct CommandStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The commands whose answers the module maps.
    package enum Command: CaseIterable, Sendable {
        case register, sign, deregister

        /// The request of the module's own interface for the command.
        package var request: ASMRequestType {
            switch self {
            case .register: .register
            case .sign: .authenticate
            case .deregister: .deregister
            }
        }
    }

    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The command succeeded.
    package static let ok = Self(rawValue: 0x00)
    /// Something else went wrong.
    package static let errorUnknown = Self(rawValue: 0x01)
    /// The person was not verified, or the key is not this caller's.
    package static let accessDenied = Self(rawValue: 0x02)
    /// No person is enrolled with the authenticator.
    package static let userNotEnrolled = Self(rawValue: 0x03)
    /// The transaction cannot be shown.
    package static let cannotRenderTransactionContent = Self(rawValue: 0x04)
    /// The person gave up.
    package static let userCancelled = Self(rawValue: 0x05)
    /// The authenticator does not know the command.
    package static let commandNotSupported = Self(rawValue: 0x06)
    /// The authenticator does not support this attestation.
    package static let attestationNotSupported = Self(rawValue: 0x07)
    /// The command is malformed.
    package static let parametersInvalid = Self(rawValue: 0x08)
    /// The key is gone for good.
    package static let keyDisappearedPermanently = Self(rawValue: 0x09)
    /// The authenticator did not answer.
    package static let timeout = Self(rawValue: 0x0A)
    /// The person did not answer.
    package static let userNotResponsive = Self(rawValue: 0x0E)
    /// The authenticator has no room for another key.
    package static let insufficientResources = Self(rawValue: 0x0F)
    /// The person made too many wrong attempts.
    package static let userLockout = Self(rawValue: 0x10)

    package var description: String { String(self.rawValue) }

    /// Returns the module's status for an authenticator's answer (§5.3).
    ///
    /// Every answer gives a status that the request allows. Outside the table the status is
    /// ``UAF/ASMStatusCode/error``.
    package func asmStatus(of command: Command) -> ASMStatusCode {
        let status: ASMStatusCode =
            switch self {
            case .ok: .ok
            case .accessDenied: .accessDenied
            case .userNotEnrolled: command == .register ? .userNotEnrolled : .accessDenied
            case .cannotRenderTransactionContent: .cannotRenderTransactionContent
            case .userCancelled: .userCancelled
            // A bound authenticator stores no key handles. The module deletes its own record, and nothing more is
            // needed.
            case .commandNotSupported: command == .deregister ? .ok : .error
            case .keyDisappearedPermanently: .keyDisappearedPermanently
            case .userNotResponsive: .userNotResponsive
            case .insufficientResources: .insufficientAuthenticatorResources
            case .userLockout: .userLockout
            default: .error
            }
        return command.request.statuses.contains(status) ? status : .error
    }
}

/// A client's request to a module (ASMRequest.requestType, §2.9).
package enum ASMRequestType: String, CaseIterable, Sendable {
    case getInfo = "GetInfo"
    case register = "Register"
    case authenticate = "Authenticate"
    case deregister = "Deregister"
    case getRegistrations = "GetRegistrations"
    case openSettings = "OpenSettings"

    /// The statuses that may answer the request (§5.3).
    package var statuses: Set<ASMStatusCode> {
        switch self {
        case .getInfo: [.ok, .error]
        case .register:
            [
                .ok, .error, .accessDenied, .userCancelled, .authenticatorDisconnected, .userNotResponsive,
                .insufficientAuthenticatorResources, .userLockout, .userNotEnrolled,
            ]
        case .authenticate:
            [
                .ok, .error, .accessDenied, .userCancelled, .cannotRenderTransactionContent,
                .keyDisappearedPermanently, .authenticatorDisconnected, .userNotResponsive, .userLockout,
                .userNotEnrolled,
            ]
        case .deregister: [.ok, .error, .accessDenied, .authenticatorDisconnected]
        case .getRegistrations: [.ok, .error, .authenticatorDisconnected]
        case .openSettings: [.ok]
        }
    }
}

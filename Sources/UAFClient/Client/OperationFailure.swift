public import UAF

/// Why an operation of the client ended without an answer (UAF Application API 1.1, ErrorCode).
///
/// Two are equal when their codes are.
public struct OperationFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The code for the app and, as `clientErrorCode`, for the server.
    public let code: ErrorCode
    /// What the authenticator said, where one was asked.
    public let asmStatus: ASMStatusCode?
    /// For the log: never a secret.
    public let reason: String

    /// A failure before any authenticator was asked.
    public init(_ code: ErrorCode, _ reason: String) {
        self.code = code
        self.asmStatus = nil
        self.reason = reason
    }

    /// A failure that an authenticator reported.
    init(_ status: CommandStatus, of command: CommandStatus.Command, _ reason: String) {
        let asmStatus = status.asmStatus(of: command)
        self.code = asmStatus.errorCode
        self.asmStatus = asmStatus
        self.reason = reason
    }

    public var description: String { "OperationFailure.\(self.code.rawValue): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}

/// What an authenticator answers to a command (UAF Authenticator Commands 1.1, UAF_CMD_STATUS).
public struct CommandStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The commands whose answers the module maps.
    public enum Command: CaseIterable, Sendable { case register, sign, deregister }

    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Done.
    public static let ok = Self(rawValue: 0x00)
    /// Something else went wrong.
    public static let errorUnknown = Self(rawValue: 0x01)
    /// The person was not verified, or the key is not this caller's.
    public static let accessDenied = Self(rawValue: 0x02)
    /// Nobody is enrolled with the authenticator.
    public static let userNotEnrolled = Self(rawValue: 0x03)
    /// The transaction cannot be shown.
    public static let cannotRenderTransactionContent = Self(rawValue: 0x04)
    /// The person gave up.
    public static let userCancelled = Self(rawValue: 0x05)
    /// The authenticator does not know the command.
    public static let commandNotSupported = Self(rawValue: 0x06)
    /// The authenticator cannot attest so.
    public static let attestationNotSupported = Self(rawValue: 0x07)
    /// The command is malformed.
    public static let parametersInvalid = Self(rawValue: 0x08)
    /// The key is gone for good.
    public static let keyDisappearedPermanently = Self(rawValue: 0x09)
    /// The authenticator did not answer.
    public static let timeout = Self(rawValue: 0x0A)
    /// The person did not answer.
    public static let userNotResponsive = Self(rawValue: 0x0E)
    /// No room for another key.
    public static let insufficientResources = Self(rawValue: 0x0F)
    /// Too many wrong tries.
    public static let userLockout = Self(rawValue: 0x10)

    public var description: String { String(self.rawValue) }

    /// The module's status for an authenticator's answer (reference, section 5.3).
    public func asmStatus(of command: Command) -> ASMStatusCode {
        switch self {
        case .ok: .ok
        case .accessDenied: .accessDenied
        case .userNotEnrolled: command == .register ? .userNotEnrolled : .accessDenied
        case .cannotRenderTransactionContent: .cannotRenderTransactionContent
        case .userCancelled: .userCancelled
        // A bound authenticator keeps no key handles: the module deletes its own record and that is all there is to do.
        case .commandNotSupported: command == .deregister ? .ok : .error
        case .keyDisappearedPermanently: .keyDisappearedPermanently
        case .userNotResponsive: .userNotResponsive
        case .insufficientResources: .insufficientAuthenticatorResources
        case .userLockout: .userLockout
        default: .error
        }
    }
}

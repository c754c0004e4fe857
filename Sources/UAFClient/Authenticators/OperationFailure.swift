public import UAF
public import _Primitives

/// The reason why an operation of the client ended without an answer (UAF Application API 1.1, ErrorCode).
///
/// Two failures are equal if their codes are equal.
public struct OperationFailure: CodedError {
    /// The code for the app and, as `clientErrorCode`, for the server.
    public let code: ErrorCode
    /// The authenticator's status, if an authenticator was asked.
    package let asmStatus: ASMStatusCode?
    /// The disconnected authenticator, with ``UAF/ASMStatusCode/authenticatorDisconnected``.
    let disconnected: AuthenticatorModel?
    /// With ``UAF/ErrorCode/userLockout``: the holder of a lock that ends. `nil` for a lock of this client itself, which
    /// stays.
    package let lockHolder: LockHolder?
    /// The holder of a lock beside this client's own locks.
    package enum LockHolder: Sendable {
        /// The operating system has locked finger, face or passcode, and the person unlocks the device.
        case operatingSystem
        /// The key store judges no secrets for some time, and no attempt was taken.
        case keyStore
    }

    /// A text for the log, never with a secret or a value chosen by a server.
    public let reason: String

    /// Creates a failure from before any question to an authenticator.
    public init(_ code: ErrorCode, _ reason: String) {
        self.code = code
        self.asmStatus = nil
        self.disconnected = nil
        self.lockHolder = nil
        self.reason = reason
    }

    /// Creates a failure from an authenticator's report.
    init(
        _ status: CommandStatus, of command: CommandStatus.Command, lockedBy lockHolder: LockHolder? = nil,
        _ reason: String
    ) {
        let asmStatus = status.asmStatus(of: command)
        self.code = asmStatus.errorCode
        self.asmStatus = asmStatus
        self.disconnected = nil
        self.lockHolder = lockHolder
        self.reason = reason
    }

    /// Creates a failure of a disconnected authenticator.
    init(disconnected model: AuthenticatorModel) {
        self.code = ASMStatusCode.authenticatorDisconnected.errorCode
        self.asmStatus = .authenticatorDisconnected
        self.disconnected = model
        self.lockHolder = nil
        self.reason = "the authenticator \(model.aaid) is gone"
    }

    /// Returns the remaining ways to answer (§5.3): the ways without the disconnected authenticator.
    ///
    /// `nil` for every other failure, and if no way remains. The operation then ends with this failure.
    package func ways<Way>(leftOf ways: [Way], models: (Way) -> [AuthenticatorModel]) -> [Way]? {
        guard let disconnected else { return nil }
        let left = ways.filter { !models($0).contains(disconnected) }
        return left.isEmpty ? nil : left
    }

    public var description: String { "OperationFailure.\(self.code.rawValue): \(self.reason)" }
}

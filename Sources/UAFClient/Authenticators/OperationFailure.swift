public import UAF

/// Why an operation of the client ended without an answer (UAF Application API 1.1, ErrorCode).
///
/// Two are equal when their codes are.
public struct OperationFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The code for the app and, as `clientErrorCode`, for the server.
    public let code: ErrorCode
    /// What the authenticator said, where one was asked.
    package let asmStatus: ASMStatusCode?
    /// The authenticator that turned out to be gone, with ``UAF/ASMStatusCode/authenticatorDisconnected``.
    let disconnected: AuthenticatorModel?
    /// With ``UAF/ErrorCode/userLockout``: whether the operating system has locked finger, face or passcode, and will
    /// unlock them; a lock of this client's own stays.
    package let isLockOfOperatingSystem: Bool
    /// For the log: never a secret, and nothing that a server has chosen.
    public let reason: String

    /// A failure before any authenticator was asked.
    public init(_ code: ErrorCode, _ reason: String) {
        self.code = code
        self.asmStatus = nil
        self.disconnected = nil
        self.isLockOfOperatingSystem = false
        self.reason = reason
    }

    /// A failure that an authenticator reported.
    init(
        _ status: CommandStatus, of command: CommandStatus.Command, isLockOfOperatingSystem: Bool = false,
        _ reason: String
    ) {
        let asmStatus = status.asmStatus(of: command)
        self.code = asmStatus.errorCode
        self.asmStatus = asmStatus
        self.disconnected = nil
        self.isLockOfOperatingSystem = isLockOfOperatingSystem
        self.reason = reason
    }

    /// A failure of an authenticator that is not there any more.
    init(disconnected model: AuthenticatorModel) {
        self.code = ASMStatusCode.authenticatorDisconnected.errorCode
        self.asmStatus = .authenticatorDisconnected
        self.disconnected = model
        self.isLockOfOperatingSystem = false
        self.reason = "the authenticator \(model.aaid) is gone"
    }

    /// The ways to answer that are left (§5.3): those without the authenticator that is gone. `nil` for every other
    /// failure, and where none is left: then the operation ends with this one.
    package func ways<Way>(leftOf ways: [Way], models: (Way) -> [AuthenticatorModel]) -> [Way]? {
        guard let disconnected else { return nil }
        let left = ways.filter { !models($0).contains(disconnected) }
        return left.isEmpty ? nil : left
    }

    public var description: String { "OperationFailure.\(self.code.rawValue): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}

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

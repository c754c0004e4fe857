import _Primitives

extension BackchannelNotification {
    /// The stored form of the notification: no part contains a space.
    package var keptText: String { "\(self.mode.rawValue) \(self.secret) \(self.token)" }

    /// Reads the output of ``keptText``. Throws ``StoreError/Code/corrupt``.
    package init(kept text: String) throws {
        let parts = text.splitBytes(at: " ").map(String.init)
        guard parts.count == 3, let mode = Mode(rawValue: parts[0]) else {
            throw StoreError(.corrupt, "how a client is told")
        }
        self.init(mode: mode, secret: parts[1], token: parts[2])
    }
}

extension DeviceCodeRecord {
    /// Reads the letters of a person's code. Throws ``StoreError/Code/corrupt``.
    package static func userCode(kept letters: String) throws -> TypedCode {
        guard let code = TypedCode(typed: letters, letters: letters.count) else {
            throw StoreError(.corrupt, "the code that a person types for a device")
        }
        return code
    }
}

extension AuthorizationRequestRecord {
    /// Reads a stored challenge. No bytes stand for no challenge.
    package static func codeChallenge(kept bytes: [UInt8]) -> [UInt8]? { bytes.isEmpty ? nil : bytes }
}

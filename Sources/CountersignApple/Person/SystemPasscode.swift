package import Countersign
package import _Primitives

/// The device's passcode.
///
/// A random value in the Keychain names the time since the passcode was set: the system removes the item together with
/// the passcode, and keeps the item when the passcode is changed.
package struct SystemPasscode: DevicePasscode {
    private static let name = "passcode"
    private static let length = 32

    private let person: any PersonCheck
    private let values: KeychainValues
    private let random: RandomSource

    package init(_ person: any PersonCheck, _ keychain: any Keychain, service: String, random: RandomSource = .system) {
        self.person = person
        self.values = KeychainValues(keychain, service: service, protection: .whilePasscodeIsSet)
        self.random = random
    }

    /// Returns the name of the time since a passcode was set; `nil` if none is set.
    ///
    /// Throws ``SensorError`` `disconnected` if the Keychain does not answer, for instance on a locked device.
    package func enrolment() async throws -> [UInt8]? {
        if let refusal = self.person.passcodeRefusal() {
            guard refusal.meaning == .nothingEnrolled else { throw SensorError.disconnected }
            return nil
        }
        do {
            if let mark = try self.values.read(Self.name) { return mark }
            let mark = self.random.bytes(Self.length)
            try self.values.write(mark, to: Self.name)
            // Another process of the app may have written at the same time: the stored value counts.
            return try self.values.read(Self.name)
        } catch is StorageError {
            throw SensorError.disconnected
        }
    }

    /// Makes the operating system ask for the passcode; see `DevicePasscode`.
    package func ask(_ prompt: SystemPrompt) async throws -> DevicePasscodeReading {
        switch try await self.person.reading(.passcode, prompt) {
        case .match: .match
        case .lockedOut: .lockedOut
        case .cancelled, .noMatch: .cancelled
        }
    }
}

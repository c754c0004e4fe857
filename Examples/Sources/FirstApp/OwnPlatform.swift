import Countersign
import Foundation

// The parts that an app provides if this package has nothing for its system. Each part needs only the module
// `Countersign`.

/// The device's clocks, made with Foundation.
struct FoundationClock: DeviceClock {
    let bootIdentifier: String

    func now() -> Timestamp { Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000)) }

    func uptime() -> Duration {
        // `ProcessInfo.systemUptime` stands still while the device sleeps.
        var time = timespec()
        #if os(Linux)
            clock_gettime(CLOCK_BOOTTIME, &time)
        #else
            clock_gettime(CLOCK_MONOTONIC_RAW, &time)
        #endif
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

/// A sensor that does not work, and reports this.
struct BrokenSensor: BiometricSensor {
    func enrolledSet() async throws -> [UInt8]? { throw SensorError.disconnected }

    func read(_ prompt: SystemPrompt, allowingDevicePasscode: Bool) async throws -> BiometricReading { .cancelled }
}

/// A device without a passcode.
struct NoPasscode: DevicePasscode {
    func enrolment() async throws -> [UInt8]? { nil }

    func ask(_ prompt: SystemPrompt) async throws -> DevicePasscodeReading { .cancelled }
}

/// A storage for development, with errors from which the client knows the next step. The values lie in the clear on the
/// disk, and the storage says so: the client then tells the app to warn the person. A storage for people seals the values,
/// as the Keychain does.
struct AppStorage: SecureStorage {
    let isDevelopmentStore = true
    let folder: URL

    func read(_ name: String) throws -> [UInt8]? {
        let file = self.folder.appending(path: name)
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        guard let data = try? Data(contentsOf: file) else { throw StorageError(.unavailable, "cannot be read") }
        return Array(data)
    }

    func write(_ value: [UInt8], to name: String) throws {
        try Data(value).write(to: self.folder.appending(path: name), options: .atomic)
    }

    func remove(_ name: String) throws { try FileManager.default.removeItem(at: self.folder.appending(path: name)) }
}

/// Makes the complete platform of these parts.
func ownPlatform(folder: URL, boot: String) -> DevicePlatform {
    DevicePlatform(
        storage: AppStorage(folder: folder), fingerprintSensor: BrokenSensor(), devicePasscode: NoPasscode(),
        clock: FoundationClock(bootIdentifier: boot))
}

/// Further types of the lower layers that an app uses by name.
let namedWithoutASecondImport: [Any.Type] = [
    OutOfBandPayload.self, OutOfBandPayloadError.self, UAFTransaction.self, PictureDisplay.self, PinHardening.self,
    AuthenticatorProtectionStatus.self, TraceRecorder.self,
]

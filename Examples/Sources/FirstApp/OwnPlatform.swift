import Countersign
import Foundation

// What an app brings where this package has nothing for its system: each of these needs no module but `Countersign`.

/// The device's clocks, by what Foundation has of them.
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

/// A device without a sensor that works: it says so.
struct BrokenSensor: BiometricSensor {
    func enrolledSet() async throws -> [UInt8]? { throw SensorError.disconnected }

    func read(_ prompt: SystemPrompt, allowingDevicePasscode: Bool) async throws -> BiometricReading { .cancelled }
}

/// A device whose passcode nobody has set.
struct NoPasscode: DevicePasscode {
    func enrolment() async throws -> [UInt8]? { nil }

    func ask(_ prompt: SystemPrompt) async throws -> DevicePasscodeReading { .cancelled }
}

/// Any storage that the app has, with errors by which the client knows what to do.
struct AppStorage: SecureStorage {
    let isDevelopmentStore = false
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

/// The whole of it.
func ownPlatform(folder: URL, boot: String) -> DevicePlatform {
    DevicePlatform(
        storage: AppStorage(folder: folder), fingerprintSensor: BrokenSensor(), devicePasscode: NoPasscode(),
        clock: FoundationClock(bootIdentifier: boot))
}

/// What else of the lower floors an app meets by name.
let namedWithoutASecondImport: [Any.Type] = [
    OutOfBandPayload.self, OutOfBandPayloadError.self, UAFTransaction.self, PictureDisplay.self, PinHardening.self,
    AuthenticatorProtectionStatus.self, TraceRecorder.self,
]

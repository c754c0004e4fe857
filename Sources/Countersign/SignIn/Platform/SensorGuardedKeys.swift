public import UAFClient
public import _Primitives

/// Guarded secrets of a device whose sensor and storage are separate: a Linux machine with a fingerprint reader, or a
/// simulated phone.
///
/// The secret lies in the storage and is read after a match: only this program holds the secret back. If the operating
/// system itself opens a secret for a finger, the operating system's own store is better.
public struct SensorGuardedKeys: BiometricKeys {
    private let storage: any SignInStorage
    private let sensor: any BiometricSensor

    /// Creates the store with a storage and a sensor.
    public init(storage: any SignInStorage, sensor: any BiometricSensor) {
        self.storage = storage
        self.sensor = sensor
    }

    /// Returns `true` if a finger or face is enrolled at the sensor.
    public func isEnrolled() async throws -> Bool { try await self.sensor.enrolledSet() != nil }

    /// Stores a secret; with ``BiometricGuard/currentSet``, together with the identifier of the set that is enrolled
    /// now. Throws ``StorageError`` `unavailable` if no finger or face is enrolled.
    public func keep(_ secret: SecretBytes, as name: String, guardedBy guardian: BiometricGuard) async throws {
        guard let set = try await self.sensor.enrolledSet() else {
            throw StorageError(.unavailable, "no finger or face is enrolled to guard it by")
        }
        var record: JSONObject = [
            "version": .integer(1), "secret": .string(secret.withBytes { Base64URL.encode(Array($0)) }),
        ]
        if guardian == .currentSet { record["set"] = .string(Base64URL.encode(set)) }
        try self.storage.write(JSON.object(record).serialized, to: Self.stored(name))
    }

    /// Returns `true` if the storage has a secret of the name.
    public func contains(_ name: String) throws -> Bool { try self.storage.read(Self.stored(name)) != nil }

    /// Reads the sensor once. The enrolled set is compared before the reading, so that the person is not asked in vain,
    /// and again after a match. If no finger or face is enrolled any more, the secret is removed (`changed`), for
    /// either guard.
    public func release(_ name: String, _ prompt: SystemPrompt) async throws -> BiometricRelease {
        guard let record = try self.record(name) else { return .missing }
        guard try await self.isOpened(record) else { return self.ended(name) }
        switch try await self.sensor.read(prompt, allowingDevicePasscode: false) {
        case .match: break
        case .noMatch(let hint): return .noMatch(hint: hint)
        case .cancelled: return .cancelled
        case .lockedOut: return .lockedOut
        }
        guard try await self.isOpened(record) else { return self.ended(name) }
        return .released(record.secret)
    }

    /// Removes the secret.
    public func remove(_ name: String) throws { try self.storage.remove(Self.stored(name)) }

    private func isOpened(_ record: Record) async throws -> Bool {
        guard let enrolled = try await self.sensor.enrolledSet() else { return false }
        return record.set.map { constantTimeEqual($0, enrolled) } ?? true
    }

    private func ended(_ name: String) -> BiometricRelease {
        // The caller needs the reason. A secret that cannot be removed now is removed at the next release.
        try? self.remove(name)
        return .changed
    }

    private struct Record {
        let secret: SecretBytes
        /// The identifier of the enrolled set; `nil` for any set.
        let set: [UInt8]?
    }

    private func record(_ name: String) throws -> Record? {
        guard let value = try self.storage.read(Self.stored(name)) else { return nil }
        guard case .object(let object)? = try? JSON(parsing: value), case .integer(1)? = object["version"],
            case .string(let text)? = object["secret"], let secret = Base64URL.decode(text)
        else { throw StorageError(.corrupt, "a guarded secret is not one") }
        guard let written = object["set"] else { return Record(secret: SecretBytes(secret), set: nil) }
        guard case .string(let text) = written, let set = Base64URL.decode(text) else {
            throw StorageError(.corrupt, "the set of a guarded secret is not one")
        }
        return Record(secret: SecretBytes(secret), set: set)
    }

    private static func stored(_ name: String) -> String { "guarded-" + name }
}

public import _Primitives

/// What the device underneath can do: one protocol for each ability.
public struct DevicePlatform: Sendable {
    /// Where counters, attempts and what is known of keys are kept.
    public var storage: any SecureStorage
    /// Where the device makes and keeps its keys; `nil` where it has nothing for that: then they are in the storage.
    public var keys: (any DeviceKeys)?
    /// The fingerprint sensor, or `nil` on a device without one.
    public var fingerprintSensor: (any BiometricSensor)?
    /// What recognises faces, or `nil` on a device that does not.
    public var faceSensor: (any BiometricSensor)?
    /// The device's own passcode, or `nil` where the operating system judges none for apps: then nobody can tell either
    /// whether the device has one.
    public var devicePasscode: (any DevicePasscode)?
    /// The device's clocks.
    public var clock: any DeviceClock
    /// The device's source of randomness; replaced in tests only.
    public var random: RandomSource

    /// A platform of the given parts.
    public init(
        storage: any SecureStorage, keys: (any DeviceKeys)? = nil, fingerprintSensor: (any BiometricSensor)? = nil,
        faceSensor: (any BiometricSensor)? = nil, devicePasscode: (any DevicePasscode)? = nil,
        clock: any DeviceClock, random: RandomSource = .system
    ) {
        self.storage = storage
        self.keys = keys
        self.fingerprintSensor = fingerprintSensor
        self.faceSensor = faceSensor
        self.devicePasscode = devicePasscode
        self.clock = clock
        self.random = random
    }
}

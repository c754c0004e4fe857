public import _Primitives

/// The abilities of the device, with one protocol for each ability.
public struct DevicePlatform: Sendable {
    /// The storage of counters, attempts and records of keys.
    public var storage: any SecureStorage
    /// The device's key store; `nil` if the device has none. The keys are then in the storage.
    public var keys: (any DeviceKeys)?
    /// The fingerprint sensor, or `nil` on a device without one.
    public var fingerprintSensor: (any BiometricSensor)?
    /// The face recognition, or `nil` on a device without face recognition.
    public var faceSensor: (any BiometricSensor)?
    /// The device's own passcode; `nil` if the operating system verifies no passcode for apps. In this case the app
    /// cannot know if the device has a passcode.
    public var devicePasscode: (any DevicePasscode)?
    /// The service of the operating system that proves which app runs; `nil` on a device without such a service.
    public var appAttestor: (any AppAttestor)?
    /// The device's clocks.
    public var clock: any DeviceClock
    /// The device's source of randomness; replaced in tests only.
    public var random: RandomSource

    /// Creates a platform from its parts.
    public init(
        storage: any SecureStorage, keys: (any DeviceKeys)? = nil, fingerprintSensor: (any BiometricSensor)? = nil,
        faceSensor: (any BiometricSensor)? = nil, devicePasscode: (any DevicePasscode)? = nil,
        appAttestor: (any AppAttestor)? = nil, clock: any DeviceClock, random: RandomSource = .system
    ) {
        self.storage = storage
        self.keys = keys
        self.fingerprintSensor = fingerprintSensor
        self.faceSensor = faceSensor
        self.devicePasscode = devicePasscode
        self.appAttestor = appAttestor
        self.clock = clock
        self.random = random
    }
}

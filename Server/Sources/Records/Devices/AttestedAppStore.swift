/// The key of the app on a device, for which the operating system's maker has vouched (decision 124).
public struct AttestedAppRecord: Sendable, Equatable {
    /// The device. A device has one such key at most.
    public var deviceID: String
    /// The team of the app at Apple.
    public var teamID: String
    /// The bundle identifier of the app.
    public var bundleID: String
    /// The environment in which the key was attested: `production` or `development`.
    public var environment: String
    /// The key's name: SHA-256 of the key, 32 bytes.
    public var keyID: [UInt8]
    /// The key: an uncompressed point on P-256, 65 bytes. Sealed at rest.
    public var publicKey: [UInt8]
    /// The number of the last assertion that counted; 0 after the attestation.
    public var counter: UInt32

    /// Makes a record from its values.
    public init(
        deviceID: String, teamID: String, bundleID: String, environment: String, keyID: [UInt8], publicKey: [UInt8],
        counter: UInt32
    ) {
        self.deviceID = deviceID
        self.teamID = teamID
        self.bundleID = bundleID
        self.environment = environment
        self.keyID = keyID
        self.publicKey = publicKey
        self.counter = counter
    }
}

/// The counter of an assertion by the attested key of a device.
public struct AppCounterAdvance: Sendable, Equatable {
    /// The device.
    public var deviceID: String
    /// The name of the key that has signed.
    public var keyID: [UInt8]
    /// The number of the assertion. Accepted if the number is greater than the stored number of the same key.
    public var counter: UInt32

    /// Makes an advance.
    public init(deviceID: String, keyID: [UInt8], counter: UInt32) {
        self.deviceID = deviceID
        self.keyID = keyID
        self.counter = counter
    }
}

/// The keys of a device for evidence about its app.
public struct DeviceAppKeys: Sendable, Equatable {
    /// The device's own signing key, to which evidence is bound: an uncompressed point on P-256, 65 bytes; `nil` for a
    /// device without keys of its own.
    public var signingKey: [UInt8]?
    /// The attested key of the app; `nil` for none.
    public var app: AttestedAppRecord?

    /// Makes a pair.
    public init(signingKey: [UInt8]?, app: AttestedAppRecord?) {
        self.signingKey = signingKey
        self.app = app
    }
}

/// The attested keys of apps. The keys arrive with ``CeremonyChange/attestedApp``, and go with their devices.
public protocol AttestedAppStore: Sendable {
    /// Returns the keys of a device; neither key for an unknown device.
    func appKeys(ofDevice id: String) async throws -> DeviceAppKeys
}

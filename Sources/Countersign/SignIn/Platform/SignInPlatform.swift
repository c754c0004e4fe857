public import UAFClient
public import _Primitives

/// The abilities of a device for signing in: one protocol for each ability.
public struct SignInPlatform: Sendable {
    /// The storage for the app's data of a sign-in.
    public var storage: any SignInStorage
    /// The mark that identifies the first start after an install.
    public var installation: any InstallationMark
    /// The browser with which a person signs in; `nil` for a device without a browser.
    public var webAuthentication: (any WebAuthentication)?
    /// The store that releases secrets for a finger or a face; `nil` for a device without a sensor.
    public var biometricKeys: (any BiometricKeys)?
    /// The app's web views; `nil` for an app without web views.
    public var webViews: (any WebViews)?
    /// The storage that the apps of one maker share, for signing in through each other; `nil` for a single app.
    public var sharedStorage: (any SignInStorage)?
    /// The device's clocks.
    public var clock: any DeviceClock
    /// The device's source of randomness; replaced in tests only.
    public var random: RandomSource

    /// Creates a platform of the given parts.
    public init(
        storage: any SignInStorage, installation: any InstallationMark,
        webAuthentication: (any WebAuthentication)? = nil,
        biometricKeys: (any BiometricKeys)? = nil, webViews: (any WebViews)? = nil,
        sharedStorage: (any SignInStorage)? = nil, clock: any DeviceClock,
        random: RandomSource = .system
    ) {
        self.storage = storage
        self.installation = installation
        self.webAuthentication = webAuthentication
        self.biometricKeys = biometricKeys
        self.webViews = webViews
        self.sharedStorage = sharedStorage
        self.clock = clock
        self.random = random
    }
}

public import UAFClient
public import _Primitives

/// What a device can do for signing in: one protocol for each ability.
public struct SignInPlatform: Sendable {
    /// Where the app keeps what it has of a sign-in.
    public var storage: any SignInStorage
    /// How the first start after an install is known.
    public var installation: any InstallationMark
    /// The browser that people sign in with; `nil` where there is none.
    public var webAuthentication: (any WebAuthentication)?
    /// What gives secrets out for a finger or a face; `nil` on a device without.
    public var biometricKeys: (any BiometricKeys)?
    /// The app's web views; `nil` for an app that has none.
    public var webViews: (any WebViews)?
    /// Storage that the apps of one maker share, for signing in by each other; `nil` for an app alone.
    public var sharedStorage: (any SignInStorage)?
    /// The device's clocks.
    public var clock: any DeviceClock
    /// The device's source of randomness; replaced in tests only.
    public var random: RandomSource

    /// A platform of the given parts.
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

public import Countersign
public import Foundation

/// A device without a screen to sign in on: storage in memory, a sensor that feels what it is told to, a browser whose person
/// agrees to everything, and a server.
public struct VirtualSignInDevice: Sendable {
    /// The device's storage.
    public let storage: InMemoryStorage
    /// Whether the app was started since it was installed.
    public let installation: VirtualInstallation
    /// The device's sensor.
    public let sensor: ScriptedSensor
    /// The device's browser.
    public let browser: VirtualBrowser
    /// The app's web views.
    public let webViews: VirtualWebViews
    /// The device's clock.
    public let clock: FakeClock
    /// The server that people sign in at.
    public let server: VirtualSignInServer
    /// Storage that this app shares with others of its maker; `nil` for an app alone.
    public let sharedStorage: InMemoryStorage?

    /// A device, and a server whose clock is the device's unless another one is given.
    ///
    /// - Parameters:
    ///   - cookiePrefix: What the names of the site's cookies begin with (``WebViewSites``).
    ///   - cookieDomain: As ``VirtualSignInServer`` has it.
    public init(
        baseURL: URL, storage: InMemoryStorage = InMemoryStorage(), sensor: ScriptedSensor = ScriptedSensor(),
        clock: FakeClock = FakeClock(), serverClock: FakeClock? = nil, sharedStorage: InMemoryStorage? = nil,
        cookiePrefix: String = "countersign_", cookieDomain: String? = nil
    ) {
        let server = VirtualSignInServer(
            baseURL: baseURL, clock: (serverClock ?? clock).timeSource, cookiePrefix: cookiePrefix,
            cookieDomain: cookieDomain)
        self.storage = storage
        self.installation = VirtualInstallation()
        self.sensor = sensor
        self.browser = VirtualBrowser { try await server.signedIn($0, $1) }
        self.webViews = VirtualWebViews()
        self.clock = clock
        self.server = server
        self.sharedStorage = sharedStorage
    }

    /// The parts as an app is given them, with the sensor's keys in the storage.
    public var platform: SignInPlatform {
        SignInPlatform(
            storage: self.storage, installation: self.installation, webAuthentication: self.browser,
            biometricKeys: SensorGuardedKeys(storage: self.storage, sensor: self.sensor),
            webViews: self.webViews, sharedStorage: self.sharedStorage, clock: self.clock)
    }

    /// Starts a process of the app.
    public func start(_ configuration: SignInConfiguration) async throws -> SignIn {
        try await SignIn(configuration, platform: self.platform, transport: self.server)
    }
}

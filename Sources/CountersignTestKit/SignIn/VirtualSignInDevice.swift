public import Countersign
public import Foundation

/// A device without a screen for sign-ins: a storage in memory, a scripted sensor, a browser whose person agrees to
/// everything, and a server.
public struct VirtualSignInDevice: Sendable {
    /// The device's storage.
    public let storage: InMemoryStorage
    /// The mark that the app was started since its installation.
    public let installation: VirtualInstallation
    /// The device's sensor.
    public let sensor: ScriptedSensor
    /// The device's browser.
    public let browser: VirtualBrowser
    /// The app's web views.
    public let webViews: VirtualWebViews
    /// The device's clock.
    public let clock: FakeClock
    /// The sign-in server.
    public let server: VirtualSignInServer
    /// The storage that this app shares with other apps of its maker; `nil` for a single app.
    public let sharedStorage: InMemoryStorage?

    /// Creates a device and a server. The server has the device's clock unless `serverClock` is given.
    ///
    /// - Parameters:
    ///   - cookiePrefix: The beginning of the names of the site's cookies (``WebViewSites``).
    ///   - cookieDomain: The domain of the cookies, as in ``VirtualSignInServer``.
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

    /// The parts of the device for an app. The sensor's keys are in the storage.
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

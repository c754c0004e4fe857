import Countersign
import CountersignLinux
import Foundation

/// Where the health app's server and pages are.
struct HealthSettings: Sendable {
    /// The server that people sign in at.
    var service: URL
    /// What the app is called there.
    var app: String
    /// The site whose pages the app shows; `nil` for an app without any, which may ask for a password itself.
    var site: URL?
    /// What the site is called there.
    var siteName = "health-web"
    /// Where the browser comes back to the app; the port counts at the sign-in service, which knows this address alone.
    var redirectURI = "http://127.0.0.1:8445/signed-in"
    /// The folder of what the app keeps.
    var folder: String
    /// The browser whose windows are the app's web views.
    var chromium = "chromium"
}

func makeConfiguration(_ settings: HealthSettings) -> SignInConfiguration {
    guard let host = settings.site?.host() else {
        return SignInConfiguration(
            baseURL: settings.service, clientID: settings.app, redirectURI: settings.redirectURI)
    }
    var configuration = SignInConfiguration(
        baseURL: settings.service, application: settings.app, redirectURI: settings.redirectURI)
    let port = settings.site?.port.map { ":\($0)" } ?? ""
    configuration.webViews = WebViewSites(
        application: settings.siteName, hosts: [host + port], cookiePrefix: "health_")
    return configuration
}

func makePlatform(
    _ settings: HealthSettings, sensor: any BiometricSensor, show: @escaping @Sendable (URL) throws -> Void
) throws -> SignInPlatform {
    let storage = try AppFileStorage(directory: settings.folder + "/kept")
    return SignInPlatform(
        storage: storage,
        installation: FileInstallationMark(path: settings.folder + "/app/installed"),
        webAuthentication: LoopbackBrowser(opening: show),
        biometricKeys: SensorGuardedKeys(storage: storage, sensor: sensor),
        webViews: ChromiumWebViews(program: settings.chromium),
        clock: try LinuxDeviceClock())
}

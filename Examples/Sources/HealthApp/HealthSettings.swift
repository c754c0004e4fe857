import Countersign
import CountersignLinux
import Foundation

/// The addresses of the health app's server and pages, and the app's own settings.
struct HealthSettings: Sendable {
    /// The address of the server at which people sign in.
    var service: URL
    /// The app's name at the server.
    var app: String
    /// The site whose pages the app shows; `nil` for an app without pages, which may ask for a password itself.
    var site: URL?
    /// The site's name at the server.
    var siteName = "health-web"
    /// The address at which the browser returns to the app. The sign-in service accepts only this address and port.
    var redirectURI = "http://127.0.0.1:8445/signed-in"
    /// The folder of the app's data.
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

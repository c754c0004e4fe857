import Countersign
import CountersignLinux
import Foundation
import UAFClient
import _Primitives

/// The app on the phone that people sign in to: a separate store, the simulated finger, and the system's browser.
struct SignInDevice: Sendable {
    /// The settings of the app's sign-in, from the last `sign-in`.
    struct Setup: Equatable, Sendable {
        var server: String
        /// The app's name at the OpenID face; `nil` at the sign-in service.
        var clientID: String?
        /// The app's name at the sign-in service; `nil` at the OpenID face.
        var application: String?
        var redirectURI: String
        /// The web site's name at the sign-in service, its hosts, and the prefix of its cookies.
        var webApplication: String?
        var webHosts: [String] = []
        var cookiePrefix: String?
        /// The name of the app's key in the Secret Service; `nil` if the key is in a file.
        var keyring: String?

        /// Returns the configuration for the SDK. Throws a usage ``Refusal`` if server and app do not match.
        func configuration() throws -> SignInConfiguration {
            guard let url = ServerAddress(self.server)?.url else {
                throw Refusal.usage("--server takes an address such as https://sign-in.example.com.")
            }
            var configuration: SignInConfiguration
            switch (self.clientID, self.application) {
            case (let id?, nil):
                configuration = SignInConfiguration(baseURL: url, clientID: id, redirectURI: self.redirectURI)
            case (nil, let name?):
                configuration = SignInConfiguration(baseURL: url, application: name, redirectURI: self.redirectURI)
            default: throw Refusal.usage("Name the app: --client-id, or --application at the sign-in service.")
            }
            if let webApplication {
                configuration.webViews = WebViewSites(
                    application: webApplication, hosts: self.webHosts,
                    cookiePrefix: self.cookiePrefix ?? "countersign_")
            }
            return configuration
        }

        private var json: JSONObject {
            var json: JSONObject = [
                "server": .string(self.server), "redirectURI": .string(self.redirectURI),
                "webHosts": .array(self.webHosts.map(JSON.string)),
            ]
            json.set("clientID", self.clientID)
            json.set("application", self.application)
            json.set("webApplication", self.webApplication)
            json.set("cookiePrefix", self.cookiePrefix)
            json.set("keyring", self.keyring)
            return json
        }

        private init?(_ json: JSONObject) {
            guard let server = try? json.string("server"), let redirectURI = try? json.string("redirectURI") else {
                return nil
            }
            self.init(server: server, redirectURI: redirectURI)
            self.clientID = try? json.string("clientID")
            self.application = try? json.string("application")
            self.webApplication = try? json.string("webApplication")
            self.cookiePrefix = try? json.string("cookiePrefix")
            self.keyring = try? json.string("keyring")
            self.webHosts = (try? json.strings("webHosts")) ?? []
        }

        init(server: String, redirectURI: String) {
            self.server = server
            self.redirectURI = redirectURI
        }

        /// Reads the settings of the last `sign-in`; `nil` if `sign-in` has not run yet.
        static func read(home: String) -> Self? { SimulatedState.read(Self.path(home)).flatMap(Self.init) }

        /// Keeps the settings for `session`, `webview` and `sign-out`.
        func write(home: String) throws { try SimulatedState.write(self.json, Self.path(home)) }

        private static func path(_ home: String) -> String { "\(home)/sign-in.json" }
    }

    private let platform: SignInPlatform
    private let network: any Transport
    private let setup: Setup

    /// - Parameters:
    ///   - windows: The windows for pages; `nil` for the terminal.
    ///   - show: Shows an address to the person.
    init(
        _ setup: Setup, _ options: PhoneOptions, report: Report, windows: ChromiumWebViews? = nil,
        show: @escaping @Sendable (URL) throws -> Void
    ) async throws {
        let home = options.homePath
        let storage: any SignInStorage
        if let name = setup.keyring {
            // With --json, no dialog asks the person anything.
            storage = try await SecretServiceStorage(
                application: name, directory: Self.keyringFolder(home), mayAsk: !options.json)
        } else {
            storage = try AppFileStorage(directory: Self.folder(home))
        }
        self.network = try HTTPTransport.network(options)
        self.setup = setup
        self.platform = SignInPlatform(
            storage: storage, installation: FileInstallationMark(path: "\(home)/app-installed"),
            webAuthentication: LoopbackBrowser(opening: show),
            biometricKeys: SensorGuardedKeys(storage: storage, sensor: SimulatedSensor(.finger, home: home)),
            webViews: windows ?? TerminalWebViews(network: self.network, report: report),
            clock: try SimulatedClock(home: home))
    }

    /// Returns a name for the app's key in the keyring; `nil` if this session has no keyring, so that the key goes into
    /// a file. Throws ``StorageError``.
    static func newKeyring(_ options: PhoneOptions) async throws -> String? {
        let name = "countersign-phone." + RandomSource.system.identifier()
        do {
            _ = try await SecretServiceStorage(
                application: name, directory: Self.keyringFolder(options.homePath), mayAsk: !options.json)
            return name
        } catch let error as StorageError where error.code == .unsupported {
            return nil
        }
    }

    /// Removes the app's data on a phone. The remaining key in the keyring opens nothing then.
    static func wipe(home: String) throws {
        try AppFileStorage(directory: Self.folder(home)).removeAll()
        let folder = Self.keyringFolder(home)
        if FileManager.default.fileExists(atPath: folder) { try FileManager.default.removeItem(atPath: folder) }
    }

    private static func folder(_ home: String) -> String { "\(home)/app" }
    private static func keyringFolder(_ home: String) -> String { "\(home)/app-keyring" }

    /// Starts a process of the app.
    func start() async throws -> SignIn {
        try await SignIn(try self.setup.configuration(), platform: self.platform, transport: self.network)
    }
}

import Ceremony
import Countersign
import CountersignLinux
import Foundation
import UAFClient

/// One phone: a folder with keys, sensors and a clock, and the network.
struct PhoneDevice: Sendable {
    let home: String
    let storage: EncryptedFileStorage
    let fingerprintSensor: SimulatedSensor
    let faceSensor: SimulatedSensor
    let passcode: SimulatedPasscode
    private let platform: DevicePlatform
    private let network: any Transport
    private let waiting: @Sendable (Duration) async throws -> Void
    private let trace: TraceRecorder?

    /// The program's name in the server's list of apps, whatever the name of the program's file is.
    static let facetID = "linux:program:countersign-phone"
    /// The address for clients that only read the phone's data. No server has this address, and nothing is sent.
    private static let nowhere = URL(string: "https://localhost")

    /// Switches the phone on, by default with this machine's network and clock. Throws ``StorageError``, ``Refusal``
    /// for a file of certificates or of the trace that cannot be used and for a missing chip, and errors about the
    /// phone's folder.
    ///
    /// - Parameter waiting: The phone's way to wait; `nil` for waiting by the phone's clock.
    init(
        _ options: PhoneOptions, network: (any Transport)? = nil, clock: (any DeviceClock)? = nil,
        waiting: (@Sendable (Duration) async throws -> Void)? = nil
    ) throws {
        let home = options.homePath
        self.home = home
        self.storage = try Self.storage(home: home)
        self.fingerprintSensor = SimulatedSensor(.finger, home: home)
        self.faceSensor = SimulatedSensor(.face, home: home)
        self.passcode = SimulatedPasscode(home: home)
        let clock = try clock ?? SimulatedClock(home: home)
        let keyStore = try PhoneKeyStore(options)
        let keys = try keyStore.keys(self.fingerprintSensor, self.faceSensor, self.passcode)
        try keyStore.keep(home: home)
        self.platform = DevicePlatform(
            storage: self.storage, keys: keys, fingerprintSensor: self.fingerprintSensor, faceSensor: self.faceSensor,
            devicePasscode: self.passcode, appAttestor: try SimulatedApp(home: home).attestor(), clock: clock)
        self.waiting = waiting ?? { try await clock.sleep(for: $0) }
        do {
            self.trace = try options.trace.map { path throws(TraceError) in try TraceRecorder(path: path) }
        } catch {
            throw Refusal.failed("trace", "\(options.trace ?? "") cannot be written (\(error.reason)).")
        }
        self.network = try network ?? HTTPTransport.network(options)
    }

    /// Opens the storage in a phone's folder, and makes the folder if necessary. Throws ``StorageError``, and errors
    /// about the folder.
    static func storage(home: String) throws -> EncryptedFileStorage {
        try FileManager.default.createDirectory(
            atPath: home, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return try EncryptedFileStorage(directory: "\(home)/store")
    }

    /// Returns the SDK for a server, or, without a server, for the data on the phone.
    func client(_ server: ServerAddress?) async throws -> MobileAuthenticationClient {
        guard let address = server?.url ?? Self.nowhere else { throw Refusal.usage("no server") }
        var configuration = ClientConfiguration(baseURL: address)
        configuration.facetID = Self.facetID
        var initializer = MobileAuthenticationClientInitializer()
            .configuration(configuration).platform(self.platform).transport(self.network)
            .pictureDisplays([ShownPicture.display])
        if let trace { initializer = initializer.traceRecorder(trace) }
        return try await initializer.execute()
    }

    /// Returns the SDK of personalised identities. Throws `CountersignError`.
    func identities(_ configuration: IdentityConfiguration) async throws -> CountersignSDK {
        let sdk = CountersignSDK()
        try await sdk.initialize(
            configuration, platform: self.platform, transport: self.network, traceRecorder: self.trace)
        return sdk
    }

    /// Waits. Throws `CancellationError`.
    func sleep(for duration: Duration) async throws { try await self.waiting(duration) }

    /// Fetches a small file. Throws `TransportError`.
    func fetch(_ url: URL) async throws -> TransportResponse {
        try await self.network.send(
            TransportRequest(
                method: "GET", url: url, headers: [("Accept", "application/json")], body: [],
                timeout: PhoneLimits.fileTime))
    }

    /// Returns the servers that the phone is enrolled at.
    func knownServers() async throws -> [ServerAddress] {
        try await self.client(nil).localData.accounts.compactMap { ServerAddress($0.server.baseURL) }
            .reduce(into: []) { known, server in
                if !known.contains(server) { known.append(server) }
            }
    }
}

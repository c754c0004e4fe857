import Countersign
import CountersignLinux
import CountersignTestKit
import Foundation
import ServerClients
import Synchronization
import _Primitives

/// The data of an app's process beside the data of the SDK.
private struct AppState: KeptInFile {
    /// The app's name at the server, and the folder of the SDK's data.
    let application: String
    let folder: String

    /// Starts the app.
    func start(
        at port: UInt16, over transport: any Transport, browser: VirtualBrowser? = nil, secondsAhead: Int = 0
    ) async throws -> SignIn {
        guard let address = URL(string: "http://localhost:\(port)") else { throw LoadError("no address") }
        var configuration = SignInConfiguration(
            baseURL: address, application: self.application, redirectURI: AppsOfService.redirectURI)
        configuration.keeping = .onThisDevice
        let wall = TimeSource { TimeSource.system.now() + .seconds(secondsAhead) }
        let platform = SignInPlatform(
            storage: try AppFileStorage(directory: self.folder + "/kept"),
            installation: FileInstallationMark(path: self.folder + "/installed"), webAuthentication: browser,
            clock: try LinuxDeviceClock(wall: wall))
        return try await SignIn(configuration, platform: platform, transport: transport)
    }
}

/// One app of the sign-in service, in a separate process: the SDK with its storage on the disk. The process ends as a
/// ``RenewingClient`` does.
struct RenewingApp {
    static let kind = "app"

    let file: String

    func run() async throws {
        var errand = try Errand(file: Errand.file(of: self.file))
        let transport = ProxiedTransport(port: errand.proxyPort)
        let app = try await AppState(file: self.file).start(
            at: errand.serverPort, over: transport, secondsAhead: errand.secondsAhead)
        var authorization: String?
        while errand.left > 0 {
            transport.diesWithNextToken = try errand.isToDie(at: Errand.file(of: self.file))
            authorization = try await self.renewed(app, insteadOf: authorization, errand)
            try errand.hasRenewed(at: Errand.file(of: self.file))
        }
    }

    /// Renews until an answer comes. A newly started app restores its stored session first.
    private func renewed(_ app: SignIn, insteadOf former: String?, _ errand: Errand) async throws -> String {
        guard let address = URL(string: "https://api.example/records") else { throw LoadError("no address") }
        for _ in 0..<Errand.tries {
            do {
                if former == nil { try await app.restore() }
                let fields = try await app.authorization(method: "GET", url: address, insteadOf: former)
                guard let field = fields.first(where: { $0.name == "Authorization" }), field.value != former else {
                    throw LoadError("no other access token")
                }
                return field.value
            } catch let error as SignInError where error.code == .networkError {
                continue
            } catch let error as SignInError {
                print("refused: \(error), \(errand.left) left")
                exit(Errand.signedOut)
            }
        }
        throw LoadError("a hundred answers were lost, one after the other")
    }
}

/// The network of such an app. All requests pass the proxy. If the app is to die, the process ends at the receipt of a
/// token.
private final class ProxiedTransport: Transport {
    private let port: UInt16
    private let dies = Mutex(false)

    var diesWithNextToken: Bool {
        get { self.dies.withLock { $0 } }
        set { self.dies.withLock { $0 = newValue } }
    }

    init(port: UInt16) { self.port = port }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let response: HTTPConnection.Response
        do {
            var connection = try HTTPConnection(port: self.port)
            try connection.send(
                request.method, request.url.path(), headers: request.headers.map { "\($0.name): \($0.value)" },
                body: request.body)
            response = try connection.receive()
        } catch {
            throw TransportError(.unreachable, "the answer was lost")
        }
        if response.status == 200, self.diesWithNextToken { kill(getpid(), SIGKILL) }
        let headers = response.head.split(separator: "\r\n").dropFirst().compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return parts.count == 2 ? (name: String(parts[0]), value: String(parts[1].drop { $0 == " " })) : nil
        }
        return TransportResponse(status: response.status, headers: headers, body: response.body)
    }
}

/// Apps of the sign-in service, each signed in on a separate device.
struct AppsOfService {
    static let redirectURI = "https://app.example/signed-in"

    private let folder: String
    private let files: [String]

    init(house: Household, process: ServerProcess, folder: String) async throws {
        self.folder = folder
        let application = try house.server.addSignInServiceClient(
            redirectURI: Self.redirectURI, algorithm: "ES256",
            [
                "authentication": .string("api"), "accessTokenSeconds": .integer(300),
                "refreshTokenSeconds": .integer(3_888_000), "accessTokenAudience": .string("app"),
                "sharedSessions": .bool(true), "serviceLevels": .array([.string("loa1")]),
            ], signInMethods: ["phone"])
        let browser = VirtualBrowser { page, _ in
            let asked = URLComponents(url: page, resolvingAgainstBaseURL: false)?.queryItems ?? []
            func value(_ name: String) -> String { asked.first { $0.name == name }?.value ?? "" }
            return try house.signedIn(to: application, challenge: value("code_challenge"), state: value("state"))
        }
        var files: [String] = []
        for index in 0..<LostAnswers.clients {
            let state = AppState(application: application, folder: "\(folder)/app-\(index)")
            try FileManager.default.createDirectory(atPath: state.folder, withIntermediateDirectories: true)
            let app = try await state.start(
                at: process.port, over: ProxiedTransport(port: process.port), browser: browser)
            try await app.withBrowser()
            files.append(state.folder + ".json")
            try state.write(to: state.folder + ".json")
        }
        self.files = files
    }

    /// - Parameters:
    ///   - count: The number of renewals of all apps together.
    ///   - kills: The number of deaths of all apps together.
    func members(count: Int, kills: Int) -> [LostAnswers.Member] {
        self.files.map { file in
            LostAnswers.Member(
                kind: RenewingApp.kind, file: file, isBound: true, left: count / LostAnswers.clients,
                deaths: kills / LostAnswers.clients)
        }
    }
}

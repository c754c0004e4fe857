import Countersign
import CountersignLinux
import CountersignTestKit
import Crypto
import Foundation
import Passwords
import ServerClients
import UAFClient
import _Primitives

/// The rates of the app sign-in service, and a person's waiting times.
struct AppSignInRates {
    /// Renewals of apps' sessions, each durable.
    let renewed: Measurement
    /// Web sessions that apps have opened, with their cookies, each durable.
    let opened: Measurement
    /// The times from a finger's match to an access token, in milliseconds, sorted. The app's own work in the SDK is
    /// included.
    let unlocked: [Double]

    func unlock(percentile percent: Int) -> Double {
        self.unlocked[min(self.unlocked.count - 1, self.unlocked.count * percent / 100)]
    }
}

/// The app sign-in service on a separate server.
struct AppSignInServer {
    let load: AppSignInLoad
    private let process: ServerProcess

    /// - Parameter algorithm: The signature algorithm of the access tokens.
    init(program: String, folder: String, connections: Int, algorithm: String) async throws {
        self.process = try await People.serve(
            program: program, folder: folder, count: connections,
            hashing: Argon2Parameters(memoryKiB: 8, passes: 1, lanes: 1))
        let server = Server(self.process)
        let app = try server.addSignInServiceClient(
            redirectURI: AppSignInLoad.appAddress, algorithm: algorithm,
            [
                "authentication": .string("api"), "accessTokenSeconds": .integer(1800),
                "refreshTokenSeconds": .integer(3_888_000), "accessTokenAudience": .string("app"),
                "sharedSessions": .bool(true), "serviceLevels": .array([.string("loa1")]),
            ])
        let web = try server.addSignInServiceClient(
            redirectURI: AppSignInLoad.webAddress, algorithm: algorithm,
            [
                "authentication": .string("cookie"), "antiCsrf": .bool(true), "accessTokenAudience": .string("web"),
                "sharedSessions": .bool(true), "serviceLevels": .array([.string("loa1")]),
            ])
        self.load = AppSignInLoad(
            server: server, process: self.process.identifier, connections: connections, app: app, web: web)
    }

    func stop() { self.process.stop() }
}

/// Apps that renew their sessions, open web sessions, and return by a finger.
struct AppSignInLoad: Sendable {
    static let appAddress = "https://app.example/signed-in"
    static let webAddress = "https://www.example/signed-in"
    /// The beginning of a cookie with a session's access token.
    private static let accessCookie = "countersign_access_token="
    private static let state = "a-state-of-22-letters-"

    let server: Server
    let process: Int32
    let connections: Int
    let app: String
    let web: String

    /// - Parameters:
    ///   - count: The number of renewals, and of opened web sessions.
    ///   - unlocks: The number of returns of a person; 0 for none.
    func rates(count: Int, unlocks: Int) async throws -> AppSignInRates {
        let sessions = try (0..<self.connections).map(self.session)
        let renewed = try measured(self.process) {
            try onThreads(self.connections) { index in
                var connection = try self.server.connect()
                var refresh = sessions[index].refresh
                for _ in stride(from: index, to: count, by: self.connections) {
                    refresh = try Session(
                        try connection.exchange(self.post("refresh", "refresh_token=\(refresh)"))
                    ).refresh
                }
            }
            return count
        }
        let opened = try measured(self.process) {
            try onThreads(self.connections) { index in
                var connection = try self.server.connect()
                let exchange = try self.exchange(sessions[index])
                for _ in stride(from: index, to: count, by: self.connections) {
                    let answer = try connection.exchange(exchange.ofAnotherSource)
                    guard answer.status == 200,
                        answer.headers("set-cookie").contains(where: { $0.utf8.starts(with: Self.accessCookie.utf8) })
                    else {
                        throw LoadError("exchange: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
                    }
                }
            }
            return count
        }
        return AppSignInRates(renewed: renewed, opened: opened, unlocked: try await self.unlock(unlocks))
    }

    /// Measures the returns of a person to the app, one after the other. Each return looks like a new process to the
    /// app.
    private func unlock(_ count: Int) async throws -> [Double] {
        guard count > 0, let address = URL(string: "http://localhost:\(self.server.port)") else { return [] }
        let device = VirtualSignInDevice(baseURL: address)
        let platform = SignInPlatform(
            storage: device.storage, installation: device.installation, webAuthentication: device.browser,
            biometricKeys: SensorGuardedKeys(storage: device.storage, sensor: device.sensor),
            webViews: device.webViews, clock: try LinuxDeviceClock())
        let configuration = SignInConfiguration(
            baseURL: address, application: self.app, redirectURI: Self.appAddress)
        device.browser.onVisit { page, _ in
            let asked = URLComponents(url: page, resolvingAgainstBaseURL: false)?.queryItems ?? []
            func value(_ name: String) -> String { asked.first { $0.name == name }?.value ?? "" }
            return try self.signedIn(0, challenge: value("code_challenge"), state: value("state"))
        }
        try await SignIn(configuration, platform: platform).withBrowser { true }
        let clock = ContinuousClock()
        var milliseconds: [Double] = []
        for _ in 0..<count {
            let app = try await SignIn(configuration, platform: platform)
            device.sensor.feel(.match)
            let start = clock.now
            try await app.restore()
            milliseconds.append(seconds(of: start.duration(to: clock.now)) * 1000)
        }
        return milliseconds.sorted()
    }

    // MARK: - What apps and browsers send

    /// The tokens that an app receives.
    private struct Session: Sendable {
        let access: String
        let refresh: String
        let deviceSecret: String?

        init(_ answer: HTTPConnection.Response) throws {
            guard answer.status == 200, case .object(let body) = try JSON(parsing: answer.body) else {
                throw LoadError("session: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
            }
            let data = try body.requiredObject("data")
            self.access = try data.requiredString("access_token")
            self.refresh = try data.requiredString("refresh_token")
            self.deviceSecret = try data.string("device_secret")
        }
    }

    private func session(of person: Int) throws -> Session {
        let verifier = RandomSource.system.token()
        let challenge = Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8))))
        let location = try self.signedIn(person, challenge: challenge, state: Self.state)
        guard let mark = location.firstRange(of: "code=") else { throw LoadError("no code in the app's address") }
        let code = location[mark.upperBound...].prefix { $0 != "&" }
        var connection = try self.server.connect()
        return try Session(
            try connection.exchange(
                self.post("token", "grant_type=authorization_code&code=\(code)&code_verifier=\(verifier)")))
    }

    /// Signs a person in. Returns the address to which the browser is sent.
    private func signedIn(_ person: Int, challenge: String, state: String) throws -> String {
        var browser = try self.server.connect()
        let begun = try browser.exchange(
            Request(
                "GET",
                "/v0/sign_in/authorize?client_id=\(self.app)&type=password&acr=loa1&scope=device_sso&state=\(state)"
                    + "&code_challenge=\(challenge)&code_challenge_method=S256", headers: [forwardedHeader()]))
        guard let mark = begun.header("location")?.firstRange(of: "request="), let location = begun.header("location")
        else { throw LoadError("authorize: \(begun.status) \(String(decoding: begun.body, as: UTF8.self))") }
        let request = location[mark.upperBound...].prefix { $0 != "&" }
        let answer = try browser.exchange(
            Request(
                "POST", "/sign-in/password", headers: begun.cookieHeaders + [forwardedHeader()],
                type: "application/x-www-form-urlencoded",
                body: Array(
                    "request=\(request)&username=\(People.name(person))&password=\(People.password)".utf8)))
        guard answer.status == 303 else { throw LoadError("password: \(answer.status)") }
        let completed = try browser.exchange(
            Request("GET", "/sign-in/complete?request=\(request)", headers: begun.cookieHeaders))
        guard let back = completed.header("location"), back.hasPrefix(Self.appAddress) else {
            throw LoadError("complete: \(completed.status) \(completed.header("location") ?? "")")
        }
        return back
    }

    private func exchange(_ session: Session) throws -> Request {
        guard let secret = session.deviceSecret else { throw LoadError("no device secret") }
        return self.post(
            "token",
            "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&client_id=\(self.web)"
                + "&subject_token=\(session.access)&subject_token_type=urn:ietf:params:oauth:token-type:access_token"
                + "&actor_token=\(secret)&actor_token_type=urn:x-oath:params:oauth:token-type:device-secret")
    }

    private func post(_ name: String, _ form: String) -> Request {
        Request("POST", "/v0/sign_in/\(name)", type: "application/x-www-form-urlencoded", body: Array(form.utf8))
    }
}

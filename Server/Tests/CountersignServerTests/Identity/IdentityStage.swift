import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignLinux
import CountersignServer
import CountersignTestKit
import Foundation
import HummingbirdTesting
import JOSE
import OAuthProvider
import PersonalInformation
import Settings
import Synchronization
import Testing
import UAFClient
import _Primitives

/// A whole server with a service of personalised identities, which says all that it can, and phones that keep in files:
/// whatever anybody could come by of them is at hand.
struct IdentityStage: Sendable {
    static let issuer = "http://localhost:8080"
    static let values = (given: "Wilhelmine-Friederike", home: "wilhelmine@home.example", work: "w.meier@work.example")

    let server: ServerFixture
    let client: any TestClientProtocol
    let party: RelyingParty
    /// What the server logged, and the texts of all errors.
    let lines: LoggedLines
    /// What went between phones and server, without the transport's encryption.
    let traffic: Traffic
    /// Where phones and traces are.
    let folder: String
    /// Everything that phones drew by chance.
    let drawn = DrawnBytes()
    private let phoneTrace: TraceRecorder

    /// Who comes in which role, and what the service wants to know of them.
    private static let profile: JSONObject = [
        "roles": .array([
            .role("resident", "Resident", isDefault: true, factors: [["pin", "device"], ["biometric", "device"]])
        ]),
        "attributes": .object(["givenName": .string("required"), "email": .string("required")]),
    ]

    /// Runs a test with alice, who has two addresses and no first name.
    static func run(
        limits: Limits = Limits(), pins: (any PinEvaluating)? = nil, identities: IdentityRules = IdentityRules(),
        _ test: @escaping @Sendable (Self) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/stage-\(RandomSource.system.token())"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let lines = LoggedLines()
        let server = try await ServerFixture(
            issuer: Self.issuer, limits: limits, trace: try TraceRecorder(path: "\(folder)/server-trace"),
            logger: lines.logger, pins: pins, identities: identities)
        let phoneTrace = try TraceRecorder(path: "\(folder)/phone-trace")
        try await server.withPublicClient(logger: lines.logger) { client async throws in
            let party = try await server.service(Self.profile)
            try await server.createAlice(home: Self.values.home, office: Self.values.work)
            try await test(
                Self(
                    server: server, client: client, party: party, lines: lines, traffic: Traffic(client),
                    folder: folder, phoneTrace: phoneTrace))
        }
    }

    /// Switches a phone on.
    ///
    /// - Parameters:
    ///   - keys: A place for its keys, where it has one of its own.
    ///   - network: A network of its own, where it has one.
    ///   - inspection: What its app looks at the device with.
    ///   - former: A phone whose storage it is, with another version of the app.
    func phone(
        _ name: String = "phone", keys: (any DeviceKeys)? = nil, sensor: ScriptedSensor = ScriptedSensor(),
        over network: (any Transport)? = nil, inspection: (any SecurityInspection)? = nil, of former: StagePhone? = nil,
        sdk: CountersignSDK = CountersignSDK()
    ) async throws -> StagePhone {
        let root = try #require(try await self.server.assembly.ceremonies.identities.keys.root()?.publicJSON)
        var configuration = IdentityConfiguration(
            servers: [.init(idmIdentifier: Self.issuer, rootKeys: [JSON.object(root).text])])
        configuration.facetID = "linux:program:countersign-phone"
        configuration.securityInspection = inspection
        let storage =
            try former?.storage ?? NotedStorage(try EncryptedFileStorage(directory: "\(self.folder)/\(name)"))
        try await sdk.initialize(
            configuration,
            platform: DevicePlatform(
                storage: storage, keys: keys, fingerprintSensor: sensor, clock: self.server.clock,
                random: self.drawn.source),
            transport: network ?? self.traffic, traceRecorder: self.phoneTrace)
        return StagePhone(sdk: sdk, storage: storage, sensor: sensor, lines: self.lines)
    }

    /// An activation of alice's, whose PIN is chosen.
    func offer(pin: String) async throws -> ActivationOffer {
        try await self.server.offer(pin: pin)
    }

    /// A phone that is alice's.
    func personalizedPhone(pin: String, over network: (any Transport)? = nil) async throws -> StagePhone {
        let phone = try await self.phone(over: network)
        try await phone.personalize(try await self.offer(pin: pin).code, pin: pin)
        return phone
    }

    /// The code of the service's sign-in page, and the name of the page's request.
    func code(in browser: TestBrowser) async throws -> (text: String, request: String) {
        let (request, page) = try await self.server.signInPage(browser, self.party)
        return (try TerminalPhoneFixture.code(on: page), request)
    }

    /// What a phone makes of the code of the service's sign-in page, in a browser of its own.
    func data(for phone: StagePhone) async throws -> AuthenticationInitializationData {
        try phone.authenticationData(try await self.code(in: TestBrowser(self.client)).text)
    }
}

/// A phone on the stage.
struct StagePhone: Sendable {
    let sdk: CountersignSDK
    /// Everything that it has ever kept, opened.
    let storage: NotedStorage
    let sensor: ScriptedSensor
    let lines: LoggedLines

    /// Puts the texts of an error among the lines.
    private func noting<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch {
            var text = "\(error) \(String(reflecting: error)) \(error.localizedDescription)"
            dump(error, to: &text)
            self.lines.add(text)
            throw error
        }
    }

    /// What an activation's code comes to with a PIN.
    func open(_ code: String, pin: String) async throws -> PersonalizationResponse {
        guard case .personalization(let data) = try self.sdk.common.parseProcessInitializationData(code) else {
            throw OtherProcess()
        }
        return try await self.noting {
            try await self.sdk.personalizer.decryptPersonalizationInitializationData(data: data, pin: pin)
        }
    }

    func personalize(_ code: String, pin: String) async throws {
        guard case .newPersonalization(let new) = try await self.open(code, pin: pin) else { throw OtherProcess() }
        _ = try await self.noting { try await self.sdk.personalizer.finishPersonalization(request: new) }
    }

    /// What a sign-in begins with.
    func authenticationData(_ code: String) throws -> AuthenticationInitializationData {
        try self.sdk.common.parseProcessInitializationData(code).authenticationData
    }

    /// Starts and prepares, with what a person says who is asked for the first time.
    func prepare(_ data: AuthenticationInitializationData) async throws -> AuthenticationUserInformation {
        try await self.prepare(try await self.start(data))
    }

    /// Starts, with what a person says who is asked for the first time.
    func start(_ data: AuthenticationInitializationData) async throws -> AuthenticateRequest {
        let request = try await self.noting { try await self.sdk.authenticator.startAuthentication(data: data) }
        if let email = request.info.email, email.aliases.count > 1 {
            email.setSelection(email.aliases.first { $0.alias == "Office" })
        }
        if let name = request.info.givenName, name.isDataMissing { name.setValue(value: IdentityStage.values.given) }
        return request
    }

    /// Prepares what a person has answered.
    func prepare(_ request: AuthenticateRequest) async throws -> AuthenticationUserInformation {
        guard
            case .success(let info) = try await self.noting({
                try await self.sdk.authenticator.prepareAuthenticationUserInformation(request: request)
            })
        else { throw OtherProcess() }
        // As a screen that shows it: nothing is signed unseen.
        _ = info.transactionText
        return info
    }

    /// Signs, with the device beside what else is given.
    func finish(_ info: AuthenticationUserInformation, pin: String) async throws -> AuthenticationResult {
        try info.sign(factor: DeviceFactor())
        try info.sign(factor: PinFactor(pin))
        return try await self.noting { try await self.sdk.authenticator.finishAuthentication(userInfo: info) }
    }

    func authenticate(_ data: AuthenticationInitializationData, pin: String) async throws -> AuthenticationResult {
        try await self.finish(try await self.prepare(data), pin: pin)
    }

    func authenticate(_ code: String, pin: String) async throws -> AuthenticationResult {
        try await self.authenticate(try self.authenticationData(code), pin: pin)
    }

    /// What an authentication permits that was begun for another PIN.
    func accessToChangePin(pin: String) async throws -> ApiAccessChangePin {
        let data = try await self.sdk.personalizer.startChangePin(idmIdentifier: IdentityStage.issuer)
        guard case .apiAccessChangePin(let access) = try await self.authenticate(data, pin: pin) else {
            throw OtherProcess()
        }
        return access
    }

    /// What an authentication permits that was begun for an activation of another device.
    func accessToNewActivation(pin: String) async throws -> ApiAccessRequestNewActivationData {
        let data = try await self.sdk.personalizer.startRequestNewActivationData(idmIdentifier: IdentityStage.issuer)
        guard case .apiAccessRequestNewActivationData(let access) = try await self.authenticate(data, pin: pin) else {
            throw OtherProcess()
        }
        return access
    }

    /// What the app of a service gets that signs its own person in.
    func serviceLogin(
        at party: RelyingParty, pin: String, state: String? = nil, nonce: String? = nil
    ) async throws -> ServiceLoginResult {
        let data = try await self.sdk.authenticator.fetchInAppAuthenticationInitializationData(
            party.inAppRequest(to: IdentityStage.issuer, state: state, nonce: nonce))
        guard case .serviceLogin(let login) = try await self.authenticate(data, pin: pin) else { throw OtherProcess() }
        return login
    }
}

extension AuthenticationResult {
    var isUserLogin: Bool { if case .userLogin = self { true } else { false } }
    var lockout: Countersign.LockoutInformation? {
        if case .lockout(let information, _) = self { information } else { nil }
    }
}

/// What went between phones and a server.
final class Traffic: Transport {
    struct Exchange: Sendable {
        let path: String
        let proof: String?
        let request: [UInt8]
        let status: Int
        let answer: [UInt8]
        /// The answer's header fields. Of those that are another one each time, when and which it was, the names alone.
        let answerHeaders: [String]
    }

    private let router: RouterTransport
    private let noted = Mutex<[Exchange]>([])

    init(_ client: any TestClientProtocol) { self.router = RouterTransport(client: client) }

    var exchanges: [Exchange] { self.noted.withLock { $0 } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let answer = try await self.router.send(request)
        let exchange = Exchange(
            path: request.url.path, proof: request.headers.first { $0.name.lowercased() == "device-proof" }?.value,
            request: request.body, status: answer.status, answer: answer.body,
            answerHeaders: answer.headers.map { field in
                let name = field.name.lowercased()
                return ["date", "traceresponse"].contains(name) ? name : "\(name): \(field.value)"
            }.sorted())
        self.noted.withLock { $0.append(exchange) }
        return answer
    }
}

/// A storage of which everything is known that was ever in it.
final class NotedStorage: SecureStorage {
    private let storage: EncryptedFileStorage
    private let noted = Mutex<[[UInt8]]>([])

    init(_ storage: EncryptedFileStorage) { self.storage = storage }

    var everWritten: [[UInt8]] { self.noted.withLock { $0 } }
    var isDevelopmentStore: Bool { self.storage.isDevelopmentStore }

    func read(_ name: String) throws -> [UInt8]? { try self.storage.read(name) }
    func write(_ value: [UInt8], to name: String) throws {
        self.noted.withLock { $0.append(value) }
        try self.storage.write(value, to: name)
    }
    func remove(_ name: String) throws { try self.storage.remove(name) }
}

/// A source of chance of which everything is known that it gave.
final class DrawnBytes: Sendable {
    private let noted = Mutex<[[UInt8]]>([])

    var all: [[UInt8]] { self.noted.withLock { $0 } }
    var source: RandomSource {
        RandomSource { count in
            let bytes = RandomSource.system.bytes(count)
            self.noted.withLock { $0.append(bytes) }
            return bytes
        }
    }
}

/// A code that begins something else than the test means.
struct OtherProcess: Error {}

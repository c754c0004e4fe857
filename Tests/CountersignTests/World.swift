import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import UAF
import UAFClient

/// A phone and a server, in one test.
struct World: Sendable {
    let server: VirtualServer
    let phone: VirtualPhone

    static let pin = AuthenticatorModel(factor: .pin, keyStore: .file)
    static let fingerprint = AuthenticatorModel(factor: .fingerprint, keyStore: .file)
    static let password = AuthenticatorModel(factor: .password, keyStore: .file)
    static let face = AuthenticatorModel(factor: .face, keyStore: .file)
    static let passcode = AuthenticatorModel(factor: .devicePasscode, keyStore: .file)
    static let possession = AuthenticatorModel(factor: .devicePossession, keyStore: .file)

    init(
        traceRecorder: TraceRecorder? = nil, pictureDisplays: [DisplayPNGCharacteristics] = [],
        keyStore: AuthenticatorModel.KeyStore? = nil, appAttestor: (any AppAttestor)? = nil,
        configuration change: (inout ClientConfiguration) -> Void = { _ in },
        through transport: (VirtualServer) -> any Transport = { $0 }
    ) async throws {
        let address = URL(string: "https://id.example.com")!
        self.server = VirtualServer(baseURL: address)
        var configuration = ClientConfiguration(baseURL: address)
        configuration.facetID = "linux:program:test"
        change(&configuration)
        let (sensor, camera, passcode) = (ScriptedSensor(), ScriptedSensor(), ScriptedPasscode())
        self.phone = try await VirtualPhone(
            configuration: configuration, transport: transport(self.server), sensor: sensor, camera: camera,
            passcode: passcode,
            keys: keyStore.map {
                VerifyingKeys(
                    keyStore: $0, fingerprintSensor: sensor, faceSensor: camera, devicePasscode: passcode)
            } ?? KeyAbility.current.keys(sensor, camera, passcode), appAttestor: appAttestor,
            pictureDisplays: pictureDisplays, traceRecorder: traceRecorder)
    }

    private init(server: VirtualServer, phone: VirtualPhone) {
        self.server = server
        self.phone = phone
    }

    /// The same phone after its app was started again, with what its storage holds now.
    func restarted() async throws -> World { try await self.restarted(with: self.phone.storage.snapshot) }

    /// The same phone after its app was started again, over another way to the server.
    func restarted(over transport: any Transport) async throws -> World {
        try await self.restarted(with: self.phone.storage.snapshot, over: transport)
    }

    /// The same phone after its app was started again, with those values in its storage.
    func restarted(
        with values: [String: [UInt8]], keys: (any DeviceKeys)? = nil, over transport: (any Transport)? = nil
    ) async throws -> World {
        World(
            server: self.server,
            phone: try await VirtualPhone(
                configuration: self.phone.client.configuration, transport: transport ?? self.server,
                storage: InMemoryStorage(values), clock: self.phone.clock,
                sensor: self.phone.sensor, camera: self.phone.camera, passcode: self.phone.passcode,
                keys: keys ?? self.phone.keys,
                person: self.phone.person))
    }

    static func policy(_ alternatives: [[AuthenticatorModel]]) -> Policy {
        Policy(accepted: alternatives.map { $0.map { MatchCriteria(aaid: [$0.aaid]) } })
    }

    /// Enrols an account, by default with a PIN.
    @discardableResult
    func enroll(_ username: Username = "alice", _ models: [AuthenticatorModel] = [Self.pin]) async throws
        -> RegistrationResult
    {
        if models.contains(Self.fingerprint) { self.phone.sensor.feel(.match) }
        if models.contains(Self.face) { self.phone.camera.feel(.match) }
        if models.contains(Self.passcode) { self.phone.passcode.answer(.match) }
        let result = try await self.phone.enroll(
            try await self.server.registration(for: username, policy: Self.policy([models])))
        self.phone.person.forget()
        return result
    }

    /// Redeems a payload for an authentication.
    func operation(_ payload: OutOfBandPayload) async throws -> OutOfBandAuthentication {
        guard case .authentication(let operation) = try await self.phone.redeem(payload) else {
            throw OperationError(.missingInteraction, "not an authentication")
        }
        return operation
    }

    /// Redeems a payload for a registration.
    func registration(_ payload: OutOfBandPayload) async throws -> OutOfBandRegistration {
        guard case .registration(let operation) = try await self.phone.redeem(payload) else {
            throw OperationError(.missingInteraction, "not a registration")
        }
        return operation
    }

    /// Everything that the phone keeps: keys and accounts.
    func isEmpty() async -> Bool {
        let accounts = await self.phone.client.localData.accounts
        let hasTries = self.phone.storage.snapshot.keys.contains { $0.hasPrefix("attempts-") }
        return accounts.isEmpty && !hasTries
    }
}

/// A text to confirm.
func text(_ text: String) -> Transaction { Transaction(content: Array(text.utf8)) }

/// How an operation ended.
func operationError(_ body: () async throws -> Void) async -> OperationError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? OperationError
    }
}

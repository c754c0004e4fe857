import Countersign
import CountersignLinux
import Foundation
import UAF
import UAFClient
import _Primitives

/// The result of a request: the message for the server, if the request has an answer.
struct TestKeyAnswer {
    let operation: UAF.Operation
    let keys: [KeyName]
    var transaction: String?
    var response: [UInt8]?
}

/// The UAF client and authenticators over a folder of test keys, which is never a phone's folder.
struct TestKeyPhone {
    /// The file that identifies the folder as a folder of test keys.
    static let label = "TEST-KEYS"
    private static let labelText = """
        The keys in this folder were made by `countersign-phone uaf answer`, for tests of FIDO UAF messages.
        They answer every request without asking anybody. Register them nowhere that matters.

        """

    private let client: MessageClient
    private let factor: AuthenticatorModel.Factor?

    /// Opens or makes the folder. Throws ``Refusal`` for a folder with other content, and ``StorageError``.
    init(
        home: String, facet: FacetID, factor: AuthenticatorModel.Factor?,
        fetchFacets: @escaping FacetAuthorization.Fetch
    ) throws {
        try Self.prepare(home)
        let platform = DevicePlatform(
            storage: try EncryptedFileStorage(directory: "\(home)/test-store"),
            fingerprintSensor: SimulatedSensor(.finger, home: home), faceSensor: SimulatedSensor(.face, home: home),
            devicePasscode: SimulatedPasscode(home: home), clock: try SimulatedClock(home: home))
        let module = try AuthenticatorModule(
            platform: platform, configuration: AuthenticatorModule.Configuration(callerID: facet))
        self.client = MessageClient(module: module, facetID: facet, fetchFacets: fetchFacets)
        self.factor = factor
    }

    private static func prepare(_ home: String) throws {
        let files = FileManager.default
        let found = (try? files.contentsOfDirectory(atPath: home)) ?? []
        guard !found.contains("store") else {
            throw Refusal(
                .refused, .refused, "real-phone", "\(home) is a phone: test keys have a folder of their own.")
        }
        guard found.isEmpty || found.contains(self.label) else {
            throw Refusal(.refused, .refused, "not-test-keys", "\(home) holds something else than test keys.")
        }
        try files.createDirectory(
            atPath: home, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try Data(self.labelText.utf8).write(to: URL(fileURLWithPath: "\(home)/\(self.label)"))
    }

    /// Answers a message. Throws ``Refusal`` with the client's code, and ``StorageError``.
    func answer(_ message: [UInt8], person: TestPerson) async throws -> TestKeyAnswer {
        do {
            switch try await self.client.prepare(message) {
            case .registration(let prepared): return try await self.register(prepared, person)
            case .authentication(let prepared): return try await self.authenticate(prepared, person)
            case .deregistration(let prepared):
                let keys = await prepared.keys
                try await prepared.execute()
                return TestKeyAnswer(operation: .deregistration, keys: keys)
            }
        } catch let failure as OperationFailure {
            throw Refusal(failure)
        }
    }

    private func isWanted(_ models: [AuthenticatorModel]) -> Bool {
        guard let factor else { return true }
        return models.contains { $0.factor == factor }
    }

    private func register(_ prepared: PreparedRegistration, _ person: TestPerson) async throws -> TestKeyAnswer {
        let usable = await self.client.module.usableModels
        guard let models = await prepared.selections(among: usable).first(where: self.isWanted) else {
            throw OperationFailure(.noSuitableAuthenticator, "no authenticator meets the policy")
        }
        let answer = try await prepared.register(models, verification: person)
        // The server's result never reaches a program that has ended, so the keys count as accepted.
        for key in answer.keys { try await self.client.module.notify(key, .ok) }
        return TestKeyAnswer(operation: .registration, keys: answer.keys, response: answer.message)
    }

    private func authenticate(_ prepared: PreparedAuthentication, _ person: TestPerson) async throws -> TestKeyAnswer {
        let selection = prepared.selections(among: prepared.registered).first {
            self.isWanted($0.compactMap { AuthenticatorModel(aaid: $0.aaid) })
        }
        guard let selection else { throw OperationFailure(.noSuitableAuthenticator, "no key meets the policy") }
        let answer = try await prepared.authenticate(selection, verification: person)
        return TestKeyAnswer(
            operation: .authentication, keys: answer.keys,
            transaction: prepared.transaction.map { String(decoding: $0.content, as: UTF8.self) },
            response: answer.message)
    }
}

/// Stands in for the person when test keys answer: gives the secrets of the standard input in their order, and touches
/// the sensor at once.
actor TestPerson: UserInteraction {
    private var lines: ArraySlice<String>

    init(lines: [String]) { self.lines = lines[...] }

    private func next() throws -> SecretBytes {
        guard let line = self.lines.popFirst(), !line.isEmpty else {
            throw Refusal.usage("A PIN or password is wanted: give it with --pin-stdin.")
        }
        return SecretBytes(Array(line.utf8))
    }

    func enrollSecret(_ model: AuthenticatorModel) async throws -> SecretBytes { try self.next() }

    func verifySecret(_ model: AuthenticatorModel, status: AuthenticatorProtectionStatus, lastError: SecretRefusal?)
        async throws -> SecretBytes
    {
        if lastError == .wrong, self.lines.isEmpty { throw Refusal.failed("wrong-pin", "That is not it.") }
        if lastError == .coolingDown { throw Refusal.failed("cooling-down", "Nothing is taken for some time.") }
        return try self.next()
    }

    nonisolated func verifyBiometric(
        _ model: AuthenticatorModel, hint: String?,
        read: @escaping @Sendable (SystemPrompt) async throws -> BiometricReading
    ) async throws -> BiometricReading { try await read(SystemPrompt()) }

    nonisolated func verifyDevicePasscode(
        _ model: AuthenticatorModel, ask: @escaping @Sendable (SystemPrompt) async throws -> DevicePasscodeReading
    ) async throws -> DevicePasscodeReading { try await ask(SystemPrompt()) }
}

extension Refusal {
    /// Makes a refusal with the client's code for scripts, as in the SDK's error.
    init(_ failure: OperationFailure) {
        switch failure.code {
        case .userLockout: self.init(.lockedOut, .lockedOut, "locked-out", "Too many wrong tries: locked.")
        case .noSuitableAuthenticator:
            self.init(.refused, .refused, "no-suitable-authenticator", "Nothing here can answer that.")
        default: self.init(.refused, .refused, "fido-\(failure.code.rawValue)", "Not answered: \(failure.reason).")
        }
    }
}

extension HTTPTransport {
    /// Fetches the facets at an AppID's address, without identifying the phone.
    func facetList(at url: URL) async throws -> FacetListAnswer {
        let response = try await self.send(
            TransportRequest(
                method: "GET", url: url, headers: [("Accept", "application/fido.trusted-apps+json")], body: [],
                timeout: PhoneLimits.facetListTime))
        func header(_ name: String) -> String? {
            response.headers.first { $0.name.asciiLowercased == name }?.value
        }
        return FacetListAnswer(
            status: response.status, contentType: header("content-type"), location: header("location"),
            redirectAuthorized: header("fido-appid-redirect-authorized"), body: response.body)
    }
}

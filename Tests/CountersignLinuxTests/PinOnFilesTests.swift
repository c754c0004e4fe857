import CountersignLinux
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Threat model, Guessing a PIN: a try of a PIN is in the file before it is checked")
struct PinOnFilesTests {
    private struct Typist: UserInteraction {
        let pin: String
        func enrollSecret(_ model: AuthenticatorModel) async throws -> SecretBytes { SecretBytes(utf8: self.pin) }
        func verifySecret(
            _ model: AuthenticatorModel, status: AuthenticatorProtectionStatus, lastError: SecretRefusal?
        ) async throws -> SecretBytes {
            lastError == nil ? SecretBytes(utf8: self.pin) : try { throw UserVerificationError.cancelled }()
        }
        func verifyBiometric(
            _ model: AuthenticatorModel, hint: String?,
            read: @escaping @Sendable (SystemPrompt) async throws -> BiometricReading
        ) async throws -> BiometricReading { throw UserVerificationError.unavailable }
        func verifyDevicePasscode(
            _ model: AuthenticatorModel, ask: @escaping @Sendable (SystemPrompt) async throws -> DevicePasscodeReading
        ) async throws -> DevicePasscodeReading { throw UserVerificationError.unavailable }
    }

    private struct PowerCut: Error {}

    private let facet = "linux:program:test"
    private let clock = FakeClock()

    private func module(
        _ directory: String, _ interruption: @escaping @Sendable (EncryptedFileStorage.Step) throws -> Void = { _ in }
    ) throws -> AuthenticatorModule {
        try AuthenticatorModule(
            platform: DevicePlatform(
                storage: EncryptedFileStorage(directory: directory, interruption: interruption), clock: self.clock),
            configuration: AuthenticatorModule.Configuration(
                callerID: try FacetID(self.facet), pinHardening: PinHardening(rounds: 2, blockSize: 1, parallelism: 1)))
    }

    private func sign(_ module: AuthenticatorModule, _ name: KeyName, _ pin: String) async throws {
        _ = try await module.authenticate(
            name, appID: self.facet, finalChallenge: "challenge", transaction: nil, verification: Typist(pin: pin))
    }

    @Test(
        "A power cut at any point of the reservation leaves the PIN unchecked",
        arguments: EncryptedFileStorage.Step.allCases)
    func powerCut(step: EncryptedFileStorage.Step) async throws {
        let directory = NSTemporaryDirectory() + "/countersign-pin-" + RandomSource.system.token(byteCount: 12)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let name = try await { () async throws -> KeyName in
            try await self.module(directory).register(
                AuthenticatorModel(factor: .pin, keyStore: .file), appID: self.facet, username: "alice",
                finalChallenge: "challenge", attestationType: .basicSurrogate, verification: Typist(pin: "135790")
            ).name
        }()
        var spent = 0
        for pin in ["135790", "000000"] {
            do {
                let module = try self.module(directory) { if $0 == step { throw PowerCut() } }
                // Right or wrong, nothing of the PIN shows: the process ends before it is looked at.
                await #expect(throws: PowerCut.self) { try await self.sign(module, name, pin) }
            }
            // Before the rename the try was neither counted nor used; after it, it is gone.
            if step == .renamed || step == .folderSynced { spent += 1 }
            let expected: AuthenticatorProtectionStatus =
                spent == 0 ? .unlocked : .lastAttemptFailed(remainingTries: 5 - spent, coolDownTimeInSeconds: 0)
            #expect(try await self.module(directory).protectionStatus(of: name) == expected)
        }
        try await self.sign(try self.module(directory), name, "135790")
        #expect(try await self.module(directory).protectionStatus(of: name) == .unlocked)
    }
}

import Countersign
import CountersignTestKit
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("What the operating system guards an identity by (decision 59)") struct DeviceLockTests {
    private static let server = "https://id.example"

    /// A device whose operating system says nothing of its passcode.
    private struct SilentPasscode: DevicePasscode {
        func enrolment() async throws -> [UInt8]? { throw SensorError.timedOut }
        func ask(_ prompt: SystemPrompt) async throws -> DevicePasscodeReading { throw SensorError.timedOut }
    }

    /// What getting ready comes to on a device.
    private func ready(
        _ passcode: (any DevicePasscode)?, sdk: CountersignSDK = CountersignSDK(),
        configuration: @Sendable (inout IdentityConfiguration) -> Void = { _ in }
    ) async -> CountersignErrorCode? {
        await identityError {
            _ = try await VirtualIdentityPhone(
                server: VirtualIdentityServer(), sdk: sdk, devicePasscode: passcode, configuration: configuration)
        }
    }

    @Test("on a device without a passcode nothing gets ready, until its person has set one")
    func noPasscode() async throws {
        let passcode = ScriptedPasscode(enrolment: nil)
        let sdk = CountersignSDK()
        #expect(await self.ready(passcode, sdk: sdk) == .deviceLockNotSet)
        #expect(
            await identityError { _ = try await sdk.biometrics.isAvailable } == .notInitialized, "and nothing works")
        #expect(await self.ready(SilentPasscode()) == .deviceLockNotSet, "who says nothing has none")
        passcode.enroll(Array("passcode".utf8))
        #expect(await self.ready(passcode, sdk: sdk) == nil, "the same SDK, once more")
        #expect(passcode.prompts.isEmpty, "nobody is asked for it")
    }

    @Test("an app that wants no passcode does without, and so does a platform that cannot tell")
    func notAsked() async throws {
        #expect(await self.ready(ScriptedPasscode(enrolment: nil)) { $0.isDeviceLockRequired = false } == nil)
        #expect(IdentityConfiguration(servers: []).isDeviceLockRequired, "it is what an app gets that says nothing")
        #expect(await self.ready(nil) == nil)
    }

    @Test("a sensor that the operating system has locked is told, before a signature and in it, and the PIN goes on")
    func lockedSensor() async throws {
        for hasChip in [false, true] {
            let sensor = ScriptedSensor()
            let phone = try await VirtualIdentityPhone(
                server: VirtualIdentityServer(), sensor: sensor,
                keys: hasChip ? VerifyingKeys(fingerprintSensor: sensor) : nil)
            try await phone.personalize(withFinger: true)
            await phone.server.ask { $0.roles = [("a", "A", [["biometric", "device"], ["pin", "device"]])] }
            let info = try await phone.prepare()
            let biometrics = phone.sdk.biometrics
            sensor.feel(.lockedOut)
            // In software the finger is asked for at once; a chip asks when it signs.
            let refused = await identityError {
                let finger = try await biometrics.factor(idmIdentifier: Self.server)
                _ = try await phone.finish(info, finger, DeviceFactor())
            }
            #expect(refused == .biometricLockedOut, "chip: \(hasChip)")
            if !hasChip {
                sensor.feel(.lockedOut)
                #expect(
                    await identityError { _ = try await biometrics.factorForEnrolment() } == .biometricLockedOut)
            }
            let login = try await phone.finish(info, PinFactor(VirtualIdentityPhone.pin), DeviceFactor())
            #expect(login.isUserLogin, "chip: \(hasChip)")
            #expect(await phone.server.failures(of: try phone.activation) == 0)
        }
    }
}

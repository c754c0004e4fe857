import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient

@Suite("Operations parity 3: a start on a device without protection")
struct DeviceProtectionTests {
    /// An inspection with a fixed result.
    private struct Inspection: SecurityInspection {
        let result: Result<SecurityFindings, any Error>

        init(isRooted: Bool = false, isHooked: Bool = false) {
            self.result = .success(
                SecurityFindings(checkVersion: 1, osVersion: "Test 1", isRooted: isRooted, isHooked: isHooked))
        }

        init(failing error: any Error) { self.result = .failure(error) }

        func inspect() async throws -> SecurityFindings { try self.result.get() }
    }

    /// A device whose operating system does not answer about its passcode.
    private struct SilentPasscode: DevicePasscode {
        func enrolment() async throws -> [UInt8]? { throw SensorError.timedOut }
        func ask(_ prompt: SystemPrompt) async throws -> DevicePasscodeReading { throw SensorError.timedOut }
    }

    /// Starts a client, and returns the error of the start.
    private func start(
        _ passcode: (any DevicePasscode)? = ScriptedPasscode(), _ inspection: (any SecurityInspection)? = nil,
        storage: InMemoryStorage = InMemoryStorage(), isDeviceLockRequired: Bool? = nil
    ) async -> InitializationError? {
        var configuration = ClientConfiguration(baseURL: URL(string: "https://id.example.com")!)
        if let isDeviceLockRequired { configuration.isDeviceLockRequired = isDeviceLockRequired }
        var initializer = MobileAuthenticationClientInitializer().configuration(configuration)
            .platform(DevicePlatform(storage: storage, devicePasscode: passcode, clock: FakeClock()))
        if let inspection { initializer = initializer.securityInspection(inspection) }
        do {
            _ = try await initializer.execute()
            return nil
        } catch {
            return error as? InitializationError
        }
    }

    @Test("A missing device lock and a device that was tampered with are two different errors")
    func differentErrors() async throws {
        let lock = try #require(await self.start(ScriptedPasscode(enrolment: nil)))
        let tamper = try #require(await self.start(ScriptedPasscode(), Inspection(isRooted: true)))
        #expect(lock == InitializationError(.noDeviceLock) && tamper == InitializationError(.deviceProtection))
        #expect(lock != tamper && lock.recovery != tamper.recovery)
        #expect(lock.localizedDescription != tamper.localizedDescription)
    }

    @Test("The client starts once the person has set a passcode, and the earlier start changed nothing")
    func passcode() async throws {
        let storage = InMemoryStorage()
        let passcode = ScriptedPasscode(enrolment: nil)
        #expect(await self.start(passcode, storage: storage) == InitializationError(.noDeviceLock))
        #expect(storage.snapshot.isEmpty)
        passcode.enroll(Array("passcode".utf8))
        #expect(await self.start(passcode, storage: storage) == nil)
        #expect(passcode.prompts.isEmpty, "the person is not asked for the passcode")
        #expect(await self.start(SilentPasscode()) == InitializationError(.noDeviceLock), "no answer is no passcode")
    }

    @Test("An app that needs no passcode, and a platform that cannot report a passcode, start without a passcode")
    func notRequired() async throws {
        #expect(await self.start(ScriptedPasscode(enrolment: nil), isDeviceLockRequired: false) == nil)
        #expect(await self.start(SilentPasscode(), isDeviceLockRequired: false) == nil)
        #expect(await self.start(nil) == nil)
    }

    @Test("Removed protection, foreign code in the app and a failed inspection are refused, and a clean device starts")
    func inspection() async throws {
        let storage = InMemoryStorage()
        for inspection in [
            Inspection(isRooted: true), Inspection(isHooked: true), Inspection(failing: SensorError.timedOut),
        ] {
            let error = await self.start(ScriptedPasscode(), inspection, storage: storage)
            #expect(error == InitializationError(.deviceProtection))
            #expect(error?.reason.isEmpty == false)
        }
        #expect(storage.snapshot.isEmpty)
        #expect(await self.start(ScriptedPasscode(), Inspection(), storage: storage) == nil)
    }
}

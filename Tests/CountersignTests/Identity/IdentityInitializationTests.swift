import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient

@Suite("What keeps an app's identities from getting ready (decision 65)") struct IdentityInitializationTests {
    /// A device below whose storage something fails.
    private struct FailingStorage: SecureStorage {
        let error: any Error
        var isDevelopmentStore: Bool { true }
        func read(_ name: String) throws -> [UInt8]? { throw self.error }
        func write(_ value: [UInt8], to name: String) throws { throw self.error }
        func remove(_ name: String) throws { throw self.error }
    }

    /// A device's passcode as the operating system tells of it.
    private struct Passcode: DevicePasscode {
        let answer: Result<[UInt8]?, any Error>
        func enrolment() throws -> [UInt8]? { try self.answer.get() }
        func ask(_ prompt: SystemPrompt) -> DevicePasscodeReading { .cancelled }
    }

    /// An error of nobody's.
    private struct Unforeseen: Error {}

    /// What getting ready ends with: an error of the identities, and no other.
    private func error(
        of sdk: CountersignSDK, _ server: VirtualIdentityServer, _ storage: any SecureStorage = InMemoryStorage(),
        passcode: Passcode? = nil, _ change: (inout IdentityConfiguration) -> Void = { _ in }
    ) async -> CountersignErrorCode? {
        var configuration = IdentityConfiguration(servers: [server.trusted])
        configuration.facetID = "linux:program:test"
        change(&configuration)
        do {
            try await sdk.initialize(
                configuration,
                platform: DevicePlatform(
                    storage: storage, devicePasscode: passcode, clock: FakeClock(wall: server.now)),
                transport: server)
            return nil
        } catch {
            #expect(error is CountersignError, "\(type(of: error))")
            return (error as? CountersignError)?.errorCode
        }
    }

    @Test("what fails on the device has a code of its own, and the app tries again") func device() async throws {
        let server = try VirtualIdentityServer()
        let sdk = CountersignSDK()
        for (error, code) in [
            (StorageError(.unavailable, "test"), .storageUnavailable),
            (StorageError(.corrupt, "test"), .storageCorrupt), (StorageError(.newer, "test"), .storageNewer),
            (DeviceKeyError.gone, .keyRemovedBySystem), (DeviceKeyError.noRoom, .storageUnavailable),
            (DeviceKeyError.lockedOut, .storageUnavailable), (CancellationError(), .cancelled),
            (Unforeseen(), .unexpected),
        ] as [(any Error, CountersignErrorCode)] {
            #expect(await self.error(of: sdk, server, FailingStorage(error: error)) == code)
        }
        #expect(await self.error(of: sdk, server) == nil)
        #expect(await self.error(of: sdk, server) == .alreadyInitialized)
    }

    @Test("what an app has named wrongly is its configuration") func configuration() async throws {
        let server = try VirtualIdentityServer()
        let sdk = CountersignSDK()
        let keys = server.trusted.rootKeys
        let https = server.identifier
        #expect(await self.error(of: sdk, server) { $0.servers = [] } == .invalidConfiguration)
        for (address, keys) in [
            ("http://id.example", keys), ("no address", keys), (https, []), (https, ["no key"]), (https, ["[]"]),
            (https, ["{}"]),
        ] as [(String, [String])] {
            let wrong = IdentityConfiguration.TrustedServer(idmIdentifier: address, rootKeys: keys)
            #expect(await self.error(of: sdk, server) { $0.servers = [wrong] } == .invalidConfiguration, "\(wrong)")
        }
        #expect(await self.error(of: sdk, server) { $0.facetID = "" } == .invalidConfiguration)
        #expect(await self.error(of: sdk, server) == nil)
    }

    @Test("a device without a passcode is told from one that is not asked, and from a task that was cancelled")
    func passcode() async throws {
        let server = try VirtualIdentityServer()
        let sdk = CountersignSDK()
        for (answer, code) in [
            (.success(nil), .deviceLockNotSet), (.failure(SensorError.disconnected), .deviceLockNotSet),
            (.failure(CancellationError()), .cancelled),
        ] as [(Result<[UInt8]?, any Error>, CountersignErrorCode)] {
            #expect(await self.error(of: sdk, server, passcode: Passcode(answer: answer)) == code)
        }
        let none = Passcode(answer: .success(nil))
        #expect(await self.error(of: sdk, server, passcode: none) { $0.isDeviceLockRequired = false } == nil)
        #expect(await self.error(of: CountersignSDK(), server, passcode: Passcode(answer: .success([1]))) == nil)
    }

    @Test("a device without room for keys says so before the PIN is proven") func noRoom() async throws {
        let server = try VirtualIdentityServer()
        let keys = VerifyingKeys()
        let phone = try await VirtualIdentityPhone(server: server, keys: keys)
        let code = try await server.activationCode(pin: "824193")
        keys.refuseKeys(true)
        await server.forgetRequests()
        #expect(await identityError { _ = try await phone.open(code, pin: "824193") } == .storageUnavailable)
        #expect(await server.requests.allSatisfy { !$0.url.path().hasSuffix("/prove") })
    }
}

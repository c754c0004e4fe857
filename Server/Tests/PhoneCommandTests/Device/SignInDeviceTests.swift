import Countersign
import Foundation
import Testing
import UAFClient

@testable import PhoneCommand

@Suite("The app on the phone that people sign in to")
struct SignInDeviceTests {
    private func setup() -> SignInDevice.Setup {
        SignInDevice.Setup(server: "https://id.example", redirectURI: "http://127.0.0.1/signed-in")
    }

    @Test("server and app are remembered")
    func remembered() throws {
        let home = FileManager.default.temporaryDirectory.appending(path: "phone-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: home) }
        #expect(SignInDevice.Setup.read(home: home) == nil)
        var setup = self.setup()
        setup.application = "health"
        setup.webApplication = "health-web"
        setup.webHosts = ["www.health.example"]
        setup.cookiePrefix = "health_"
        setup.keyring = "countersign-phone.1"
        try setup.write(home: home)
        #expect(SignInDevice.Setup.read(home: home) == setup)
        let configuration = try setup.configuration()
        #expect(configuration.clientID == "health" && configuration.face != .openID)
        #expect(configuration.webViews?.hosts == ["www.health.example"])
    }

    @Test("an app has one of the two names, and its server an address")
    func names() throws {
        var setup = self.setup()
        #expect(throws: Refusal.self) { _ = try setup.configuration() }
        setup.clientID = "health"
        #expect(try setup.configuration().face == .openID)
        setup.application = "health"
        #expect(throws: Refusal.self) { _ = try setup.configuration() }
        setup.application = nil
        setup.server = "health"
        #expect(throws: Refusal.self) { _ = try setup.configuration() }
    }

    @Test("each way in which the app's store does not open says what helps")
    func stores() {
        let reasons: [(StorageError.Code, String, String)] = [
            (.inUse, "storage-in-use", "Another command"), (.corrupt, "storage-corrupt", "`wipe`"),
            (.locked, "keyring-locked", "Unlock it"), (.unsupported, "no-secret-service", "your session"),
            (.unavailable, "storage-unavailable", "disk"),
        ]
        for (code, reason, words) in reasons {
            let refusal = Refusal(StorageError(code, "the disk is full"))
            #expect(refusal.reason == reason && refusal.status == .refused)
            #expect(refusal.sentence.contains(words), "\(refusal.sentence)")
        }
    }

    @Test("each way in which a sign-in ends has an ending of the program's")
    func endings() {
        let endings: [(SignInError.Code, Ending, Outcome)] = [
            (.cancelled, .refused, .denied), (.notSignedIn, .notFound, .notFound),
            (.biometricsLockedOut, .lockedOut, .lockedOut), (.networkError, .unreachable, .unreachable),
            (.wrongCredentials, .refused, .refused), (.biometricsChanged, .refused, .failed),
        ]
        for (code, status, outcome) in endings {
            let refusal = Refusal(SignInError(code))
            #expect(refusal.status == status && refusal.outcome == outcome)
            #expect(!refusal.sentence.isEmpty)
        }
        #expect(Refusal(SignInError(.notSignedIn)).reason == "not-signed-in")
    }
}

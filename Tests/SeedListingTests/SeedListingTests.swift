import Countersign
import CountersignNames
import CountersignTestKit
import Foundation
import PersonalInformation
import Testing

/// The app's one SDK over one server, personalised once.
actor SeedWorld {
    static let shared = SeedWorld()
    private var phone: Task<VirtualIdentityPhone, any Error>?
    /// Whether a test has done something with the identity itself, such as to change its PIN.
    private var isSpent = false

    /// With the identity that the listings' person has.
    var ready: VirtualIdentityPhone {
        get async throws {
            guard self.isSpent else { return try await self.started }
            return try await self.personalized(withFinger: false)
        }
    }

    /// With an identity that a test may spend.
    func spendable() async throws -> VirtualIdentityPhone {
        let phone = try await self.personalized(withFinger: false)
        self.isSpent = true
        return phone
    }

    private var started: VirtualIdentityPhone {
        get async throws {
            if let phone { return try await phone.value }
            let phone = Task {
                let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer(), sdk: .shared)
                try await phone.personalize()
                return phone
            }
            self.phone = phone
            return try await phone.value
        }
    }

    /// The same, personalised anew with a finger or without.
    func personalized(withFinger: Bool) async throws -> VirtualIdentityPhone {
        self.isSpent = false
        let phone = try await self.started
        for identity in try phone.sdk.personalizer.personalizedIdentities {
            try await phone.sdk.personalizer.depersonalizeIdentityManager(idmIdentifier: identity.idmIdentifier)
        }
        try await phone.personalize(withFinger: withFinger)
        return phone
    }
}

/// Runs a listing where an app would: on a thread that is neither the main one nor a task's.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Result { try body() }) }.start()
    }
}

@Suite("The listings of the identities' documentation (decision 65)", .serialized) struct SeedListingTests {
    /// Runs the listings from their beginning to their end, and says what the server took.
    private func run(
        _ script: YourImplementation.Script = YourImplementation.Script(),
        asking change: @escaping @Sendable (inout VirtualIdentityServer.Service) -> Void = { _ in }
    ) async throws -> Int {
        let phone = try await SeedWorld.shared.ready
        let before = await phone.server.accepted.count
        await phone.server.ask {
            $0 = VirtualIdentityServer.Service()
            change(&$0)
        }
        YourImplementation.script = script
        let data = try phone.authenticationData(try await phone.server.authenticationCode())
        try await onThread { try SeedListing().startAuthentication(authenticationInitializationData: data) }
        return await phone.server.accepted.count - before
    }

    @Test("a service with one role and no attributes") func plain() async throws {
        #expect(try await self.run() == 1)
    }

    @Test("of several roles the person's choice is the one that is signed") func roles() async throws {
        var script = YourImplementation.Script()
        script.role = { $0[1] }
        #expect(
            try await self.run(script) {
                $0.roles = [("a", "Patient", [["pin", "device"]]), ("b", "Doctor", [["pin", "device"]])]
            } == 1)
        #expect(YourImplementation.script.shownRoles == ["Patient", "Doctor"])
    }

    @Test("what the person types is asked for until it is valid, and goes to the service") func attributes()
        async throws
    {
        var script = YourImplementation.Script()
        script.names = ["", String(repeating: "x", count: 200), "Ada"]
        #expect(try await self.run(script) { $0.attributes = [RequestedAttribute(.givenName)] } == 1)
        #expect(
            YourImplementation.script.errorTexts
                == [nil, "The input must not be empty.", "The input can't be longer than 128 characters."])
        let accepted = await (try SeedWorld.shared.ready).server.accepted.last
        #expect(accepted == [.givenName: .value("Ada")])
    }

    @Test("of several values the person's choice goes to the service") func aliases() async throws {
        var script = YourImplementation.Script()
        script.alias = { $0.first { $0.alias == "Work" }! }
        #expect(
            try await self.run(script) {
                $0.attributes = [
                    RequestedAttribute(
                        .givenName,
                        aliases: [
                            PersonalInformationAlias(id: "a1", alias: "Home", isPrimary: true),
                            PersonalInformationAlias(id: "a2", alias: "Work", isPrimary: false),
                        ])
                ]
            } == 1)
        #expect(await (try SeedWorld.shared.ready).server.accepted.last == [.givenName: .alias(id: "a2")])
    }

    @Test("what the server finds wrong is corrected, and prepared again") func correction() async throws {
        let phone = try await SeedWorld.shared.ready
        await phone.server.findNext([.givenName: .invalid])
        var script = YourImplementation.Script()
        script.names = ["Ad", "Ada"]
        #expect(try await self.run(script) { $0.attributes = [RequestedAttribute(.givenName)] } == 1)
        #expect(await phone.server.accepted.last == [.givenName: .value("Ada")])
    }

    @Test("what is never corrected ends with the limit") func correctionLimit() async throws {
        let error = await #expect(throws: CountersignError.self) {
            _ = try await self.run { $0.attributes = [RequestedAttribute(.familyName)] }
        }
        #expect(error?.errorCode == .correctionLimitExceeded)
    }

    @Test("a finger in the place of a PIN") func biometric() async throws {
        let phone = try await SeedWorld.shared.personalized(withFinger: true)
        phone.sensor.feel(.match)
        #expect(
            try await self.run { $0.roles = [("a", "Patient", [["biometric", "device"], ["pin", "device"]])] } == 1)
    }

    @Test("a reserved factor is an app's own error") func reserved() async throws {
        _ = try await SeedWorld.shared.personalized(withFinger: false)
        await #expect(throws: YourError.yourErrorCase) {
            _ = try await self.run { $0.roles = [("a", "Patient", [["otp"], ["biometric", "device"]])] }
        }
    }

    @Test("a wrong PIN is a lockout, and the right one after the rest is taken") func lockout() async throws {
        let phone = try await SeedWorld.shared.ready
        let clock = phone.clock
        var script = YourImplementation.Script()
        script.pins = ["111111", "824193"]
        script.beforeNextPin = { clock.advance(by: .seconds(30)) }
        #expect(try await self.run(script) == 1)
    }

    @Test("a lockout for good is an app's own error") func permanentLockout() async throws {
        let phone = try await SeedWorld.shared.ready
        await phone.server.allow(attempts: 1)
        var script = YourImplementation.Script()
        script.pins = ["111111"]
        await #expect(throws: YourError.yourErrorCase) { _ = try await self.run(script) }
        // The identity's last: the next suite of a process personalises anew.
        await phone.server.allow(attempts: 10)
        await phone.server.enableAll()
    }
}

import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import PersonalInformation
import Records
import Testing
import UAF
import UAFClient
import _Primitives

@testable import SeedListing

@Suite(
    "Decision 16: the listings of the identities' documentation against a server, to the end of all eight results",
    .serialized)
struct SeedListingServerTests {
    private static let pins = (first: "824193", second: "970358")

    /// Runs a listing where an app would: on a thread that is neither the main one nor a task's.
    private func onThread<Value: Sendable>(
        _ script: YourImplementation.Script, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        YourImplementation.script = script
        return try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result { try body() }) }.start()
        }
    }

    /// An app that knows none of the texts, which a server has for what its person begins, comes to each result's end.
    @Test("all eight results of an app that shows no text come to their end", .timeLimit(.minutes(10)))
    func allResults() async throws {
        try await IdentityStage.run { stage async throws in
            _ = try await stage.server.assembly.identities.changeService(
                stage.party.id, by: ["inApp": .bool(true)], by: "test")
            // The listings have one SDK, as an app has.
            let phone = try await stage.phone("seed", sdk: .shared)
            let personalizer = phone.sdk.personalizer
            let clock = stage.server.clock
            try await phone.personalize(try await stage.offer(pin: Self.pins.first).code, pin: Self.pins.first)
            // Wherever the account asks for a finger first.
            for _ in 0..<32 { phone.sensor.feel(.match) }
            var script = YourImplementation.Script()
            script.alias = { $0.first { $0.alias == "Office" }! }
            script.wait = { until in
                let now = Double(clock.now().milliseconds) / 1000
                clock.advance(by: .seconds(Int64((until.timeIntervalSince1970 - now).rounded(.up))))
            }
            func end(of data: AuthenticationInitializationData) async throws -> SeedApp.Ending {
                try await self.onThread(script) {
                    try SeedApp().startAuthentication(authenticationInitializationData: data)
                }
            }

            // userLogin, after a lockout.
            script.pins = ["735042", Self.pins.first]
            let login = try await stage.data(for: phone)
            guard case .signedIn(let result) = try await end(of: login) else { throw OtherProcess() }
            #expect(result.roleName == "Resident" && YourImplementation.script.waits.count == 1)
            script.pins = [Self.pins.first]

            // serviceLogin
            let inApp = try await phone.sdk.authenticator.fetchInAppAuthenticationInitializationData(
                stage.party.inAppRequest(to: IdentityStage.issuer))
            guard case .code(let code) = try await end(of: inApp) else { throw OtherProcess() }
            #expect(code.issuer == IdentityStage.issuer)

            // apiAccessAddFactor, and once more in the place of the first one.
            for fingers in ["first", "others"] {
                phone.sensor.enroll(Array(fingers.utf8))
                let data = try await personalizer.startAddAuthenticationFactor(IdentityStage.issuer)
                phone.sensor.feel(.match)
                guard case .factorAdded = try await end(of: data) else { throw OtherProcess() }
                #expect(try personalizer.personalizedIdentities[0].enrolledFactors.contains(.biometric))
            }

            // apiAccessChangePin
            script.newPins = [Self.pins.second]
            let change = try await personalizer.startChangePin(idmIdentifier: IdentityStage.issuer)
            guard case .pinChanged = try await end(of: change) else { throw OtherProcess() }
            script.pins = [Self.pins.second]

            // apiAccessMergeComplete
            let merge = try await self.merge("first@invited.example", by: phone, on: stage)
            let merged = try await self.onThread(script) {
                try SeedApp().startAuthentication(authenticationInitializationData: merge)
            }
            guard case .merged(idmIdentifier: IdentityStage.issuer) = merged else { throw OtherProcess() }

            // apiAccessRequestNewActivationData
            script.newPins = [Self.pins.first]
            let offer = try await personalizer.startRequestNewActivationData(idmIdentifier: IdentityStage.issuer)
            guard case .activation(let activation) = try await end(of: offer) else { throw OtherProcess() }
            let other = try await stage.phone("other")
            try await other.personalize(activation, pin: Self.pins.first)
            #expect(try await other.authenticate(try await stage.data(for: other), pin: Self.pins.first).isUserLogin)

            // The listing as it stands, to where it ends.
            try await self.listing(script, stage, phone)

            // apiAccessDelete
            let deletion = try await personalizer.startDeletion(idmIdentifier: IdentityStage.issuer)
            guard case .deleted = try await end(of: deletion) else { throw OtherProcess() }
            #expect(try personalizer.personalizedIdentities.isEmpty)
        }
    }

    /// An invitation that an app has taken as far as its PIN.
    private func merge(_ address: String, by phone: StagePhone, on stage: IdentityStage) async throws
        -> AuthenticationInitializationDataWithSession
    {
        let invite = try await stage.server.assembly.identities.invite(
            .init(email: address, service: stage.party.id, role: "resident"), by: "test")
        let offer = try await stage.server.assembly.ceremonies.identities.offers.offer(
            accountID: try #require(invite.record.provisionalAccountID), pin: "258036", by: "test")
        guard case .mergePersonalization(_, let data) = try await phone.open(offer.code, pin: "258036") else {
            throw OtherProcess()
        }
        return data
    }

    private func listing(_ script: YourImplementation.Script, _ stage: IdentityStage, _ phone: StagePhone) async throws
    {
        phone.sensor.enroll(Array("yet others".utf8))
        let login = try await stage.data(for: phone)
        let factor = try await phone.sdk.personalizer.startAddAuthenticationFactor(IdentityStage.issuer)
        for data in [login, factor] {
            try await self.onThread(script) {
                try SeedListing().startAuthentication(authenticationInitializationData: data)
            }
        }
        let merge = try await self.merge("second@invited.example", by: phone, on: stage)
        try await self.onThread(script) {
            try SeedListing().startAuthentication(authenticationInitializationData: merge)
        }
    }
}

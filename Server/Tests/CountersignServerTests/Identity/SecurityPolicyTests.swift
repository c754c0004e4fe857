import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HummingbirdTesting
import Records
import Testing
import UAF
import _Primitives

@Suite("What an operator wants of devices and PINs (identity parity 89), against a whole server")
struct SecurityPolicyTests {
    private static let pin = "258036"

    /// A look at a device that finds what the test says.
    private struct Device: SecurityInspection {
        var isRooted = false
        var isHooked = false

        func inspect() -> SecurityFindings {
            SecurityFindings(checkVersion: 1, osVersion: "Test 1", isRooted: self.isRooted, isHooked: self.isHooked)
        }
    }

    private static func rules(_ change: (inout IdentityRules) -> Void) -> IdentityRules {
        var rules = IdentityRules()
        change(&rules)
        return rules
    }

    /// Holds that a step comes to the error of its own.
    private func isRefused(
        _ reasons: [String], at place: SourceLocation = #_sourceLocation, _ step: () async throws -> Void
    ) async {
        let error = await #expect(throws: CountersignSecurityInsufficientError.self, sourceLocation: place) {
            try await step()
        }
        #expect(error?.reasons == reasons, sourceLocation: place)
    }

    @Test("Where a report is wanted a phone that sends none is refused at every step, and one that sends it goes on")
    func required() async throws {
        try await IdentityStage.run(identities: Self.rules { $0.requiresSecurityReport = true }) { stage async throws in
            let code = try await stage.offer(pin: Self.pin).code
            let stranger = try await stage.phone("stranger")
            await self.isRefused(["noReport"]) { _ = try await stranger.open(code, pin: Self.pin) }
            let phone = try await stage.phone(inspection: Device())
            try await phone.personalize(code, pin: Self.pin)

            // The same phone, with an app that looks at nothing.
            let silent = try await stage.phone(of: phone)
            let data = try await stage.data(for: phone)
            await self.isRefused(["noReport"]) { _ = try await silent.start(data) }
            let request = try await phone.start(data)
            await self.isRefused(["noReport"]) { _ = try await silent.prepare(request) }
            let info = try await phone.prepare(request)
            await self.isRefused(["noReport"]) { _ = try await silent.finish(info, pin: Self.pin) }
            #expect(try await phone.finish(info, pin: Self.pin).isUserLogin, "a phone with a report was refused")
        }
    }

    @Test(
        "A phone without a report is as good as any where none is wanted, and one that says that it is unsound is not")
    func usual() async throws {
        try await IdentityStage.run { stage async throws in
            let code = try await stage.offer(pin: Self.pin).code
            let unsound = try await stage.phone("unsound", inspection: Device(isRooted: true, isHooked: true))
            await self.isRefused(["rooted", "hooked"]) { _ = try await unsound.open(code, pin: Self.pin) }
            let silent = try await stage.phone()
            try await silent.personalize(code, pin: Self.pin)
        }
    }

    @Test(
        "An operator takes rooted devices, hooked ones, or both",
        arguments: [(true, false), (false, true), (true, true)])
    func accepted(rooted: Bool, hooked: Bool) async throws {
        let rules = Self.rules {
            $0.acceptsRooted = rooted
            $0.acceptsHooked = hooked
        }
        try await IdentityStage.run(identities: rules) { stage async throws in
            let code = try await stage.offer(pin: Self.pin).code
            let both = try await stage.phone(inspection: Device(isRooted: true, isHooked: true))
            if rooted, hooked {
                try await both.personalize(code, pin: Self.pin)
            } else {
                await self.isRefused([rooted ? "hooked" : "rooted"]) { _ = try await both.open(code, pin: Self.pin) }
            }
        }
    }

    @Test("What people sign with who change something of their own is the operator's to say")
    func accountFactors() async throws {
        let rules = Self.rules { $0.accountFactors = [[.pin], [.biometric, .pin]] }
        try await IdentityStage.run(identities: rules) { stage async throws in
            let phone = try await stage.personalizedPhone(pin: Self.pin)
            let data = try await phone.sdk.personalizer.startDeletion(idmIdentifier: IdentityStage.issuer)
            let request = try await phone.sdk.authenticator.startAuthentication(data: data)
            #expect(request.roles.map(\.requestedAuthenticators) == [[[.pin]]])
        }
    }

    @Test(
        "PINs are as long as the operator says: those of codes, those that are made here, and those of apps",
        arguments: [5...5, 8...9])
    func pinLength(length: ClosedRange<Int>) async throws {
        try await IdentityStage.run(identities: Self.rules { $0.pinLength = length }) { stage async throws in
            await #expect(throws: CeremonyError(.invalidRequest)) { () async throws in
                _ = try await stage.offer(pin: Self.pin)
            }
            let made = try await stage.server.assembly.ceremonies.identities.offers.offer(
                accountID: try await stage.server.accountID(), by: "test")
            let pin = try #require(made.pin)
            #expect(length.contains(pin.count))

            let phone = try await stage.phone()
            try await phone.personalize(made.code, pin: pin)
            let change = try await phone.accessToChangePin(pin: pin)
            #expect(change.pinSpec.setPin("258036") == (length.upperBound < 6 ? .tooLong : .tooShort))
        }
    }
}

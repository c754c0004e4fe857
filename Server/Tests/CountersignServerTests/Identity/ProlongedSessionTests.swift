import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import Testing
import _Primitives

@Suite("More time for what waits for a person (identity parity 92), by a whole app against a whole server")
struct ProlongedSessionTests {
    private static let pin = "258036"

    /// A service whose own app may sign in, and which asks for nothing.
    private static let profile: JSONObject = ["roles": .array([.resident]), "inApp": .bool(true)]

    @Test("Who chooses a PIN has more time up to the hard end, and the PIN counts then")
    func permitted() async throws {
        try await IdentityStage.run { stage async throws in
            let phone = try await stage.personalizedPhone(pin: Self.pin)
            let access = try await phone.accessToChangePin(pin: Self.pin)
            let session = access.identitySession
            let first = session.nextRequestUntil
            stage.server.clock.advance(by: .seconds(290))
            try await phone.sdk.common.prolongSession(holder: access)
            #expect(session.nextRequestUntil == first.addingTimeInterval(290))
            while session.nextRequestUntil < session.lastRequestBefore {
                stage.server.clock.advance(by: .seconds(290))
                try await stage.server.assembly.ceremonies.sweep.run()
                try await phone.sdk.common.prolongSession(holder: access)
            }
            #expect(access.pinSpec.setPin("604817") == .valid)
            try await phone.sdk.personalizer.finishChangePin(request: access)
            let (code, _) = try await stage.code(in: TestBrowser(stage.client))
            #expect(try await phone.authenticate(code, pin: "604817").isUserLogin)
        }
    }

    @Test("The code of an app that signs itself in has no more time than it has, and can be fetched all the same")
    func code() async throws {
        try await IdentityStage.run { stage async throws in
            _ = try await stage.server.assembly.identities.setService(stage.party.id, to: Self.profile, by: "test")
            let phone = try await stage.personalizedPhone(pin: Self.pin)
            let login = try await phone.serviceLogin(at: stage.party, pin: Self.pin, state: "s-1", nonce: "n-1")
            #expect(login.identitySession.nextRequestUntil == login.validUntil)
            stage.server.clock.advance(by: .seconds(59))
            let refused = await #expect(throws: CountersignError.self) { () async throws in
                _ = try await phone.sdk.common.prolongSession(holder: login)
            }
            #expect(refused?.errorCode == .wrongProcess)
            #expect(try await phone.sdk.authenticator.fetchAuthorizationCode(login).state == "s-1")
        }
    }
}

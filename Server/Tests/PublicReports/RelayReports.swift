import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OAuth
import OAuthProvider
import Records
import Settings
import Testing
import _Primitives

@testable import CountersignServerTests

@Suite("Reports of people who are talked into it (RFC 8628, section 5, decisions 17, 35 and 91)")
struct RelayReports {
    private static let grant = "urn:ietf:params:oauth:grant-type:device_code"

    private static func television(_ server: ServerFixture) async throws -> RelyingParty {
        try await ReportPlace.service(server) { $0.grantTypes = [Self.grant] }
    }

    private static func begin(_ place: ReportPlace, _ television: RelyingParty) async throws -> (
        device: String, user: String
    ) {
        let codes = try await place.post("/oauth2/device_authorization", ["scope": "openid"], as: television).object
        return (try codes.requiredString("device_code"), try codes.requiredString("user_code"))
    }

    private static func poll(_ place: ReportPlace, _ code: String, as party: RelyingParty) async throws -> JSONObject {
        try await place.post("/oauth2/token", ["grant_type": Self.grant, "device_code": code], as: party).object
    }

    /// A right server lets nobody become the account whose person approved a stranger's sign-in: the account's phone names
    /// the change, and the person says no.
    ///
    /// Source: RFC 8628, section 5.4; NIST SP 800-63B, section 6.1.2.1; decision 91 and the threat model's row of relayed sign-ins.
    @Test("a relayed sign-in adds no device")
    func relayedSession() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            let stranger = try await fixture.signedIn()
            let question = try await stranger.get("/account/activation")
            let asked = try await fixture.post(
                "/account/activation",
                [
                    "confirmation": try TerminalPhoneFixture.confirmation(of: question), "pin": "604817",
                    "pin-again": "604817",
                ], stranger)
            #expect(asked.asksForPhone && !asked.text.contains("typed-code"))
            let waiting = try #require(asked.headers[.location])
            let page = try await stranger.get(waiting)
            let denied = try await fixture.scan(
                try TerminalPhoneFixture.code(on: page), answers: ["--deny"], lines: [])
            #expect(denied.refusal != nil)
            #expect(try await stranger.get(waiting).text.contains("Nothing was changed."))
        }
    }

    /// A right server gives a device's tokens to the service that began, and to no other one that has the code.
    ///
    /// Source: RFC 8628, section 3.4; CVE-2023-2585 (Keycloak: another client's device code).
    @Test("a device code is of the service that asked for it")
    func otherServicesCode() async throws {
        try await ReportPlace.run { place in
            let television = try await Self.television(place.server)
            let codes = try await Self.begin(place, television)
            let other = try await Self.television(place.server)
            #expect(try await Self.poll(place, codes.device, as: other).error == "invalid_grant")
            #expect(try await Self.poll(place, codes.device, as: television).error == "authorization_pending")
            #expect(try await Self.poll(place, codes.user, as: television).error == "invalid_grant")
        }
    }

    /// A right server has codes that nobody guesses among all that live, and bounds guesses by where they come from.
    ///
    /// Source: RFC 8628, section 5.1; decisions 17 and 35.
    @Test("a device's code has fifty bits, and guesses are refused after a few")
    func guesses() async throws {
        try await ReportPlace.run { place in
            let codes = try await Self.begin(place, try await Self.television(place.server))
            let letters = codes.user.filter { $0 != "-" }
            #expect(letters.count == 10 && letters.allSatisfy { "0123456789ABCDEFGHJKMNPQRSTVWXYZ".contains($0) })
            let browser = TestBrowser(place.client)
            _ = try await browser.get("/device")
            for _ in 0..<Limits().guessBurst {
                #expect(try await browser.post("/device", form: "user_code=ZZZZZ-ZZZZZ").status == .badRequest)
            }
            // Past the budget a right code is not looked for either.
            for code in ["ZZZZZ-ZZZZZ", codes.user] {
                #expect(try await browser.post("/device", form: "user_code=\(code)").status == .tooManyRequests)
            }
        }
    }

    /// A right server has the person type or confirm the code, and shows who asks: an address alone signs nothing in.
    ///
    /// Source: RFC 8628, sections 3.3.1 and 5.4.
    @Test("opening the whole address of a device signs the device in for nobody")
    func completeAddress() async throws {
        try await ReportPlace.run { place in
            let television = try await Self.television(place.server)
            let codes = try await Self.begin(place, television)
            let browser = try await place.signedIn()
            let page = try await browser.get("/device?user_code=\(codes.user)")
            #expect(page.status == .ok && page.headers[.location] == nil)
            place.server.clock.advance(by: .seconds(5))
            #expect(try await Self.poll(place, codes.device, as: television).error == "authorization_pending")
            // A form that stood on no page of this session is no answer either.
            let forged = try await browser.post(
                "/device/confirm", form: "user_code=\(codes.user)&request=x&confirmation=x")
            #expect(forged.status.code >= 400)
            place.server.clock.advance(by: .seconds(5))
            #expect(try await Self.poll(place, codes.device, as: television).error == "authorization_pending")
        }
    }

    /// A right server slows a device down that asks too often, and lets one that keeps its time go on.
    ///
    /// Source: RFC 8628, section 3.5; decision 35.
    @Test("one early question costs a device a pause and not its sign-in; in the end its code ends")
    func cadence() async throws {
        try await ReportPlace.run { place in
            let television = try await Self.television(place.server)
            let codes = try await Self.begin(place, television)
            #expect(try await Self.poll(place, codes.device, as: television).error == "authorization_pending")
            #expect(try await Self.poll(place, codes.device, as: television).error == "slow_down")
            place.server.clock.advance(by: .seconds(10))
            #expect(try await Self.poll(place, codes.device, as: television).error == "authorization_pending")
            place.server.clock.advance(by: .seconds(600))
            #expect(try await Self.poll(place, codes.device, as: television).error == "expired_token")
        }
    }
}

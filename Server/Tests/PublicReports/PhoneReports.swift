import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OAuthProvider
import Records
import Settings
import Testing
import _Primitives

@testable import CountersignServerTests

@Suite("Reports of phones that approve (NIST SP 800-63B, section 5.1.3, OpenID Connect CIBA Core 1.0 and decision 3)")
struct PhoneReports {
    /// A right server never signs the browser in that sent a link to somebody else.
    ///
    /// Source: RFC 8628, section 5.4 (remote phishing); decision 93.
    @Test("who has forwarded a link waits until the end, whatever the person who opened it approves and visits")
    func forwardedLink() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, attacker, request, page in
            let link = try page.attribute("href", of: "same-device-link")
            let result = try await phone.authenticate(try OutOfBandPayload(link: link))
            let location = try #require(result.location?.absoluteString)
            #expect(try await TestBrowser(attacker.client).get(location).status == .forbidden)
            for _ in 0..<3 {
                #expect(try await attacker.get("/sign-in/complete?request=\(request)").headers[.location] == nil)
            }
            server.clock.advance(by: server.assembly.configuration.limits.continuationLifetime)
            #expect(try await attacker.get(location).status == .notFound)
            #expect(attacker.cookies["countersign_session"] == nil)
        }
    }

    /// A right server lets no code that is meant for another device come by a link.
    ///
    /// Source: RFC 8628, section 5.4; "quishing" (codes in letters).
    @Test("a typed code that is made into a link asks nobody, and ends")
    func codeInALink() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, attacker, request, page in
            let link = try server.typedPayload(page).link(base: "http://localhost:8080")
            await #expect(throws: (any Error).self) { try await phone.authenticate(try OutOfBandPayload(link: link)) }
            #expect(phone.person.asked.allSatisfy { $0.requester == nil })
            await #expect(throws: (any Error).self) { try await phone.authenticate(try server.typedPayload(page)) }
            #expect(try await attacker.get("/sign-in/complete?request=\(request)").headers[.location] == nil)
        }
    }

    /// A right server's code is taken by one phone, for a minute.
    ///
    /// Source: NIST SP 800-63B, section 5.1.3.2.
    @Test("a code is taken once, and one that is old not at all")
    func oneTimeCodes() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, browser, request, page in
            server.clock.advance(by: .seconds(61))
            await #expect(throws: (any Error).self) { try await phone.authenticate(try server.typedPayload(page)) }
            let renewed = try await browser.get("/sign-in/wait?request=\(request)")
            _ = try await phone.authenticate(try server.typedPayload(renewed))
            await #expect(throws: (any Error).self) { try await phone.authenticate(try server.typedPayload(renewed)) }
            #expect(try await browser.get("/sign-in/complete?request=\(request)").status == .seeOther)
            #expect(try await browser.get("/sign-in/complete?request=\(request)").redirectParameters["code"] == nil)
        }
    }

    /// A right server's phone shows who asks, from where, and with which browser, before anybody says yes.
    ///
    /// Source: NIST SP 800-63B, section 5.1.3.3 (authentication intent); RFC 8628, section 5.4.
    @Test("the phone names the service, its origin and the browser")
    func whoAsks() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, _, _, page in
            _ = try await phone.authenticate(try server.typedPayload(page))
            let requester = try #require(phone.person.asked.compactMap(\.requester).first)
            #expect(requester.service == "Demo Bank" && requester.origin == "http://127.0.0.1:8081")
            #expect(requester.browser == "Chrome on Linux")
        }
    }

    /// A right server asks nobody until they say yes to be left alone, and says the same of people who are not there.
    ///
    /// Source: CISA, "Implementing Number Matching in MFA Applications", October 2022 (push bombing); CWE-204.
    @Test("a service has a person asked a few times, and learns of nobody whether they are there")
    func pushBombing() async throws {
        var limits = Limits()
        (limits.personDispatchBurst, limits.personDispatchesPerMinute) = (3, 6)
        let server = try await ServerFixture(limits: limits)
        try await server.withPublicClient { client in
            let centre = try await CallCentre(server, client)
            _ = try await server.enrolledPhone(client)
            var answers: [[Int]] = []
            for name in ["alice", "nobody"] {
                var statuses: [Int] = []
                for _ in 0..<5 { statuses.append(try await centre.ask(["login_hint": name]).response.status.code) }
                answers.append(statuses)
            }
            #expect(answers == [[200, 200, 200, 429, 429], [200, 200, 200, 429, 429]])
        }
    }

    /// A right server gives what a person has answered to the service that asked, once.
    ///
    /// Source: OpenID Connect CIBA Core 1.0, sections 10.1 and 11.
    @Test("another service has nothing of an answer, and the one that asked has it once")
    func answers() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let (centre, other) = (try await CallCentre(server, client), try await CallCentre(server, client))
            let phone = try await server.enrolledPhone(client)
            let request = try await centre.begin()
            #expect(try await centre.error(request) == "authorization_pending")
            try await centre.answer(phone)
            #expect(try await other.error(request) == "invalid_grant")
            #expect(try await centre.pollInTime(request)["access_token"] != nil)
            #expect(try await centre.pollInTime(request)["access_token"] == nil)
            #expect(try await centre.ask(authorized: false).response.status == .unauthorized)
        }
    }
}
